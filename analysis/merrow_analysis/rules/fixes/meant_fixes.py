"""Repairs of the labels, titles and texts on arrows of a line that Mermaid refuses; everything else of it stays as it is.

What the line was meant to be says `merrow_analysis.syntax.meant`. Each repair is tried on the grammar before it is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.syntax.meant import Meant, Piece, read_meant
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.reserved import has_reserved
from merrow_analysis.syntax.tree import Broken, Chain, Comment, Header, Statement, SubgraphStart
from merrow_analysis.text import Position, Range, Span, TextEdit

_MOST_PIECES = 60
"""Labels of a line that are looked at; a line with more is left alone."""
_ARROW = re.compile(r"(?:[xo<]?(?:--|==|-?\.+-?|-)[-=.xo>]*|~~~+)")
_QUOTE = re.compile(r'\\?"')
_PARAMETERS = re.compile(r"\(\s*\w+: ")
_NUMBER = re.compile(r'"(-?\d+(?:\.\d+)?|true|false)"')


class Change(NamedTuple):
    """What is written in place of a span of a line, in words for a title."""

    span: Span
    new: str
    said: str
    safe: bool = True


def label_fixes(line_number: int, line: str) -> Iterator[Fix]:
    """The repair of all labels of a line that need one, where the line makes sense as it looks and can be read then. The line may
    hold line breaks, within labels.
    """
    meant = read_meant(line)
    if meant is None or len(meant.pieces) > _MOST_PIECES:
        return
    changes = label_changes(line, meant)
    if changes and is_as_meant(changed(line, [*changes, *with_other_ids(line, meant)]), meant):
        edits = tuple(TextEdit(range_in(line_number, change.span, line), change.new) for change in changes)
        safe = all(change.safe for change in changes)
        yield Fix(_title(changes), edits, Applicability.SAFE if safe else Applicability.UNSAFE)


def range_in(line: int, span: Span, text: str = "") -> Range:
    """The range of a span of a text that begins with a line; without the text, the span lies in that line."""

    def position(at: int) -> Position:
        return Position(line + text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1)

    return Range(position(span[0]), position(span[1]))


def changed(line: str, changes: Iterable[Change]) -> str:
    for change in sorted(changes, key=lambda change: change.span, reverse=True):
        line = line[: change.span[0]] + change.new + line[change.span[1] :]
    return line


def _title(changes: Sequence[Change]) -> str:
    titles = list(dict.fromkeys(change.said for change in changes))
    if len(titles) == 1:
        return titles[0].replace("the label in", "the labels in") if len(changes) > 1 else titles[0]
    first, *others = titles
    return (
        f"{first} and {others[0][0].lower()}{others[0][1:]}"
        if len(titles) == 2
        else "Write the labels as Mermaid reads them"
    )


# Labels


def label_changes(line: str, meant: Meant) -> list[Change]:
    """What is to be written differently, but for ids."""
    changes = []
    for piece, following in zip_longest(meant.pieces, meant.pieces[1:]):
        text = line[slice(*piece.span)]
        if piece.kind == "space":
            changes.append(Change(piece.span, "", "Remove the space before the bracket"))
        elif piece.kind == "stray":
            changes.append(Change(piece.span, "", f"Remove {text}", safe=False))
        elif piece.kind == "shaped title":
            title = _escaped(_inside(text.strip("()[]{}").strip())[0])[0]
            changes.append(Change(piece.span, f'["{title}"]', "Put the title in brackets and quotes", safe=False))
        elif piece.kind == "bar":
            changes.append(Change(piece.span, "|", "Add |", safe=False))
        elif piece.kind == "comment":
            changes += _moved_comment(line, piece.span)
        elif piece.kind == "arrow":
            changes.append(Change(piece.span, piece.closer, f"Write {piece.closer}", safe=False))
        elif piece.kind == "closer":
            if text != piece.closer and (not piece.opener or line[piece.span[0] - 1] != piece.opener[-1]):
                changes.append(Change(piece.span, piece.closer, f"Write {piece.closer}", safe=False))
        elif following is not None and following.kind == "closer" and not text:
            place = piece.span[0] - len(piece.opener), following.span[1]
            changes.append(Change(place, "", "Remove the empty brackets", safe=False))
        elif piece.kind != "id" and (piece.kind == "unclosed" or not _is_legal(piece, text)):
            changes.append(_written(piece, text))
    return changes


def _moved_comment(line: str, span: Span) -> Iterator[Change]:
    """A comment goes to a line of its own above, and an empty one away."""
    text = line[slice(*span)]
    words = text.lstrip("%/#").strip()
    is_mermaid = text.startswith("%%")
    title = "Move the comment to a line of its own" if is_mermaid else "Write the comment with %% on a line of its own"
    indent = len(line) - len(line.lstrip())
    if words:
        comment = text.rstrip() if is_mermaid else f"%% {words}"
        yield Change((indent, indent), f"{comment}\n{line[:indent]}", title, safe=is_mermaid)
    else:
        title = "Remove the empty comment"
    yield Change((len(line[: span[0]].rstrip()), span[1]), "", title, safe=is_mermaid)


def _written(piece: Piece, text: str) -> Change:
    """A label as Mermaid reads it."""
    start, end = piece.span
    if not text.strip(' \t"'):
        return _filled(piece)
    if piece.kind == "title" and not piece.opener and text[0] == "[" and text[-1] == "]":
        return Change(piece.span, f'"{_escaped(_inside(text[1:-1].strip())[0])[0]}"', "Put the title in quotes")
    if piece.kind == "unclosed":
        # The bracket is missing, and the quote with it where only the first one is there.
        mark = '"' if text.count('"') % 2 else ""
        if _is_legal(piece, f"{text}{mark}"):
            return Change((end, end), mark + piece.closer, f"Add {mark}{piece.closer}", safe=False)
    margin = text[: len(text) - len(text.lstrip())]
    inside, quoted = _inside(text.strip())
    once = inside.removeprefix('"').removesuffix('"')
    if quoted and inside.count('"') == 1 and once != inside and not inside.endswith('\\"'):
        return Change((start, end), f'{margin}"{once}"', "Remove the second quote", safe=False)
    written, title = _escaped(inside)
    what = "title" if piece.kind == "title" else "label"
    if not quoted:
        title = 'Add "' if text.count('"') == 1 and text.strip().startswith('"') else f"Put the {what} in quotes"
    closer = piece.closer if piece.kind == "unclosed" else ""
    tail = text[len(text.rstrip()) :] if not closer else ""
    clear = quoted or (piece.kind in ("label", "edge label", "title") and _ARROW.search(inside) is None)
    return Change((start, end), f'{margin}"{written}"{tail}{closer}', title, safe=clear)


def _filled(piece: Piece) -> Change:
    """What replaces an empty label: nothing, or a space where the shape would be lost with it."""
    start, end = piece.span
    if piece.kind == "edge label" and piece.closer != "|":
        place = start - len(piece.opener), end + len(piece.closer)
        return Change(place, piece.closer, f"Write {piece.closer}", safe=False)
    if piece.kind == "edge label":
        return Change((start - 1, end + 1), "", "Remove the empty bars", safe=False)
    if piece.kind == "unclosed":
        return Change((start - len(piece.opener), end), "", f"Remove the open {piece.opener}", safe=False)
    if piece.opener == "[":
        return Change((start - 1, end + 1), "", "Remove the empty brackets", safe=False)
    return Change((start, end), '" "', "Write a space in the empty label", safe=False)


def _inside(text: str) -> tuple[str, bool]:
    """A label without the quotes around it, and whether both were there."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1], True
    if text.count('"') % 2:
        return (text[1:] if text[0] == '"' else text.removesuffix('"')), False
    return text, False


