"""A workflow's text with its habits: where it says things, and how new lines should look among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.edits.change import GraphChange
from merrow_analysis.edits.labels import between_bars
from merrow_analysis.edits.replacements import CannotWriteError, LineIndex, Replacement
from merrow_analysis.graph.flow import FlowEdge, FlowNode
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import (
    Block,
    Chain,
    ClassAssign,
    ClassDef,
    Comment,
    EmptyStatement,
    Header,
    Statement,
    Vertex,
)

_TAIL = re.compile(r"[ \t]*(;?)[ \t]*(?=[\r\n]|\Z)")
_MORE = re.compile(r"[ \t]*;[ \t]*")
_LINE_END = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[ \t]*")
_BARS = re.compile(r"\|[^|]*\|\s*\Z", re.DOTALL)


class WrittenStatement(NamedTuple):
    """A statement where it stands, ``start`` and ``end`` as offsets into the text."""

    statement: Any
    block: Block
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ArrowStyle:
    """How an edge is spaced: what stands around the arrow, and around the label between bars."""

    before: str
    arrow: str
    gap: str
    after: str

    def text(self, source: str, target: str, label: str | None) -> str:
        bars = "" if label is None else f"{self.gap}|{label}|"
        return f"{source}{self.before}{self.arrow}{bars}{self.after}{target}"


class WorkflowText:
    """A workflow's text: places, and habits as far as new lines follow them. What is asked for once is kept."""

    def __init__(self, diagram: Diagram, graph: TypedGraph) -> None:
        self.diagram, self.graph, self.flow = diagram, graph, graph.flow
        self.blocks = diagram.blocks
        self.text = "".join(block.text for block in self.blocks)
        self.places = LineIndex(self.text)

    # Places

    def offset(self, block: Block, at: int) -> int:
        """The offset into the text of an offset into a block."""
        return self.places.starts[block.line] + at

    def written(self, statement: Statement, block: Block) -> WrittenStatement:
        start, end = statement.span
        base = self.places.starts[block.line]
        return WrittenStatement(statement, block, base + start, base + end)

    @cached_property
    def _by_kind(self) -> dict[type, list[WrittenStatement]]:
        by_kind: dict[type, list[WrittenStatement]] = {}
        for block in self.blocks:
            for statement in block.statements:
                by_kind.setdefault(type(statement), []).append(self.written(statement, block))
        return by_kind

    def statements(self, kind: type) -> Sequence[WrittenStatement]:
        """All statements of a kind, in the order of the text."""
        return self._by_kind.get(kind, ())

    @property
    def chains(self) -> Sequence[WrittenStatement]:
        return self.statements(Chain)

    @cached_property
    def edgeless_chains(self) -> dict[str, list[WrittenStatement]]:
        """The chains that only name nodes, by the ids in them."""
        chains: dict[str, list[WrittenStatement]] = {}
        for chain in self.chains:
            if not chain.statement.arrows:
                for vertex in chain.statement.groups[0]:
                    chains.setdefault(vertex.name.text, []).append(chain)
        return chains

    @cached_property
    def chain_of_edge(self) -> dict[int, int]:
        """The number of the chain that makes each edge, by the edge's index."""
        by_arrow = {
            (id(chain.block), id(arrow)): number
            for number, chain in enumerate(self.chains)
            for arrow in chain.statement.arrows
        }
        return {edge.index: by_arrow[id(edge.block), id(edge.arrow)] for edge in self.flow.edges}

    @cached_property
    def edges_of_chain(self) -> dict[int, list[FlowEdge]]:
        """The edges that a chain makes, in order, by its number."""
        edges: dict[int, list[FlowEdge]] = {}
        for edge in self.flow.edges:
            edges.setdefault(self.chain_of_edge[edge.index], []).append(edge)
        return edges

    def declaration(self, node: FlowNode) -> WrittenStatement | None:
        """The statement of its own that declares a node, if there is one: the first that says a shape or metadata."""
        for mention in node.mentions:
            if not mention.declares:
                continue
            for statement in mention.block.statements:
                if (
                    type(statement) is Chain
                    and not statement.arrows
                    and any(vertex is mention.vertex for vertex in statement.groups[0])
                ):
                    return self.written(statement, mention.block)
            return None
        return None

    def slice(self, block: Block, start: int, end: int) -> str:
        return block.text[start:end]

    def vertex_text(self, vertex: Vertex, block: Block) -> str:
        """A node as it is in a chain, with its brackets, classes and metadata."""
        return block.text[vertex.span[0] : self.vertex_end(vertex)]

    def vertex_end(self, vertex: Vertex) -> int:
        return max(vertex.span[1], vertex.metadata.span[1] if vertex.metadata is not None else 0)

    # Lines

    @cached_property
    def eol(self) -> str:
        match = _LINE_END.search(self.text)
        return "\n" if match is None else match[0]

    def line_start(self, offset: int) -> int:
        return self.places.starts[self.places.position(offset).line]

    def indent(self, offset: int) -> str:
        """The white space before what stands at ``offset`` if it begins its line, else that of the file's body."""
        start = self.line_start(offset)
        before = self.text[start:offset]
        return before if not before.strip(" \t") else self.body_indent

    @cached_property
    def body_indent(self) -> str:
        """The indentation that most chains have."""
        indents = Counter(
            before
            for chain in self.chains
            if not (before := self.text[self.line_start(chain.start) : chain.start]).strip(" \t")
        )
        return min(indents, key=lambda indent: (-indents[indent], indent)) if indents else "    "

    def above(self, place: WrittenStatement, lines: list[str]) -> Replacement:
        """The edit that puts lines before a statement."""
        indent, semicolon = self.indent(place.start), self._semicolon(place)
        return Replacement(place.start, place.start, "".join(f"{line}{semicolon}{self.eol}{indent}" for line in lines))

    def below(self, place: WrittenStatement, lines: list[str]) -> Replacement:
        """The edit that puts lines after a statement."""
        indent, semicolon = self.indent(place.start), self._semicolon(place)
        tail = _TAIL.match(self.text, place.end)
        at = place.end if tail is None else tail.end()
        return Replacement(at, at, "".join(f"{self.eol}{indent}{line}{semicolon}" for line in lines))

    def instead(self, place: WrittenStatement, lines: list[str]) -> Replacement:
        """The edit that writes lines in place of a statement, or takes it out with its line where there are none."""
        if not lines:
            return self.without(place)
        indent, semicolon = self.indent(place.start), self._semicolon(place)
        return Replacement(place.start, place.end, f"{semicolon}{self.eol}{indent}".join(lines))

    def without(self, place: WrittenStatement) -> Replacement:
        """The edit that takes a statement out; its line, too, where it has that to itself."""
        self.refuse_suppressed(place)
        start = self.line_start(place.start)
        tail = _TAIL.match(self.text, place.end)
        if tail is not None and not self.text[start : place.start].strip(" \t"):
            end = _LINE_END.match(self.text, tail.end())
            return Replacement(start, tail.end() if end is None else end.end(), "")
        more = _MORE.match(self.text, place.end)
        return Replacement(place.start, place.end if more is None else more.end(), "")

    def _semicolon(self, place: WrittenStatement) -> str:
        tail = _TAIL.match(self.text, place.end)
        return "" if tail is None else tail[1]

    def refuse_suppressed(self, place: WrittenStatement) -> None:
        """Raise `CannotWriteError` where a comment speaks to Merrow about the statement at ``place``."""
        at = self._numbers[id(place.block)]
        while at > 0 and all(
            type(statement) in (Comment, EmptyStatement) for statement in self.blocks[at - 1].statements
        ):
            at -= 1
            if has_suppression(self.blocks[at]):
                raise CannotWriteError("A comment that silences a rule speaks of a line that would go.")

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(block): number for number, block in enumerate(self.blocks)}

    # Arrows

    @cached_property
    def labelled_style(self) -> ArrowStyle:
        """The spacing of the file's labelled edges, of the others where none has a label."""
        return self._usual(labelled=True) or self._usual(labelled=False) or ArrowStyle(" ", "-->", "", " ")

    @cached_property
    def plain_style(self) -> ArrowStyle:
        """The spacing of the file's unlabelled edges."""
        return self._usual(labelled=False) or self._from_labelled()

    def _from_labelled(self) -> ArrowStyle:
        style = self._usual(labelled=True)
        return ArrowStyle(" ", "-->", "", " ") if style is None else ArrowStyle(" ", style.arrow, "", " ")

    def _usual(self, *, labelled: bool) -> ArrowStyle | None:
        styles: Counter[ArrowStyle] = Counter()
        for chain in self.chains:
            groups, arrows = chain.statement.groups, chain.statement.arrows
            for number, arrow in enumerate(arrows):
                if arrow.stroke == "invisible" or arrow.edge_id is not None or (arrow.label is not None) != labelled:
                    continue
                style = self._style(chain.block, groups[number][-1], arrow, groups[number + 1][0])
                if style is not None:
                    styles[style] += 1
        if not styles:
            return None
        return min(styles, key=lambda style: (-styles[style], style.before, style.arrow, style.gap, style.after))

    def _style(self, block: Block, source: Vertex, arrow: Any, target: Vertex) -> ArrowStyle | None:
        text = block.text[arrow.span[0] : arrow.span[1]]
        before = block.text[self.vertex_end(source) : arrow.span[0]]
        after = block.text[arrow.span[1] : target.span[0]]
        gap = ""
        if arrow.label is not None:
            bars = _BARS.search(text)
            if bars is None:
                return None
            after = text[len(text.rstrip()) :] + after
            bare = text[: bars.start()]
            text, gap = bare.rstrip(), bare[len(bare.rstrip()) :]
        spaces = before + gap + after
        return None if spaces.strip(" \t") else ArrowStyle(before or "", text.strip(), gap, after or "")

    def edge_line(self, source: str, target: str, label: str | None) -> str:
        """A new edge as a statement."""
        if label is None:
            return self.plain_style.text(source, target, None)
        return self.labelled_style.text(source, target, between_bars(label))

    # Nodes and classes

    @cached_property
    def operator_nodes(self) -> list[FlowNode]:
        return [node.flow for node in self.graph.nodes if node.spec is not None]

    def _most(self, says: Callable[[FlowNode], bool], otherwise: bool) -> bool:
        answers = [says(node) for node in self.operator_nodes]
        if not answers:
            return otherwise
        return sum(answers) * 2 > len(answers)

    @cached_property
    def by_metadata(self) -> bool:
        """Whether the file says operators in metadata rather than in labels."""
        return self._most(lambda node: node.label is None or self._says_op(node), otherwise=False)

    def _says_op(self, node: FlowNode) -> bool:
        known = self.graph.by_id.get(node.id)
        return known is not None and any(claim.place == "op" for claim in known.resolution.claims)

    @cached_property
    def uses_classes(self) -> bool:
        """Whether the file gives operators' classes to nodes, in one way or the other."""
        return self._most(lambda node: self.operator_class(node) is not None, otherwise=True)

    @cached_property
    def class_statements(self) -> bool:
        """Whether classes are given by ``class A name`` rather than by ``A:::name``."""
        uses = [use for node in self.operator_nodes for use in node.classes]
        return sum(use.statement is not None for use in uses) * 2 > len(uses)

    def operator_class(self, node: FlowNode) -> str | None:
        """The class of a node that names its operator."""
        known = self.graph.by_id.get(node.id)
        claims = () if known is None else known.resolution.claims
        claim = next((claim for claim in claims if claim.place == "class"), None)
        return None if claim is None else claim.word

    @cached_property
    def _class_names(self) -> dict[str, str]:
        """Classes as the file spells them first, by their folded names."""
        class_names: dict[str, str] = {}
        for name in self.flow.class_defs:
            class_names.setdefault(name.casefold(), name)
        for node in self.operator_nodes:
            for use in node.classes:
                class_names.setdefault(use.name.text.casefold(), use.name.text)
        return class_names

    def class_name(self, spec: OperatorSpec) -> str:
        """The class for an operator: as the file spells it, else as published files do."""
        return self._class_names.get(spec.class_name.casefold(), spec.class_name)

    def last(self, kind: type, after: int = 0) -> WrittenStatement | None:
        """The last statement of a kind that stands after an offset."""
        latest = None
        for written in self.statements(kind):
            if written.start >= after:
                latest = written
        return latest

    @property
    def class_definitions(self) -> Sequence[WrittenStatement]:
        return self.statements(ClassDef)

    @property
    def class_assignments(self) -> Sequence[WrittenStatement]:
        return self.statements(ClassAssign)

    @property
    def header(self) -> WrittenStatement:
        """The first line of the flowchart."""
        header = self.diagram.header
        if header is None:
            raise CannotWriteError("The text has no flowchart yet.")
        statement: Header = header[0]
        return self.written(statement, header[1])

    # Prompts

    @cached_property
    def prompts(self) -> list[str]:
        """The names of the prompts that the front matter has."""
        front = self.diagram.front_matter
        return [] if front is None else list(read_settings(front[0].body, front[0].indent).prompts)

    @cached_property
    def _roles(self) -> Counter[str]:
        """How many nodes have each role, casefolded."""
        return Counter(role[1].casefold() for node in self.graph.nodes if (role := role_of(node)) is not None)

    def lost_prompts(self, change: GraphChange) -> tuple[str, ...]:
        """The prompts of the front matter that no node has the role of after a change, though one has it before."""
        if not (change.removed or change.substituted) or not self.prompts:
            return ()
        roles = [role_of(self.graph.by_id[name]) for name in (*change.removed, *change.substituted)]
        gone = Counter(role[1].casefold() for role in roles if role is not None)
        come = {new.role_named for new in change.written}
        lost = {role for role, count in gone.items() if self._roles[role] == count and role not in come}
        return tuple(name for name in self.prompts if name.strip().casefold() in lost)
