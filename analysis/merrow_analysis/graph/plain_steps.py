"""How a flowchart with plain steps is read, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from merrow_analysis.graph.boxes.composites import Composite, loop_settings
from merrow_analysis.graph.drawings.acting import acts
from merrow_analysis.graph.liveness.waiting import live_loops
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode


def plain_nodes(graph: TypedGraph) -> list[TypedNode]:
    """The nodes at which no operator is written, in the order of the text."""
    return graph.at(graph.marks.plain)


def is_step(node: TypedNode) -> bool:
    """Whether a node at which no operator is written asks a model the text of its box."""
    return node.kind == "operator" and node.spec is not None and node.spec.bulk == "input"


def is_played(node: TypedNode) -> bool:
    """Whether a step says to do something outside, which a model only plays."""
    if node.kind != "operator" or node.spec is None or node.spec.name != "Custom":
        return False
    prompt = node.resolution.parameters.get("prompt")
    text = node.resolution.plain or (prompt.value if prompt is not None and isinstance(prompt.value, str) else "")
    return acts(text)


def reading(graph: TypedGraph, says_memory: bool) -> str:
    """What is read into a flowchart: boxes, diamonds, beginnings and ends. ``says_memory`` is that of the settings."""
    plain = plain_nodes(graph)
    steps = [node for node in plain if is_step(node)]
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
    loops = [box for box in graph.composites if box.implied]
    known = live_loops(graph) if loops else {}
    parts += [_turns(graph, box, bool(known[box.id].firm)) for box in loops[:_MOST]]
    if len(loops) > _MOST:
        more = len(loops) - _MOST
        parts.append(
            "One more group of steps runs in turns." if more == 1 else f"{more} more groups of steps run in turns."
        )
    acting = [node for node in steps if is_played(node)]
    if acting:
        parts.append(f"{_ids(acting)} {_verb(acting, 'is', 'are')} only played by a model: nothing is done outside.")
    if graph.core.reading.drawn:
        inputs, outputs = graph.inputs, graph.outputs
        if inputs:
            parts.append(f"{_ids(inputs)} {_verb(inputs, 'is the input', 'are the inputs')}{_implied(inputs)}.")
        if outputs:
            parts.append(f"{_ids(outputs)} {_verb(outputs, 'is the output', 'are the outputs')}{_implied(outputs)}.")
    return " ".join(parts)


def _turns(graph: TypedGraph, box: Composite, decides: bool) -> str:
    """How the nodes of a Loop run that arrows back make, and what comes after its last turn; ``decides`` says that a question
    decides on one of these arrows.
    """
    members = [graph.by_id[name] for name in graph.composites.members(box.id)]
    most = loop_settings(box).most
    back = [edge for edge in graph.again if edge.border.scope == box.id]
    run = _verb(members, "runs", "run")
    while_, then = _answers(graph, box, members, back)
    if not decides or not while_:
        edge = back[0]
        turns = "once" if most == 1 else f"{most} turns"
        return f"{_ids(members)} {run} always {turns}: nothing decides {edge.source.id} -> {edge.target.id}."
    return f"{_ids(members)} {run} in turns, at most {most}, while {while_}{then}."


def _answers(graph: TypedGraph, box: Composite, members: list[TypedNode], back: list[TypedEdge]) -> tuple[str, str]:
    """Which answers lead back, and what they count as when the turns have run out."""
    answers: list[str] = []
    then: dict[str, list[str]] = {}
    for node in members:
        cases = node.cases
        if cases is None:
            continue
        closed = {} if graph.turning is None else graph.turning.changed(node, frozenset({box.id}))
        leading = [edge.case for edge in back if edge.source is node and edge.case is not None]
        leading += [case for case in closed if case not in leading]
        if leading:
            answers.append(f"{node.id} answers {_listed([cases.labels[case] for case in sorted(set(leading))], 'or')}")
        for counts in closed.values():
            then.setdefault(cases.labels[counts], []).append(node.id)
    last = next(iter(then), None)
    if last is None:
        return _listed(answers, "or"), ""
    if len(then) == 1:
        return _listed(answers, "or"), f"; then {last}"
    ways = [f"{_listed(list(dict.fromkeys(ids)), 'and')} as {label}" for label, ids in then.items()]
    return _listed(answers, "or"), f"; then {_listed(ways, 'and')}"


def _listed(words: Sequence[str], last: str) -> str:
    if not words:
        return ""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


_MOST = 4


def _ids(nodes: Iterable[TypedNode]) -> str:
    ids = [node.id for node in nodes]
    if len(ids) > _MOST:
        return f"{', '.join(ids[: _MOST - 1])} and {len(ids) - _MOST + 1} more"
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} and {ids[-1]}"


def _each(nodes: list[TypedNode]) -> str:
    return "is" if len(nodes) == 1 else "are each"


def _verb(nodes: list[TypedNode], singular: str, many: str) -> str:
    return singular if len(nodes) == 1 else many


def _implied(nodes: list[TypedNode]) -> str:
    implied = [node.id for node in nodes if node.implied]
    if not implied:
        return ""
    return ", though not drawn" if len(implied) == len(nodes) else f" ({implied[0]} is not drawn)"
