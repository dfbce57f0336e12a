"""Where a workflow can be cut in two, and which cuts of two workflows match.

A cut divides the nodes between inputs and outputs into an upstream and a downstream part, such that all that crosses is
one value, or the candidates of one ensemble. Inputs belong to neither part: both parents have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from merrow_analysis.definitions.types import Type, TypeTable, is_variable, item_of
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.liveness.frames import unit_order
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_optimizer.joining.types import kinds, same_type

MOST_CUTS = 40
"""Nodes of a workflow at which cuts are looked for."""

_Item = TypeVar("_Item")


def spread(items: Sequence[_Item], most: int) -> list[_Item]:
    """``most`` of the items, evenly spread, or all where there are no more."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


@dataclass(frozen=True, eq=False)
class Cut:
    """One cut. ``upstream`` and ``downstream`` are ids of operator nodes and Decisions, ``crossing`` the edges between.

    ``value`` is the node whose one output crosses; None at an ensemble, whose candidates cross: it is the ``gate``, the
    first node downstream. ``type`` is that of the value, or the closest kind of all candidates.
    """

    graph: TypedGraph
    upstream: frozenset[str]
    downstream: frozenset[str]
    crossing: tuple[TypedEdge, ...]
    value: TypedNode | None
    gate: TypedNode | None
    type: Type

    @property
    def output(self) -> str | None:
        """The output that crosses, None for the default one."""
        if self.value is None:
            return None
        name = self.crossing[0].output
        return None if name == next(iter(self.value.outputs), None) else name

    @cached_property
    def is_preferred(self) -> bool:
        """Whether it lies at an ensemble, or at an output of the workflow."""
        if self.value is None or (self.value.spec is not None and self.value.spec.is_ensemble):
            return True
        return all(edge.target.kind == "output" for edge in self.crossing)

    @property
    def title(self) -> str:
        """Where it is, in words: ``after VOTE``, ``before VOTE``."""
        if self.value is not None:
            return f"after {self.value.id}"
        return f"before {self.gate.id}" if self.gate is not None else ""


def cuts(graph: TypedGraph, most: int = MOST_CUTS) -> Iterator[Cut]:
    """The cuts of a valid workflow, from its inputs to its outputs; at ``most`` that many nodes, spread evenly. None goes
    through a Loop or a Map, or an edge with a word of theirs.

    Takes time linear in the graph for each of them.
    """
    boundary = {*graph.shape.inputs, *graph.shape.outputs}
    by_unit = unit_order(graph.core) if graph.composites else None
    order = [index for index in by_unit or graph.order if index not in boundary]
    place = {index: number for number, index in enumerate(order)}
    for index in spread(graph.shape.cuts, most):
        node = graph.node(index)
        if node.kind != "operator" or node.spec is None or graph.combinations.runs(node) != ALWAYS:
            continue
        if node.spec.is_ensemble:
            cut = _before(graph, node, order[: place[index]], order[place[index] :])
            if cut is not None and not _goes_through_a_box(cut):
                yield cut
        # What a Loop or Map gives crosses behind all of it.
        end = max((place[graph.core.handles[name]] for name in _box_of(graph, node)), default=place[index]) + 1
        cut = _after(graph, node, order[:end], order[end:])
        if cut is not None and not _goes_through_a_box(cut):
            yield cut


def _box_of(graph: TypedGraph, node: TypedNode) -> list[str]:
    """The nodes of the outermost composite around a node."""
    around = graph.composites.around(node.id)
    return graph.composites.members(around[-1]) if around else []


def _goes_through_a_box(cut: Cut) -> bool:
    """Whether a cut divides a Loop or a Map, or an edge that crosses has a word of theirs."""
    composites = cut.graph.composites
    if not composites:
        return False
    if any(edge.word is not None for edge in cut.crossing):
        return True
    outer = (composites.members(box.id) for box in composites if box.parent is None)
    return any(not cut.upstream.isdisjoint(nodes) and not cut.downstream.isdisjoint(nodes) for nodes in outer)