def _escaped(inside: str) -> tuple[str, str]:
    """A label with other marks for the quotes in it, and a title: those of parameters, or an entity."""
    if _PARAMETERS.search(inside) and "'" not in inside:
        single = _QUOTE.sub("'", _NUMBER.sub(r"\1", inside))
        return single, "Write ' for the quotes inside" if "'" in single else "Remove the quotes inside"
    return _QUOTE.sub("#quot;", inside), "Write #quot; for the quotes inside"


def _is_legal(piece: Piece, text: str) -> bool:
    """Whether Mermaid reads a label as it is written, between what is around it."""
    if piece.kind == "title":
        (statement, *others) = _statements(f"subgraph x[{text}]" if piece.opener else f"subgraph {text}")
        return not others and isinstance(statement, SubgraphStart)
    if piece.kind == "edge label":
        return _counts(_statements(f"x {piece.opener}{text}{piece.closer} y")) == (2, 1)
    return _counts(_statements(f"x{piece.opener}{text}{piece.closer}")) == (1, 0)


def is_as_meant(line: str, meant: Meant) -> bool:
    """Whether Mermaid reads in a line what it was meant to be: as many nodes, arrows and boxes."""
    statements = _statements(line)
    if meant.boxes:
        return len(statements) == 1 and isinstance(statements[0], SubgraphStart)
    if not meant.nodes:
        return not any(isinstance(statement, (Broken, Chain)) for statement in statements)
    return _counts(statements) == (meant.nodes, meant.arrows)


def _statements(line: str) -> list[Statement]:
    blocks = parse_diagram(f"flowchart TD\n{line}\n").blocks
    return [
        statement for block in blocks for statement in block.statements if not isinstance(statement, Header | Comment)
    ] or [Header("", "", "", (0, 0))]


def _counts(statements: list[Statement]) -> tuple[int, int] | None:
    """How many nodes and arrows statements have; None where they are anything else as well."""
    nodes = arrows = 0
    for statement in statements:
        if not isinstance(statement, Chain):
            return None
        nodes += sum(map(len, statement.groups))
        arrows += len(statement.arrows)
    return nodes, arrows


# Ids


def is_reserved(name: str) -> bool:
    """Whether Mermaid does not read a word as an id because of a word of its own in it."""
    return has_reserved(name) and not is_id(name)


def is_id(name: str) -> bool:
    """Whether Mermaid reads a word as the id of a node wherever one may be."""
    statements = _statements(f"x --> {name}")
    return _counts(statements) == (2, 1) and all(
        isinstance(statement, Chain) and statement.groups[-1][0].name.text == name for statement in statements
    )


def with_other_ids(line: str, meant: Meant) -> list[Change]:
    """Some id in the place of each one that is a reserved word."""
    spans = (piece.span for piece in meant.pieces if piece.kind == "id")
    return [Change(span, "x", "") for span in spans if is_reserved(line[slice(*span)])]
