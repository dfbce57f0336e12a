"""Edge rewiring: a node reads another node than before, at the same port and in the same place among its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.graph.reach import reach
from merrow_optimizer.mutations.base import REWIRING
from merrow_optimizer.mutations.change import Change, Link, Proposal, Subject
from merrow_optimizer.mutations.wiring import Source, fits, outputs, relabelled


def proposals(subject: Subject) -> Iterator[Proposal]:
    """A new source for each edge that brings one value: every node's output that is not downstream of the edge's end."""
    typed = subject.typed
    sources = [source for node in typed.nodes for source in outputs(node)]
    downstream: dict[int, bytearray] = {}
    for edge in typed.edges:
        if edge.port is None or edge.source.kind == "decision" or edge.target.kind == "unknown":
            continue
        target = edge.target
        if target.index not in downstream:
            downstream[target.index] = reach(typed.shape.following, [target.index])
        after = downstream[target.index]
        port = next((port for port in target.input_ports if port.name == edge.port), None)
        for source in sources:
            if source.node is edge.source or after[source.node.index]:
                continue
            if port is None or fits(subject, source.type, port):
                yield partial(rewire, subject, edge, source)


def rewire(subject: Subject, edge: TypedEdge, source: Source) -> Change:
    """Let an edge start at another output."""
    what = source.node.id if source.output is None else f"{source.output} of {source.node.id}"
    link = Link(source.node.id, edge.target.id, relabelled(edge, source.output, subject), kept=True)
    return Change(
        subject,
        REWIRING,
        f"Let {edge.target.id} read {what} instead of {edge.source.id}",
        edge.flow.range,
        edges={edge.flow.index: (link,)},
        content=(edge.source.id, edge.output, edge.target.id, edge.port, source.node.id, source.output),
    )
