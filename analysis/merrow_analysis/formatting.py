"""The formatter: one layout for a diagram's text that never changes what it means.

What it sets: indentation by subgraph, one space around arrows and ``&``, no space between an arrow and its ``|label|``, the
spaces between the parameters of a Loop's or Map's title, one statement a line, no semicolons at line ends, no white space at
line ends, at most one blank line in a row, a final line ending. What it keeps: all other labels, quotes, metadata, front
matter, directives, comments, line breaks inside a statement, the file's line endings, and every byte of a statement that
can't be read.

All other new text is made of slices of the old one. Afterwards it is read again: where a statement would mean something else,
it stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from merrow_analysis.definitions.labels.title_text import spaced_title
from merrow_analysis.document import Document
from merrow_analysis.meaning import harmless_edits
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import (
    Arrow,
    Block,
    Broken,
    Chain,
    ClassAssign,
    ClassDef,
    Comment,
    Direction,
    EmptyStatement,
    FrontMatter,
    Header,
    LinkStyle,
    Statement,
    Style,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, line_content, split_lines

_BETWEEN_STATEMENTS = re.compile(r"[\s;]*")
_SPACES = re.compile(r"[ \t]*")
_AMPERSAND = re.compile(r"[ \t]+&[ \t]+")
_WORDS = re.compile(r"[ \t]+")
_LINE_END = re.compile(r"[ \t]*(?=[\r\n]|$)")
_SUPPRESSION = "merrow:"
_DEEPEST = 40
"""Levels beyond this are not indented further, so that the text grows by no more than a factor."""


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """``indent_width``: spaces a level. ``keep_semicolons``: leave one at the end of a statement where it stands."""

    indent_width: int = 4
    keep_semicolons: bool = False


def format_text(text: str, options: FormatOptions = FormatOptions()) -> str:
    """The text of one diagram in house layout. Never raises; text that is not a flowchart comes back as it is."""
    return apply_edits(text, format_edits(text, options))


def format_edits(
    text: str,
    options: FormatOptions = FormatOptions(),
    within: Range | None = None,
) -> list[TextEdit]:
    """The edits that format the text of one diagram, each of some whole lines, in order.

    With ``within`` only statements on lines that the range touches are formatted.
    """
    return document_edits(Document(text), options, within)


def document_edits(
    document: Document,
    options: FormatOptions = FormatOptions(),
    within: Range | None = None,
) -> list[TextEdit]:
    """`format_edits` of a text that is read already: only what they change is read again."""
    diagram = document.diagram
    if not diagram.is_flowchart:
        return []
    edits = dict(_Layout(document.lines, diagram, options).edits())
    if within is not None:
        edits = {number: edit for number, edit in edits.items() if _touches(diagram.blocks[number], within)}
    return harmless_edits(document, edits)


def _touches(block: Block, within: Range) -> bool:
    return block.line <= within.end.line and within.start.line < block.line + block.line_count


class _Layout:
    """Goes through the blocks from top to bottom and says how each should look."""

    def __init__(self, lines: list[str], diagram: Diagram, options: FormatOptions) -> None:
        self.blocks = diagram.blocks
        self.options = options
        self.line_ending = (lines[0][len(line_content(lines[0])) :] if lines else "") or "\n"
        self.depth = 0
        """Of what is at a line's beginning: 0 above the header, 1 below it, more in subgraphs."""
        self.after_suppression = False

    def edits(self) -> Iterator[tuple[int, TextEdit]]:
        """The number of each block that should look otherwise, with the edit that makes it so."""
        last_ink = max((n for n, block in enumerate(self.blocks) if not _is_blank(block)), default=-1)
        after_blank = False
        for number, block in enumerate(self.blocks):
            blank = _is_blank(block)
            if blank:
                new = "" if after_blank or number > last_ink else self._ending(block)
            else:
                new = self._block(block)
                self.after_suppression = any(map(_is_suppression, block.statements))
            after_blank = blank
            if new != block.text:
                yield number, _replace(block, new)

    def _ending(self, block: Block) -> str:
        return block.text[len(line_content(block.text)) :] or self.line_ending

    def _block(self, block: Block) -> str:
        """The new text of a block; its own where it is not to be touched. Keeps account of subgraphs in any case."""
        pieces: list[str] = []
        text, done = block.text, 0
        touchable = all(map(_may_be_touched, block.statements))
        for statement in sorted(block.statements, key=lambda s: s.span):
            if isinstance(statement, EmptyStatement):
                # Inside a subgraph Mermaid takes a lone semicolon for a node.
                touchable = touchable and self.depth <= 1
                continue
            if isinstance(statement, SubgraphEnd):
                self.depth = max(1, self.depth - 1)
            start, end = statement.span
            touchable = touchable and done <= start <= end <= len(text) and _is_between(text[done:start])
            if touchable:
                piece = _statement(text, statement)
                touchable = bool(piece) and text[end : end + 1] != "%"
                depth = min(self.depth, _DEEPEST)
                pieces.append(" " * (depth * self.options.indent_width) + piece)
                if self.options.keep_semicolons and text[end:].lstrip(" \t").startswith(";"):
                    pieces[-1] += ";"
            done = end
            if isinstance(statement, SubgraphStart | Header):
                self.depth += 1
        if not touchable or not pieces or not _is_between(text[done:]):
            return text
        if self.after_suppression and len(pieces) > 1:
            return text  # the comment above speaks of the whole line
        ending = self._ending(block)
        return ending.join(pieces) + ending


