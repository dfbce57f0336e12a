"""Two parents' lines in one text, in an order that a reader of either finds again.

Where both parents keep nodes, classes and edges apart, as published workflows do, each of the donor's lines goes to its own
kind; else the donor's lines stand together at the end. Edges of one parent stay in order, for that is prompt order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from merrow_optimizer.joining.text import KeptPart, PieceKind, TextPiece

_LINE_END = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[ \t]*")

_Owned = tuple[TextPiece, int]
"""A piece with the number of its parent."""


def laid_out(host: KeptPart, donor: KeptPart, front: str) -> str:
    """The text of both selections under a front matter. It uses the host's line ends and indentation."""
    mine, theirs = host.pieces(), donor.pieces()
    theirs = fitted_to(mine, theirs)
    eol = _line_end(mine)
    mine = [piece for piece in mine if piece.kind != "front"]
    comments = {piece.text.strip() for piece in mine if piece.kind == "comment"}
    theirs = [p for p in theirs if not (p.kind == "comment" and p.text.strip() in comments and not _silences(p))]
    if _is_sectioned(mine) and any(piece.kind == "node" for piece in mine) and _is_sectioned(theirs):
        merged = _by_sections(mine, theirs)
    else:
        merged = [(piece, 0) for piece in mine]
        if any(piece.kind not in ("blank", "comment") for piece in theirs):
            merged = [*merged, (TextPiece("blank", eol), 1), *((piece, 1) for piece in _trimmed(theirs))]
    merged = _with_single_blanks([(piece, owner) for piece, owner in merged if piece.text])
    return (front if eol == "\n" else _LINE_END.sub(eol, front)) + together(merged, eol)


def together(merged: Sequence[tuple[TextPiece, int]], eol: str) -> str:
    """Pieces, each with the number of its parent, as one text in which each line ends."""
    return "".join(_ended(text, eol) for text in _with_links(merged) if text)


def fitted_to(mine: Sequence[TextPiece], theirs: Sequence[TextPiece]) -> list[TextPiece]:
    """A donor's pieces without those at its top, with the host's line ends and indentation."""
    eol, indent = _line_end(mine), _indent(mine)
    base = min(
        (_indent([piece]) for piece in theirs if piece.kind in ("node", "edge", "group") and piece.text), default=""
    )
    return [_fitted(piece, base, indent, eol) for piece in theirs if piece.text and piece.kind not in ("front", "top")]


def below_the_top(pieces: Sequence[TextPiece]) -> list[TextPiece]:
    """The pieces below the first line of the flowchart, without what the text says of itself as a whole."""
    first = max((number for number, piece in enumerate(pieces) if piece.kind in ("front", "top")), default=-1)
    return list(pieces[first + 1 :])


def _line_end(pieces: Sequence[TextPiece]) -> str:
    for piece in pieces:
        match = _LINE_END.search(piece.text)
        if match is not None:
            return match[0]
    return "\n"


def _indent(pieces: Sequence[TextPiece]) -> str:
    for kind in ("edge", "node", "group"):
        for piece in pieces:
            if piece.kind == kind and piece.text:
                return _INDENT.match(piece.text)[0]  # type: ignore[index]
    return "    "


def _fitted(piece: TextPiece, base: str, indent: str, eol: str) -> TextPiece:
    """A donor's piece with the host's line ends, and with the host's indentation in place of the donor's ``base``."""
    text = piece.text
    if piece.kind == "blank":
        text = eol
    elif text.strip() and len(_LINE_END.findall(text.strip())) == 0:
        deeper = text[: len(text) - len(text.lstrip(" \t"))].removeprefix(base)
        text = f"{indent}{deeper}{text.strip()}{eol}"
    else:
        text = _ended(_LINE_END.sub(eol, text), eol)
    return TextPiece(piece.kind, text, piece.edges, piece.gone, piece.counted)


