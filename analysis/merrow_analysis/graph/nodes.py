"""The nodes and edges of a typed graph: what a flowchart means, as every other part of Merrow reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from merrow_analysis.definitions.operators import (
    INTERFACE_CLASS,
    OUTPUT_PORT,
    InputPort,
    OperatorSpec,
    OperatorTable,
)
from merrow_analysis.definitions.types import ANY, DefinitionProblem, Type, TypeTable
from merrow_analysis.graph.decisions import Cases, read_cases
from merrow_analysis.graph.flow import Flow, FlowEdge, FlowNode, Mention
from merrow_analysis.graph.placement import PlacedEdge, Placement, PortFeed
from merrow_analysis.graph.plan import Combinations, combinations, combinations_again
from merrow_analysis.graph.resolve import NodeKind, Resolution
from merrow_analysis.graph.shape import Shape


class Settings(Protocol):
    """What the typed graph reads of a workflow's settings; `WorkflowSettings` is one."""

    declared: bool
    opted_out: bool
    types: dict[str, Any]
    operators: dict[str, Any]
    inputs: list[str] | None
    outputs: list[str] | None


@dataclass(slots=True, eq=False)
class TypedNode:
    """A node with its operator: ``resolution`` says how it was said, ``placement`` where its edges go and what it
    gives.

    ``conflicting`` are declarations that contradict each other; such a node's ``kind`` is unknown.
    """

    flow: FlowNode
    index: int
    resolution: Resolution
    placement: Placement
    conflicting: tuple[Mention, ...] = ()
    incoming: list[TypedEdge] = field(default_factory=list)
    outgoing: list[TypedEdge] = field(default_factory=list)
    cases: Cases | None = None

    @property
    def id(self) -> str:
        return self.flow.id

    @property
    def kind(self) -> NodeKind:
        return self.resolution.kind

    @property
    def spec(self) -> OperatorSpec | None:
        """The operator; None for input, output and unknown nodes."""
        return self.resolution.spec

    @property
    def operator(self) -> str | None:
        """The operator's name; ``Interface`` for input and output nodes, None where it is not known."""
        if self.resolution.spec is not None:
            return self.resolution.spec.name
        return None if self.kind == "unknown" else INTERFACE_CLASS

    @property
    def input_ports(self) -> tuple[InputPort, ...]:
        """The ports of its operator, and those that labels on edges into a Decision add."""
        if self.kind == "output":
            wanted = self.resolution.declared
            return (OUTPUT_PORT if wanted is None else InputPort(OUTPUT_PORT.name, wanted),)
        if self.spec is None:
            return ()
        ports = dict(self.spec.ports)
        if self.kind == "decision":
            for edge in self.incoming:
                for feed in edge.feeds:
                    ports.setdefault(feed.port, InputPort(feed.port, ANY))
        return tuple(ports.values())

    @property
    def outputs(self) -> dict[str, Type | None]:
        """Its outputs with their types (None: not known), default first; those of a Decision are its cases."""
        if self.cases is not None:
            return dict.fromkeys(self.cases.labels, self.placement.signature.value)
        return dict(self.placement.signature.outputs)

    def sources(self, port: str) -> list[TypedEdge]:
        """The edges that feed a port, in prompt order."""
        return [edge for edge in self.incoming if any(feed.port == port for feed in edge.feeds)]


@dataclass(slots=True, eq=False)
class TypedEdge:
    """An edge with the ports it joins. Most edges have one feed, order-only ones none, one into a Decision up to
    two.
    """

    flow: FlowEdge
    source: TypedNode
    target: TypedNode
    placed: PlacedEdge
    case: int | None = None

    @property
    def feeds(self) -> tuple[PortFeed, ...]:
        return self.placed.feeds

    @property
    def output(self) -> str | None:
        """The output it starts at; None out of a Decision and where that isn't known."""
        return self.placed.feeds[0].output if self.placed.feeds else self.placed.label.output

    @property
    def port(self) -> str | None:
        """The port it feeds; None for an edge of order alone, or one that finds no port."""
        return self.placed.feeds[0].port if self.placed.feeds else None

    @property
    def type(self) -> Type | None:
        return self.placed.feeds[0].type if self.placed.feeds else None

    @property
    def inferred(self) -> bool:
        """Whether Merrow chose the port, as against a label that says it."""
        return self.placed.inferred

    @property
    def order_only(self) -> bool:
        """A case edge that brings no value."""
        return not self.placed.feeds and self.source.kind == "decision"

    @property
    def case_label(self) -> str | None:
        """Out of a Decision, the case as this edge's label writes it."""
        return self.placed.label.case


