"""Steps that change nodes near a finding: one goes, gets another operator, or comes between two others."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.edits.change import GraphChange, WantedEdge
from merrow_analysis.graph.nodes import TypedNode
from merrow_optimizer.mutations import addition, deletion, substitution
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.repair.concerned import Concerned
from merrow_optimizer.repair.steps import RepairStep, of_change


def node_steps(original: Original, about: Concerned) -> Iterator[RepairStep]:
    """All that may be done to the nodes that a finding is about."""
    specs = [
        spec for spec in original.typed.operators.specs.values() if spec.asks_model and spec.inputs and spec.outputs
    ]
    for node in about.nodes:
        if node.kind in ("operator", "unknown"):
            yield from _removed(original, node)
        if node.kind == "operator" and node.id not in original.closed:
            for spec in specs:
                if spec is not node.spec:
                    change = substitution.substitute(original, node, spec)
                    if not change.doubts:
                        yield of_change(original, change, change.title)
    for edge in about.edges:
        # A node comes where a value goes in that does not fit.
        if edge.port is None or not edge.target.placement.findings or "unknown" in (edge.source.kind, edge.target.kind):
            continue
        for spec in specs:
            if not spec.is_ensemble and _is_between(spec):
                inserted = addition.insert(original, edge, spec)
                if not inserted.doubts:
                    yield of_change(original, inserted, inserted.title)


def _is_between(spec: OperatorSpec) -> bool:
    return spec.through is not None and not spec.is_decision


def _removed(original: Original, node: TypedNode) -> Iterator[RepairStep]:
    """A node goes: those that read it read what it worked on, or it goes with all its edges."""
    bridged = deletion.remove(original, node)
    yield of_change(original, bridged, bridged.title)
    plain: dict[int, tuple[WantedEdge, ...]] = {edge.index: () for edge in (*node.flow.incoming, *node.flow.outgoing)}
    if plain != dict(bridged.edges):
        change = GraphChange(removed=frozenset({node.id}), edges=plain)
        yield of_change(original, change, f"Remove {node.id} and its edges")
