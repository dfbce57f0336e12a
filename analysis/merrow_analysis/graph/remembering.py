"""Which earlier results a node may remember, as the graph tells before anything runs: the static side of a run's memory."""

from __future__ import annotations

from merrow_analysis.definitions.operators import ASKED_ABOUT
from merrow_analysis.definitions.settings import Memory, WorkflowSettings
from merrow_analysis.graph.instructions import agent_of, memory_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode


def readers(graph: TypedGraph, settings: WorkflowSettings, most: int = 5_000_000) -> dict[str, list[str]]:
    """For each node that remembers, whose results, by id. At most about ``most`` nodes are looked at, since all together grow
    with the square of the workflow: of nodes beyond that nothing is said.
    """
    reading: dict[str, list[str]] = {}
    for node in graph.nodes:
        if most <= 0:
            break
        memory, nodes = remembered(graph, node, settings)
        most -= 1 if memory.kind == "none" else len(graph.nodes)
        if nodes:
            reading[node.id] = [reader.id for reader in nodes]
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
    seen: set[int] = set()
    pending = [node]
    while pending:
        here = pending.pop()
        for edge in (*here.incoming, *here.again_in):
            if edge.source.index not in seen:
                seen.add(edge.source.index)
                pending.append(edge.source)
    wanted = seen - arriving(node) - {node.index}
    nodes = (graph.node(handle) for handle in graph.order if handle in wanted)
    return [source for source in nodes if source.kind in ("input", "operator")]


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
    nodes = to_remember(graph, node)
    if memory.kind == "agent":
        agent = agent_of(node, settings)
        nodes = [source for source in nodes if agent is not None and agent_of(source, settings) is agent]
    if memory.kind == "last" and memory.amount is not None and not graph.decisions and not node.again_in:
        nodes = nodes[-memory.amount :]
    return memory, nodes
