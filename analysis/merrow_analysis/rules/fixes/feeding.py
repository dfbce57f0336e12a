"""Fixes that feed a port: by an edge from a node that gives what it takes, or by the case edge that is there already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ANY, ENTRY_POINT, PROBLEM, Type, is_variable
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, Link
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.boxes.words import OVER
from merrow_analysis.graph.measures.siblings import edges_into_siblings, siblings_before
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import relabel
from merrow_analysis.rules.fixes.fix_context import NOTHING, asked, what_feeding_brings
from merrow_analysis.rules.registry import Rule

_MOST_OFFERED = 3
_MOST_TRIED = 8
"""Nodes that are tried as sources, the best first."""
_MOST_LOOKED_AT = 300
"""Nodes among which the likeliest sources are found."""
OWN_KIND = {"problem": PROBLEM, "entry_point": ENTRY_POINT}


class Source(NamedTuple):
    """An output of a node: ``output`` is None for the default one, which no edge needs to name."""

    node: TypedNode
    output: str | None
    type: Type

    @property
    def said(self) -> str:
        return self.node.id if self.output is None else f"{self.output} of {self.node.id}"

    def label(self, port: str | None) -> str | None:
        """What an edge from it says that leads to a port; None for ``port`` where that need not be said."""
        return port if self.output is None else f"{self.output}:{port or ''}"


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
        found
        for source in islice(likely, _MOST_TRIED)
        for found in _fed(context, rule, node, port, source, instead, label)
    )
    yield from islice(made, _MOST_OFFERED)


def _fed(
    context: GraphContext,
    rule: Rule,
    node: TypedNode,
    port: InputPort,
    source: Source,
    instead: TypedEdge | None,
    label: str | None,
) -> Iterator[Fix]:
    title, said = f"Feed {port.name} from {source.said}", source.label(_said(node, port.name))
    if instead is not None and label is None:
        link = Link(source.node.id, node.id, said, kept=True)
        yield from asked(context).changed(rule, title, GraphChange(edges={instead.flow.index: (link,)}))
        return
    kept = NOTHING
    if instead is not None:
        title = f"Write |{label}| and feed {port.name} from {source.said}"
        kept = GraphChange(edges={instead.flow.index: (Link(instead.source.id, node.id, label, kept=True),)})
    links = [Link(source.node.id, node.id, said)]
    yield from asked(context).drawn(rule, title, links, kept=kept, reveals=what_feeding_brings(node))


def feed_value(context: GraphContext, rule: Rule, decision: TypedNode, wanted: Type = ANY) -> Iterator[Fix]:
    """The fixes that give a Decision a value of a type to carry, from the nearest nodes before it."""
    made = (
        found
        for source in islice(sources(context.graph, decision, InputPort("value", wanted)), _MOST_TRIED)
        for found in asked(context).drawn(
            rule,
            f"Feed value of {decision.id} from {source.said}",
            [Link(source.node.id, decision.id, source.label("value"))],
        )
    )
    yield from islice(made, _MOST_OFFERED)


def with_port(context: GraphContext, rule: Rule, edge: TypedEdge, port: str) -> Iterator[Fix]:
    """The fix that writes behind the case of an edge which port its value goes to."""
    case = edge.case_label or ""
    label = f"{case}:{OVER}:{port}" if edge.word == OVER else f"{case}:{port}"
    yield from relabel(context, rule, edge, label)


def sources(graph: TypedGraph, node: TypedNode, port: InputPort) -> list[Source]:
    """What may feed a port without waiting for its node, the likeliest first: an input of the port's own kind, what feeds the
    steps beside it, an output of the port's name, then of its very type; of these the nearest before the node, then others.
    """
    shape = graph.shape
    after = reach(shape.following, [node.index])
    before = reach(shape.before, [node.index])
    own, wanted = OWN_KIND.get(port.name), port.item if port.many else port.type
    usual = {edge.source for edge in edges_into_siblings(node)}
    beside = set(siblings_before(node))
    found: list[tuple[tuple[int | bool, ...], Source]] = []
    for giver in _near(graph, node, usual):
        if after[giver.index] or giver.kind not in ("input", "operator") or giver.implied or giver is node:
            continue
        for number, (name, type_) in enumerate(giver.outputs.items()):
            if type_ is None or not (is_variable(wanted) or graph.types.fits(type_, wanted)):
                continue
            if (type_ == ENTRY_POINT and wanted != ENTRY_POINT) or _is_aside(graph, type_, wanted):
                continue
            steps = 0 if is_variable(wanted) else graph.types.distance(type_, wanted) or 0
            key = (
                type_ != own,
                giver not in usual,
                giver in beside,
                name != port.name or giver.kind == "input",
                giver.kind == "input" and own is None,
                steps,
                number,
                not before[giver.index],
                -shape.places[giver.index],
            )
            found.append((key, Source(giver, None if number == 0 else name, type_)))
    if own is not None and any(source.type == own for _, source in found):
        found = [one for one in found if one[1].type == own]
    return [source for _, source in sorted(found, key=lambda one: one[0])]


def _near(graph: TypedGraph, node: TypedNode, usual: Collection[TypedNode]) -> Iterable[TypedNode]:
    """The nodes that are looked at as sources: all, or in a large workflow the usual ones, some inputs, and the nearest ones
    before the node, since a file may ask for the fixes of all of its findings.
    """
    if len(graph.nodes) <= _MOST_LOOKED_AT:
        return graph.nodes
    shape = graph.shape
    here = shape.places[node.index]
    before = shape.order[max(0, here - _MOST_LOOKED_AT) : here]
    inputs = islice(graph.inputs, _MOST_LOOKED_AT)
    return dict.fromkeys((*usual, *inputs, *(graph.node(index) for index in before)))


def _is_aside(graph: TypedGraph, given: Type, wanted: Type) -> bool:
    """Whether a value is a verdict or feedback, and the port is for something else."""
    return is_odd_result(given, graph.types) and given != wanted


def _said(node: TypedNode, port: str) -> str | None:
    """The name of a port as an edge must say it."""
    return None if node.spec is not None and node.spec.bulk == port and not node.spec.is_ensemble else port
