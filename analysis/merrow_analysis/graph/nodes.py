"""The nodes and edges of a typed graph: what a flowchart means, as every other part of Merrow reads it.

A `TypedGraph` joins a `Graph`, which has no positions, with the flowchart of one version of a text. Its objects for nodes and
edges are created on first use and then reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from merrow_analysis.definitions.operators import (
    ASKED_ABOUT,
    INTERFACE_CLASS,
    OUTPUT_PORT,
    InputPort,
    OperatorSpec,
    OperatorTable,
    ports_for,
)
from merrow_analysis.definitions.types import ANY, DefinitionProblem, Type, TypeTable
from merrow_analysis.graph.bare.shape import GraphShape
from merrow_analysis.graph.boxes.composites import Border, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, OVER, Word, entered_map
from merrow_analysis.graph.decisions import ELSE, Cases, read_cases
from merrow_analysis.graph.flow import Flowchart, FlowEdge, FlowNode, Mention
from merrow_analysis.graph.language import GraphSettings
from merrow_analysis.graph.levels import Apart, carried, levels, taken_apart
from merrow_analysis.graph.liveness.combinations import Combinations, combinations, combinations_after
from merrow_analysis.graph.liveness.frames import LiveOrder, live_order, unit_order
from merrow_analysis.graph.liveness.turning import Turning
from merrow_analysis.graph.liveness.waiting import Starts, waiting_alone
from merrow_analysis.graph.model import Graph, NodeMarks, conflicting
from merrow_analysis.graph.placing.placement import PlacedEdge, Placement, PortFeed, passed_as_one
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.graph.resolve import NodeKind, Resolution

_UNSET = object()
_OF_OBJECTS = ("nodes", "edges", "lists", "again", "over", "by_id", "decisions", "turning")
"""What a `TypedGraph` caches that consists of its objects."""


class TypedNode:
    """A node with its operator: ``resolution`` says how it was determined, ``placement`` where its edges go and what it
    outputs. ``index`` is its handle in the graph.
    """

    __slots__ = (
        "_again_in",
        "_again_out",
        "_case_of",
        "_cases",
        "_graph",
        "_incoming",
        "_outgoing",
        "_ways",
        "id",
        "index",
        "placement",
        "resolution",
    )

    def __init__(self, graph: TypedGraph, index: int, name: str) -> None:
        self._graph, self.index, self.id = graph, index, name
        self.resolution: Resolution = graph.core.resolutions[index]
        self.placement: Placement = graph.core.placements[index]
        self._incoming: list[TypedEdge] | None = None
        self._outgoing: list[TypedEdge] | None = None
        self._again_in: list[TypedEdge] | None = None
        self._again_out: list[TypedEdge] | None = None
        self._ways: list[TypedEdge] | None = None
        self._cases: object = _UNSET
        self._case_of: dict[TypedEdge, int | None] | None = None

    @property
    def flow(self) -> FlowNode:
        flow, record = self._graph.flow, self._graph.core.chart.nodes[self.id]
        return flow.nodes[self.id] if flow.chart.nodes.get(self.id) is record else FlowNode(flow, record)

    @property
    def implied(self) -> bool:
        """Whether it is not in the text: PROBLEM or RETURN of a drawing (`merrow_analysis.graph.drawings.drawing`)."""
        flow = self._graph.flow
        return self.id not in flow.chart.nodes and self.id not in flow.scenery.subgraphs

    @property
    def conflicting(self) -> tuple[Mention, ...]:
        """Declarations that contradict each other; such a node's ``kind`` is unknown."""
        if self.index not in self._graph.marks.conflicts:
            return ()
        here = self._graph.flow.here
        return tuple(Mention(vertex, here(block)) for vertex, block in conflicting(self.flow.record))

    @property
    def incoming(self) -> list[TypedEdge]:
        """Its incoming edges in the flat graph, in text order."""
        if self._incoming is None:
            self._incoming = self._graph.edges_into(self)
        return self._incoming

    @property
    def outgoing(self) -> list[TypedEdge]:
        """Its outgoing edges in the flat graph, in text order."""
        if self._outgoing is None:
            self._outgoing = [self._graph.edge(edge) for edge in self._graph.core.out_of(self.id)]
        return self._outgoing

    @property
    def again_in(self) -> list[TypedEdge]:
        """The ``again`` edges into it, in the order of the text."""
        if self._again_in is None:
            self._again_in = self._graph.again_into(self)
        return self._again_in

    @property
    def again_out(self) -> list[TypedEdge]:
        """The ``again`` edges out of it, in the order of the text."""
        if self._again_out is None:
            core = self._graph.core
            rows = core.chart.outgoing.get(self.id, ()) if core.words else ()
            self._again_out = [self._graph.edge(edge) for edge in rows if core.runs_again(edge)]
        return self._again_out

    @property
    def ways(self) -> list[TypedEdge]:
        """All its outgoing edges, including ``again`` edges, in text order."""
        if self._ways is None:
            core = self._graph.core
            if not self.again_out:
                self._ways = self.outgoing
            else:
                rows = core.chart.outgoing.get(self.id, ())
                self._ways = [self._graph.edge(edge) for edge in rows if not edge.carries_nothing]
        return self._ways

    @property
    def lists(self) -> list[list[TypedEdge]]:
        """The edges that take lists apart (``each``) for the Maps around it, innermost first."""
        composites = self._graph.composites
        if not composites:
            return []
        lists = self._graph.lists
        return [lists[box] for box in composites.around(self.id) if box in lists]

    @property
    def cases(self) -> Cases | None:
        """The cases of a Decision; None for other nodes."""
        if self._cases is _UNSET:
            self._cases = None
            if self.kind == "decision":
                placement = self.placement
                words: Sequence[str] | None = None
                if placement.decided_by == "words" and placement.when:
                    words = self._graph.types.words_of(placement.when)
                elif placement.decided_by == "kinds" and placement.when:
                    words = self._graph.types.kinds_of(placement.when)
                labels = tuple(edge.placed.label.case for edge in self.ways)
                if self.asks and self._graph.core.loose:
                    # All ways without a label are one answer.
                    labels = tuple(ELSE if label is None else label for label in labels)
                self._cases = read_cases(labels, placement.decided_by, tuple(words or ()))
        return self._cases  # type: ignore[return-value]  # set above

    def case_of(self, edge: TypedEdge) -> int | None:
        """The number of the case of an edge out of it; None where the node is not a Decision."""
        if self._case_of is None:
            cases = self.cases
            self._case_of = {} if cases is None else dict(zip(self.ways, cases.of_edge, strict=True))
        return self._case_of.get(edge)

    @property
    def asks(self) -> bool:
        """Whether it is a Decision that asks a model which case to take."""
        return self.placement.decided_by == "model"

    @property
    def kind(self) -> NodeKind:
        return self.resolution.kind

    @property
    def is_promise(self) -> bool:
        """Whether its author vouches for the type of its answer. A Pass needs no trust: its value was checked before."""
        return self.spec is not None and not self.spec.is_pass and self.resolution.declared is not None

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
        if self.asks:
            return (ASKED_ABOUT,)
        if self.kind != "decision":
            return ports_for(self.spec, self.resolution.declared, self._graph.types)
        ports = dict(self.spec.ports)
        for edge in self.incoming:
            for feed in edge.feeds:
                ports.setdefault(feed.port, InputPort(feed.port, ANY))
        return tuple(ports.values())

    @property
    def outputs(self) -> dict[str, Type | None]:
        """Its outputs with their types (None: not known), default first; those of a Decision are its cases. Of a record that
        the first one is, the fields are outputs as well.
        """
        signature = self.placement.signature
        if self.cases is not None:
            kinds = dict(signature.kinds)
            return {label: kinds.get(label.strip().casefold()) or signature.value for label in self.cases.labels}
        return dict(signature.outputs)

    @property
    def types(self) -> TypeTable:
        """All types of its workflow."""
        return self._graph.types

    @property
    def own_outputs(self) -> dict[str, Type | None]:
        """The outputs of its operator, or of an input, without the fields of records."""
        signature = self.placement.signature
        return dict(signature.outputs[: len(signature.outputs) - signature.fields])

    @property
    def passes(self) -> list[list[tuple[TypedEdge, PortFeed]]]:
        """The values at a Decision that asks a model; values passed on as one are grouped, by number in `Signature.passes`."""
        arriving = [(edge, feed) for edge in self.incoming for feed in edge.feeds]
        groups = passed_as_one([feed.type for _, feed in arriving], newest=self._graph.core.loose)
        return [[arriving[number] for number in ones] for ones in groups]

    def sources(self, port: str) -> list[TypedEdge]:
        """The edges that feed a port, in prompt order."""
        return [edge for edge in self.incoming if any(feed.port == port for feed in edge.feeds)]


