"""What is being typed in a statement: read from its beginning up to the cursor, whether or not the rest makes sense.

The parser gives up on half a statement; this reader goes as far as the text does and says what would come next. What an arrow
is, and which words begin a statement, it has from the lexer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from merrow_analysis.syntax.lexer import LINK, LINK_START, first_word_span

Expecting = Literal[
    "statement",  # the first word of a statement
    "node",  # a node after an arrow or `&`
    "after-node",  # an arrow, brackets or a class
    "edge-label",  # inside `|...|`
    "label",  # inside a node's brackets
    "metadata",  # inside `@{ }`
    "ids",  # nodes of a class, style or click statement
    "class",  # a class name
    "direction",
    "title",  # inside a subgraph's brackets
    "nothing",
]

_ID = re.compile(r"\w(?:[\w.]|-(?![-.>]))*|\*")
_EDGE_ID = re.compile(r"\w+@(?=[<xo]?(?:--|==|-\.|~~))")
_TEXT_THEN_ARROW = re.compile(r"(?:\"[^\"]*\"|[^\"\n])*?[ \t\"](-{2,}[->xo]|={2,}[=>xo]|\.+-[>xo]?)")
_OPENINGS = (
    ("(((", ")))"),
    ("([", "])"),
    ("[[", "]]"),
    ("[(", ")]"),
    ("[/", "]"),
    ("[\\", "]"),
    ("((", "))"),
    ("{{", "}}"),
    ("[", "]"),
    ("(", ")"),
    ("{", "}"),
    (">", "]"),
)
_BLANK = re.compile(r"(?:[ \t\r\n]|%%[^\n]*\n)*")
_CLASS_NAME = re.compile(r"[\w.-]*")
_TITLE = re.compile(r"[ \t]*([^\s\[\]\"]*)[ \t]*\[[ \t]*\"?([^\]\"\n]*)\Z")
_IDS = re.compile(r"[ \t]*((?:[\w.-]+[ \t]*,[ \t]*)*)([\w.-]*)")


@dataclass(slots=True)
class CursorExpectation:
    """What is expected at the cursor. ``start`` is the offset at which the word there begins.

    ``sources`` are the nodes before the arrow, ``ids`` those of the group or statement at the cursor, ``label`` the text
    on the arrow so far. ``keyword`` is that of the statement; ``node`` the node or subgraph whose label, title or metadata is
    open, ``opening`` the bracket of the label. ``inside`` is where what is open begins.
    """

    expecting: Expecting
    start: int
    sources: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    label: str | None = None
    keyword: str = ""
    node: str = ""
    opening: str = ""
    inside: int = 0
    classes: tuple[str, ...] = ()


def read_typed(text: str) -> CursorExpectation:
    """Say what is expected at the end of ``text``, the beginning of a statement. Never raises; takes linear time."""
    return _StatementScanner(text).read()


class _StatementScanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.at = 0

    def read(self) -> CursorExpectation:
        while True:
            self._blank()
            keyword = first_word_span(self.text, self.at)
            if keyword is not None and self.text[keyword[1] : keyword[1] + 1] in (" ", "\t"):
                expectation = self._keyword(self.text[slice(*keyword)], keyword[1])
            else:
                expectation = self._chain()
            if expectation is not None:
                return expectation

    def _blank(self) -> None:
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # the pattern matches anything

    def _keyword(self, word: str, at: int) -> CursorExpectation | None:
        """A statement that begins with a ``word`` of its own, up to ``at``; None where it ends before the text does."""
        text = self.text
        stop = self._separator(at)
        if stop is not None:
            self.at = stop + 1
            return None
        if word in ("class", "style", "click"):
            ids = _IDS.match(text, at)
            assert ids is not None  # noqa: S101  every part of the pattern may be empty
            named = tuple(name.strip() for name in ids[1].split(",") if name.strip())
            if ids.end() == self.end:
                return CursorExpectation("ids", ids.start(2), ids=named, keyword=word)
            rest = text[ids.end() :]
            start = ids.end() + len(rest) - len(rest.lstrip())
            if word == "class" and text[ids.end()] in " \t" and _CLASS_NAME.fullmatch(text, start):
                return CursorExpectation("class", start, ids=(*named, ids[2]), keyword=word)
            return CursorExpectation("nothing", self.end, keyword=word)
        title = _TITLE.match(text, at) if word == "subgraph" else None
        if title is not None:
            return CursorExpectation("title", self.end, keyword=word, node=title[1] or "", inside=title.start(2))
        if word in ("direction", "flowchart", "flowchart-elk", "graph", "swimlane-beta"):
            rest = text[at:].lstrip()
            if rest == "" or rest.isalpha():
                return CursorExpectation("direction", self.end - len(rest), keyword=word)
        return CursorExpectation("nothing", self.end, keyword=word)

    def _separator(self, at: int) -> int | None:
        """Where the statement ends: at a line end or semicolon outside quotes."""
        quoted = False
        for index in range(at, self.end):
            char = self.text[index]
            if char == '"':
                quoted = not quoted
            elif char in ";\n" and not quoted:
                return index
        return None

    def _chain(self) -> CursorExpectation | None:
        """Nodes and arrows; None where a new statement begins before the text ends."""
        sources: tuple[str, ...] = ()
        group: list[str] = []
        label: str | None = None
        first = True
        while True:
            word = _ID.match(self.text, self.at)
            if word is None or word.end() == self.end:
                at = self.at
                if word is None and at < self.end:
                    arrow = first and self._arrow(())
                    if isinstance(arrow, CursorExpectation):
                        return arrow
                    if arrow:
                        first, label = False, arrow[0]
                        self._blank()
                        continue
                    return self._skip()
                expecting: Expecting = "statement" if first and not group else "node"
                return CursorExpectation(expecting, at, sources, tuple(group), label)
            self.at = word.end()
            opened = self._decoration(word[0])
            if opened is not None:
                return opened
            group.append(word[0])
            before = self.at
            self._blank()
            if self.at == self.end and (before == self.at or "\n" not in self.text[before:]):
                return CursorExpectation("after-node", self.end, sources, tuple(group), label)
            if self.text.startswith("&", self.at):
                self.at += 1
                self._blank()
                continue
            if self.text.startswith(";", self.at):
                self.at += 1
                return None
            arrow = self._arrow(group)
            if isinstance(arrow, CursorExpectation):
                return arrow
            if arrow is None:
                return None if "\n" in self.text[before : self.at] else self._skip(after=tuple(group), sources=sources)
            sources, group, label, first = tuple(group), [], arrow[0], False
            self._blank()

    def _skip(self, after: tuple[str, ...] = (), sources: tuple[str, ...] = ()) -> CursorExpectation | None:
        """Go on behind what makes no sense; what would be an arrow's first characters can still become one."""
        rest = self.text[self.at :]
        if after and re.fullmatch(r"[<xo]?[-=.~]*>?", rest):
            return CursorExpectation("after-node", self.at, sources, after)
        stop = self._separator(self.at)
        if stop is None:
            return CursorExpectation("nothing", self.end)
        self.at = stop + 1
        return None

    def _decoration(self, node: str) -> CursorExpectation | None:
        """Brackets, classes and metadata of a node; an answer where one of them is still open."""
        text = self.text
        while self.at < self.end:
            if text.startswith(":::", self.at):
                name = _CLASS_NAME.match(text, self.at + 3)
                assert name is not None  # noqa: S101
                if name.end() == self.end:
                    return CursorExpectation("class", name.start(), ids=(node,), keyword=":::")
                self.at = name.end()
            elif text.startswith("@{", self.at):
                close = self._closing_brace(self.at + 2)
                if close is None:
                    return CursorExpectation("metadata", self.end, node=node, inside=self.at + 2)
                self.at = close + 1
            else:
                opening = next((pair for pair in _OPENINGS if text.startswith(pair[0], self.at)), None)
                if opening is None:
                    return None
                inside = self.at + len(opening[0])
                after = self._closing(inside, opening[1])
                if after is None:
                    return CursorExpectation("label", self.end, node=node, opening=opening[0], inside=inside)
                self.at = after
        return None

    def _closing(self, at: int, closer: str) -> int | None:
        """The end of a label: a quoted one ends at its quote and the bracket, any other at the bracket or the line's end."""
        text = self.text
        blank = at
        while blank < self.end and text[blank] in " \t":
            blank += 1
        if text.startswith('"', blank):
            quote = text.find('"', blank + 1)
            if quote == -1:
                return None
            close = text.find(closer, quote)
            return None if close == -1 else close + len(closer)
        close = text.find(closer, at)
        line = text.find("\n", at)
        if close == -1 or (line != -1 and line < close):
            return None if line == -1 else line
        return close + len(closer)

    def _closing_brace(self, at: int) -> int | None:
        quoted = False
        for index in range(at, self.end):
            char = self.text[index]
            if char == '"':
                quoted = not quoted
            elif char == "}" and not quoted:
                return index
        return None

    def _arrow(self, sources: Sequence[str]) -> tuple[str | None] | CursorExpectation | None:
        """Read an arrow with its text: the text in a tuple, an answer where it is still open, None where there is none."""
        text = self.text
        edge_id = _EDGE_ID.match(text, self.at)
        start = edge_id.end() if edge_id is not None else self.at
        arrow = LINK.match(text, start)
        if arrow is not None:
            self.at = after = arrow.end()
            if not text.startswith("|", after):
                return (None,)
            close = text.find("|", after + 1)
            if close == -1:
                return CursorExpectation("edge-label", after + 1, tuple(sources), inside=after + 1)
            self.at = close + 1
            return (text[after + 1 : close].strip().strip('"'),)
        opening = LINK_START.match(text, start)
        if opening is None or opening.end() == self.end:
            return None
        closing = _TEXT_THEN_ARROW.match(text, opening.end())
        if closing is None:
            return CursorExpectation("nothing", self.end, tuple(sources))
        self.at = closing.end()
        return (text[opening.end() : closing.start(1)].strip().strip('"'),)
