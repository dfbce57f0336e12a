"""Nodes that act in environments: where their episodes begin, and in which order they act."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.operators import ENVIRONMENT
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.labels import takes_label, write_label
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.graph.bare.conditions import TooManyCombinationsError
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.resolve import environment_name
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import edges_of_arrow, fix, named, report, spelled

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH)
SESSION = _FAMILY.rule(
    "MW509",
    "session",
    "An Environment acts where no episode is, or two act in one episode at once.",
    Severity.ERROR,
    fix="sometimes",
)
ACTION = ENVIRONMENT.inputs[0].name
_TURNS = 40
"""Turns of a Loop that is drawn around an episode."""
_MOST_TOGETHER = 50
"""Environments of one episode up to which each two are compared."""


@_FAMILY.checked_by
def check_episodes(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about episodes."""
    graph = context.graph
    handles = [
        handle
        for handle in graph.ranked
        if (spec := graph.resolutions[handle].spec) is not None and spec.is_environment
    ]
    episodes: dict[tuple[str, str], list[TypedNode]] = {}
    for node in graph.at(handles) if handles else ():
        box = graph.composites.inside.get(node.id)
        name = environment_name(node.resolution)
        is_loop = box is not None and graph.composites.boxes[box].kind == "loop"
        if box is not None and is_loop and name is not None:
            episodes.setdefault((box, name), []).append(node)
        action = next((edge for edge in node.incoming if edge.port == ACTION), None)
        if action is None or is_loop:
            continue
        why = "is in no Loop" if box is None else f"is in the Map {box}, without a Loop in it"
        message = (
            f"{named(node)} takes an `action` and {why}, so no episode lasts from one action to the next; draw a Loop around it"
            " whose first turn brings no action."
        )
        yield report(SESSION, node.flow.range, message, fixes=_looped(context, node, action))
    for (box, name), nodes in episodes.items():
        yield from _at_once(graph, box, name, nodes)


def _at_once(graph: TypedGraph, box: str, name: str, nodes: list[TypedNode]) -> Iterator[Diagnostic]:
    """The nodes that may act in the episode of a Loop while another one does."""
    if not 1 < len(nodes) <= _MOST_TOGETHER:
        return
    after = {node.index: reach(graph.shape.following, [node.index]) for node in nodes}
    for number, node in enumerate(nodes):
        for other in nodes[:number]:
            ordered = after[other.index][node.index] or after[node.index][other.index]
            if ordered or not _both_run(graph, node, other):
                continue
            message = (
                f"{named(node)} and {other.id} act in {name} in the same turn of {box}, and nothing says which of them is first;"
                " draw an edge between them."
            )
            yield report(SESSION, node.flow.range, message)
            break


def _both_run(graph: TypedGraph, node: TypedNode, other: TypedNode) -> bool:
    combinations = graph.combinations
    try:
        return combinations.together(combinations.runs(node), combinations.runs(other))
    except TooManyCombinationsError:
        return True


def _looped(context: GraphContext, node: TypedNode, action: TypedEdge) -> Iterator[Fix]:
    """Draw a Loop around an Environment and the node whose actions it takes, which gets what comes of them."""
    graph, actor = context.graph, action.source
    label = spelled(AGAIN, ACTION)
    fixing = asked(context)
    alone = actor.kind == "operator" and not fixing.in_subgraphs & {node.id, actor.id}
    if not alone or len(edges_of_arrow(action, graph)) > 1 or action.implied or not takes_label(action, label):
        return
    taken = {*graph.flow.chart.nodes, *graph.flow.groups}
    loop = next(
        name for number in range(1, len(taken) + 2) if (name := f"EPISODE{number if number > 1 else ''}") not in taken
    )
    indent = indentation(graph.flow.nodes[actor.id].mentions[0].block)
    lines = [
        f'subgraph {loop}["Loop (max: {_TURNS}, until: {node.id}.done)"]',
        f"    {node.id}",
        f"    {actor.id}",
        "end",
        f"{node.id} --> {actor.id}",
    ]
    box = insert_lines_after(graph.flow.last_block, [indent + line for line in lines])
    made = fix(f"Draw a Loop around {node.id} and {actor.id}", [write_label(action, label), box], safe=False)
    yield from fixing.sound(SESSION, [made])
