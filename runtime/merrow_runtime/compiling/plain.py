"""The graph of a program: what the frontier asks of a typed graph, made of what the program's lines say.

A node's ``index`` is its place in the program, whose lines stand in an order in which the inside of each Loop and Map is in one
piece and each node comes after those that it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

from merrow_analysis.definitions.operators import ASKED_ABOUT
from merrow_analysis.definitions.types import TypeTable, item_of, list_of
from merrow_analysis.graph.boxes.composites import Composite, Composites
from merrow_analysis.graph.boxes.words import EACH, OVER, entered_map
from merrow_analysis.graph.decisions import Cases, case_key
from merrow_analysis.graph.liveness.frames import LiveOrder, live_order
from merrow_analysis.graph.liveness.live_nodes import Feed, LiveLoop, Liveness, LiveNode
from merrow_analysis.graph.liveness.waiting import order_of, waiting_alone
from merrow_analysis.graph.placing.placement import PortFeed, Signature, passed_as_one
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT


class Value(NamedTuple):
    """A parameter of a node or of a composite."""

    value: Any


def order_of_edge(edge: PlainEdge) -> Feed:
    """The order that an edge brings."""
    asked: Any = edge
    return order_of(asked)


@dataclass(frozen=True, slots=True)
class Handle:
    """What a line of a program gives others: a node, or one of its ``output``s, or the ``case`` of a Decision.

    ``word`` is that of composites; ``type`` is told only where it is not that of the output. ``passed`` are the numbers of what
    an asking Decision passes on, where that is not all of it.
    """

    node: PlainNode
    output: str | None = None
    case: str | None = None
    word: str | None = None
    type: str | None = None
    passed: tuple[int, ...] | None = None

    def __getitem__(self, name: str) -> Handle:
        """A case of a Decision; of another node an output, or a field in one."""
        if self.node.cases is not None and self.case is None:
            return replace(self, case=name)
        return replace(self, output=name if self.output is None else f"{self.output}.{name}")


@dataclass(eq=False)
class PlainNode:
    """A node. ``said`` is what the program's table says of it, ``fallen_back`` the edges that open it as well as a case does."""

    graph: PlainGraph
    index: int
    id: str
    kind: str
    said: Mapping[str, Any]
    required: tuple[str, ...] = ()
    several: frozenset[str] = frozenset()
    incoming: list[PlainEdge] = field(default_factory=list)
    again_in: list[PlainEdge] = field(default_factory=list)
    fallen_back: list[PlainEdge] = field(default_factory=list)
    spec: None = None

    @property
    def title(self) -> str:
        """What people call it."""
        usual = self.said.get("operator", "Decision") if self.kind in ("operator", "decision") else self.id
        said: str = self.said.get("title", usual)
        return said

    @cached_property
    def cases(self) -> Cases | None:
        """The cases of a Decision; None for other nodes."""
        if self.kind != "decision":
            return None
        by, labels = self.said["by"], tuple(self.said["cases"])
        return Cases(by, tuple([case_key(label, by) for label in labels]), labels, (), ())

    @property
    def asks(self) -> bool:
        """Whether it is a Decision that asks a model."""
        return self.kind == "decision" and self.said["by"] == "model"

    @cached_property
    def own_outputs(self) -> Mapping[str, str]:
        """Its outputs with their types, the first one by default."""
        if self.kind == "input":
            return {INPUT_OUTPUT: self.said.get("type", "Problem")}
        count, outputs = self.said.get("samples"), self.said.get("outputs", {})
        return outputs if count is None else {name: list_of(type_) for name, type_ in outputs.items()}

    @property
    def outputs(self) -> Mapping[str, str]:
        """As `own_outputs`: what is given to an input is one value."""
        return self.own_outputs

    @cached_property
    def placement(self) -> Any:
        """What the frontier and the liveness ask of how its edges go."""
        if self.kind != "decision":
            return SimpleNamespace(required=self.required, signature=Signature())
        kinds = tuple([(name.casefold(), type_) for name, type_ in self.said.get("kinds", {}).items()])
        passes = tuple(self.passes) if self.asks else None
        passed_on = any(self.asks or feed.port == "value" for edge in self.incoming for feed in edge.feeds)
        signature = Signature(
            decision=True,
            has_value=passed_on,
            kinds=kinds,
            passes=passes,  # type: ignore[arg-type]
        )
        return SimpleNamespace(required=self.required, signature=signature)

    @cached_property
    def resolution(self) -> Any:
        """Its parameters as far as a run asks for them."""
        parameters = {name: Value(self.said[name]) for name in ("default", "on_error") if name in self.said}
        return SimpleNamespace(parameters=parameters, expression=self.said.get("if"), title=self.title)

    @property
    def input_ports(self) -> list[Any]:
        """Its ports that edges feed, and whether each takes several values."""
        if self.asks:
            return [ASKED_ABOUT]
        names = {feed.port for edge in (*self.incoming, *self.again_in) for feed in edge.feeds}
        return [SimpleNamespace(name=name, many=name in self.several) for name in names]

    @cached_property
    def passes(self) -> list[list[tuple[PlainEdge, PortFeed]]]:
        """What arrives at a Decision that asks: together what it passes on as one."""
        arriving = [(edge, feed) for edge in self.incoming for feed in edge.feeds]
        return [[arriving[number] for number in ones] for ones in passed_as_one([feed.type for _, feed in arriving])]

    @property
    def lists(self) -> list[list[PlainEdge]]:
        """The edges that take lists apart for the Maps around it, innermost first."""
        lists = self.graph.lists
        return [lists[box] for box in self.graph.composites.around(self.id) if box in lists]

    def sources(self, port: str) -> list[PlainEdge]:
        """The edges that feed a port."""
        return [edge for edge in self.incoming if any(feed.port == port for feed in edge.feeds)]


