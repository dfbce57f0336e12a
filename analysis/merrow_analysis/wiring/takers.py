"""Where the value of a node that nothing follows may go."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, islice

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import NUMBER, Type, item_of
from merrow_analysis.edits.change import label_of
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.boxes.edge_words import EACH
from merrow_analysis.graph.measures.siblings import edges_out_of_other_cases, edges_out_of_siblings
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.wires import (
    MOST_LOOKED_AT,
    OWN_KIND,
    NodeOutput,
    Wire,
    are_together,
    fits,
    is_loose,
    lacks,
    wire_to,
)

_MOST_EDGES = 50
"""Edges into a node of which one may have been meant to start elsewhere."""


def open_ports(node: TypedNode, given: Type | None) -> list[InputPort]:
    """The ports of a node that take a value of a type (None: not known): those of its own kind, then those that lack one, then
    those that may take more.
    """
    fitting = [port for port in node.input_ports if _takes(node, given, port)]
    open_ones = [port for port in fitting if port.many or port.item != port.type or not node.sources(port.name)]
    missing = lacks(node)
    own = [port for port in open_ones if given is not None and given == OWN_KIND.get(port.name)]
    needed = [port for port in open_ones if port.name in missing]
    empty = [port for port in open_ones if port.required and not node.sources(port.name)]
    return list({port.name: port for port in (*own, *needed, *empty, *open_ones)}.values())


def _takes(node: TypedNode, given: Type | None, port: InputPort) -> bool:
    if given is None:
        return True
    if node.sources(port.name) and OWN_KIND.get(port.name, given) != given:
        return False
    item = item_of(given)
    return fits(node, given, port) or (item is not None and fits(node, item, port))


def takers(graph: TypedGraph, node: TypedNode, first: Collection[TypedNode] = ()) -> Iterator[Wire]:
    """The edges out of a node that nothing follows, the likeliest first: to ``first``, into what lacks its value, where the
    steps beside it lead, in the place of an edge that passes it by, to an output, then into what may take more. Before all these
    comes an edge that asks its source for what this node alone has.
    """
    if node.kind == "decision":
        return
    given = NodeOutput(node, None, next(iter(node.outputs.values()), None))
    shape = graph.shape
    before, leading = reach(shape.before, [node.index]), reach(shape.before, shape.outputs)
    usual = {edge.target: edge for edge in edges_out_of_siblings(node) if not before[edge.target.index]}
    instead = {edge.target for edge in edges_out_of_other_cases(node)}
    here = shape.places[node.index]
    behind = shape.order[here : here + MOST_LOOKED_AT] if len(graph.nodes) > MOST_LOOKED_AT else range(0)
    others = [graph.node(index) for index in behind] if behind else graph.nodes
    ranked: list[tuple[tuple[int | bool, ...], Wire]] = []
    for other in dict.fromkeys((*first, *usual, *graph.outputs, *others)):
        if other is node or before[other.index] or other.kind == "input" or not (leading[other.index] or lacks(other)):
            continue
        arriving = list(islice(other.incoming, _MOST_EDGES))
        misled = {edge for edge in arriving if _wants_another(edge, given)}
        passing = (edge for edge in arriving if edge in misled or _passes_by(node, edge, before, given))
        ends = chain(
            (Wire(node, other, label_of(edge.flow), edge) for edge in passing),
            _into(graph, given, other, usual.get(other)),
        )
        for number, wire in enumerate(ends):
            distance = shape.places[other.index] - here
            key = (
                other not in first,
                wire.instead not in misled,
                not _is_missed(other, wire),
                0 if other in instead else 1 if other in usual else 2,
                other.kind == "output" and bool(other.incoming),
                not are_together(graph, node, other),
                wire.instead is None and other.kind != "output",
                number,
                distance < 0,
                abs(distance),
            )
            ranked.append((key, wire))
    yield from (wire for _, wire in sorted(ranked, key=lambda pair: pair[0]))


def _is_missed(node: TypedNode, wire: Wire) -> bool:
    """Whether a node can't do without such an edge, so that one has probably gone."""
    if wire.instead is not None:
        return False
    if wire.label is not None and wire.label.startswith(EACH):
        return True
    return not node.incoming or bool(lacks(node)) or _lacks_voice(node)


