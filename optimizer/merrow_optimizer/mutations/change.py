"""A change of a workflow's graph before it is written: what goes, what comes, and the graph that follows.

Operators propose a `Change`; the preconditions look at the graph that would follow from it (`Change.after`), and
`merrow_optimizer.mutations.writing` writes it as edits of the text. Nothing here touches the text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar, overload

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.flow import Flow, FlowEdge, FlowNode, Mention
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.reach import reach
from merrow_analysis.graph.typed import TypedCache, build
from merrow_analysis.rules import graph as graph_rules
from merrow_analysis.syntax.tree import Arrow, Block, Label, Metadata, Name, Vertex
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import Delta, Terms, difference, terms_of

_Row = TypeVar("_Row")
_Column = TypeVar("_Column")
_CLASS_RULES = frozenset({"MW106", "MW108", "MW114", "MW115", "MW403", "MW404"})
"""Rules about what is written rather than what it means; `writing` sees to them."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to write. ``prompt`` is its text, ``role`` the name that its prompt goes by; ``parameters`` are further
    keys with their values. ``beside`` is the node that its lines are placed after.

    ``prompt_name``, set where the front matter keeps prompts, is the name under which the prompt is added there.
    """

    id: str
    spec: OperatorSpec
    beside: str
    role: str | None = None
    prompt: str | None = None
    parameters: tuple[tuple[str, object], ...] = ()
    prompt_name: str | None = None

    def values(self) -> dict[str, object]:
        """Its keys and values as metadata would say them, the operator first."""
        found: dict[str, object] = {"op": self.spec.name}
        if self.role is not None:
            key = self.spec.instruction_key or "role"
            found[key] = self.role
        if self.prompt is not None and self.prompt_name is None:
            found["prompt"] = self.prompt
        found.update(self.parameters)
        return found


class Link(NamedTuple):
    """An edge as a change wants it: ``label`` as the file writes it, None for none.

    ``kept`` says that it is the edge whose place it takes, with another end or label: its arrow stays.
    """

    source: str
    target: str
    label: str | None = None
    kept: bool = False


class Subject:
    """A workflow that changes are proposed for, with what all of them need to know of it.

    ``cache`` may be shared by subjects that follow each other. Raises `ValueError` for an analysis of something that is
    no workflow.
    """

    def __init__(self, analysis: Analysis, cache: TypedCache | None = None) -> None:
        if analysis.typed is None:
            raise ValueError("only a workflow can be changed")
        self.analysis = analysis
        self.typed: TypedGraph = analysis.typed
        self.flow: Flow = analysis.flow
        self.cache = TypedCache() if cache is None else cache

    @cached_property
    def text(self) -> str:
        return "".join(block.text for block in self.analysis.diagram.blocks)

    @cached_property
    def troubles(self) -> Counter[tuple[str, str]]:
        """Errors and warnings of the graph as it is, by code and node."""
        return troubles(self.typed)

    @cached_property
    def terms(self) -> Terms:
        """The graph as it is, in the terms in which differences are told."""
        return terms_of(self.typed)

    @cached_property
    def names_bulk(self) -> bool:
        """Whether the file says the name of a port that needs none (``|input|``), for operators other than
        ensembles.
        """
        named = plain = 0
        for edge in self.typed.edges:
            spec = edge.target.spec
            if spec is None or spec.bulk is None or spec.is_ensemble or edge.source.kind == "decision":
                continue
            if edge.port == spec.bulk:
                named, plain = (named, plain + 1) if edge.inferred else (named + 1, plain)
        return named > plain

    @cached_property
    def names(self) -> frozenset[str]:
        """Ids that are taken, casefolded: nodes, subgraphs, edges and classes."""
        flow = self.flow
        taken = [*flow.nodes, *flow.subgraphs, *flow.edge_ids, *flow.class_defs]
        return frozenset(name.casefold() for name in taken)

    @cached_property
    def closed(self) -> frozenset[str]:
        """Nodes that no change may take away or put another operator to: their own errors would be lost or moved."""
        return frozenset(node.id for node in self.typed.nodes if node.kind == "unknown" or node.resolution.problems)

    def free_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """``wanted``, or the first of wanted_2, wanted_3, ... that names nothing yet."""
        busy = {*self.names, *(name.casefold() for name in taken)}
        name, number = wanted, 1
        while name.casefold() in busy:
            number += 1
            name = f"{wanted}_{number}"
        return name

    @cached_property
    def downstream(self) -> dict[int, bytearray]:
        """For each node by number, filled when asked by `reaches`, what it leads to."""
        return {}

    def reaches(self, start: TypedNode, end: TypedNode) -> bool:
        """Whether a path leads from one node to another, or they are the same."""
        marks = self.downstream.get(start.index)
        if marks is None:
            marks = self.downstream[start.index] = reach(self.typed.shape.following, [start.index])
        return bool(marks[end.index])

    def edges_between(self, source: str, target: str) -> list[FlowEdge]:
        node = self.flow.nodes.get(source)
        return [edge for edge in node.outgoing if edge.target.id == target] if node is not None else []


def troubles(graph: TypedGraph) -> Counter[tuple[str, str]]:
    """Errors and warnings of a graph by code and node; those on an edge count for the node it leads into."""
    found = [finding for finding in graph_rules.check(graph) if finding.severity is not Severity.HINT]
    if not found:
        return Counter()
    # Only what stands on the lines of findings is worth a range.
    lines = {finding.range.start.line for finding in found}
    where: dict[Range, str] = {}
    for edge in graph.flow.edges:
        if edge.block.line in lines or edge.block.line_count > 1:
            where.setdefault(edge.range, edge.target.id)
    for node in graph.flow.nodes.values():
        for mention in node.mentions:
            if mention.block.line in lines or mention.block.line_count > 1:
                where[mention.range] = node.id
    return Counter((finding.code, _owner(finding, where)) for finding in found if finding.code not in _CLASS_RULES)


def _owner(finding: Diagnostic, where: Mapping[Range, str]) -> str:
    return where.get(finding.range, "")


@dataclass(frozen=True, eq=False)
class Change:
    """A proposal. ``edges`` maps the index of an edge of the flowchart to what stands in its place, in order; an empty
    tuple drops it. Edges of removed nodes must be mapped, too. ``target`` is what of the text it is about.

    ``content`` tells changes apart that have the same graph terms (such as the prompt of a new node); it is part of
    the move's id. ``doubts`` are preconditions, by name, that the operator saw to fail while it made the change, each
    with a sentence: they spare the typing of a graph that is wrong at first sight. ``front_prompts`` are
    prompts that the front matter gains besides those of new nodes.
    """

    subject: Subject
    operator: str
    title: str
    target: Range
    added: tuple[NewNode, ...] = ()
    removed: frozenset[str] = frozenset()
    substituted: Mapping[str, NewNode] = field(default_factory=lambda: MappingProxyType({}))
    edges: Mapping[int, tuple[Link, ...]] = field(default_factory=lambda: MappingProxyType({}))
    content: tuple[object, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    front_prompts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def gained_prompts(self) -> tuple[tuple[str, str], ...]:
        """The prompts that the front matter gains, each by its name."""
        new = (*self.added, *self.substituted.values())
        own = [(node.prompt_name, node.prompt or "") for node in new if node.prompt_name is not None]
        return (*own, *self.front_prompts)

    @cached_property
    def lost_prompts(self) -> tuple[str, ...]:
        """The prompts of the front matter that no node has the role of any more."""
        prompts = self.subject.analysis.settings.prompts
        if not prompts or not (self.removed or self.substituted):
            return ()
        lost = _roles(self.subject.typed) - _roles(self.after)
        return tuple(name for name in prompts if name.strip().casefold() in lost)

    @cached_property
    def new_links(self) -> list[Link]:
        """The links that are not edges of the workflow already."""
        return [link for put in self.edges.values() for link in put if not self._is_old(link)]

    def _is_old(self, link: Link) -> bool:
        return any(
            (None if edge.arrow.label is None else edge.arrow.label.text) == link.label
            for edge in self.subject.edges_between(link.source, link.target)
        )

    @cached_property
    def after(self) -> TypedGraph:
        """The typed graph that follows, inferred anew."""
        return build(self._flow(), self.subject.analysis.settings, cache=self.subject.cache)

    @cached_property
    def new_troubles(self) -> Counter[tuple[str, str]]:
        """Errors and warnings that the graph has only after the change."""
        found = troubles(self.after)
        return found - self.subject.troubles if found else found

    @cached_property
    def delta(self) -> Delta:
        """The difference that this change declares."""
        before = set(self.subject.analysis.settings.prompts)
        after = (before - set(self.lost_prompts)) | {name for name, _ in self.gained_prompts}
        return difference(self.subject.terms, terms_of(self.after), before, after)

    def _flow(self) -> Flow:
        old = self.subject.flow
        flow = replace(old, nodes={}, edges=[])
        beside: dict[str, list[NewNode]] = {}
        for new in self.added:
            beside.setdefault(new.beside, []).append(new)
        number = 0
        pending = list(old.nodes)
        written: set[str] = set()

        def add(new: NewNode) -> None:
            nonlocal number
            number += 1
            flow.nodes[new.id] = _written(new, len(flow.nodes), -number)
            written.add(new.id)
            for following in beside.get(new.id, ()):
                add(following)

        for name in pending:
            node = old.nodes[name]
            if name in self.substituted:
                number += 1
                flow.nodes[name] = _written(self.substituted[name], len(flow.nodes), -number)
            elif name not in self.removed:
                flow.nodes[name] = FlowNode(
                    name,
                    len(flow.nodes),
                    node.mentions,
                    node.classes,
                    node.label,
                    node.label_block,
                    node.shape,
                    node.metadata,
                )
            for new in beside.get(name, ()):
                add(new)
        for new in self.added:
            if new.id not in written:
                add(new)
        for edge in old.edges:
            put = self.edges.get(edge.index)
            if put is None:
                _join(
                    flow, edge.source.id, edge.target.id, edge.arrow, edge.block, edge.source_vertex, edge.target_vertex
                )
                continue
            for link in put:
                number += 1
                _connect(flow, link, edge if link.kept else None, -number)
        return flow


Proposal = Callable[[], Change]
"""A change that is worked out when it is wanted. Operators propose many more than are safe or ever looked at."""


class Grid(Sequence[Proposal], Generic[_Row, _Column]):
    """A proposal for each row and column, made when it is looked at: ``make(subject, row, column)``.

    ``own`` has for each row the number of a column that is left out, since it would change nothing.
    """

    def __init__(
        self,
        make: Callable[[Subject, _Row, _Column], Change],
        subject: Subject,
        rows: Sequence[_Row],
        columns: Sequence[_Column],
        own: Sequence[int] = (),
    ) -> None:
        self._own, self._width = own, len(columns) - bool(own)
        self._make, self._subject, self._rows, self._columns = make, subject, rows, columns

    def __len__(self) -> int:
        return len(self._rows) * self._width

    @overload
    def __getitem__(self, index: int) -> Proposal: ...

    @overload
    def __getitem__(self, index: slice) -> list[Proposal]: ...

    def __getitem__(self, index: int | slice) -> Proposal | list[Proposal]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if index >= len(self):
            raise IndexError(index)
        row, column = divmod(index, self._width)
        column += bool(self._own) and column >= self._own[row]
        return partial(self._make, self._subject, self._rows[row], self._columns[column])


def _roles(graph: TypedGraph) -> set[str]:
    """The roles of all nodes, casefolded; a node's `instruction` is its role where its operator has one."""
    found: set[str] = set()
    for node in graph.nodes:
        own = None if node.spec is None else node.spec.instruction_key
        for key in (own, "role"):
            parameter = None if key is None else node.resolution.parameters.get(key)
            if parameter is not None and isinstance(parameter.value, str) and parameter.value.strip():
                found.add(parameter.value.strip().casefold())
                break
    return found


