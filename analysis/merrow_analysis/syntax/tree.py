"""The syntax of a flowchart as a tree of statements with their places.

A file is a list of `Block`, each some whole lines of the source; every line belongs to exactly one block. A block holds the
statements that its lines make. Places inside a block are ``Span`` pairs of offsets (code points) from the start of the block's
own text, so that statements are shared between equal texts and hold wherever their lines are; ``Block.range`` turns a span into a
range of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from merrow_analysis.text import Position, Range, Span, split_lines

LabelKind = Literal["text", "string", "markdown"]


@dataclass(slots=True)
class Name:
    """An identifier where it stands: a node id, class name, edge id, ..."""

    text: str
    span: Span


@dataclass(slots=True)
class Label:
    """A label as Mermaid reads it before its HTML sanitiser: trimmed, without its quotes, entities as in the source.

    ``span`` covers what stands between the brackets, bars or quotes; ``quoted`` says that quotes stood around it.
    """

    text: str
    kind: LabelKind
    span: Span

    @property
    def quoted(self) -> bool:
        return self.kind != "text"


@dataclass(slots=True)
class Metadata:
    """A block ``@{ ... }``. ``body`` is the YAML that Mermaid reads; ``span`` is all of it; ``body_span`` the inside."""

    body: str
    span: Span
    body_span: Span


@dataclass(slots=True)
class Vertex:
    """A node where it is mentioned: ``A``, ``A["text"]:::cls`` or ``A@{ shape: rect }``; also an edge id with metadata.

    ``shape`` and ``label`` are None in a bare mention. ``span`` covers id, brackets and classes (not the metadata).
    """

    name: Name
    shape: str | None = None
    label: Label | None = None
    classes: tuple[Name, ...] = ()
    metadata: Metadata | None = None
    span: Span = (0, 0)


@dataclass(slots=True)
class Arrow:
    """A link between two groups of nodes. ``type``, ``stroke`` and ``length`` are Mermaid's words for it."""

    type: str
    stroke: str
    length: int | None
    label: Label | None
    edge_id: Name | None
    span: Span


@dataclass(slots=True)
class Header:
    """The first statement: ``flowchart TD``. ``direction`` is normalised (TB, BT, LR, RL); ``written`` is as in the source."""

    keyword: str
    direction: str
    written: str
    span: Span


@dataclass(slots=True)
class Chain:
    """Nodes and the arrows between them: ``A & B --> C -->|x| D``; ``arrows[i]`` joins ``groups[i]`` and ``groups[i + 1]``."""

    groups: tuple[tuple[Vertex, ...], ...]
    arrows: tuple[Arrow, ...]
    span: Span


@dataclass(slots=True)
class ClassDef:
    names: tuple[Name, ...]
    styles: tuple[str, ...]
    span: Span


@dataclass(slots=True)
class ClassAssign:
    """``class A,B name``."""

    ids: tuple[Name, ...]
    class_name: Name
    span: Span


@dataclass(slots=True)
class Style:
    id: Name
    styles: tuple[str, ...]
    span: Span


@dataclass(slots=True)
class LinkStyle:
    """``linkStyle 0,1 ...``; ``targets`` is None for ``default``. ``targets_span`` is where they are written."""

    targets: tuple[int, ...] | None
    targets_span: Span
    styles: tuple[str, ...] | None
    interpolate: str | None
    span: Span


@dataclass(slots=True)
class Click:
    ids: tuple[Name, ...]
    link: str | None
    tooltip: str | None
    target: str | None
    callback: str | None
    span: Span


@dataclass(slots=True)
class SubgraphStart:
    """``subgraph id [title]``; ``id`` is None where Mermaid makes one up."""

    id: Name | None
    title: Label | None
    span: Span


@dataclass(slots=True)
class SubgraphEnd:
    span: Span


@dataclass(slots=True)
class Direction:
    value: str
    span: Span


@dataclass(slots=True)
class EmptyStatement:
    """A ``;`` with no statement before it."""

    span: Span


@dataclass(slots=True)
class AccTitle:
    text: str
    span: Span


@dataclass(slots=True)
class AccDescription:
    text: str
    span: Span


@dataclass(slots=True)
class Comment:
    """A comment line ``%% ...`` or a directive ``%%{ ... }%%``; ``text`` is what follows ``%%``, trimmed."""

    text: str
    span: Span
    directive: bool = False


@dataclass(slots=True)
class FrontMatter:
    """The YAML between ``---`` lines at the top. ``body`` has the source's own text; ``body_span`` its place."""

    body: str
    span: Span
    body_span: Span
    indent: str = ""


Flaw = Literal[
    "syntax-error",
    "unclosed-bracket",
    "unclosed-quote",
    "comment-after-statement",
    "reserved-word",
    "bracket-in-label",
    "misplaced-front-matter",
    "not-a-diagram",
]
"""What is wrong with a statement that can't be read. Each has a rule of its own."""


@dataclass(slots=True)
class SyntaxProblem:
    """Why a statement can't be read. ``message`` is a sentence for the user.

    ``reported_line`` is the line at which Mermaid itself gives up, counted from the block (what ``parse`` prints), or None
    where Mermaid names no line.
    """

    flaw: Flaw
    message: str
    span: Span
    reported_line: int | None
    kind: Literal["syntax", "lexical", "yaml", "shape", "not-a-diagram", "other"] = "syntax"
    related: tuple[tuple[Span, str], ...] = ()


@dataclass(slots=True)
class Broken:
    """A statement that can't be read."""

    problem: SyntaxProblem
    span: Span


Statement = (
    Header
    | Chain
    | ClassDef
    | ClassAssign
    | Style
    | LinkStyle
    | Click
    | SubgraphStart
    | SubgraphEnd
    | Direction
    | EmptyStatement
    | AccTitle
    | AccDescription
    | Comment
    | FrontMatter
    | Broken
)


@dataclass(slots=True, eq=False)
class Block:
    """Some whole lines of a file, from ``line`` on, and the statements they hold. A block is never changed.

    ``reach`` is how many lines from its first on were looked at to read a broken statement, where that is more than its own.
    A block below an edit that adds or removes lines gets a successor with another ``line`` (`moved`), which shares all
    else; ``origin`` is the first of such a row, None in that first one itself.
    """

    line: int
    text: str
    statements: tuple[Statement, ...]
    line_count: int = 1
    reach: int = 0
    origin: Block | None = None
    _starts: list[int] | None = field(default=None, repr=False)

    def moved(self, line: int, reach: int | None = None) -> Block:
        """The same block in a text where it begins at another line."""
        first = self.origin or self
        reach = self.reach if reach is None else reach
        if (first.line, first.reach) == (line, reach):
            return first
        return Block(line, self.text, self.statements, self.line_count, reach, first, self._starts)

    def position(self, offset: int) -> Position:
        """The place in the file of an offset into this block's text."""
        if self.line_count <= 1:
            return Position(self.line, offset)
        starts = self._line_starts()
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if starts[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        if low == len(starts) - 1 and low > 0 and not self.text.endswith(("\n", "\r")):
            low -= 1
        return Position(self.line + low, offset - starts[low])

    def offset(self, position: Position) -> int:
        """The offset into this block's text of a place in it."""
        return self._line_starts()[position.line - self.line] + position.column

    def _line_starts(self) -> list[int]:
        starts = self._starts
        if starts is None:
            starts = [0]
            for line in split_lines(self.text):
                starts.append(starts[-1] + len(line))
            self._starts = starts
        return starts

    def range(self, span: Span) -> Range:
        return Range(self.position(span[0]), self.position(span[1]))
