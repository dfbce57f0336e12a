"""Fixes of what nodes are fed: other labels, other sources, values for Decisions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from merrow_analysis.definitions.types import ANY, ENTRY_POINT, PROBLEM, TEXT, Type, is_variable, item_of
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, WantedEdge, label_of
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.placement import PlacementFinding
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import relabel, remove_edge
from merrow_analysis.rules.fixes.feeding import feed, feed_value, with_port
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.fixes.path_fixes import added
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import spelled
from merrow_analysis.wiring.sources import givers_of
from merrow_analysis.wiring.wires import OWN_KIND

_MOST_PORTS = 30
"""Ports of a node among which one is looked for that fits a value."""
_MOST_OFFERED = 3


def labelled(edge: TypedEdge, port: str, output: str | None = None) -> str:
    """The label that sends this edge to ``port``, keeping what its label says besides."""
    label = edge.placed.label
    if edge.source.kind == "decision":
        return spelled(label.case, edge.word, label.output, port)
    return spelled(edge.word, label.output if output is None else output, port)


def fitting_ports(graph: TypedGraph, node: TypedNode, given: Type) -> list[str]:
    """Ports that nothing feeds yet and that take a value of this type (no lists): the nearest ones, needed ones
    first. None of a node with very many ports.
    """
    ports = node.input_ports
    if len(ports) > _MOST_PORTS:
        return []
    open_ports = [port for port in ports if port.type == port.item]
    open_ports = [port for port in open_ports if port.many or port.name not in node.placement.fed]
    steps = {port: graph.types.distance(given, port.type) for port in open_ports}
    near = min((distance for distance in steps.values() if distance is not None), default=None)
    best = [port for port, distance in steps.items() if distance is not None and distance == near]
    return [port.name for port in best if port.required] or [port.name for port in best]


def promise(edge: TypedEdge, wanted: Type | None, before: str) -> str:
    """That the author may vouch for the type, where the edge brings, as it is, what its source says that its answer is."""
    source = edge.source
    if (
        source.spec is None
        or edge.raised
        or edge.lowered is not None
        or edge.output not in (None, next(iter(source.own_outputs), None))
        or source.spec.bulk is None
        or not source.spec.asks_model
        or source.spec.is_ensemble
        or source.resolution.samples
    ):
        return ""
    verb = "if it restates the task, " if wanted == PROBLEM else ""
    return f"{before}{verb}write `returns: {wanted}` at {source.id}"


def fed(context: GraphContext, rule: Rule, node: TypedNode, port: str, case_edge: TypedEdge | None) -> Iterator[Fix]:
    """Have a case edge that is there bring its value to the port, or draw an edge into it."""
    if case_edge is not None:
        yield from with_port(context, rule, case_edge, port)
    known = next((known for known in node.input_ports if known.name == port), None)
    if known is None:
        return
    deciding = {edge.source.index: edge.source for edge in node.incoming if edge.order_only and edge.case_label}
    if case_edge is None and len(deciding) == 1:
        [decision] = deciding.values()
        yield from feed_value(context, rule, decision, ANY if is_variable(known.type) else known.type)
    sources = list(feed(context, rule, node, known))
    yield from sources
    if not sources and known.type == ENTRY_POINT and ENTRY_POINT_ID not in context.graph.flow.nodes:
        link = WantedEdge(ENTRY_POINT_ID, node.id, port)
        made = added(context, ENTRY_POINT_ID, [link], f"Add {ENTRY_POINT_ID} and lead it to {node.id}")
        yield from asked(context).sound(rule, [made])


def other_ports(
    context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge, given: Type | None, output: str | None = None
) -> Iterator[Fix]:
    """Write another port that takes what an edge brings, an open one first; or take the edge away where none does."""
    fitting = [] if given is None else fitting_ports(context.graph, node, given)
    for port in fitting[:_MOST_OFFERED]:
        text = labelled(edge, port, output)
        yield from relabel(context, rule, edge, text, reveals=what_edges_bring)
    yield from remove_edge(context, rule, edge.flow)


def fitted(
    context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge, finding: PlacementFinding
) -> Iterator[Fix]:
    """Read another output of the node, write another port, feed the port from elsewhere, or vouch for the type."""
    graph, source, port = context.graph, edge.source, finding.port or ""
    if source.kind != "decision":
        for right in finding.names[:1]:
            yield from relabel(context, rule, edge, labelled(edge, port, right))
    known = next((known for known in node.input_ports if known.name == port), None)
    if known is not None and not edge.word and source.kind != "decision" and port in OWN_KIND:
        # No other port was meant: this one takes one kind of input alone.
        yield from feed(context, rule, node, known, instead=edge)
    for other in fitting_ports(graph, node, finding.given or TEXT)[:_MOST_OFFERED]:
        if other != port:
            yield from relabel(context, rule, edge, labelled(edge, other))
    if known is not None and not edge.word and source.kind != "decision":
        for other in fitting_ports(graph, node, finding.given or TEXT)[:1]:
            if other != port and known.required:
                yield from feed(context, rule, node, known, instead=edge, label=labelled(edge, other))
        if port not in OWN_KIND:
            yield from feed(context, rule, node, known, instead=edge)
    if promise(edge, finding.wanted, "") and not item_of(finding.wanted or TEXT):
        title = f"Write returns: {finding.wanted} at {source.id}"
        yield from asked(context).with_parameter(rule, title, source, "returns", str(finding.wanted))


def results(context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge, others: list[str]) -> Iterator[Fix]:
    """Read another output of the node, or what it has judged."""
    port = edge.placed.label.port
    for name in others[:_MOST_OFFERED]:
        yield from relabel(context, rule, edge, f"{name}:{port or ''}")
    judge = edge.source
    for before in judge.incoming if judge.kind == "operator" else ():
        if before.port == "solution" and before.source.kind == "operator":
            default = next(iter(before.source.outputs), None)
            label = port if before.output in (None, default) else f"{before.output}:{port or ''}"
            edges: dict[int, tuple[WantedEdge, ...]] = {}
            only = len(judge.flow.outgoing) == 1
            if only:
                edges = {incoming.index: () for incoming in judge.flow.incoming}
            edges[edge.flow.index] = (WantedEdge(before.source.id, node.id, label, kept=True),)
            change = GraphChange(edges=edges, removed=frozenset({judge.id} if only else ()))
            title = f"Read {before.source.id}, which {judge.id} judges" + (f", and remove {judge.id}" if only else "")
            yield from asked(context).changed(rule, title, change)


def with_value(context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge, port: str) -> Iterator[Fix]:
    """Give the Decision before a case edge a value; feed the port from elsewhere; or have the edge say its case alone."""
    known = next((known for known in node.input_ports if known.name == port), None)
    wanted = ANY if known is None or is_variable(known.type) else known.type
    yield from feed_value(context, rule, edge.source, wanted)
    case = edge.case_label or ""
    if known is not None and case:
        yield from feed(context, rule, node, known, instead=edge, label=case)
    if case:
        yield from relabel(context, rule, edge, case)


def from_what_gives(context: GraphContext, rule: Rule, edge: TypedEdge, output: str) -> Iterator[Fix]:
    """Have an edge start at a step that has the output which it names, the nearest first."""
    graph, node = context.graph, edge.target
    for giver in islice(givers_of(graph, node, output), _MOST_OFFERED):
        title = f"Let {node.id} read {giver.id} instead of {edge.source.id}"
        link = WantedEdge(giver.id, node.id, label_of(edge.flow), kept=True)
        yield from asked(context).changed(rule, title, GraphChange(edges={edge.flow.index: (link,)}))
