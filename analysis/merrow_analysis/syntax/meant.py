"""What a line that Mermaid refuses was meant to be: ids, labels and arrows as they look to a person, each with its place.

A label ends at the first bracket after which the rest of the line makes sense, so that nothing of a neighbour becomes part of it.
It may contain line breaks, but no line that is a statement of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from merrow_analysis.text import Span

LONGEST = 2_000
"""Characters of a line that is read so."""
_MOST_STEPS = 300
"""Places where a label may end that are tried for one line."""
_MOST_GROUPS = 100
_MOST_LINES = 12
"""Lines over which a label may go on."""

PieceKind = Literal[
    "id",
    "space",
    "label",
    "unclosed",
    "closer",
    "edge label",
    "title",
    "shaped title",
    "stray",
    "bar",
    "arrow",
    "comment",
]


class Piece(NamedTuple):
    """A part of a line. ``span`` is what may have to be written differently: of a label what is between its brackets.

    ``opener`` and ``closer`` are the brackets, bars or halves of the arrow around it. An ``unclosed`` label has no closer there,
    and a ``closer`` is in the place of the right one, as an ``arrow`` is. A ``stray`` mark belongs to nothing, a ``bar`` is
    missing, and a ``comment`` has no line of its own. A ``shaped title`` includes its brackets, those of a node.
    """

    kind: PieceKind
    span: Span
    opener: str = ""
    closer: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """The pieces of a line in their order, and how many nodes are named, how many arrows lead on and whether a box begins."""

    pieces: tuple[Piece, ...]
    nodes: int = 0
    arrows: int = 0
    boxes: int = 0


_SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("(((", (")))",)),
    ("((", ("))",)),
    ("([", ("])",)),
    ("(-", ("-)",)),
    ("[[", ("]]",)),
    ("[(", (")]",)),
    ("{{", ("}}",)),
    ("[/", ("/]", "\\]")),
    ("[\\", ("\\]", "/]")),
    ("[", ("]",)),
    ("(", (")",)),
    ("{", ("}",)),
    (">", ("]",)),
)
_ARROW = r"(?:[xo<]?(?:--|==|-\.)|~~~)"
"""How an arrow begins."""
_LINK = re.compile(r"[xo<]?(?:--+[-xo>]|==+[=xo>]|-?\.+-[xo>]?)|~~~+")
_TEXT_LINKS = (
    (re.compile(r"[xo<]?--"), re.compile(r"--+[-xo>]")),
    (re.compile(r"[xo<]?=="), re.compile(r"==+[=xo>]")),
    (re.compile(r"[xo<]?-\."), re.compile(r"-?\.+-[xo>]?")),
)
_WRONG_TEXT_END = re.compile(r"(?<=[ \t])(?:[-=]>|\.>)(?=[ \t])")
_COMMENT = re.compile(r"%%(?!\{).*|(?<=[ \t])(?://|#)(?=[ \t]).*")
"""A comment, or what is one in other languages."""
_GAP_IN_TEXT = re.compile(r"(?<=\S)[ \t]+(?=\S)")
_STATEMENT = re.compile(r"[ \t]*(?:subgraph|end|style|linkStyle|classDef|class|click|direction)(?![\w-])")
_EDGE_ID = re.compile(rf'[^\s"\[\](){{}}|@]+@(?={_ARROW})')
_ID = re.compile(r'(?:(?!--|==|-\.|~~~|:::|%%)[^\s\[\](){}|&;"<>@])+')
_OPENING_BEFORE_QUOTE = re.compile(r'[\[({](?=")')
_STRAY = re.compile(r"[\])}]+")
_HALF_LINK = re.compile(r"--(?=[ \t|])|==(?=[ \t|])|-\.(?=[ \t|])")
_HALF_BARS = re.compile(r'("[^"|]*"[ \t]*)\|')
_CLASS = re.compile(r":::[\w-]+")
_METADATA = re.compile(r'@\{(?:[^"{}]|"[^"]*")*\}')
_SPACE = re.compile(r"[ \t]*")
_SWALLOWED = re.compile(
    r'(?:--[-xo>]|==[=xo>]|\.-[->]?|~~~)(?![-=~>])(?:\|[^|]{0,200}\|)?[ \t]{0,9}[^\s\[\](){}|"]{1,60}[ \t]{0,9}[\[({]'
)
"""An arrow and the beginning of a node: no label, but one that lacks its end."""
_WRONGLY_CLOSED = re.compile(
    r'(?P<text>"[^"]*"|"?[^\[\](){}|"/\\]*)(?P<closer>[/\\]?[\])}][\])}/\\]*)'
    rf"(?=[ \t]*(?:$|;|&|:::|@\{{|{_ARROW}))"
)
_SMILEY = re.compile(r"[:;=]-?[])}]$")
_END_OF_UNCLOSED = re.compile(rf"(?<![ \t])[ \t]*(?:{_ARROW}|:::|;|$)")
_SUBGRAPH = re.compile(rf"subgraph[ \t]+(?!{_ARROW}|&)(?=\S)")
_GAP = re.compile(r"[\]\"][ \t]{2,}\S")
_TITLED = re.compile(r'([^\s\[\](){}|"]+)?[ \t]*\[(.*)\]', re.DOTALL)
_SHAPED = re.compile(r'([^\s\[\](){}|"]+)(\(\([^()]+\)\)|\([^()]+\)|\{[^{}]+\}|\(\[[^\[\]()]+\]\))')
"""The id of a box with its title in the brackets of a node."""
_COMMENT_BEHIND_TITLE = re.compile(r"[ \t]+(?P<comment>%%(?!\{).*)$")
_TITLE_OPEN = re.compile(r'([^\s\[\](){}|"]+)[ \t]*\[([^\[\];]*)(?=;?$)')
_DIRECTIVE = re.compile(rf"(?:style|class|click)[ \t]+(?!{_ARROW}|&|:::)(\S+)(?=[ \t]+\S)")
_OTHER = re.compile(
    rf"(?:classDef|linkStyle|direction|accTitle|accDescr)\b(?![ \t]*(?:{_ARROW}|&|[\[({{]|:::|-|$))|%%|---"
)


def read_meant(line: str) -> Meant | None:
    """The pieces of one line, which may hold several statements; None where it makes no sense even so."""
    text = line.rstrip()
    if len(text) > LONGEST:
        return None
    return _Reader(text).read()


class OverLines(NamedTuple):
    """A statement of which a label goes on over line breaks, or None where there is none, and the offset up to which that depends
    on the text.
    """

    meant: Meant | None
    looked: int


def read_over_lines(text: str, start: int) -> OverLines:
    """What the statement that begins in the line at ``start`` is, with the lines after it, where the only line breaks are those
    within its labels. Places are offsets from ``start``.
    """
    end = _line_end(text, start)
    alone = read_meant(text[start:end])
    if alone is not None and not any(piece.kind == "unclosed" for piece in alone.pieces):
        return OverLines(None, end)
    for _ in range(_MOST_LINES):
        if end == len(text) or end - start > LONGEST:
            break
        begin, end = end + 1, _line_end(text, end + 1)
        line = text[begin:end]
        is_in_quotes = text.count('"', start, begin) % 2 == 1
        link, closing = _LINK.search(line), _first_closing(line, is_in_quotes)
        if _STATEMENT.match(line) or (link is not None and (closing is None or link.start() < closing)):
            break
        meant = None if closing is None else read_meant(text[start:end])
        if meant is not None and _is_whole(meant, text[start:end]):
            return OverLines(meant, end)
    return OverLines(None, end)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


def _first_closing(line: str, is_in_quotes: bool) -> int | None:
    """Where a line ends what began before it, if it does."""
    places = [place for opener in "[({" for place in _closes(line, opener)[:1]]
    places += [line.find("|")] if "|" in line else []
    quote = line.find('"') if is_in_quotes else -1
    rest = line[quote + 1 :].lstrip()
    # Behind a quote that ends the label are its bracket or an arrow; another one begins a label of this line.
    if quote != -1 and (not rest or rest[0] in "])}|" or _LINK.match(rest)):
        places.append(quote)
    return min(places, default=None)


def _is_whole(meant: Meant, text: str) -> bool:
    """Whether all line breaks are within labels that have their ends, or at least both their quotes."""
    within = sum(text.count("\n", *piece.span) for piece in meant.pieces if piece.kind in (*_TEXTS, "unclosed"))
    unclosed = (text[slice(*piece.span)] for piece in meant.pieces if piece.kind == "unclosed")
    return within == text.count("\n") and all(map(_is_quoted, unclosed))


_TEXTS = ("label", "edge label", "title")


def ids(line: str) -> Iterator[Span]:
    """The places in a line where a node, or a box with an id, is named."""
    meant = read_meant(line)
    for piece in () if meant is None else meant.pieces:
        if piece.kind == "id":
            yield piece.span


_WHOLE = {"--": "-->", "==": "==>", "-.": "-.->"}


class _Rest(NamedTuple):
    """What a line has from a place on."""

    pieces: tuple[Piece, ...]
    nodes: int
    arrows: int
    end: int


@dataclass(slots=True)
class _Reader:
    line: str
    steps: int = 0
    known: dict[int, _Rest | None] = field(default_factory=dict)

    def read(self) -> Meant | None:
        at = self._over_space(0)
        if _OTHER.match(self.line, at):
            return None
        subgraph = _SUBGRAPH.match(self.line, at)
        if subgraph is not None:
            if _GAP.search(self.line, subgraph.end()):
                return None  # Two statements, one of them without its line break.
            return Meant(tuple(self._title(subgraph.end())), boxes=1)
        directive = _DIRECTIVE.match(self.line, at)
        if directive is not None:
            return Meant(tuple(self._named(*directive.span(1))))
        pieces: tuple[Piece, ...] = ()
        nodes = arrows = 0
        stray = _STRAY.match(self.line, at)
        if stray is not None:
            pieces, at = (Piece("stray", stray.span()),), self._over_space(stray.end())
        while at < len(self.line):
            rest = self._chain(at, 0)
            if rest is None:
                return None
            pieces, nodes, arrows = pieces + rest.pieces, nodes + rest.nodes, arrows + rest.arrows
            at = self._over_space(rest.end)
            if self.line.startswith(";", at):
                at = self._over_space(at + 1)
                comment = _COMMENT.match(self.line, at)
                if comment is not None:
                    pieces, at = (*pieces, Piece("comment", comment.span())), comment.end()
        return Meant(pieces, nodes, arrows)

    def _over_space(self, at: int) -> int:
        match = _SPACE.match(self.line, at)
        return at if match is None else match.end()

    def _title(self, at: int) -> Iterator[Piece]:
        """The id and the title of a box, or its title alone."""
        comment = _COMMENT_BEHIND_TITLE.search(self.line, at)
        end = len(self.line) if comment is None else comment.start()
        shaped = _SHAPED.fullmatch(self.line, at, end)
        if shaped is not None:
            yield Piece("id", shaped.span(1))
            yield Piece("shaped title", shaped.span(2))
        elif comment is not None:
            yield Piece("title", (at, end))
        if comment is not None:
            yield Piece("comment", (comment.start("comment"), len(self.line)))
        if shaped is not None or comment is not None:
            return
        titled, half = _TITLED.fullmatch(self.line, at), _TITLE_OPEN.match(self.line, at)
        if titled is not None and titled[1] is not None and not _is_more_than_a_label(titled[2], "["):
            yield Piece("id", titled.span(1))
            yield Piece("title", titled.span(2), "[", "]")
        elif half is not None:
            yield Piece("id", half.span(1))
            yield Piece("unclosed", half.span(2), "[", "]")
        else:
            yield Piece("title", (at, len(self.line)))

    def _named(self, start: int, end: int) -> Iterator[Piece]:
        for match in re.finditer("[^,]+", self.line[start:end]):
            yield Piece("id", (start + match.start(), start + match.end()))

    def _chain(self, at: int, depth: int) -> _Rest | None:
        """A node and what follows it up to the end of the statement."""
        if at not in self.known:
            self.known[at] = None
            self.known[at] = self._first(at, depth) if depth < _MOST_GROUPS else None
        return self.known[at]

    def _first(self, at: int, depth: int) -> _Rest | None:
        name = _ID.match(self.line, at)
        if name is None:
            return None
        for shape, end in self._shapes(name.end()):
            after = self._after_node(end)
            rest = self._follow(after, depth)
            if rest is not None:
                return rest._replace(pieces=(Piece("id", name.span()), *shape, *rest.pieces), nodes=rest.nodes + 1)
        return None

    def _after_node(self, at: int) -> int:
        for pattern in (_CLASS, _METADATA):
            match = pattern.match(self.line, at)
            at = at if match is None else match.end()
        return at

    def _follow(self, at: int, depth: int) -> _Rest | None:
        """What comes after a node: the end of the statement, another node of the same group, or an arrow."""
        at = self._over_space(at)
        if at == len(self.line) or self.line[at] == ";":
            return _Rest((), 0, 0, at)
        comment = _COMMENT.match(self.line, at)
        if comment is not None:
            return _Rest((Piece("comment", comment.span()),), 0, 0, comment.end())
        if self.line[at] == "&":
            return self._chain(self._over_space(at + 1), depth + 1)
        named = _EDGE_ID.match(self.line, at)
        for label, end in self._arrows(at if named is None else named.end()):
            rest = self._chain(self._over_space(end), depth + 1)
            if rest is not None:
                return rest._replace(pieces=(*label, *rest.pieces), arrows=rest.arrows + 1)
        return None

    def _shapes(self, at: int) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """The brackets that may follow an id, with where they end; nothing at all is the last possibility but one."""
        start = self._over_space(at)
        space = (Piece("space", (at, start)),) if start > at else ()
        openers = _openers_at(self.line, start)
        if openers == [_SHAPES[-1]] and (space or self.line[at - 1] in "-=."):
            openers = []  # The > is part of an arrow.
        for opener, closers in openers:
            inside = start + len(opener)
            if len(opener) > 1 and self.line.startswith(opener, inside):
                once = inside + len(opener)
                for end, closer in self._ends(once, opener, closers):
                    twice = Piece("stray", (start, inside))
                    yield (*space, twice, Piece("label", (once, end), opener, closer)), end + len(closer)
            marks = _OPENING_BEFORE_QUOTE.match(self.line, inside)
            if marks is not None and len(opener) > 1 and opener[-1] == marks[0]:
                for end, closer in self._ends(marks.end(), opener, closers):
                    if _is_quoted(self.line[marks.end() : end]):
                        label = Piece("label", (marks.end(), end), opener, closer)
                        yield (*space, Piece("stray", marks.span()), label), end + len(closer)
            for end, closer in self._ends(inside, opener, closers):
                yield (*space, Piece("label", (inside, end), opener, closer)), end + len(closer)
        yield (), at
        for opener, closers in openers:
            inside = start + len(opener)
            wrong = _WRONGLY_CLOSED.match(self.line, inside)
            if wrong is not None:
                closer = next((sign for sign in closers if wrong["closer"].startswith(sign)), closers[0])
                label = Piece("label", wrong.span("text"), opener, closer)
                yield (*space, label, Piece("closer", wrong.span("closer"), opener, closer)), wrong.end()
        for opener, closers in openers:
            for short, stop in self._short_of_one(start + len(opener), opener, closers[0]):
                yield (*space, *short), stop
        if openers:
            yield from self._behind_a_stray(space, start)
        for opener, closers in openers[: -1 if openers and openers[-1] == _SHAPES[-1] else None]:
            inside = start + len(opener)
            last = self._end_of_unclosed(inside)
            if last is not None and not _closes(self.line[inside:last], opener[0]):
                yield (*space, Piece("unclosed", (inside, last), opener, closers[0])), last

    def _short_of_one(self, inside: int, opener: str, closer: str) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """A label with brackets of its own, behind which its end lacks a bracket: ``((f(x))``."""
        if len(opener) == 1 or len(set(opener)) > 1:
            return
        for match in re.finditer(rf"{re.escape(closer[0])}+(?=[ \t]*(?:$|;|&|{_ARROW}))", self.line[inside:]):
            self.steps += 1
            text = self.line[inside : inside + match.start()]
            own = len(_closes(text[::-1], closer[0]))
            if self.steps > _MOST_STEPS or _SWALLOWED.search(text) or "\n" in text:
                return
            if own and own < len(match[0]) < own + len(opener) and not _closes(text, opener[0]):
                middle, end = inside + match.start() + own, inside + match.end()
                yield (
                    (Piece("label", (inside, middle), opener, closer), Piece("closer", (middle, end), opener, closer)),
                    end,
                )

    def _behind_a_stray(self, space: tuple[Piece, ...], start: int) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """The brackets and the label behind one bracket too many."""
        stray = Piece("stray", (start, start + 1))
        for opener, closers in _openers_at(self.line, start + 1)[:1]:
            inside = start + 1 + len(opener)
            for end, closer in self._ends(inside, opener, closers):
                yield (*space, stray, Piece("label", (inside, end), opener, closer)), end + len(closer)

    def _end_of_unclosed(self, inside: int) -> int | None:
        match = _END_OF_UNCLOSED.search(self.line, inside)
        return None if match is None else max(match.start(), inside)

    def _ends(self, inside: int, opener: str, closers: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Where a label may end: in quotes at a quote, where one is before a bracket; otherwise at any of the brackets."""
        places = [(end, closer) for closer in closers for end in _places(self.line, closer, inside)]
        quoted = self.line.startswith('"', inside)
        ends = [place for place in places if _is_quoted(self.line[inside : place[0]])] if quoted else []
        for end, closer in sorted(ends) + sorted(set(places) - set(ends)):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                return
            text = self.line[inside:end]
            if (_is_quoted(text) and text.count('"') == 2) or not _is_more_than_a_label(text, opener):
                yield end, closer

    def _arrows(self, at: int) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """The arrows that may begin at a place, with the text on them and where they end."""
        link = _LINK.match(self.line, at)
        if link is not None:
            yield from self._after_link(link[0], self._over_space(link.end()))
            yield (), link.end()
            return
        for begins, ends in _TEXT_LINKS:
            begin = begins.match(self.line, at)
            if begin is None:
                continue
            for match in ends.finditer(self.line, begin.end()):
                self.steps += 1
                if self.steps > _MOST_STEPS:
                    return
                if "\n" in self.line[at : match.start()]:
                    break
                yield (Piece("edge label", (begin.end(), match.start()), begin[0], match[0]),), match.end()
            wrong = _WRONG_TEXT_END.search(self.line, begin.end(), _line_end(self.line, begin.end()))
            if wrong is not None and self.line[begin.end() : wrong.start()].strip():
                closer = _WHOLE[begin[0][-2:]]
                piece = Piece("edge label", (begin.end(), wrong.start()), begin[0], closer)
                yield (piece, Piece("closer", wrong.span(), closer=closer)), wrong.end()
        half = _HALF_LINK.match(self.line, at)
        if half is not None:
            arrow = Piece("arrow", half.span(), closer=_WHOLE[half[0]])
            for label, end in self._after_link(arrow.closer, self._over_space(half.end())):
                yield (arrow, *label), end
            yield (arrow,), half.end()

    def _after_link(self, link: str, bar: int) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """The texts between bars that may follow an arrow, one of which may be missing or there twice."""
        if self.line.startswith("|", bar):
            opener = f"{link}|"
            ends = list(_places(self.line, "|", bar + 1))
            if ends[:1] == [bar + 1]:
                for end in ends[1:2]:
                    twice, label = (
                        Piece("closer", (bar, bar + 2), closer="|"),
                        Piece("edge label", (bar + 2, end), opener, "|"),
                    )
                    yield (twice, label), end + 1
            for end in ends:
                self.steps += 1
                text = self.line[bar + 1 : end]
                if self.steps > _MOST_STEPS or ("|" in text and _LINK.search(text)):
                    return
                if "\n" in text and any(_is_beyond_lines(text, opened) for opened in _CLOSER):
                    break
                label = Piece("edge label", (bar + 1, end), opener, "|")
                yield (label,), end + 1
                if self.line.startswith('|"', end) and text.startswith('"') and text.count('"') == 1:
                    yield (label, Piece("closer", (end, end + 2), opener, "|")), end + 2
                if self.line.startswith("||", end) and text.strip():
                    yield (label, Piece("closer", (end, end + 2), opener, "|")), end + 2
            if not ends and self.line[bar + 1 : bar + 2] in (" ", "\t"):
                yield (Piece("stray", (bar, bar + 1)),), bar + 1
            yield from () if ends else self._without_bar(opener, bar + 1)
            return
        half = _HALF_BARS.match(self.line, bar)
        if half is not None:
            yield (Piece("bar", (bar, bar)),), half.end()

    def _without_bar(self, opener: str, start: int) -> Iterator[tuple[tuple[Piece, ...], int]]:
        """The texts after an arrow whose second bar is missing: as long as the rest of the line allows."""
        gaps = list(_GAP_IN_TEXT.finditer(self.line, start, _line_end(self.line, start)))
        for gap in reversed(gaps):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                return
            if _LINK.search(self.line, start, gap.start()) is None:
                end = gap.start()
                yield (Piece("edge label", (start, end), opener, "|"), Piece("bar", (end, end))), end


def _openers_at(line: str, at: int) -> list[tuple[str, tuple[str, ...]]]:
    """The brackets that may open a label at a place, the longest first."""
    return [(opener, closers) for opener, closers in _SHAPES if line.startswith(opener, at)]


def _places(line: str, mark: str, start: int) -> Iterator[int]:
    at = line.find(mark, start)
    while at != -1:
        yield at
        at = line.find(mark, at + 1)


def _is_quoted(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def _is_more_than_a_label(text: str, opener: str) -> bool:
    """Whether a text is not the label that an opening bracket begins: it goes on over the end of the label, or the bracket itself
    belongs to the text.
    """
    if _SWALLOWED.search(text) is not None or _is_closed_twice(text.rstrip()):
        return True
    kind = opener[-1] if opener[-1] in _CLOSER else opener[0]
    if "\n" in text and _is_beyond_lines(text, kind):
        return True
    ends, opens = _closes(text, kind), _closes(text[::-1], _CLOSER.get(kind, ""))
    if ends and opens:
        return True  # The end of one node and the beginning of another.
    if len(opener) > 1 and opener[-1] in _CLOSER:
        return bool(ends) or (len(set(opener)) == 1 and bool(opens))
    if any(not text[end + 1 :].lstrip() or text[end + 1] in "[](){}" for end in ends):
        return True
    # One bracket of a double one: another label, which is not closed as it should be.
    return text[:1] in _CLOSER and opener + text[0] in _DOUBLE and not _closes(text[1:], text[0])


def _is_beyond_lines(text: str, opener: str) -> bool:
    """Whether a text that goes on over a line break seems to draw something there, so that its end is missing before."""
    after = text.partition("\n")[2]
    closer = _CLOSER.get(opener, "")
    return _LINK.search(after) is not None or any(_closes(line[::-1], closer) for line in after.split("\n"))


def _is_closed_twice(text: str) -> bool:
    """Whether a label ends with a bracket that does not open in it."""
    last = text[-1:]
    return last in ("]", ")", "}") and not _SMILEY.search(text) and len(text) - 1 in _closes(text, _PAIRS[last])


_CLOSER = {"[": "]", "(": ")", "{": "}"}
_PAIRS = _CLOSER | {closer: opener for opener, closer in _CLOSER.items()}
_DOUBLE = frozenset(opener for opener, _ in _SHAPES if len(opener) > 1)


def _closes(text: str, opener: str) -> list[int]:
    """The places where a bracket closes in a text that does not open there; ``opener`` says which kind, for a text that is read
    backwards that of a closing one.
    """
    depth = 0
    places = []
    closer = _PAIRS.get(opener)
    for place, char in enumerate(text):
        if char == opener:
            depth += 1
        elif char == closer:
            if depth == 0:
                places.append(place)
            depth = max(0, depth - 1)
    return places