def _written(new: NewNode, index: int, line: int) -> FlowNode:
    """A node as if it were written with metadata; its line tells its findings from others."""
    body = "\n".join(f"{key}: {json.dumps(value)}" for key, value in new.values().items())
    metadata = Metadata(body, (0, 0), (0, 0))
    block = Block(line, "", ())
    vertex = Vertex(Name(new.id, (0, 0)), metadata=metadata)
    return FlowNode(new.id, index, [Mention(vertex, block)], metadata=[(metadata, block)])


def _connect(flow: Flow, link: Link, edge: FlowEdge | None, line: int) -> None:
    unchanged = edge is not None and (None if edge.arrow.label is None else edge.arrow.label.text) == link.label
    if edge is not None and unchanged:
        arrow, block = edge.arrow, edge.block
        ends = edge.source_vertex, edge.target_vertex
    else:
        label = None if link.label is None else Label(link.label, "text", (0, 0))
        kind = edge.arrow if edge is not None else None
        arrow = Arrow("arrow_point", "normal" if kind is None else kind.stroke, 1, label, None, (0, 0))
        block = Block(line, "", ())
        ends = Vertex(Name(link.source, (0, 0))), Vertex(Name(link.target, (0, 0)))
    _join(flow, link.source, link.target, arrow, block, *ends)


def _join(
    flow: Flow, start: str, end: str, arrow: Arrow, block: Block, source_vertex: Vertex, target_vertex: Vertex
) -> None:
    source, target = flow.nodes[start], flow.nodes[end]
    new = FlowEdge(len(flow.edges), source, target, arrow, block, source_vertex, target_vertex)
    flow.edges.append(new)
    source.outgoing.append(new)
    target.incoming.append(new)
