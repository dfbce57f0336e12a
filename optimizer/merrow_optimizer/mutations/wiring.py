"""How new edges are labelled, and what upstream may feed a port that a node needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.definitions.operators import InputPort, OperatorSpec
from merrow_analysis.definitions.types import PROBLEM, Type, is_variable, item_of
from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.placing.notation import AFTER, read_label
from merrow_analysis.wiring.wires import OWN_KIND, NodeOutput, joined
from merrow_optimizer.mutations.original import Original

_GIVES_NOTHING = ("decision", "output", "unknown")
"""Kinds of nodes that no new edge may read."""

Outputs = Sequence[tuple[str, Type | None]]
"""What a node gives, by name, the default first; None is a type that isn't known."""


def source_of(edge: TypedEdge) -> NodeOutput:
    """Where an edge starts."""
    output = edge.output
    default = next(iter(edge.source.outputs), None) if edge.source.kind != "decision" else None
    return NodeOutput(edge.source, None if output == default else output, edge.type)


def port_label(
    spec: OperatorSpec | None, port: str, type_: Type | None, *, named: bool, original: Original
) -> str | None:
    """The name of a port as an edge must say it: None where an unlabelled edge goes there silently.

    ``spec`` is None for an output node; ``named`` says that the file names ports that needn't be.
    """
    if spec is None:
        return None
    if spec.bulk == port:
        if spec.is_ensemble:
            aside = type_ is None or original.typed.types.fits(type_, PROBLEM)
            return port if aside and "problem" in spec.ports else None
        return port if named else None
    return port


def names_bulk(original: Original) -> bool:
    """Whether the file says the name of a port that needs none; see `Original.names_bulk`."""
    return original.names_bulk


def relabelled(edge: TypedEdge, output: str | None, original: Original) -> str | None:
    """The label of an edge that starts at another node's output now, and goes where it went."""
    written = None if edge.flow.arrow.label is None else edge.flow.arrow.label.text
    if edge.source.kind == "decision":
        port = edge.port
        if port is None:
            return None
    else:
        port = read_label(written, from_decision=False).port
    if port is None and edge.target.kind == "operator" and edge.port is not None:
        port = port_label(edge.target.spec, edge.port, edge.type, named=False, original=original)
    elif edge.source.kind == "decision" and edge.target.kind != "decision" and port is not None:
        port = port_label(edge.target.spec, port, edge.type, named=names_bulk(original), original=original)
    return joined(output, port)


def case_label(edge: TypedEdge, spec: OperatorSpec | None, port: str | None) -> str:
    """The label of a case edge that leads to another port: its case stays."""
    case = edge.case_label or ""
    if port is None:
        return f"{case}:{AFTER}" if edge.source.placement.signature.has_value or edge.placed.label.after else case
    if spec is None or spec.bulk == port:
        return case
    return f"{case}:{port}"


def new_link(source: NodeOutput, target: str, spec: OperatorSpec, port: str, original: Original) -> WantedEdge:
    """A new edge into a port of a node with an operator."""
    label = port_label(spec, port, source.type, named=names_bulk(original), original=original)
    return WantedEdge(source.node.id, target, joined(source.output, label))


def fits(original: Original, type_: Type | None, port: InputPort) -> bool:
    """Whether one value of a type may flow into a port."""
    if type_ is None:
        return True
    wanted = port.item if port.many else port.type
    if is_variable(wanted):
        return True
    item = item_of(type_)
    if port.many and item is not None and original.typed.types.fits(item, wanted):
        return True
    return original.typed.types.fits(type_, wanted)


def _upstream(original: Original, node: TypedNode) -> Iterator[tuple[int, Outputs]]:
    """A node and all that lead to it, and the inputs, by handle with what they give: the nearest first, in topological
    order; without those that give nothing that can be read.
    """
    typed = original.typed
    marks = reach(typed.shape.before, [node.index])
    resolutions, placements = typed.resolutions, typed.placements
    for handle in reversed(typed.shape.order):
        kind = resolutions[handle].kind
        if (marks[handle] or kind == "input") and kind not in _GIVES_NOTHING:
            yield handle, placements[handle].signature.outputs


def feeders(original: Original, node: TypedNode, port: InputPort) -> Iterator[NodeOutput]:
    """What may feed a side port of a new node that follows ``node``, the best first: sources of the port's name and
    type, then of its very type; the nearest first.
    """
    typed, wanted = original.typed, OWN_KIND.get(port.name)
    if wanted is not None:
        for handle, given in _upstream(original, node):
            for number, (name, type_) in enumerate(given):
                if type_ == wanted:
                    yield NodeOutput(typed.node(handle), name if number else None, type_)
        return
    before = list(_upstream(original, node))
    for named in (True, False):
        for handle, given in before:
            for number, (name, type_) in enumerate(given):
                if type_ is None:
                    continue
                same = name == port.name and fits(original, type_, port) if named else type_ == port.item
                if same:
                    yield NodeOutput(typed.node(handle), name if number else None, type_)


def outputs(node: TypedNode) -> list[NodeOutput]:
    """What a node gives, the default output first."""
    if node.kind in _GIVES_NOTHING:
        return []
    return [
        NodeOutput(node, name if number else None, type_) for number, (name, type_) in enumerate(node.outputs.items())
    ]