def _ended(text: str, eol: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + eol


def _silences(piece: TextPiece) -> bool:
    return "merrow" in piece.text.casefold()


_RANK: Mapping[PieceKind, int] = {"node": 0, "class": 1, "edge": 2}


def _is_sectioned(pieces: Sequence[TextPiece]) -> bool:
    """Whether all nodes stand before all edges, classes between or after, and no subgraph holds any of them."""
    if any(piece.kind == "group" for piece in pieces):
        return False
    kinds = [piece.kind for piece in pieces if piece.kind in ("node", "edge", "class") and piece.text]
    nodes = [number for number, kind in enumerate(kinds) if kind == "node"]
    after = [number for number, kind in enumerate(kinds) if kind != "node"]
    return not nodes or not after or nodes[-1] < after[0]


def _by_sections(mine: list[TextPiece], theirs: list[TextPiece]) -> list[_Owned]:
    """Put each kind of the donor's lines where the host has that kind."""
    groups: dict[PieceKind, list[TextPiece]] = {}
    waiting: list[TextPiece] = []
    for number, piece in enumerate(theirs):
        if piece.kind == "blank":
            waiting = []
        elif piece.kind == "comment":
            if _is_about_one(theirs[number + 1 :]) or _silences(piece):
                waiting.append(piece)
        else:
            groups.setdefault(piece.kind, []).extend((*waiting, piece))
            waiting = []
    inserts: dict[int, list[TextPiece]] = {}
    nodes = _place(mine, "node", len(mine))
    classes = _place(mine, "class", None)
    definitions = _place(mine, "classdef", None)
    edges = _place(mine, "edge", None)
    fallback = nodes
    places: tuple[tuple[PieceKind, int | None], ...]
    places = (("node", nodes), ("classdef", definitions), ("class", classes), ("edge", edges))
    for kind, place in places:
        if place is None:
            place = fallback if kind != "edge" else len(mine)
        else:
            fallback = max(place, nodes or 0)
        inserts.setdefault(place or 0, []).extend(groups.get(kind, ()))
    inserts.setdefault(len(mine), []).extend((*groups.get("look", ()), *groups.get("links", ())))
    merged: list[_Owned] = []
    for number in range(len(mine) + 1):
        merged += ((added, 1) for added in inserts.get(number, ()))
        merged += ((added, 0) for added in mine[number : number + 1])
    return merged


def _is_about_one(following: Sequence[TextPiece]) -> bool:
    """Whether a comment speaks of one line, as against being the heading of several."""
    lines = 0
    for piece in following:
        if piece.kind == "blank" or (piece.kind == "comment" and lines):
            break
        lines += piece.kind != "comment"
    return lines == 1


def _place(pieces: list[TextPiece], kind: PieceKind, otherwise: int | None) -> int | None:
    """Before what goes of a kind, else behind the last of it."""
    own = [number for number, piece in enumerate(pieces) if piece.kind == kind]
    gone = [number for number in own if pieces[number].gone]
    if gone:
        return gone[0]
    return own[-1] + 1 if own else otherwise


def _trimmed(pieces: list[TextPiece]) -> list[TextPiece]:
    """Without blank lines at both ends."""
    first, last = 0, len(pieces)
    while first < last and pieces[first].kind == "blank":
        first += 1
    while last > first and pieces[last - 1].kind == "blank":
        last -= 1
    return pieces[first:last]


def _with_single_blanks(merged: list[_Owned]) -> list[_Owned]:
    """Without blank lines that come to stand beside blank lines; the host's own runs of them stay."""
    kept: list[_Owned] = []
    for piece, owner in merged:
        if piece.kind == "blank" and kept and kept[-1][0].kind == "blank" and (owner == 1 or kept[-1][1] == 1):
            continue
        kept.append((piece, owner))
    return kept


def _with_links(merged: Sequence[_Owned]) -> list[str]:
    """The texts, with the edges that ``linkStyle`` counts counted again."""
    numbers: dict[tuple[int, int], int] = {}
    for piece, owner in merged:
        for edge in piece.edges:
            numbers[owner, edge] = len(numbers)
    texts: list[str] = []
    for piece, owner in merged:
        counted = piece.counted
        if counted is None:
            texts.append(piece.text)
            continue
        new = ",".join(str(numbers[owner, old]) for old in counted.edges if (owner, old) in numbers)
        before = counted.before
        texts.append(piece.text.replace(before + counted.written, before + new, 1) if new else "")
    return texts
