"""Fixes that feed a port: by an edge from a node that gives what it takes, or by the case edge that is there already."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ANY, Type
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, WantedEdge
from merrow_analysis.graph.boxes.edge_words import OVER
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import relabel
from merrow_analysis.rules.fixes.fix_context import NOTHING, asked, what_feeding_brings
from merrow_analysis.rules.registry import Rule
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.wires import NodeOutput, wire_to

_MOST_OFFERED = 3
_MOST_TRIED = 8
"""Nodes that are tried as sources, the best first."""


def feed(
    context: GraphContext,
    rule: Rule,
    node: TypedNode,
    port: InputPort,
    *,
    instead: TypedEdge | None = None,
    label: str | None = None,
    but: Collection[TypedNode] = (),
) -> Iterator[Fix]:
    """The fixes that draw an edge into a port, from the likeliest sources first, ``but`` not from some.

    It takes the place of the edge ``instead``, unless that stays with another ``label``.
    """
    likely = (source for source in sources(context.graph, node, port) if source.node not in but)
    made = (
        repair
        for source in islice(likely, _MOST_TRIED)
        for repair in _fed(context, rule, node, port, source, instead, label)
    )
    yield from islice(made, _MOST_OFFERED)


def _fed(
    context: GraphContext,
    rule: Rule,
    node: TypedNode,
    port: InputPort,
    source: NodeOutput,
    instead: TypedEdge | None,
    label: str | None,
) -> Iterator[Fix]:
    title, wire_label = f"Feed {port.name} from {source.said}", wire_to(context.graph, source, node, port).label
    if instead is not None and label is None:
        link = WantedEdge(source.node.id, node.id, wire_label, kept=True)
        yield from asked(context).changed(rule, title, GraphChange(edges={instead.flow.index: (link,)}))
        return
    kept = NOTHING
    if instead is not None:
        title = f"Write |{label}| and feed {port.name} from {source.said}"
        kept = GraphChange(edges={instead.flow.index: (WantedEdge(instead.source.id, node.id, label, kept=True),)})
    links = [WantedEdge(source.node.id, node.id, wire_label)]
    yield from asked(context).drawn(rule, title, links, kept=kept, reveals=what_feeding_brings(node))


def feed_value(context: GraphContext, rule: Rule, decision: TypedNode, wanted: Type = ANY) -> Iterator[Fix]:
    """The fixes that give a Decision a value of a type to carry, from the nearest nodes before it."""
    made = (
        repair
        for source in islice(sources(context.graph, decision, InputPort("value", wanted)), _MOST_TRIED)
        for repair in asked(context).drawn(
            rule,
            f"Feed value of {decision.id} from {source.said}",
            [WantedEdge(source.node.id, decision.id, source.label("value"))],
        )
    )
    yield from islice(made, _MOST_OFFERED)


def with_port(context: GraphContext, rule: Rule, edge: TypedEdge, port: str) -> Iterator[Fix]:
    """The fix that writes behind the case of an edge which port its value goes to."""
    case = edge.case_label or ""
    label = f"{case}:{OVER}:{port}" if edge.word == OVER else f"{case}:{port}"
    yield from relabel(context, rule, edge, label)