class TypedEdge:
    """An edge with the ports it connects. Most edges have one feed, order-only ones none, and edges into a Decision up to
    two.
    """

    __slots__ = ("_graph", "placed", "record")

    def __init__(self, graph: TypedGraph, record: EdgeRecord, placed: PlacedEdge) -> None:
        self._graph, self.record, self.placed = graph, record, placed

    @property
    def flow(self) -> FlowEdge:
        return self._graph.flow.edge(self.record)

    @property
    def word(self) -> Word | None:
        """The word of composites that its label has."""
        worded = self._graph.core.words.get(self.record)
        return None if worded is None else worded.word

    @property
    def composites(self) -> Composites:
        """Those of its graph."""
        return self._graph.composites

    @property
    def border(self) -> Border:
        """Which composites it leaves and enters."""
        return self._graph.composites.border(self.record.source, self.record.target)

    @property
    def left(self) -> tuple[str, ...]:
        """The composites that it leaves, innermost first."""
        return self.border.left

    @property
    def entered(self) -> tuple[str, ...]:
        """The composites that it enters, outermost first."""
        return self.border.entered

    @property
    def raised(self) -> int:
        """How many Maps it leaves: its value is nested in that many lists."""
        return levels(self._graph.core, self.record).raised

    @property
    def out_of(self) -> str | None:
        """The outermost Map that it leaves."""
        composites = self._graph.composites
        maps = composites.maps(self.left) if composites else ()
        return maps[-1] if maps else None

    @property
    def lowered(self) -> str | None:
        """The Map for whose items it takes a list apart (``each``)."""
        return entered_map(self.border, self._graph.composites) if self.word == EACH else None

    @property
    def apart(self) -> Apart | None:
        """The list that it splits into the items of a Map; None without ``each``."""
        if self.lowered is None:
            return None
        graph = self._graph
        return taken_apart(graph.core, self.record, self.source.placement.signature, self.placed.label, graph.types)

    @property
    def implied(self) -> bool:
        """Whether it is not in the text: an edge from or to an implied PROBLEM or RETURN, or one into a drawing's step."""
        return self.record not in self._graph.flow.chart.numbers

    @property
    def source(self) -> TypedNode:
        return self._graph.by_id[self.record.source]

    @property
    def target(self) -> TypedNode:
        return self._graph.by_id[self.record.target]

    @property
    def case(self) -> int | None:
        """Out of a Decision, the number of its case."""
        return self.source.case_of(self)

    @property
    def feeds(self) -> tuple[PortFeed, ...]:
        return self.placed.feeds

    @property
    def output(self) -> str | None:
        """The output it starts at; None out of a Decision or if unknown."""
        return self.placed.feeds[0].output if self.placed.feeds else self.placed.label.output

    @property
    def port(self) -> str | None:
        """The port it feeds; None for an order-only edge, or one without a matching port."""
        return self.placed.feeds[0].port if self.placed.feeds else None

    @property
    def type(self) -> Type | None:
        return self.placed.feeds[0].type if self.placed.feeds else None

    @property
    def inferred(self) -> bool:
        """Whether Merrow chose the port, rather than a label."""
        return self.placed.inferred

    @property
    def order_only(self) -> bool:
        """A case edge without a value."""
        return not self.placed.feeds and self.source.kind == "decision"

    @property
    def case_label(self) -> str | None:
        """Out of a Decision, the case as this edge's label writes it."""
        return self.placed.label.case


