"""What Mermaid strips or rewrites before its grammar sees a text, done with offsets kept.

Mermaid normalises line ends, cuts front matter, directives and comment lines, and encodes ``#entities;``; its flowchart parser
then folds the white space after a closing brace. `reduce_text` does the same and remembers where each kept run of characters
stood, so that a place in the reduced text maps back to the source. Rewritings that keep the length (a marker for the ``#`` and
``;`` of an entity, single for double quotes inside a tag) need no map.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from merrow_analysis.entities import hide_entities
from merrow_analysis.syntax.characters import SPACE, WHITE_CHARACTERS

_DIRECTIVE_HEAD = re.compile(rf"%%\{{{SPACE}*(?:\w+{SPACE}*:|\w+){SPACE}*", re.ASCII)
_WORD = re.compile(r"\w+", re.ASCII)
_SPACES = re.compile(f"{SPACE}*")
_DIRECTIVE_STOP = re.compile(r"\}%%|[\r\u2028\u2029]")
_TAG_HEAD = re.compile(r"<\w+", re.ASCII)
_ATTRIBUTE = re.compile(r'="([^"]*)"')

Cut = tuple[int, int]


@dataclass(slots=True)
class Reduced:
    """A reduced text and the way back: run ``i`` of ``text`` starts at ``starts[i]`` and stood at ``sources[i]``."""

    text: str
    starts: list[int] = field(default_factory=lambda: [0])
    sources: list[int] = field(default_factory=lambda: [0])

    def source(self, offset: int) -> int:
        """The source offset of the character at ``offset`` (or of the end)."""
        run = bisect_right(self.starts, offset) - 1
        return self.sources[run] + offset - self.starts[run]

    def source_end(self, offset: int) -> int:
        """The source offset just after the character before ``offset``."""
        return self.source(offset - 1) + 1 if offset else self.source(0)

    def reduced(self, source: int) -> int:
        """The offset of the first kept character at or after a source offset."""
        run = bisect_right(self.sources, source) - 1
        if run < 0:
            return 0
        end = self.starts[run + 1] if run + 1 < len(self.starts) else len(self.text)
        return min(self.starts[run] + source - self.sources[run], end)

    def cut(self, cuts: list[Cut]) -> None:
        """Take out spans (of this text, in order, apart)."""
        if not cuts:
            return
        pieces: list[str] = []
        starts: list[int] = []
        sources: list[int] = []
        length = position = run = 0
        old_starts, old_sources = self.starts, self.sources
        for start, end in [*cuts, (len(self.text), len(self.text))]:
            if start > position:
                while run + 1 < len(old_starts) and old_starts[run + 1] <= position:
                    run += 1
                starts.append(length)
                sources.append(old_sources[run] + position - old_starts[run])
                while run + 1 < len(old_starts) and old_starts[run + 1] < start:
                    run += 1
                    starts.append(length + old_starts[run] - position)
                    sources.append(old_sources[run])
                pieces.append(self.text[position:start])
                length += start - position
            position = end
        if not starts:
            starts, sources = [0], [self.source(len(self.text))]
        self.text, self.starts, self.sources = "".join(pieces), starts, sources


@dataclass(slots=True)
class Reduction:
    """The outcome of `reduce_text`: what the grammar sees, what Mermaid looks at to tell the kind of diagram, and the cuts.

    ``front_matter`` is (end of the fence, body start, body end) in the source; ``directives`` are source spans.
    """

    reduced: Reduced
    front_matter: tuple[int, int, int] | None
    indent: str
    directives: list[Cut]


def open_fence(text: str) -> tuple[str, list[int]] | None:
    """The indentation of the fence that opens front matter at the start of a text with normalised line ends, and the line ends
    behind it, up to the first content. None where the text begins otherwise.
    """
    indent_end = 0
    while indent_end < len(text) and text[indent_end] in WHITE_CHARACTERS and text[indent_end] != "\n":
        indent_end += 1
    if not text.startswith("---", indent_end):
        return None
    after = indent_end + 3
    run_end = _end(_SPACES, text, after)
    opening = [i for i in range(after, run_end) if text[i] == "\n"]
    return (text[:indent_end], opening) if opening else None


def match_front_matter(text: str) -> tuple[int, int, int, str] | None:
    """Find front matter at the start of a text with normalised line ends: (length, body start, body end, indent)."""
    opened = open_fence(text)
    if opened is None:
        return None
    indent, opening = opened
    fence = "\n" + indent + "---"
    closers: list[tuple[int, int]] = []
    at = text.find(fence, opening[0] + 1)
    while at != -1:
        tail = at + len(fence)
        last = text.rfind("\n", tail, _end(_SPACES, text, tail))
        if last != -1:
            closers.append((at, last))
        at = text.find(fence, at + 1)
    if not closers:
        return None
    body_start = max((i for i in opening if i < closers[-1][0]), default=opening[0]) + 1
    for at, last in closers:
        if at >= body_start:
            return last + 1, body_start, at, indent
    return None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def find_directives(text: str) -> list[Cut]:
    """The spans of ``%%{ ... }%%`` as Mermaid's own pattern takes them: an unclosed one runs to the end."""
    cuts: list[Cut] = []
    at = text.find("%%{")
    while at != -1:
        head = _DIRECTIVE_HEAD.match(text, at)
        if head is None:
            at = text.find("%%{", at + 1)
            continue
        position = head.end()
        word = _WORD.match(text, position)
        if word:
            position = word.end()
        else:
            stop = _DIRECTIVE_STOP.search(text, position)
            position = stop.start() if stop else len(text)
        position = _end(_SPACES, text, position)
        if text.startswith("}%%", position):
            position += 3
        cuts.append((at, position))
        at = text.find("%%{", position)
    return cuts


