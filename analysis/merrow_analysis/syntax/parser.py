"""From the lines of a file to blocks of statements: by lexer and grammar, or by the form of a line that these have read.

Reading goes block by block. A block begins in the lexer's default mode at the start of a line and ends at the first separator
that ends a line in that mode, so what a block means depends on its own lines alone (and on whether the next line begins with an
arrow, which would continue it). A statement that can't be read becomes `Broken`, and reading starts again on the line after it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from merrow_analysis.shared_values import RecentValues
from merrow_analysis.syntax.arrows import normal_direction
from merrow_analysis.syntax.characters import SPACE, WHITE_CHARACTERS
from merrow_analysis.syntax.forms import Form, Plan, read_line
from merrow_analysis.syntax.reduction import Reduction, match_front_matter, reduce_text
from merrow_analysis.syntax.tree import Block, Broken, Comment, FrontMatter, Header, Statement, SyntaxProblem
from merrow_analysis.text import split_lines

if TYPE_CHECKING:
    from merrow_analysis.syntax.lexer import Lexer

_CONTINUES = re.compile(rf"{SPACE}*(?:[xo<]?(?:--|==|-\.|-?\.+-)|~~~)", re.ASCII)
_COMMENT = re.compile(rf"{SPACE}*%%(?!\{{)[^\n\r]", re.ASCII)
_HEADER = re.compile(r"[ \t]*(flowchart|graph)[ \t]+(TD|TB|LR|RL|BT)[ \t]*\r?\n")
_KINDS = re.compile(r"(graph|flowchart)|swimlane-beta\b", re.ASCII)
_OTHER_KINDS = re.compile(
    r"(?:C4Context|C4Container|C4Component|C4Dynamic|C4Deployment|agentflow-beta\b|erDiagram|gitGraph|gantt|info|pie|"
    r"quadrantChart|xychart|requirement|sequenceDiagram|classDiagram|stateDiagram|journey|timeline|mindmap|kanban|sankey|"
    r"packet|radar-beta|block|treeView-beta|architecture|eventmodeling|(?i:ishikawa)|venn-beta|treemap|usecase-beta|"
    r"(?i:wardley-beta)|cynefin-beta|(?i:railroad-)|zenuml)",
    re.ASCII,
)


@dataclass(slots=True, eq=False)
class Diagram:
    """A parsed text. ``kind`` is "flowchart", "other" (a known diagram of another kind: not read) or "unknown"."""

    blocks: list[Block] = field(default_factory=list)
    kind: str = "flowchart"
    keyword: str = ""
    header: tuple[Header, Block] | None = None
    front_matter: tuple[FrontMatter, Block] | None = None
    line_count: int = 0
    far: list[Block] = field(default_factory=list)
    """The blocks whose reading depends on lines after them."""
    quotes: bool = False
    """Whether there is a quote behind an equals sign, as in the attributes of a tag."""
    whole: bool = False
    """Whether an edit needs the file read again: there are directives or tags, which may change lines far away."""
    moved: dict[Block, Block] = field(default_factory=dict)
    """The blocks that are at another line than when they were first read, by the one that was read (`Block.origin`)."""

    @property
    def is_flowchart(self) -> bool:
        return self.kind == "flowchart"

    def here(self, block: Block) -> Block:
        """A block that was read at some time, where it is in this text."""
        first = block.origin or block
        return self.moved.get(first, first)


def parse_diagram(text: str) -> Diagram:
    """Parse one diagram. Never raises; what can't be read is `Broken`. Linear in the length of the text."""
    return parse_lines(split_lines(text), text)


def parse_lines(lines: list[str], text: str | None = None) -> Diagram:
    """`parse_diagram` of a text given as its lines (with their line endings)."""
    return _FileParser(lines, text).parse()


def parse_body(
    lines: list[str], before: list[Block], line: int, stop: Callable[[int], bool], *, quotes: bool
) -> tuple[Diagram, int]:
    """Read on from ``line``, which begins a block after those in ``before``, until ``stop`` says so at a block's end.

    ``quotes`` is that of the diagram (`Diagram.quotes`).

    The answer is a diagram of which only ``blocks`` (those of ``before`` that still hold, and the new ones), ``far`` (of the new
    ones) and ``whole`` are set, and the line where reading stopped. For `Document`, which keeps the blocks around an edit.
    """
    first = before[0].line if before else line
    # Nearly all statements end soon: the lexer gets some lines, and all the rest only where it looks beyond them.
    for last in (_window_end(lines, line), len(lines)):
        parser = _FileParser(lines, None, first, last)
        parser.diagram.blocks, parser.diagram.quotes = before.copy(), quotes
        reached = parser.body(line, stop)
        if parser.diagram.whole or not parser.ran_out:
            break
    return parser.diagram, reached


