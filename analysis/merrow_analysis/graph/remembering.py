"""Which earlier results a node may remember, as the graph tells before anything runs: the static side of a run's memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain, compress
from operator import or_

from merrow_analysis.definitions.operators import ASKED_ABOUT
from merrow_analysis.definitions.settings import Memory, WorkflowSettings
from merrow_analysis.graph.bare.reach import components
from merrow_analysis.graph.instructions import agent_of, memory_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode

MOST = 200_000
"""Entries that lists of all that a workflow's nodes remember have together."""
_SPARSE = 200


def readers(graph: TypedGraph, settings: WorkflowSettings, most: int = MOST) -> dict[str, list[str]]:
    """For each node that remembers, whose results, by id. Nothing is said of a workflow where all lists together would be longer
    than ``most``, or that has 200 times as many pairs of nodes: they may grow with its square.
    """
    memories = {node.index: memory_of(node, settings) for node in graph.nodes if has_memory(node)}
    remembering = [node for node in graph.nodes if node.index in memories and memories[node.index].kind != "none"]
    if not remembering or len(graph.nodes) ** 2 > _SPARSE * most:
        return {}
    earlier = _Earlier(graph)
    ancestors = earlier.all_ancestors()
    reading: dict[str, list[str]] = {}
    for node in remembering:
        nodes = earlier.to_remember(node, ancestors[node.index])
        nodes = _limited(graph, node, settings, memories[node.index], nodes)
        most -= len(nodes)
        if most < 0:
            return {}
        if nodes:
            reading[node.id] = [source.id for source in nodes]
    return reading


def has_memory(node: TypedNode) -> bool:
    """Whether `memory:` means something at a node: it asks a model."""
    spec = node.spec
    if node.kind == "decision":
        return node.asks
    return node.kind == "operator" and spec is not None and "memory" not in spec.idle


def to_remember(graph: TypedGraph, node: TypedNode) -> list[TypedNode]:
    """The nodes whose results a node may remember, oldest first: its ancestors with a result, without those that reach it by an
    edge. Of those that a Decision keeps from running, a run has none. In a Loop, ancestors by ``again`` edges are among them.
    """
    earlier = _Earlier(graph)
    return earlier.to_remember(node, earlier.ancestors(node))


class _Earlier:
    """Sets of a graph's nodes, as numbers with a bit for each node in topological order: a thousand are joined as quickly as one,
    where those of all nodes grow with the square of the graph.
    """

    def __init__(self, graph: TypedGraph) -> None:
        self._nodes = [graph.node(handle) for handle in graph.order]
        self._places = {node.index: place for place, node in enumerate(self._nodes)}
        self._with_result = self._joined(node.index for node in self._nodes if node.kind in ("input", "operator"))

    def ancestors(self, node: TypedNode) -> int:
        """Those that reach a node by edges of either kind."""
        seen: set[int] = set()
        pending = [node]
        while pending:
            for edge in _edges_into(pending.pop()):
                if edge.source.index not in seen:
                    seen.add(edge.source.index)
                    pending.append(edge.source)
        return self._joined(seen)

    def all_ancestors(self) -> dict[int, int]:
        """`ancestors` of every node, by handle."""
        sources = {node.index: [edge.source.index for edge in _edges_into(node)] for node in self._nodes}
        reached: dict[int, int] = {}
        for component in components(sources, sources):
            inside = set(component)
            outside = {source for member in component for source in sources[member]} - inside
            direct = self._joined(outside if len(component) == 1 else outside | inside)
            reached |= dict.fromkeys(component, reduce(or_, (reached[source] for source in outside), direct))
        return reached

    def to_remember(self, node: TypedNode, ancestors: int) -> list[TypedNode]:
        wanted = ancestors & self._with_result & ~self._joined(arriving(node) | {node.index})
        return list(compress(self._nodes, map(int, reversed(f"{wanted:b}"))))

    def _joined(self, handles: Iterable[int]) -> int:
        joined = bytearray(len(self._nodes) // 8 + 1)
        for handle in handles:
            place = self._places[handle]
            joined[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(joined, "little")


def _edges_into(node: TypedNode) -> Iterator[TypedEdge]:
    return chain(node.incoming, node.again_in)


def arriving(node: TypedNode) -> set[int]:
    """The nodes whose results reach a node by an edge whenever they and it run."""
    feeding = [edge for edge in node.incoming if edge.feeds]
    direct = {edge.source.index for edge in feeding if edge.source.kind != "decision"}
    # A Decision hands on what it was given. Where no other edge leads in, one of its cases was chosen.
    through = [_handed_on(edge.source) for edge in feeding] if feeding and not direct else []
    return direct | (set.intersection(*through) if through else set())


def _handed_on(decision: TypedNode) -> set[int]:
    """The nodes whose results a Decision hands on in every case."""
    sources: set[int] = set()
    pending, seen = [decision], {decision.index}
    while pending:
        here = pending.pop()
        port = ASKED_ABOUT.name if here.asks else "value"
        for edge in here.incoming:
            if not any(feed.port == port for feed in edge.feeds):
                continue
            if edge.source.kind != "decision":
                sources.add(edge.source.index)
            elif edge.source.index not in seen:
                seen.add(edge.source.index)
                pending.append(edge.source)
    return sources


def remembered(graph: TypedGraph, node: TypedNode, settings: WorkflowSettings) -> tuple[Memory, list[TypedNode]]:
    """What a node's memory is, and from whom: the nodes of `to_remember` that it may show. ``last`` shows the newest of those
    that ran, so all are named where a Decision chooses which run.
    """
    memory = memory_of(node, settings)
    if memory.kind == "none" or not has_memory(node):
        return memory, []
    return memory, _limited(graph, node, settings, memory, to_remember(graph, node))


def _limited(
    graph: TypedGraph, node: TypedNode, settings: WorkflowSettings, memory: Memory, nodes: list[TypedNode]
) -> list[TypedNode]:
    """Those of `to_remember` that a node's memory may show."""
    if memory.kind == "agent":
        agent = agent_of(node, settings)
        return [source for source in nodes if agent is not None and agent_of(source, settings) is agent]
    if memory.kind == "last" and memory.amount is not None and not graph.decisions and not node.again_in:
        return nodes[-memory.amount :]
    return nodes