def find_comments(text: str) -> list[Cut]:
    """The spans of comment lines, each with the blank lines before it, as Mermaid deletes them."""
    cuts: list[Cut] = []
    done = 0
    at = text.find("%%")
    while at != -1:
        start = at
        while start > done and text[start - 1] in WHITE_CHARACTERS:
            start -= 1
        # The match begins at the first start of a line in the white space before "%%".
        if start > 0 and not (start == done and text[start - 1] in "\n\u2028\u2029"):
            while start < at and text[start] not in "\n\u2028\u2029":
                start += 1
            start = start + 1 if start < at else -1
        end = at + 2
        if start == -1 or text.startswith("{", end) or end >= len(text) or text[end] == "\n":
            at = text.find("%%", at + 1)
            continue
        line_end = text.find("\n", end)
        done = len(text) if line_end == -1 else line_end + 1
        cuts.append((start, done))
        at = text.find("%%", done)
    return cuts


def reduce_text(text: str, *, begins: bool = True) -> Reduction:
    """Reduce a text as Mermaid does before it parses it (with the line feed that Mermaid appends).

    ``begins`` is False for some lines of a text without its first ones, in which no tag has attributes.
    """
    reduced = Reduced(text)
    if "\r" in text:
        # "\r\n" loses its "\r"; a lone "\r" becomes a line feed, in place.
        reduced.cut([(m.start(), m.start() + 1) for m in re.finditer(r"\r\n", text)])
        reduced.text = reduced.text.replace("\r", "\n")
    if '="' in reduced.text and "<" in reduced.text:
        reduced.text = _requote_attributes(reduced.text)
    matched = match_front_matter(reduced.text) if begins else None
    front_matter = None
    indent = ""
    if matched is not None:
        length, body_start, body_end, indent = matched
        front_matter = (reduced.source(length), reduced.source(body_start), reduced.source(body_end))
        reduced.cut([(0, length)])
    directives: list[Cut] = []
    if "%%" in reduced.text:
        cuts = find_directives(reduced.text)
        directives = [(reduced.source(start), reduced.source_end(end)) for start, end in cuts]
        reduced.cut(cuts)
        reduced.cut(find_comments(reduced.text))
    leading = _end(_SPACES, reduced.text, 0) if begins else 0
    if leading:
        reduced.cut([(0, leading)])
    _encode_entities(reduced)
    _append_newline(reduced, len(text))
    _fold_braces(reduced)
    return Reduction(reduced, front_matter, indent, directives)


def _encode_entities(reduced: Reduced) -> None:
    if "#" not in reduced.text:
        return
    # A style line with a colour loses its last ";", or the "#...;" in it would be taken for an entity.
    for keyword in ("style", "classDef"):
        cuts = []
        text = reduced.text
        at = text.find(keyword)
        while at != -1:
            line_end = text.find("\n", at)
            line_end = len(text) if line_end == -1 else line_end
            semicolon = _last_semicolon(text[at:line_end], len(keyword))
            if semicolon is not None:
                cuts.append((at + semicolon, at + semicolon + 1))
            at = text.find(keyword, line_end)
        reduced.cut(cuts)
    reduced.text = hide_entities(reduced.text)


def _last_semicolon(line: str, after: int) -> int | None:
    r"""The offset of the ``;`` that ends ``.*:\S*#.*;`` from ``after`` on, found without backtracking."""
    last = line.rfind(";")
    colon = line.find(":", after)
    while -1 < colon < last:
        end = colon + 1
        while end < last and line[end] not in WHITE_CHARACTERS:
            end += 1
        if line.find("#", colon + 1, end) != -1:
            return last
        # A later colon inside the same run of non-blanks would see no "#" either.
        colon = line.find(":", end)
    return None


def _requote_attributes(text: str) -> str:
    """``<tag name="value">`` with single quotes, as Mermaid rewrites it so that the quotes don't end a label."""
    pieces: list[str] = []
    done = 0
    head = _TAG_HEAD.search(text)
    while head is not None:
        close = text.find(">", head.end())
        if close == -1:
            break
        if '="' in text[head.end() : close]:
            pieces += (text[done : head.end()], _ATTRIBUTE.sub(r"='\1'", text[head.end() : close]))
            done = close
        head = _TAG_HEAD.search(text, close)
    return "".join((*pieces, text[done:]))


def _append_newline(reduced: Reduced, source_end: int) -> None:
    reduced.starts.append(len(reduced.text))
    reduced.sources.append(source_end)
    reduced.text += "\n"


def _fold_braces(reduced: Reduced) -> None:
    """``}`` + white space + line feed becomes ``}`` + line feed."""
    cuts: list[Cut] = []
    text = reduced.text
    at = text.find("}")
    while at != -1:
        end = _end(_SPACES, text, at + 1)
        last = text.rfind("\n", at + 1, end)
        if last > at + 1:
            cuts.append((at + 1, last))
        at = text.find("}", max(end, at + 1))
    reduced.cut(cuts)