def _crossing(graph: TypedGraph, upstream: set[int]) -> tuple[TypedEdge, ...]:
    inputs = set(graph.shape.inputs)
    return tuple(
        edge
        for edge in graph.edges
        if edge.source.index in upstream and edge.target.index not in upstream and edge.target.index not in inputs
    )


def _ids(graph: TypedGraph, indices: list[int]) -> frozenset[str]:
    return frozenset(graph.node(index).id for index in indices)


def _after(graph: TypedGraph, node: TypedNode, up: list[int], down: list[int]) -> Cut | None:
    crossing = _crossing(graph, set(up))
    if not crossing or any(edge.source is not node or len(edge.feeds) != 1 for edge in crossing):
        return None
    values = {(edge.output, edge.type) for edge in crossing}
    type_ = crossing[0].type
    if len(values) != 1 or type_ is None:
        return None
    return Cut(graph, _ids(graph, up), _ids(graph, down), crossing, node, None, type_)


def _before(graph: TypedGraph, ensemble: TypedNode, up: list[int], down: list[int]) -> Cut | None:
    """The cut at the candidates of an ensemble: two or more, each of which is always there."""
    assert ensemble.spec is not None  # noqa: S101 - for the type checker; only ensembles come here
    port = ensemble.spec.inputs[0].name
    crossing = _crossing(graph, set(up))
    if any(edge.target is not ensemble or edge.port != port or len(edge.feeds) != 1 for edge in crossing):
        return None
    if any(edge.source.index not in set(up) for edge in ensemble.sources(port)):
        return None
    sources = {edge.source.id: edge.source for edge in crossing}
    if len(sources) < ensemble.spec.sources:
        return None
    if any(node.kind != "operator" or graph.combinations.runs(node) != ALWAYS for node in sources.values()):
        return None
    types = [edge.type for edge in crossing if edge.type is not None]
    if len(types) < len(crossing) or any(item_of(type_) is not None for type_ in types):
        return None
    return Cut(graph, _ids(graph, up), _ids(graph, down), crossing, None, ensemble, graph.types.common(types))


Match = Literal["none", "inferred", "exact"]
"""Whether one part may feed another: no; perhaps, types must be inferred again to tell; or yes, nothing there changes."""


def matches(upper: Cut, lower: Cut) -> Match:
    """Whether the upstream part of ``upper`` may feed the downstream part of ``lower``."""
    here, there = upper.graph.types, lower.graph.types
    if upper.value is not None and lower.value is not None:
        answers = [_takes(edge, upper.type, here, there) for edge in lower.crossing]
        return "none" if "none" in answers else "inferred" if "inferred" in answers else "exact"
    first, second = upper.gate, lower.gate
    if first is None or second is None or first.spec is None or second.spec is None:
        return "none"
    if first.spec.inputs[0] != second.spec.inputs[0]:
        return "none"
    return "exact" if same_type(upper.type, here, lower.type, there) else "inferred"


def _takes(edge: TypedEdge, given: Type, here: TypeTable, there: TypeTable) -> Match:
    """Whether an edge that brings another type now would feed the same port, and whether anything after it notices.

    A type that differs is sure to do no harm only at a port of a fixed type, for then what its node gives is as before, and
    only over an edge whose place does not depend on its type.
    """
    old, target = edge.type, edge.target
    if old is not None and same_type(given, here, old, there):
        return "exact"
    port = next((port for port in target.input_ports if port.name == edge.port), None)
    if port is None or target.kind not in ("operator", "output") or item_of(given) is not None:
        return "none"
    if target.kind == "output" and is_odd_result(given, here):
        return "none"
    bulk = target.kind == "output" or (target.spec is not None and target.spec.bulk == port.name)
    if (edge.inferred and not bulk) or is_variable(port.item):
        return "inferred"
    if item_of(port.type) is not None and not port.many:
        return "none"
    return "exact" if any(same_type(kind, here, port.item, there) for kind in kinds(given, here)) else "none"
