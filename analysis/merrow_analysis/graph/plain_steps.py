"""How a flowchart with plain steps is read, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.graph.nodes import TypedGraph, TypedNode


def plain_nodes(graph: TypedGraph) -> list[TypedNode]:
    """The nodes at which no operator is written, in the order of the text."""
    return graph.at(graph.marks.plain)


def reading(graph: TypedGraph, says_memory: bool) -> str:
    """What is read into a flowchart: boxes, diamonds, beginnings and ends. ``says_memory`` is that of the settings."""
    plain = plain_nodes(graph)
    steps = [node for node in plain if node.kind == "operator"]
    asking = [node for node in plain if node.asks]
    decided = [node for node in plain if node.kind == "decision" and not node.asks]
    memory = "" if says_memory else " and sees the results of all steps before it"
    parts: list[str] = []
    if steps:
        parts.append(f"{_ids(steps)} {_each(steps)} one model call that is asked the text of its box{memory}.")
    if asking:
        parts.append(f"At {_ids(asking)} a model is asked which way to take.")
    if decided:
        parts.append(f"{_ids(decided)} {_verb(decided, 'decides', 'decide')} by what arrives there.")
    back: dict[str | None, set[str]] = {}
    for edge in graph.again:
        back.setdefault(edge.border.scope, set()).add(edge.target.id)
    for box in graph.composites:
        if box.implied:
            members = [graph.by_id[name] for name in graph.composites.members(box.id)]
            run = _verb(members, "runs", "run")
            parts.append(
                f"{_ids(members)} {run} in turns, at most 3, since an arrow leads back to {min(back[box.id])}."
            )
    if graph.core.reading.drawn:
        inputs, outputs = graph.inputs, graph.outputs
        if inputs:
            parts.append(f"{_ids(inputs)} {_verb(inputs, 'is the input', 'are the inputs')}{_implied(inputs)}.")
        if outputs:
            parts.append(f"{_ids(outputs)} {_verb(outputs, 'is the output', 'are the outputs')}{_implied(outputs)}.")
    return " ".join(parts)


_MOST = 4


def _ids(nodes: Iterable[TypedNode]) -> str:
    ids = [node.id for node in nodes]
    if len(ids) > _MOST:
        return f"{', '.join(ids[: _MOST - 1])} and {len(ids) - _MOST + 1} more"
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} and {ids[-1]}"


def _each(nodes: list[TypedNode]) -> str:
    return "is" if len(nodes) == 1 else "are each"


def _verb(nodes: list[TypedNode], one: str, many: str) -> str:
    return one if len(nodes) == 1 else many


def _implied(nodes: list[TypedNode]) -> str:
    implied = [node.id for node in nodes if node.implied]
    if not implied:
        return ""
    return ", though not drawn" if len(implied) == len(nodes) else f" ({implied[0]} is not drawn)"