def _is_blank(block: Block) -> bool:
    return not block.statements and not block.text.strip()


def _is_suppression(statement: Statement) -> bool:
    return isinstance(statement, Comment) and statement.text.startswith(_SUPPRESSION)


def _is_between(text: str) -> bool:
    return _BETWEEN_STATEMENTS.fullmatch(text) is not None


def _may_be_touched(statement: Statement) -> bool:
    if isinstance(statement, Broken | FrontMatter):
        return False
    # "%%" with only white space behind it is a comment; without that it would be a node.
    return not isinstance(statement, Comment) or (not statement.directive and bool(statement.text))


def _statement(text: str, statement: Statement) -> str:
    """The statement in house layout, from slices of ``text``."""
    start, end = statement.span
    written = text[start:end]
    match statement:
        case Chain():
            return _chain(text, statement)
        case Comment():
            return written.rstrip()
        case Header():
            return written if "\n" in written or "\r" in written else _WORDS.sub(" ", written.rstrip(" \t"))
        case ClassAssign(ids=ids, class_name=name):
            middle = _joined(text, (start, start + len("class")), (ids[0].span[0], ids[-1].span[1]), name.span)
            return middle or written
        case ClassDef(names=names):
            return _styled(text, statement.span, (names[0].span[0], names[-1].span[1]))
        case Style(id=name):
            return _styled(text, statement.span, name.span)
        case SubgraphStart():
            return _WORDS.sub(" ", _titled(text, statement), count=1) + _meant_space(text, end)
        case LinkStyle():
            return _WORDS.sub(" ", written, count=1) + _meant_space(text, end)
        case Direction():
            return _WORDS.sub(" ", written)
    return written


def _titled(text: str, group: SubgraphStart) -> str:
    """The line of a subgraph, with the usual spaces between the parameters of a Loop or a Map."""
    start, end = group.span
    title = group.title
    at = -1 if title is None else text.find(title.text, *title.span)
    # Without an id of its own, a subgraph is called by its title.
    if title is None or group.id is None or at < group.id.span[1]:
        return text[start:end]
    return text[start:at] + spaced_title(title.text) + text[at + len(title.text) : end]


def _meant_space(text: str, end: int) -> str:
    """The white space behind styles or the words of a subgraph at a line's end: Mermaid takes it for a part of them."""
    match = _LINE_END.match(text, end)
    return match[0] if match is not None else ""


def _styled(text: str, whole: tuple[int, int], names: tuple[int, int]) -> str:
    """``classDef`` or ``style`` with single spaces around the names."""
    start, end = whole
    styles = end - len(text[names[1] : end].lstrip(" \t"))
    keyword = start + len(text[start : names[0]].rstrip(" \t"))
    styled = _joined(text, (start, keyword), names, (styles, end)) or text[start:end]
    return styled + _meant_space(text, end)


def _joined(text: str, *spans: tuple[int, int]) -> str | None:
    """Parts with one space between them, or None where more than spaces stands there."""
    gaps = [text[before[1] : after[0]] for before, after in pairwise(spans)]
    if not all(gap and _SPACES.fullmatch(gap) for gap in gaps):
        return None
    return " ".join(text[start:end] for start, end in spans)


def _chain(text: str, chain: Chain) -> str:
    """Nodes and arrows with one space between; as written where a line break or anything unforeseen stands there."""
    written = text[chain.span[0] : chain.span[1]]
    pieces: list[str] = []
    done = chain.span[0]
    for number, group in enumerate(chain.groups):
        if number:
            arrow = chain.arrows[number - 1]
            if not _SPACES.fullmatch(text, done, arrow.span[0]):
                return written
            pieces.append(_arrow(text, arrow))
            done = arrow.span[1]
        for place, vertex in enumerate(group):
            start, end = _vertex_span(vertex)
            if not (_AMPERSAND if place else _SPACES).fullmatch(text, done, start):
                return written
            if place:
                pieces.append("&")
            pieces.append(text[start:end])
            done = end
    return " ".join(pieces) if not text[done : chain.span[1]].strip() else written


def _vertex_span(vertex: Vertex) -> tuple[int, int]:
    start, end = vertex.span
    if vertex.metadata is not None:
        end = max(end, vertex.metadata.span[1])
    return start, end


def _arrow(text: str, arrow: Arrow) -> str:
    """The arrow, its label in bars drawn close to it. A label between two halves of the arrow stays as written."""
    start, end = arrow.span
    if arrow.label is None or text[end - 1] != "|":
        return text[start:end]
    bar = text.index("|", start)
    return text[start:bar].rstrip(" \t") + text[bar:end]


def _replace(block: Block, new: str) -> TextEdit:
    """Replace the lines of a block, without their last line ending where that stays."""
    lines = split_lines(block.text)
    last = line_content(lines[-1])
    ending = lines[-1][len(last) :]
    if new and ending and new.endswith(ending):
        end = Position(block.line + block.line_count - 1, len(last))
        return TextEdit(Range(Position(block.line, 0), end), new[: -len(ending)])
    end = Position(block.line + block.line_count, 0) if ending else Position(block.line + len(lines) - 1, len(last))
    return TextEdit(Range(Position(block.line, 0), end), new)