@dataclass(slots=True)
class Marks:
    """The numbers of nodes about which there may be something to say, so that not all need be looked at.

    ``found``: with findings about their edges; ``problems``: about what is written at them; ``gathering``: ensembles,
    and nodes with a port for one value that several edges feed; ``decisions``.
    """

    found: set[int]
    problems: set[int]
    gathering: set[int]
    decisions: set[int]

    def read(self, index: int, resolution: Resolution, placement: Placement) -> None:
        """Take over what a node is now."""
        for numbers, holds in (
            (self.found, placement.findings),
            (self.problems, resolution.problems),
            (self.gathering, _gathers(resolution, placement)),
            (self.decisions, resolution.kind == "decision"),
        ):
            if holds:
                numbers.add(index)
            else:
                numbers.discard(index)


@dataclass(eq=False)
class TypedGraph:
    """The meaning of one flowchart. ``problems`` are those of the front matter's types and operators.

    ``resolutions`` and ``placements`` say by number of a node what it is and how its edges are placed,
    ``flow_edges`` are the edges that carry something (``has_hidden_edges``: the flowchart may have others);
    ``nodes`` and ``edges`` are the same as objects, made when first asked for.
    """

    flow: Flow
    settings: Settings
    types: TypeTable
    operators: OperatorTable
    problems: tuple[DefinitionProblem, ...]
    shape: Shape
    flow_nodes: list[FlowNode]
    flow_edges: list[FlowEdge]
    resolutions: list[Resolution]
    placements: list[Placement]
    conflicts: dict[int, tuple[Mention, ...]]
    has_hidden_edges: bool = False
    measured: dict[float, object] = field(default_factory=dict)
    """What `merrow_analysis.graph.metrics` found, by probability of failure, until the graph changes."""

    @property
    def order(self) -> list[int]:
        """Every node's number in topological order, ties by declaration; see `Shape.order`."""
        return self.shape.order

    @property
    def cycles(self) -> list[list[int]]:
        """Nodes that wait for each other."""
        return self.shape.cycles

    @cached_property
    def nodes(self) -> list[TypedNode]:
        """The nodes, in the order of their first mention."""
        self.edges  # noqa: B018 (nodes and edges are made together)
        return self._nodes

    @cached_property
    def edges(self) -> list[TypedEdge]:
        """The edges, in the order of the text; ``~~~`` is none."""
        nodes = self._nodes = [
            TypedNode(node, index, resolution, placement, self.conflicts.get(index, ()))
            for index, (node, resolution, placement) in enumerate(
                zip(self.flow_nodes, self.resolutions, self.placements, strict=True)
            )
        ]
        edges: list[TypedEdge] = []
        for flow_edge in self.flow_edges:
            source, target = nodes[flow_edge.source.index], nodes[flow_edge.target.index]
            edge = TypedEdge(flow_edge, source, target, target.placement.edges[len(target.incoming)])
            source.outgoing.append(edge)
            target.incoming.append(edge)
            edges.append(edge)
        for node in nodes:
            if node.kind == "decision":
                self._read_cases(node)
        return edges

    def renew(self, changed: Collection[int], replaced: slice, come: Sequence[FlowEdge]) -> None:
        """Take changes over into the objects that were made: of the nodes with these numbers, and of the edges.

        ``come`` are in the place of the edges that had the numbers ``replaced``.
        """
        self.measured.clear()
        self.__dict__.pop("decisions", None)
        last: Combinations | None = self.__dict__.pop("combinations", None)
        if "marks" in self.__dict__:
            for index in changed:
                self.marks.read(index, self.resolutions[index], self.placements[index])
        if "edges" not in self.__dict__:
            return
        nodes, edges = self.nodes, self.edges
        gone = edges[replaced]
        ends = {node.index for edge in gone for node in (edge.source, edge.target)}
        ends.update(node.index for edge in come for node in (edge.source, edge.target))
        touched = [nodes[index] for index in ends.union(changed)]
        known = {edge.flow: edge for node in touched for edge in (*node.incoming, *node.outgoing)}
        for node in touched:
            node.resolution, node.placement = self.resolutions[node.index], self.placements[node.index]
            node.conflicting = self.conflicts.get(node.index, ())
            node.incoming = []
            into = [edge for edge in node.flow.incoming if not edge.carries_nothing]
            for flow_edge, placed in zip(into, node.placement.edges, strict=True):
                edge = known.get(flow_edge)
                if edge is None:
                    edge = known[flow_edge] = TypedEdge(flow_edge, nodes[flow_edge.source.index], node, placed)
                edge.placed = placed
                node.incoming.append(edge)
        for node in touched:
            node.outgoing = [known[edge] for edge in node.flow.outgoing if not edge.carries_nothing]
        edges[replaced] = [known[edge] for edge in come]
        around = {edge.source.index: edge.source for node in touched for edge in node.incoming}
        around.update((node.index, node) for node in touched)
        for node in around.values():
            if node.kind == "decision":
                self._read_cases(node)
            elif node.cases is not None:
                node.cases = None
                for edge in node.outgoing:
                    edge.case = None
        if last is not None:
            # What a node waits for follows from its edges, and from what their sources are.
            stale = {edge.target.index for node in around.values() for edge in node.outgoing}
            again = combinations_again(self, last, stale.union(node.index for node in touched))
            if again is not None:
                self.__dict__["combinations"] = again

    def forget_overflow(self) -> bool:
        """Whether `combinations` became too many with those of earlier graphs kept along; they are then worked out anew."""
        known: Combinations | None = self.__dict__.get("combinations")
        if known is None or not known.overflowed:
            return False
        del self.__dict__["combinations"]
        return True

    def _read_cases(self, node: TypedNode) -> None:
        placement = node.placement
        words = self.types.words_of(placement.when) if placement.decided_by == "words" and placement.when else None
        labels = tuple(edge.placed.label.case for edge in node.outgoing)
        node.cases = read_cases(labels, placement.decided_by, words or ())
        for edge, case in zip(node.outgoing, node.cases.of_edge, strict=True):
            edge.case = case

    @cached_property
    def by_id(self) -> dict[str, TypedNode]:
        return {node.id: node for node in self.nodes}

    @property
    def inputs(self) -> list[TypedNode]:
        return [self.nodes[index] for index in self.shape.inputs]

    @property
    def outputs(self) -> list[TypedNode]:
        return [self.nodes[index] for index in self.shape.outputs]

    @property
    def promises(self) -> list[TypedNode]:
        """Nodes whose author signs for their answer's type with ``returns:``."""
        found = [n for n, what in enumerate(self.resolutions) if what.kind == "operator" and what.declared is not None]
        return [self.nodes[index] for index in found]

    @cached_property
    def combinations(self) -> Combinations:
        """What runs under which cases; see `merrow_analysis.graph.plan`."""
        return combinations(self)

    @cached_property
    def decisions(self) -> list[TypedNode]:
        return [self.nodes[index] for index in sorted(self.marks.decisions)]

    @cached_property
    def marks(self) -> Marks:
        """The nodes that rules look at."""
        what, placed = self.resolutions, self.placements
        return Marks(
            {index for index, placement in enumerate(placed) if placement.findings},
            {index for index, resolution in enumerate(what) if resolution.problems},
            {index for index, (one, two) in enumerate(zip(what, placed, strict=True)) if _gathers(one, two)},
            {index for index, resolution in enumerate(what) if resolution.kind == "decision"},
        )


def _gathers(resolution: Resolution, placement: Placement) -> bool:
    return bool(placement.crowded) or (resolution.spec is not None and resolution.spec.sources > 1)
