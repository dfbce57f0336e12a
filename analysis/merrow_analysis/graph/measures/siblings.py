"""What steps that work side by side have in common: where one of them lacks an edge, the others tell which one it may be."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from merrow_analysis.graph.nodes import TypedEdge, TypedNode

_MOST = 12
"""Siblings that are looked at, and edges of each node: what is asked of each finding must not take long."""


def siblings_before(node: TypedNode) -> list[TypedNode]:
    """The steps of the same operator that lead where a node does, in the order of the text."""
    behind = dict.fromkeys(edge.target for edge in islice(node.outgoing, _MOST))
    return _alike(node, dict.fromkeys(edge.source for target in behind for edge in islice(target.incoming, _MOST)))


def edges_into_siblings(node: TypedNode) -> list[TypedEdge]:
    """The edges into steps of the same operator that lead where a node does, and into those of other cases: the first from each
    source, what feeds most of them before the others.
    """
    edges: dict[TypedNode, list[TypedEdge]] = {}
    # What runs in another case has nothing to bring.
    others = steps_of_other_cases(node)
    for sibling in (*siblings_before(node), *others):
        for edge in islice(sibling.incoming, _MOST):
            if edge.source.kind != "decision" and edge.source not in others:
                edges.setdefault(edge.source, []).append(edge)
    by_number = sorted(edges.items(), key=lambda pair: -len(pair[1]))
    return [several[0] for source, several in by_number if source is not node]


def edges_out_of_siblings(node: TypedNode) -> list[TypedEdge]:
    """The edges out of steps that read what a node reads, to ensembles or from the same operator, and out of those of other
    cases: the first to each target.
    """
    before = dict.fromkeys(edge.source for edge in islice(node.incoming, _MOST))
    near = dict.fromkeys(edge.target for source in before for edge in islice(source.outgoing, _MOST))
    alike = _alike(node, near)
    first_edges = {edge.target: edge for edge in reversed(edges_out_of_other_cases(node))}
    for sibling in dict.fromkeys((*alike, *islice(near, _MOST))):
        for edge in islice(sibling.outgoing, _MOST):
            # Voices of one ensemble may have any operators.
            if sibling in alike or (sibling is not node and is_voice(edge)):
                first_edges.setdefault(edge.target, edge)
    return [edge for target, edge in first_edges.items() if target is not node]


def edges_out_of_other_cases(node: TypedNode) -> list[TypedEdge]:
    """The edges out of steps of which one runs in the place of a node."""
    return [edge for step in steps_of_other_cases(node) for edge in islice(step.outgoing, _MOST)]


def is_voice(edge: TypedEdge) -> bool:
    """Whether an edge brings an ensemble one of the answers that it chooses from."""
    spec = edge.target.spec
    return spec is not None and spec.is_ensemble and edge.port == spec.inputs[0].name


def steps_of_other_cases(node: TypedNode) -> list[TypedNode]:
    """The steps that other cases of the Decisions lead to of which a case leads to a node: of these one runs."""
    deciding = dict.fromkeys(edge.source for edge in islice(node.incoming, _MOST) if edge.source.kind == "decision")
    led_to = dict.fromkeys(edge.target for decision in deciding for edge in islice(decision.ways, _MOST))
    return [step for step in led_to if step is not node and step.kind == "operator"]


def _alike(node: TypedNode, near: Iterable[TypedNode]) -> list[TypedNode]:
    return list(islice((other for other in near if other is not node and other.operator == node.operator), _MOST))