@dataclass(eq=False)
class PlainEdge:
    """An edge from what a `Handle` stands for to a node, into its ``port``; None where it brings order alone."""

    handle: Handle
    target: PlainNode
    port: str | None

    @property
    def source(self) -> PlainNode:
        return self.handle.node

    @property
    def word(self) -> str | None:
        return self.handle.word

    @property
    def case_label(self) -> str | None:
        return self.handle.case

    @cached_property
    def case(self) -> int | None:
        """The number of its case."""
        cases, label = self.source.cases, self.handle.case
        return None if cases is None or label is None else cases.keys.index(case_key(label, cases.decided_by))

    @property
    def border(self) -> Any:
        return self.target.graph.composites.border(self.source.id, self.target.id)

    @property
    def left(self) -> tuple[str, ...]:
        left: tuple[str, ...] = self.border.left
        return left

    @property
    def raised(self) -> int:
        return len(self.target.graph.composites.maps(self.left))

    @property
    def out_of(self) -> str | None:
        maps = self.target.graph.composites.maps(self.left)
        return maps[-1] if maps else None

    @property
    def lowered(self) -> str | None:
        return entered_map(self.border, self.target.graph.composites) if self.word == EACH else None

    @cached_property
    def feeds(self) -> tuple[PortFeed, ...]:
        """What it brings to its port."""
        if self.port is None:
            return ()
        handle = self.handle
        if not self.source.asks:
            output = handle.output or next(iter(self.source.own_outputs), None)
            return (PortFeed(output, self.port, self._type()),)
        every = self.source.passes
        numbers = range(len(every)) if handle.passed is None else handle.passed
        # Of several that are passed on as one the type is that of each.
        return tuple([PortFeed(handle.output, self.port, self._at(every[n][0][1].type), n) for n in numbers])

    def _type(self) -> str | None:
        handle, outputs = self.handle, self.source.own_outputs
        if handle.type is not None:
            return handle.type
        if self.source.kind == "decision" or not outputs:
            return None
        return self._at(type_of_output(outputs, handle.output, self.target.graph.types))

    def _at(self, type_: str | None) -> str | None:
        """A type as it arrives over the borders of Maps."""
        if type_ is None:
            return None
        for _ in range(self.raised):
            type_ = list_of(type_)
        return item_of(type_) if self.word == EACH else type_


def type_of_output(outputs: Mapping[str, str], path: str | None, types: TypeTable) -> str | None:
    """The type of an output, or of a field in one; None where that isn't known."""
    if path is None:
        return next(iter(outputs.values()))
    if path in outputs:
        return outputs[path]
    first, _, rest = path.partition(".")
    if first in outputs:
        return types.field_at(outputs[first], rest)
    return types.field_at(next(iter(outputs.values())), path)