class _NodesById(Mapping[str, TypedNode]):
    """The nodes by id, in the order of their first mention."""

    def __init__(self, graph: TypedGraph) -> None:
        self._graph = graph
        self._handles = graph.core.handles

    def __getitem__(self, name: str) -> TypedNode:
        return self._graph.node(self._handles[name])

    def __contains__(self, name: object) -> bool:
        return name in self._handles

    def __iter__(self) -> Iterator[str]:
        return iter(self._graph.core.chart.nodes)

    def __len__(self) -> int:
        return len(self._handles)


class TypedGraph:
    """The meaning of one flowchart. ``problems`` are those of the front matter's types and operators.

    ``core`` is the graph without places. By a node's handle (`TypedNode.index`) ``resolutions`` and ``placements`` say what
    it is and how its edges are placed, and `node` gives it as an object.
    """

    def __init__(self, flow: Flowchart, core: Graph) -> None:
        self.flow, self.core = flow, core
        self.settings: GraphSettings = core.settings
        self.types: TypeTable = core.language.types
        self.operators: OperatorTable = core.language.operators
        self.problems: tuple[DefinitionProblem, ...] = core.language.problems
        self.shape: GraphShape = core.shape
        self.marks: NodeMarks = core.marks
        self.composites: Composites = core.composites
        self.resolutions: Sequence[Resolution] = core.resolutions
        self.placements: Sequence[Placement] = core.placements
        self.measured: dict[float, object] = {}
        """What `merrow_analysis.graph.measures.metrics` found, by probability of failure."""
        self._made: dict[int, TypedNode] = {}
        self._edges_made: dict[EdgeRecord, TypedEdge] = {}
        self._combinations: Combinations | None = None
        # What was computed for an earlier graph, and the nodes where this one differs from it.
        self._earlier: tuple[Combinations, frozenset[int]] | None = None

    def after(self, flow: Flowchart, core: Graph) -> TypedGraph:
        """The meaning of another version, whose graph is this one's or was inferred from it."""
        graph = TypedGraph(flow, core)
        if core is self.core:
            graph._combinations, graph._earlier, graph.measured = self._combinations, self._earlier, self.measured
        elif core.touched is not None:
            base, stale = (self._combinations, frozenset()) if self._earlier is None else self._earlier
            if self._combinations is not None:
                if self._combinations.crowded:
                    # Thousands of graphs may be derived from this one; each of them would start from scratch.
                    self._combinations = combinations(self)
                base, stale = self._combinations, frozenset()
            if base is not None:
                graph._earlier = base, stale | core.touched
        return graph

    @property
    def order(self) -> list[int]:
        """Every node's handle in topological order, ties by declaration; see `GraphShape.order`."""
        return self.shape.order

    @property
    def cycles(self) -> list[list[int]]:
        """Nodes that wait for each other."""
        return self.shape.cycles

    def node(self, handle: int) -> TypedNode:
        """The node with a handle."""
        node = self._made.get(handle)
        if node is None:
            record = self.core.records[handle]
            if record is None:
                raise KeyError(handle)
            node = self._made[handle] = TypedNode(self, handle, record.id)
        return node

    def edge(self, record: EdgeRecord) -> TypedEdge:
        """The edge of a record; not an invisible one."""
        edge = self._edges_made.get(record)
        if edge is None:
            target = self.by_id[record.target]
            target.again_in if self.core.runs_again(record) else target.incoming
            edge = self._edges_made[record]
        return edge

    def again_into(self, node: TypedNode) -> list[TypedEdge]:
        """New objects for the ``again`` edges into a node. Callers ask the node instead, which keeps them."""
        core = self.core
        rows = core.chart.incoming.get(node.id, ()) if core.words else ()
        made = [TypedEdge(self, edge, self.again_placements[edge].edges[0]) for edge in rows if core.runs_again(edge)]
        self._edges_made.update((edge.record, edge) for edge in made)
        return made

    @cached_property
    def again_records(self) -> list[EdgeRecord]:
        """The records of the ``again`` edges, in text order."""
        return self._with_word(AGAIN)

    @cached_property
    def again_placements(self) -> dict[EdgeRecord, Placement]:
        """The ports of ``again`` edges: each is placed as if it were the only one, since the flat graph does not include it."""
        return {edge: self._again_placement(edge) for edge in self.again_records}

    def _again_placement(self, edge: EdgeRecord) -> Placement:
        core = self.core
        facts, level = core.facts[core.handles[edge.target]], levels(core, edge)
        text, source = core.text_of(edge), core.placements[core.handles[edge.source]]
        return core.language.place(
            facts,
            (facts.number, text, source.number, level),
            lambda: ((text, carried(source.signature, level, self.types)),),
        )

    def edges_into(self, node: TypedNode) -> list[TypedEdge]:
        """New objects for the edges into a node. Callers ask the node instead, which keeps them."""
        made = [
            TypedEdge(self, edge, placed)
            for edge, placed in zip(self.core.into(node.id), node.placement.edges, strict=True)
        ]
        self._edges_made.update((edge.record, edge) for edge in made)
        return made

    @cached_property
    def ranked(self) -> list[int]:
        """The handles of the nodes, in the order of their first mention."""
        return list(map(self.core.handles.__getitem__, self.core.chart.nodes))

    @cached_property
    def nodes(self) -> list[TypedNode]:
        """The nodes, in the order of their first mention."""
        return [self.node(handle) for handle in self.ranked]

    @cached_property
    def edges(self) -> list[TypedEdge]:
        """The edges of the flat graph, in text order, without ``~~~``."""
        return [self.edge(record) for record in self.core.chart.edges if self.core.is_flat(record)]

    @cached_property
    def lists(self) -> dict[str, list[TypedEdge]]:
        """By Map the ``each`` edges into it."""
        by_list: dict[str, list[TypedEdge]] = {}
        for edge in map(self.edge, self._with_word(EACH)):
            if edge.lowered is not None:
                by_list.setdefault(edge.lowered, []).append(edge)
        return by_list

    @cached_property
    def again(self) -> list[TypedEdge]:
        """The ``again`` edges, in the order of the text."""
        return [self.edge(record) for record in self.again_records]

    @cached_property
    def over(self) -> list[TypedEdge]:
        """The ``over`` edges, in the order of the text."""
        return [self.edge(record) for record in self._with_word(OVER)]

    def _with_word(self, word: Word) -> list[EdgeRecord]:
        records = [record for record, worded in self.core.words.items() if worded.word == word]
        return sorted(records, key=self.core.chart.numbers.__getitem__)

    @cached_property
    def by_id(self) -> Mapping[str, TypedNode]:
        return _NodesById(self)

    @property
    def inputs(self) -> list[TypedNode]:
        return [self.node(index) for index in self.shape.inputs]

    @property
    def outputs(self) -> list[TypedNode]:
        """The outputs, steps among them that are named as such, in the order of their first mention."""
        if not self.core.results:
            return [self.node(index) for index in self.shape.outputs]
        return self.at({*self.shape.outputs, *self.core.ending})

    @property
    def promises(self) -> list[TypedNode]:
        """Nodes whose author vouches for their answer's type with ``returns:``."""
        return [node for node in self.nodes if node.is_promise]

    @property
    def combinations(self) -> Combinations:
        """What runs in which cases; see `merrow_analysis.graph.liveness.combinations`."""
        if self._combinations is None:
            if self._earlier is not None:
                self._combinations = combinations_after(self, *self._earlier)
                self._earlier = None
            if self._combinations is None:
                self._combinations = combinations(self)
        return self._combinations

    @cached_property
    def turning(self) -> Turning | None:
        """What starts nodes, and what turns do, in a graph that is read as people read drawings; None in others."""
        return Turning(self) if self.core.loose else None

    @property
    def starts(self) -> Starts | None:
        """What starts nodes, where that is read as in drawings."""
        return None if self.turning is None else self.turning.starts

    @cached_property
    def instead(self) -> Mapping[int, Mapping[int, int]]:
        """By Decision the cases that are closed in the last turns around it, with those that count then."""
        if self.turning is None or not self.composites:
            return {}
        return self.turning.always_instead(self.decisions)

    @cached_property
    def live_order(self) -> LiveOrder | GraphShape:
        """The order in which a run decides liveness, and the nodes whose liveness depends on each node's."""
        by_unit = self.combinations.by_unit
        if by_unit is not None or not self.lists:
            return by_unit or self.shape
        # Without Decisions the checker needs no conditions; in a run a list may be missing because a node failed.
        order = unit_order(self.core) or self.shape.order
        plan = [waiting_alone(self.node(index), self.starts) for index in order]
        return live_order(order, plan, self.combinations.loops, len(self.core.records))

    def let_go(self) -> None:
        """Drop the objects created so far; they are created again on use. Only for the caller that alone requested them.

        They and the graph refer to each other: with them, it could be freed only by the garbage collector.
        """
        self._made.clear()
        self._edges_made.clear()
        for name in _OF_OBJECTS:
            self.__dict__.pop(name, None)
        self.flow.let_go()

    def forget_overflow(self) -> bool:
        """Whether `combinations` became too many with those of earlier graphs kept along; then they are computed again."""
        known = self._combinations
        if known is None or not known.overflowed:
            return False
        self._combinations = combinations(self)
        return True

    @cached_property
    def decisions(self) -> list[TypedNode]:
        return self.at(self.marks.decisions)

    def at(self, handles: Iterable[int]) -> list[TypedNode]:
        """The nodes with these handles, in the order of their first mention."""
        return [self.node(handle) for handle in self.shape.by_rank(handles)]