def _lacks_voice(node: TypedNode) -> bool:
    return node.spec is not None and node.spec.is_ensemble and len(node.sources(node.spec.inputs[0].name)) < 2


def _into(graph: TypedGraph, given: NodeOutput, other: TypedNode, usual: TypedEdge | None) -> Iterator[Wire]:
    """The edge into a node: as that of a step beside it is, else to the port that wants the value most."""
    if usual is not None and not usual.implied and _takes_too(given, usual):
        yield Wire(given.node, other, label_of(usual.flow))
    elif other.kind == "output" or (other.kind == "decision" and not other.incoming):
        yield Wire(given.node, other, None)
    else:
        yield from (wire_to(graph, given, other, port) for port in open_ports(other, given.type)[:1])


def _takes_too(given: NodeOutput, edge: TypedEdge) -> bool:
    """Whether the port that an edge leads to may take a value as well."""
    port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
    return port is None or fits(edge.target, given.type, port)


def _passes_by(node: TypedNode, edge: TypedEdge, before: bytearray, given: NodeOutput) -> bool:
    """Whether an edge brings the only value of a port past a node, and may have been meant to start there."""
    source, target, output = edge.source, edge.target, edge.placed.label.output
    if edge.word is not None or edge.implied or source.kind not in ("input", "operator"):
        return False
    if not (source.kind == "input" or before[source.index]) or (output is not None and output not in node.outputs):
        return False
    if target.kind == "output":
        return True
    port = next((port for port in target.input_ports if port.name == edge.port), None)
    if port is None or port.name in OWN_KIND:
        return False
    # An ensemble chooses among answers, and an input is none.
    is_odd = source.kind == "input" and target.spec is not None and target.spec.is_ensemble
    return (not port.many or is_odd) and fits(target, given.type, port)


def _wants_another(edge: TypedEdge, given: NodeOutput) -> bool:
    """Whether an edge asks its source for an output, or its target for a number to order by, that the source does not have and
    the given node does.
    """
    target, types = edge.target, given.node.types
    if edge.word is not None or edge.implied or edge.source is given.node or edge.source.kind == "decision":
        return False
    for finding in target.placement.findings:
        if finding.kind == "unknown-output" and finding.edge is not None and target.incoming[finding.edge] is edge:
            return finding.names[0].partition(".")[0] in given.node.outputs
        if finding.kind == "no-order" and target.spec is not None and edge.port == target.spec.bulk:
            item = None if given.type is None else item_of(given.type) or given.type
            number = None if item is None or finding.port is None else types.field_at(item, finding.port)
            return number is not None and types.fits(number, NUMBER)
    return False


def lists_into(graph: TypedGraph, box: Composite) -> Iterator[Wire]:
    """The edges that may bring a Map its list, the likeliest first: from what nothing reads to what nothing leads to."""
    members = [graph.by_id[name] for name in islice(box.nodes, _MOST_EDGES)]
    fewest = min((len(member.incoming) for member in members if member.kind == "operator"), default=0)
    for target in members:
        port = next(
            (port for port in target.input_ports if target.spec is not None and port.name == target.spec.bulk), None
        )
        if port is None or len(target.incoming) > fewest:
            continue
        likely = (
            source
            for source in sources(graph, target, port)
            if source.type is not None and item_of(source.type) is not None
        )
        wires = (
            wire_to(graph, source, target, port)
            for source in sorted(likely, key=lambda source: not is_loose(source.node))
        )
        yield from (wire for wire in wires if (wire.label or "").startswith(EACH))
