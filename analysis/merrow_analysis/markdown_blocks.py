"""The block structure of a Markdown text, as far as it is needed to know where its fenced code blocks lie.

This follows the CommonMark specification, version 0.31: its sections on container blocks, fenced code blocks, HTML
blocks and the parsing strategy of its appendix. One pass over the lines; what is inside paragraphs is never looked at.
Beyond it, colons open a block of a language whose body is no Markdown (``::: mermaid``, as Azure DevOps has it); all other blocks
of colons are containers of Markdown, whose lines are read as if the colons were not there.

A library is not used: those at hand take quadratic time on some texts and give no columns for the lines of a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_NESTING = 40
"""Block quotes and list items open at once; deeper ones are read as text, which keeps time linear on hostile texts."""

_TAB = 4
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$", re.DOTALL)
_COLONS = re.compile(r"(:{3,})[ \t]*(.*)$", re.DOTALL)
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_SETEXT = re.compile(r"(?:=+|-+)[ \t]*$")
_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)")
_PLAIN_START = re.compile(r"[^\W\d_]")

_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_ATTRIBUTE = r"""\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?"""
_HTML_UNTIL = [
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:\s|>|$)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
]
_HTML_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I)
_HTML_ANY_TAG = re.compile(rf"<(?:/[A-Za-z][A-Za-z0-9-]*\s*|[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?)>\s*$")


@dataclass(slots=True)
class FencedBlock:
    """A fenced code block: where its opening fence stands, the words behind it, and its lines.

    ``cuts`` has for each line of the block how many characters at its start belong to the containers and the fence's
    indentation, and how many spaces stand for the rest of a tab that was only partly cut. ``closed`` says that a
    closing fence follows.
    """

    opening_line: int
    opening_column: int
    info: str
    cuts: list[tuple[int, int]] = field(default_factory=list)
    closed: bool = False


@dataclass(slots=True)
class _Container:
    """A block quote (``width`` None), or a list item whose content is indented by ``width`` columns.

    ``empty`` is true of an item that began with a blank line and has nothing in it yet: a second one ends it.
    """

    width: int | None
    empty: bool = False


class _Cursor:
    """A place in a line that knows its column, as a tab may be consumed in part: ``pad`` columns of one are left."""

    __slots__ = ("column", "line", "pad", "place")

    def __init__(self, line: str) -> None:
        self.line = line
        self.place = 0
        self.column = 0
        self.pad = 0

    def indent(self) -> tuple[int, int]:
        """The columns of white space from here, and the place of what follows it."""
        line, place, column = self.line, self.place, self.column + self.pad
        while place < len(line):
            if line[place] == " ":
                column += 1
            elif line[place] == "\t":
                column += _TAB - column % _TAB
            else:
                break
            place += 1
        return column - self.column, place

    def skip_columns(self, count: int) -> None:
        """Consume up to ``count`` columns of white space."""
        taken = min(count, self.pad)
        self.pad -= taken
        self.column += taken
        count -= taken
        while count > 0 and self.place < len(self.line) and self.line[self.place] in " \t":
            wide = 1 if self.line[self.place] == " " else _TAB - self.column % _TAB
            taken = min(wide, count)
            self.place += 1
            self.column += taken
            self.pad = wide - taken
            count -= taken

    def skip_to(self, place: int) -> None:
        """Consume everything before ``place``."""
        self.skip_columns(self.indent()[0])
        self.column += place - self.place
        self.place = place


class _Scanner:
    """The blocks that are open after the lines read so far."""

    def __init__(self, of_colons: re.Pattern[str] | None = None) -> None:
        self.of_colons = of_colons
        self.containers: list[_Container] = []
        self.in_paragraph = False
        self.fence: FencedBlock | None = None
        self.fence_mark = ""
        self.fence_indent = 0
        self.in_html = False
        self.html_end: re.Pattern[str] | None = None

    def read(self, number: int, line: str) -> FencedBlock | None:
        """Read one line; the fenced block that it closes, if any."""
        if not self.containers and self.fence is None and not self.in_html and _PLAIN_START.match(line):
            self.in_paragraph = True
            return None
        cursor = _Cursor(line)
        matched = self._continue_containers(cursor)
        finished = None
        if matched < len(self.containers) and (self.fence is not None or self.in_html):
            finished, self.fence, self.in_html = self.fence, None, False
            self._close(matched)
        if self.fence is not None:
            return self._read_fence_line(self.fence, cursor)
        if self.in_html:
            self._read_html_line(cursor)
        else:
            self._open_blocks(number, cursor, matched)
        return finished

    def _close(self, kept: int) -> None:
        del self.containers[kept:]
        self.in_paragraph = False

    def _continue_containers(self, cursor: _Cursor) -> int:
        """How many of the open containers this line belongs to; their marks and indentation are consumed."""
        for matched, container in enumerate(self.containers):
            indent, place = cursor.indent()
            blank = place == len(cursor.line)
            if container.width is None:
                if blank or indent >= _TAB or cursor.line[place] != ">":
                    return matched
                cursor.skip_to(place + 1)
                cursor.skip_columns(1)
            elif blank:
                if container.empty:
                    return matched
                cursor.skip_columns(min(indent, container.width) if self.fence else indent)
            elif indent >= container.width:
                cursor.skip_columns(container.width)
                container.empty = False
            else:
                return matched
        return len(self.containers)

    def _read_fence_line(self, fence: FencedBlock, cursor: _Cursor) -> FencedBlock | None:
        indent, place = cursor.indent()
        rest = cursor.line[place:].rstrip(" \t")
        mark = self.fence_mark
        if indent < _TAB and len(rest) >= len(mark) and rest == mark[0] * len(rest):
            fence.closed, self.fence = True, None
            return fence
        cursor.skip_columns(self.fence_indent)
        fence.cuts.append((cursor.place, cursor.pad))
        return None

    def _read_html_line(self, cursor: _Cursor) -> None:
        if self.html_end is not None:
            self.in_html = self.html_end.search(cursor.line, cursor.place) is None
        else:
            self.in_html = cursor.indent()[1] < len(cursor.line)

    def _open_blocks(self, number: int, cursor: _Cursor, matched: int) -> None:
        """Open the blocks that begin on this line, behind the ``matched`` containers that it continues."""
        while True:
            indent, place = cursor.indent()
            if place == len(cursor.line):
                self._close(matched)
                return
            if indent >= _TAB:
                if not self.in_paragraph:  # else it is a paragraph's further line, however indented
                    self._close(matched)
                return
            direct = self.in_paragraph and matched == len(self.containers)
            if cursor.line[place] not in "#`~:<=-_*+>0123456789":
                break
            if self._open_leaf(number, cursor.line, place, indent, matched):
                return
            container = _container(cursor, indent, place, in_paragraph=direct) if matched < MAX_NESTING else None
            if container is None:
                break
            self._close(matched)
            self.containers.append(container)
            matched += 1
        if (
            not self.in_paragraph
        ):  # else a further line of it, and one that lacks its containers' marks leaves them open
            self._close(matched)
            self.in_paragraph = True

    def _open_leaf(self, number: int, line: str, place: int, indent: int, matched: int) -> bool:
        """Whether a heading, rule, fence or HTML block begins here; a fence or HTML block stays open."""
        first = line[place]
        direct = self.in_paragraph and matched == len(self.containers)
        if first in "`~":
            match = _FENCE.match(line, place)
            if match is None:
                return False
            self._close(matched)
            self.fence = FencedBlock(number, place, (match[2] if match[1] else match[4]).strip())
            self.fence_mark, self.fence_indent = match[1] or match[3], indent
            return True
        if first == ":":
            match = _COLONS.match(line, place)
            if match is None or self.of_colons is None or not self.of_colons.match(match[2]):
                return False
            self._close(matched)
            self.fence = FencedBlock(number, place, match[2].strip())
            self.fence_mark, self.fence_indent = match[1], indent
            return True
        if first == "<":
            return self._open_html(line, place, matched)
        if (
            (first == "#" and _HEADING.match(line, place))
            or (first in "=-" and direct and _SETEXT.match(line, place))
            or (first in "*-_" and _is_rule(line, place))
        ):
            self._close(matched)
            return True
        return False

    def _open_html(self, line: str, place: int, matched: int) -> bool:
        for start, end in _HTML_UNTIL:
            if start.match(line, place):
                self._close(matched)
                self.in_html, self.html_end = end.search(line, place) is None, end
                return True
        if _HTML_BLOCK_TAG.match(line, place) or (not self.in_paragraph and _HTML_ANY_TAG.match(line, place)):
            self._close(matched)
            self.in_html, self.html_end = True, None
            return True
        return False


def _is_rule(line: str, place: int) -> bool:
    marks = line[place:].replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks == marks[0] * len(marks)


def _container(cursor: _Cursor, indent: int, place: int, *, in_paragraph: bool) -> _Container | None:
    """The block quote or list item that begins at ``place``, its mark consumed."""
    line = cursor.line
    if line[place] == ">":
        cursor.skip_to(place + 1)
        cursor.skip_columns(1)
        return _Container(None)
    match = _MARKER.match(line, place)
    if match is None:
        return None
    blank = not line[match.end() :].strip(" \t")
    if in_paragraph and (blank or (match[1] is not None and int(match[1]) != 1)):
        return None
    cursor.skip_to(match.end())
    spaces, _ = cursor.indent()
    if blank or spaces > _TAB:
        spaces = 1
    cursor.skip_columns(spaces)
    return _Container(indent + len(match[0]) + spaces, empty=blank)


def fenced_blocks(lines: list[str], of_colons: re.Pattern[str] | None = None) -> Iterator[FencedBlock]:
    """The fenced code blocks of a Markdown text, given as lines without their endings, in order. Colons open one where what
    follows them matches ``of_colons``.
    """
    scanner = _Scanner(of_colons)
    for number, line in enumerate(lines):
        block = scanner.read(number, line)
        if block is not None:
            yield block
    if scanner.fence is not None:
        yield scanner.fence
