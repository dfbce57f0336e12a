"""What every change that a machine makes of a workflow must keep: people, tools, environments and what stores keep.

A model's answer can be asked for again and costs only money. A person who was asked, or a mail that was sent, stays so. So only
people decide whether such a node is there, how often it runs, what it is given, and what must have happened before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from merrow_analysis.definitions.operators import REMEMBER, TOOL, TOOL_AGENT
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.measures.call_bounds import most_calls
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode

_NO_NAMES: Mapping[str, str] = {}

_ACTS_BY = {spec.name: spec.parameters for spec in (TOOL, TOOL_AGENT, REMEMBER)}
"""What no repair may change at nodes with these operators."""

_Cases = frozenset[str] | None
"""The cases of a guard that lead on to what it guards; None at a guard that is not a Decision."""


class _Effects(NamedTuple):
    """The nodes of a graph with an effect, by id, and what guards each of them."""

    nodes: dict[str, TypedNode]
    guards: dict[str, dict[str, _Cases]]


def acting(graph: TypedGraph) -> list[TypedNode]:
    """The nodes of a graph with an effect beyond a model's answer, in its own workflow or in the file that one calls, in the
    order of their first mention.
    """
    handles = [
        handle
        for handle, resolution in enumerate(graph.resolutions)
        if (resolution.spec is not None and resolution.spec.acts)
        or (resolution.callee is not None and resolution.callee.acts)
    ]
    return graph.at(handle for handle in handles if graph.core.records[handle] is not None) if handles else []


def why_not_kept(
    before: TypedGraph, after: TypedGraph, names: Mapping[str, str] = _NO_NAMES, *, repaired: bool = False
) -> str | None:
    """Why a change made by a machine is refused, as a sentence; None where it keeps all effects.

    Nodes with an effect stay as they are, in the boxes that they are in, and none is new; none can run more often; each is given
    the same by the same edges; and the Humans and Decisions that must have let it through still do, by the same cases and for
    the same reasons. The workflow may use no tools, stores and environments that it could not before.
    ``names`` has the old id by the new one of nodes that were renamed. ``repaired``: ``before`` has errors that the change
    repairs, so that only what was understood in it must stay.
    """
    tools = [name for name in after.settings.tools if name not in before.settings.tools]
    if tools:
        return f"The workflow could use {tools[0]}, which only its author may let it."
    for name, environment in after.settings.environments.items():
        if environment != before.settings.environments.get(name):
            return f"The workflow could act in {name}, which only its author may let it."
    stores = [name for name, store in after.settings.stores.items() if store != before.settings.stores.get(name)]
    if stores:
        return f"The workflow could use the store {stores[0]} as it now can't, which only its author may let it."
    old, new = acting(before), acting(after)
    if not old and not new:
        return None
    known, now = _effects(before, old), _effects(after, new)
    return next(_differences(before, after, known, now, names, repaired=repaired), None)


def _differences(
    before: TypedGraph, after: TypedGraph, known: _Effects, now: _Effects, names: Mapping[str, str], *, repaired: bool
) -> Iterator[str]:
    for name, node in now.nodes.items():
        if name not in known.nodes and not (repaired and _was_unclear(before, name)):
            yield f"{name} would be a new {node.operator}, which only an author adds."
    for name, node in known.nodes.items():
        other = now.nodes.get(name)
        if other is None or other.operator != node.operator:
            yield f"{name} is a {node.operator}: only an author takes it away or makes something else of it."
            return
        yield from _moved(before, after, node, other, names, repaired=repaired)
        yield from _let_through(before, after, known, now, name, names, repaired=repaired)


def _moved(
    before: TypedGraph,
    after: TypedGraph,
    node: TypedNode,
    other: TypedNode,
    names: Mapping[str, str],
    *,
    repaired: bool,
) -> Iterator[str]:
    """What differs at a node with an effect itself."""
    name = node.id
    if not (repaired and name in _on_cycles(before)):
        if before.composites.around(name) != after.composites.around(name):
            yield f"{name} would be in other Loops or Maps than now."
        most, now = most_calls(before, node), most_calls(after, other)
        if most is not None and (now is None or now > most):
            yield f"{name} could run more often: {'without a limit' if now is None else f'{now} times'} instead of {most}."
    if repaired and node.operator not in _ACTS_BY:
        return
    if _parameters(node, repaired=repaired) != _parameters(other, repaired=repaired):
        yield f"{name} would ask or do something else; only its author may change that."
    if not repaired and _given(node, _NO_NAMES) != _given(other, names):
        yield f"{name} would be given something else than now, or from elsewhere."


def _let_through(
    before: TypedGraph,
    after: TypedGraph,
    known: _Effects,
    now: _Effects,
    name: str,
    names: Mapping[str, str],
    *,
    repaired: bool,
) -> Iterator[str]:
    """Which of the guards of a node no longer let it through as they did."""
    new_id = {old: new for new, old in names.items()}
    for guard, cases in known.guards[name].items():
        now_called = new_id.get(guard, guard)
        if now_called not in now.guards[name]:
            yield f"{name} could run without {guard}, which lets it through now."
            continue
        kept = now.guards[name][now_called]
        if cases is not None and (kept is None or not kept <= cases):
            yield f"{name} could run in other cases of {guard} than now."
        elif cases is not None and not repaired:
            old, new = before.by_id[guard], after.by_id[now_called]
            if _parameters(old) != _parameters(new) or _given(old, _NO_NAMES) != _given(new, names):
                yield f"{guard}, which decides whether {name} runs, would decide by something else."


def _was_unclear(before: TypedGraph, name: str) -> bool:
    """Whether a node was not understood, or may be in a statement that could not be read."""
    node = before.by_id.get(name)
    return node is None or node.kind == "unknown"


def _on_cycles(graph: TypedGraph) -> frozenset[str]:
    """The nodes on cycles, of which nobody can say how often they run."""
    return frozenset(graph.node(handle).id for cycle in graph.cycles for handle in cycle)


def _effects(graph: TypedGraph, nodes: list[TypedNode]) -> _Effects:
    return _Effects({node.id: node for node in nodes}, {node.id: _guards(graph, node) for node in nodes})


def _guards(graph: TypedGraph, node: TypedNode) -> dict[str, _Cases]:
    """The Humans and Decisions before a node that have run whenever it runs, with the cases in which it does. Where the cases are
    too many to combine, all of those before it, with the cases from which a way leads to it.
    """
    behind = reach(graph.shape.before, [node.index])
    behind[node.index] = 0
    candidates = [
        graph.node(handle)
        for handle, resolution in enumerate(graph.resolutions)
        if behind[handle]
        and (resolution.kind == "decision" or (resolution.spec is not None and resolution.spec.is_human))
    ]
    guards: dict[str, _Cases] = {}
    for guard in candidates:
        try:
            is_guard, cases = _lets_through(graph, guard, node)
        except TooManyCombinationsError:
            is_guard, cases = True, _leading_on(graph, guard, node)
        if is_guard:
            guards[guard.id] = cases
    return guards


def _lets_through(graph: TypedGraph, guard: TypedNode, node: TypedNode) -> tuple[bool, _Cases]:
    """Whether a node never runs without its guard, and in which of its cases. Raises `TooManyCombinationsError`."""
    combinations = graph.combinations
    if combinations.undecided is not None:
        raise TooManyCombinationsError
    algebra, runs = combinations.cases, combinations.runs(node)
    if algebra is None:
        return True, _leading_on(graph, guard, node)
    if algebra.both(runs, algebra.negated(combinations.runs(guard))) != NEVER:
        return False, None
    if guard.kind != "decision":
        return True, None
    labels = guard.cases.labels if guard.cases is not None else ()
    return True, frozenset(
        label for number, label in enumerate(labels) if algebra.both(runs, algebra.chosen(guard.index, number)) != NEVER
    )


def _leading_on(graph: TypedGraph, guard: TypedNode, node: TypedNode) -> _Cases:
    """The cases of a Decision from which a way leads to a node."""
    if guard.kind != "decision":
        return None
    behind = reach(graph.shape.before, [node.index])
    return frozenset(edge.case_label or "" for edge in guard.outgoing if behind[edge.target.index])


def _parameters(node: TypedNode, *, repaired: bool = False) -> dict[str, str]:
    """What is written at a node; with ``repaired`` only what no repair may change, which is the tool or store
    that it uses, and how.
    """
    keys = (
        _ACTS_BY[node.operator or ""] & node.resolution.parameters.keys()
        if repaired
        else node.resolution.parameters.keys() - {"op"}
    )
    parameters = {key: repr(node.resolution.parameters[key].value) for key in keys}
    return parameters | {"": node.resolution.plain or ""}


def _given(node: TypedNode, names: Mapping[str, str]) -> Counter[tuple[object, ...]]:
    """What the edges into a node bring, with their sources by their old names."""
    return Counter(_brought(edge, names) for edge in (*node.incoming, *node.again_in))


def _brought(edge: TypedEdge, names: Mapping[str, str]) -> tuple[object, ...]:
    source = edge.record.source
    return names.get(source, source), edge.case_label, edge.word, tuple((feed.output, feed.port) for feed in edge.feeds)