_WINDOW = 30
"""Lines that the lexer gets to read on from an edit."""


def _window_end(lines: list[str], line: int) -> int:
    """The line after a window from ``line`` on. Its last line has content, so that no white space goes on beyond it."""
    end = line + _WINDOW
    while end < len(lines):
        content = lines[end - 1].lstrip(WHITE_CHARACTERS)
        if content and not content.startswith("%%"):
            return end
        end += 1
    return len(lines)


def continues_statement(line: str) -> bool:
    """Whether a line begins with an arrow, and so goes on with the statement before it."""
    return _CONTINUES.match(line) is not None


def plan_of(form: Form) -> Plan | None:
    """How lines of a form are read, by the grammar; None where each must be read with the lines around it."""
    from merrow_analysis.syntax.form_plans import make_plan

    return make_plan(form, _read_alone)


def _read_alone(line: str) -> tuple[Statement, ...] | None:
    """The statements of a line, without its line ending, that ends what it begins; None for any other."""
    reader = _FileParser([f"{line}\n", "A\n", "A\n"], None, 0, 2)
    reader.read_by_grammar(0)
    block = reader.diagram.blocks[0]
    if reader.ran_out or block.line_count > 1 or any(isinstance(each, Broken) for each in block.statements):
        return None
    return block.statements