@dataclass(eq=False)
class PlainGraph:
    """The graph of one function of a program. ``types`` are those of its file."""

    types: TypeTable
    drawn: bool = False
    nodes: list[PlainNode] = field(default_factory=list)
    by_id: dict[str, PlainNode] = field(default_factory=dict)
    boxes: dict[str, Composite] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, kind: str, said: Mapping[str, Any], box: str | None) -> PlainNode:
        """A node more, the last in the order."""
        node = self.by_id[name] = PlainNode(self, len(self.nodes), name, kind, said)
        self.nodes.append(node)
        if box is not None:
            self.inside[name] = box
            self.boxes[box] = replace(self.boxes[box], nodes=(*self.boxes[box].nodes, name))
        return node

    @property
    def core(self) -> Any:
        return SimpleNamespace(handles=self.handles, reading=SimpleNamespace(drawn=self.drawn))

    @cached_property
    def handles(self) -> dict[str, int]:
        return {node.id: node.index for node in self.nodes}

    @cached_property
    def composites(self) -> Composites:
        return Composites(self.boxes, self.inside)

    @property
    def marks(self) -> Any:
        return SimpleNamespace(decisions=self.decisions)

    @cached_property
    def decisions(self) -> list[PlainNode]:
        return [node for node in self.nodes if node.kind == "decision"]

    @cached_property
    def inputs(self) -> list[PlainNode]:
        return [node for node in self.nodes if node.kind == "input"]

    @cached_property
    def outputs(self) -> list[PlainNode]:
        return [node for node in self.nodes if node.kind == "output"]

    @property
    def edges(self) -> list[PlainEdge]:
        return [edge for node in self.nodes for edge in node.incoming]

    @property
    def order(self) -> Sequence[int]:
        return self.shape.order  # type: ignore[no-any-return]

    def node(self, index: int) -> PlainNode:
        return self.nodes[index]

    @cached_property
    def shape(self) -> Any:
        """Who leads to whom."""
        every = range(len(self.nodes))
        before = [[edge.source.index for edge in node.incoming] for node in self.nodes]
        following: list[list[int]] = [[] for _ in every]
        for target, sources in enumerate(before):
            for source in sources:
                following[source].append(target)
        return SimpleNamespace(
            count=len(every),
            order=list(every),
            places=list(every),
            ranks=list(every),
            before=before,
            following=following,
        )

    @cached_property
    def lists(self) -> dict[str, list[PlainEdge]]:
        """By Map the ``each`` edges into it."""
        found: dict[str, list[PlainEdge]] = {}
        for edge in self.edges:
            if edge.word == EACH and edge.lowered is not None:
                found.setdefault(edge.lowered, []).append(edge)
        return found

    @cached_property
    def live_order(self) -> LiveOrder:
        known = self.combinations
        return live_order(self.shape.order, known.waiting.values(), known.loops, len(self.nodes))

    @cached_property
    def combinations(self) -> Known:
        """What each node waits for, and what says whether each Loop continues."""
        return Known(self, {node.index: _waiting(node) for node in self.nodes}, self._loops())

    def _loops(self) -> dict[str, LiveLoop]:
        boxes = self.composites
        again: dict[str, list[Feed]] = {box.id: [] for box in boxes if box.kind == "loop"}
        leads_out: dict[str, list[Feed]] = {name: [] for name in again}
        for node in self.nodes:
            for edge in node.again_in:
                if edge.border.scope in again:
                    again[edge.border.scope].append(order_of_edge(edge))
        for edge in self.edges if again else ():
            if edge.source.kind != "decision" and edge.word != OVER:
                continue
            own = edge.left[0] if edge.word == OVER else None
            for box in edge.left:
                if boxes.boxes[box].kind == "map":
                    break  # a plain list from here on
                if box != own:
                    leads_out[box].append(order_of_edge(edge))
        return {
            name: LiveLoop(name, tuple(feeds), tuple(leads_out[name]), "until" in boxes.boxes[name].parameters)
            for name, feeds in again.items()
        }


def _waiting(node: PlainNode) -> LiveNode:
    asked: Any = node
    alone = waiting_alone(asked)
    return replace(alone, others=tuple([order_of_edge(edge) for edge in node.fallen_back])) if alone.gates else alone


@dataclass(eq=False)
class Known:
    """What a run asks of all combinations of cases: what each node is ``waiting`` for, and the Loops."""

    graph: PlainGraph
    waiting: Mapping[int, LiveNode]
    loops: Mapping[str, LiveLoop]
    unchosen: Liveness[bool | None] | None = None
    live: None = None

    @property
    def plan(self) -> list[LiveNode]:
        """What each node waits for, in order."""
        return list(self.waiting.values())

    @property
    def by_unit(self) -> LiveOrder | None:
        """The order of a graph with Loops and Maps in which something says what runs; None for any other."""
        graph = self.graph
        decides = graph.decisions or any(edge.word == OVER for edge in graph.edges)
        return graph.live_order if graph.composites and decides else None