class _FileParser:
    """Reads ``lines``, the lexer only those from ``first`` to ``last``, which should have content where lines follow.

    ``ran_out`` says that it looked at the last one or beyond, so that what was read may be wrong.
    """

    def __init__(self, lines: list[str], text: str | None, first: int = 0, last: int | None = None) -> None:
        self.lines = lines
        self.first = first
        self.last = len(lines) if last is None else last
        self._left = False
        self._text = text
        self._reduction: Reduction | None = None
        self._lexer: Lexer | None = None
        self._starts: list[int] = []
        # Work done again after errors is bounded: once this many characters were read in vain, each line is read by itself.
        self._budget = 1
        self._continued = -1
        self.diagram = Diagram(line_count=len(lines))

    # The reduced text is made only when a line needs the lexer.

    @property
    def text(self) -> str:
        """The lines that the lexer gets; offsets are those of this text."""
        if self._text is None:
            self._text = "".join(self.lines[self.first : self.last])
        return self._text

    @property
    def reduction(self) -> Reduction:
        if self._reduction is None:
            part = self.lines[self.first : self.last]
            self._reduction = reduce_text(self.text, begins=not self.first)
            self._starts = list(accumulate(map(len, part), initial=0))
            self._starts.pop()
            self._budget = 16 * len(self.text) + 100_000
            tags = self.diagram.quotes and any("<" in line for line in self.lines)
            self.diagram.whole = bool(self._reduction.directives) or tags
        return self._reduction

    @property
    def lexer(self) -> Lexer:
        if self._lexer is None:
            from merrow_analysis.syntax.lexer import Lexer

            reduced = self.reduction.reduced
            limit = reduced.reduced(self._starts[-1]) if self.last < len(self.lines) else len(reduced.text) + 1
            self._lexer = Lexer(reduced.text, limit)
        return self._lexer

    @property
    def ran_out(self) -> bool:
        return self._left or (self._lexer is not None and self._lexer.ran_out)

    def line_of(self, offset: int) -> int:
        """The line of an offset."""
        return self.first + max(bisect_right(self._starts, offset) - 1, 0)

    def start_of(self, line: int) -> int:
        """The offset at which a line starts."""
        number = line - self.first
        return self._starts[number] if number < len(self._starts) else len(self.text)

    def parse(self) -> Diagram:
        diagram = self.diagram
        diagram.quotes = '="' in self.text
        line = self._front_matter()
        line = self._directives_and_comments(line)
        kind = self._kind(line)
        diagram.kind, diagram.keyword = kind
        if not diagram.is_flowchart:
            return self._not_a_flowchart(line)
        line = self._header(line)
        self.body(line)
        return diagram

    # Before the body

    def _front_matter(self) -> int:
        lines = self.lines
        if not lines or not lines[0].lstrip(WHITE_CHARACTERS).startswith("---"):
            return 0
        matched = self.reduction.front_matter
        if matched is None:
            return 0
        length, body_start, body_end = matched
        count = self.line_of(length - 1) + 1 if length else 0
        span = (0, length)
        front = FrontMatter(self.text[body_start:body_end], span, (body_start, body_end), self.reduction.indent)
        block = Block(0, "".join(lines[:count]), (front,), count)
        self.diagram.blocks.append(block)
        self.diagram.front_matter = (front, block)
        return count

    def _directives_and_comments(self, line: int) -> int:
        """The lines before the first content: each a block."""
        while line < len(self.lines):
            taken = self._quiet(line)
            if taken is None:
                break
            self.diagram.blocks.append(taken)
            line += taken.line_count
        return line

    def _quiet(self, line: int) -> Block | None:
        """A block for a blank line, a comment line or a directive that fills its lines; None for anything else."""
        content = self.lines[line]
        start = _content_start(content)
        if start == len(content):
            return Block(line, content, ())
        if not content.startswith("%%", start):
            return None
        # A directive inside a comment is cut out first, and what is left need not be a comment.
        if _COMMENT.match(content) and "%%{" not in content:
            return _comment_block(line, content, start)
        if content.startswith("%%{", start):
            return self._directive(line, start)
        return None

    def _directive(self, line: int, start: int) -> Block | None:
        directives = self.reduction.directives
        begin = self.start_of(line)
        offset = begin + start
        directive = next((span for span in directives if span[0] == offset), None)
        if directive is None:
            return None
        end = directive[1]
        last = self.line_of(max(end - 1, offset))
        line_end = self.start_of(last) + len(self.lines[last])
        if self.text[end:line_end].strip(WHITE_CHARACTERS):
            return None
        text = "".join(self.lines[line : last + 1])
        body = self.text[offset + 2 : end].removesuffix("%%")
        return Block(line, text, (Comment(body, (start, end - begin), True),), last - line + 1)

    def _kind(self, line: int) -> tuple[str, str]:
        """Mermaid's guess at the kind of diagram, from the first word that is neither comment nor directive."""
        for content in self.lines[line:]:
            word = content.lstrip(WHITE_CHARACTERS)
            if "%%{" not in word and (not word or word.startswith("%%")):
                continue
            if "%%{" in word or word.startswith("---"):
                word = self._first_word()
            if _KINDS.match(word):
                return "flowchart", word.split(maxsplit=1)[0]
            if _OTHER_KINDS.match(word):
                return "other", word.split(maxsplit=1)[0]
            return "unknown", word.split(maxsplit=1)[0][:40] if word.split() else ""
        return "unknown", ""

    def _first_word(self) -> str:
        text = self.reduction.reduced.text
        # Mermaid looks past front matter once more here, though its parser then refuses it.
        again = match_front_matter(text)
        position = again[0] if again else 0
        while True:
            while position < len(text) and text[position] in WHITE_CHARACTERS:
                position += 1
            if not text.startswith("%%", position):
                return text[position : position + 60]
            end = text.find("\n", position)
            if end == -1:
                return ""
            position = end + 1

    def _not_a_flowchart(self, line: int) -> Diagram:
        diagram = self.diagram
        lines = self.lines
        first = line
        while first < len(lines) and _content_start(lines[first]) == len(lines[first]):
            first += 1
        if diagram.kind == "unknown":
            block_text = "".join(lines[line:])
            at = sum(len(x) for x in lines[line:first])
            span = (at, at + len(lines[first].strip(WHITE_CHARACTERS))) if first < len(lines) else (0, 0)
            if first < len(lines):
                start = at + _content_start(lines[first])
                span = (start, start + len(lines[first].strip(WHITE_CHARACTERS)))
            if diagram.keyword.startswith("---"):
                problem = SyntaxProblem(
                    "misplaced-front-matter",
                    "This front matter is never closed: close it with a line --- like the first one, and put nothing else on it.",
                    span,
                    None,
                    "other",
                )
            else:
                problem = SyntaxProblem(
                    "not-a-diagram",
                    "This is not a Mermaid diagram: start with the line “flowchart TD”."
                    if not diagram.keyword
                    else f"Mermaid knows no diagram called “{diagram.keyword}”: start with the line “flowchart TD”.",
                    span,
                    None,
                    "not-a-diagram",
                )
            diagram.blocks.append(Block(line, block_text, (Broken(problem, span),), max(len(lines) - line, 0)))
        elif line < len(lines):
            diagram.blocks.append(Block(line, "".join(lines[line:]), (), len(lines) - line))
        return diagram

    def _header(self, line: int) -> int:
        simple = _HEADER.fullmatch(self.lines[line]) if line < len(self.lines) else None
        if simple is not None and not self._continues(line + 1):
            header = Header(simple[1], normal_direction(simple[2]), simple[2], (simple.start(1), simple.end(2)))
            block = Block(line, self.lines[line], (header,))
            self.diagram.blocks.append(block)
            self.diagram.header = (header, block)
            return line + 1
        reduction = self.reduction
        position = reduction.reduced.reduced(self.start_of(line)) if line < len(self._starts) else 0
        return self._read(line, position, header=True)

    def _continues(self, line: int) -> bool:
        """Whether the next line with content may begin with an arrow: if in doubt, yes."""
        while line < len(self.lines):
            content = self.lines[line].lstrip(WHITE_CHARACTERS)
            if content and not _COMMENT.match(content):
                return content.startswith("%%") or _CONTINUES.match(content) is not None
            line += 1
        return False

    # The body

    def body(self, line: int, stop: Callable[[int], bool] | None = None) -> int:
        """Read blocks from ``line`` on, to the end or until ``stop`` says so; answer the line reached."""
        lines = self.lines
        blocks = self.diagram.blocks
        count = len(lines)
        known, keep = READ_BEFORE.get, READ_BEFORE.keep
        while line < count:
            if stop is not None and stop(line):
                break
            content = lines[line]
            statements = known(content)
            if statements is not None:
                blocks.append(Block(line, content, statements))
                line += 1
                continue
            bare = content[:-1] if content[-1:] == "\n" else content
            statements = read_line(bare[:-1] if bare[-1:] == "\r" else bare, plan_of)
            if statements is not None:
                keep(content, statements)
                blocks.append(Block(line, content, statements))
                line += 1
                continue
            quiet = self._quiet(line)
            if quiet is not None:
                blocks.append(quiet)
                line += quiet.line_count
                continue
            line = self.read_by_grammar(line)
        return line

    def _step_back(self, line: int) -> int:
        """Give up the blocks from the statement on that a line beginning with an arrow continues.

        Once for a line: where that statement ends before the arrow after all (``end`` does), the arrow stands alone.
        """
        if line == self._continued:
            return line
        self._continued = line
        blocks = self.diagram.blocks
        index = len(blocks) - 1
        while index >= 0 and all(isinstance(s, Comment) for s in blocks[index].statements):
            index -= 1
        if index < 0 or any(isinstance(s, Broken | Header | FrontMatter) for s in blocks[index].statements):
            return line
        line = blocks[index].line
        del blocks[index:]
        return line

    def read_by_grammar(self, line: int) -> int:
        """Read the block that ``line`` begins or goes on with; the answer is the line after it."""
        if line >= self.last:
            self._left = True
            return len(self.lines)
        reduced = self.reduction.reduced
        if self._budget <= 0:
            return self._read_alone(line)
        position = reduced.reduced(self.start_of(line))
        if _CONTINUES.match(reduced.text, position):
            line = self._step_back(line)
            position = reduced.reduced(self.start_of(line))
        return self._read(line, position)

    def _read_alone(self, line: int) -> int:
        """Read one line as if nothing followed it: the work for this file's broken statements is used up."""
        self.diagram.whole = True
        alone = _FileParser([self.lines[line]], None)
        alone.read_by_grammar(0)
        for block in alone.diagram.blocks:
            block.line += line  # nobody has seen it yet
            self.diagram.blocks.append(block)
        return line + 1

    def _read(self, line: int, position: int, *, header: bool = False) -> int:
        """Read one block that begins at ``line`` with the lexer; answer the line after it."""
        base = self.start_of(line)
        # Most files never come here; so the lexer's patterns and the grammar are loaded only now.
        from merrow_analysis.syntax.block_reader import BlockReader

        reader = BlockReader(self, position, base)
        end_line = reader.read(header=header)
        end_line = max(min(end_line, len(self.lines) - 1), line)
        self._add(line, end_line, tuple(reader.statements), reader.reach)
        return end_line + 1

    def _add(self, line: int, last: int, statements: tuple[Statement, ...], reach: int) -> None:
        text = "".join(self.lines[line : last + 1])
        if last > line and "%%" in text:
            statements = (*statements, *self._comments_inside(line, last))
        block = Block(line, text, statements, last - line + 1)
        if reach > block.line_count:
            block.reach = reach
            self.diagram.far.append(block)
        self.diagram.blocks.append(block)
        for statement in statements:
            if isinstance(statement, Header):
                self.diagram.header = (statement, block)

    def _comments_inside(self, line: int, last: int) -> Iterator[Comment]:
        offset = 0
        for content in self.lines[line : last + 1]:
            if _COMMENT.match(content):
                yield _comment(content, offset, _content_start(content))
            offset += len(content)

    def spend(self, characters: int) -> None:
        """Count characters that were read in vain."""
        self._budget -= characters


READ_BEFORE: RecentValues[str, tuple[Statement, ...]] = RecentValues(5_000)
"""Statements of lines that were read by their form: pure values, so sharing them between texts is safe."""


def _content_start(line: str) -> int:
    return len(line) - len(line.lstrip(WHITE_CHARACTERS))


def _comment_block(line: int, content: str, start: int) -> Block:
    return Block(line, content, (_comment(content, 0, start),))


def _comment(content: str, offset: int, start: int) -> Comment:
    text = content.rstrip("\r\n")
    return Comment(text[start + 2 :].strip(WHITE_CHARACTERS), (offset + start, offset + len(text)))
