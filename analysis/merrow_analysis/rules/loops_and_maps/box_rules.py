"""Loops and Maps as they are drawn: what crosses their borders, what lies in them, what they lack."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, islice

from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.change import GraphChange, WantedEdge
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.bare.reach import components, shortest_cycle
from merrow_analysis.graph.boxes.composites import Composite, Composites
from merrow_analysis.graph.boxes.edge_words import EACH, OVER
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.liveness.frames import Unit, unit_edges
from merrow_analysis.graph.liveness.waiting import order_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.rules.box_kinds import box_kinds
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.end_rules import ends_inside
from merrow_analysis.rules.fixes.box_fixes import (
    as_group,
    leave_box,
    mentions_in,
    name_box,
    remove_box,
    rename_box,
    take_apart,
)
from merrow_analysis.rules.fixes.box_moves import moved_below
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.fixes.fix_context import asked, what_edges_bring
from merrow_analysis.rules.fixes.loop_fixes import looped, with_word
from merrow_analysis.rules.fixes.near_names import says_nearly
from merrow_analysis.rules.operator_rules import OPERATOR_DISAGREEMENT, UNKNOWN_OPERATOR
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, listed, part_range, report
from merrow_analysis.rules.word_rules import misplaced_causes
from merrow_analysis.wiring.takers import lists_into
from merrow_analysis.wiring.wires import is_small

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.QUICK_LOOK)
LEAVES_AND_COMES_BACK = _FAMILY.rule(
    "MW119",
    "path-comes-back",
    "A path leaves a Loop or Map and comes back into it.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.PATHS,
)
MAP_WITHOUT_EACH = _FAMILY.rule(
    "MW121",
    "map-without-each",
    "No edge into a Map says `each`, so it has no items.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.PATHS,
)
METADATA_ABOVE_END = _FAMILY.rule(
    "MW122",
    "metadata-above-end",
    "The metadata of a subgraph is above its `end`, where Mermaid makes a node of it.",
    Severity.WARNING,
    fix="sometimes",
)
IDLE_LOOP = _FAMILY.rule(
    "MW124",
    "idle-loop",
    "A Loop has one turn, or repeats itself: no `again` edge brings a value, or each turn leads out.",
    Severity.WARNING,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)
NEVER_OVER = _FAMILY.rule(
    "MW125",
    "never-over",
    "An `over` edge is never taken, because its Loop never runs out of turns.",
    Severity.WARNING,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)
BROKEN_BOX = _FAMILY.rule(
    "MW126",
    "broken-box",
    "A Loop or Map has no id of its own, has no nodes, shares a node with another subgraph, or lies too deep.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)

_DEEPEST = 32
"""How deep composites may lie in each other: a run goes down into them."""


@_FAMILY.checked_by
def check_boxes(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about composites."""
    graph = context.graph
    yield from _above_end(graph)
    if not graph.composites:
        return
    groups = graph.flow.subgraphs
    boxes = [box for box in graph.composites if not box.implied]
    within = _with_nodes(graph.composites)
    with_nodes = _with_nodes(graph.composites, graph.flow.chart.nodes)
    for box in boxes:
        yield from _broken(context, box, groups, is_empty=box.id not in with_nodes)
    yield from _too_deep(graph, boxes, groups)
    yield from _coming_back(context, groups)
    entering: dict[str, list[TypedEdge]] | None = None
    again: dict[str | None, list[EdgeRecord]] = {}
    for record in graph.again_records:
        again.setdefault(graph.composites.border(record.source, record.target).scope, []).append(record)
    for box in boxes:
        if box.id in within:
            if box.kind == "map":
                if not graph.lists.get(box.id):
                    entering = _entering(graph) if entering is None else entering
                    yield from _without_each(context, box, entering.get(box.id, ()), groups)
            else:
                idle = [*_idle(context, box, again.get(box.id, []), groups)]
                yield from idle or _always_left(context, box, groups)
    for edge in graph.over:
        yield from _never_over(context, edge)


def _above_end(graph: TypedGraph) -> Iterator[Diagnostic]:
    for name, group in graph.flow.groups.items():
        for metadata, block in group.metadata[: group.early]:
            message = (
                f"This metadata of {name} is above its `end`: Merrow reads it, but Mermaid makes a node of it; move the "
                "line below `end`."
            )
            fixes = moved_below(group, block, f"Move it below the end of {name}")
            yield report(METADATA_ABOVE_END, block.range(metadata.span), message, fixes=fixes)


def _with_nodes(boxes: Composites, among: Container[str] | None = None) -> set[str]:
    """The composites in which there are nodes, or nodes ``among`` some, also in nested ones."""
    found: set[str] = set()
    for box in reversed(list(boxes)):  # inner ones first
        if box.id in found or (box.nodes if among is None else any(name in among for name in box.nodes)):
            found.update({box.id} if box.parent is None else {box.id, box.parent})
    return found


def _broken(context: GraphContext, box: Composite, groups: dict[str, Subgraph], is_empty: bool) -> Iterator[Diagnostic]:
    graph = context.graph
    group = groups[box.id]
    if group.name is None:
        message = (
            f"This {box.operator} has no id, by which its turns are known; write one before its title, such as "
            f'`subgraph STEPS["{group.title}"]`.'
        )
        yield report(BROKEN_BOX, group.range, message, fixes=_sound(context, name_box(context, group)))
    if is_empty:
        message = f"The {box.operator} {box.id} has no nodes, so it does nothing; put nodes into it or remove it."
        yield report(BROKEN_BOX, group.range, message, fixes=_sound(context, remove_box(context, group)))
    for block in group.repeated:
        start = len(block.text) - len(block.text.lstrip())
        message = (
            f"Another subgraph has the id {box.id} already, so their nodes lie in one {box.operator}; give it an id of its "
            "own."
        )
        related = [Related(group.range, f"{box.id} begins here")]
        place = block.range((start, len(block.text.rstrip())))
        yield report(
            BROKEN_BOX, place, message, related=related, fixes=_sound(context, rename_box(context, group, block))
        )
    for name in group.refused:
        owner = next((other for other in groups.values() if name in other.nodes), None)
        if owner is None or _is_around(groups, box.id, owner.id) or graph.by_id.get(name) is None:
            continue
        message = (
            f"{name} lies in {owner.id}, the first subgraph that mentions it, and so not in {box.id} as well; mention it "
            "in one of the two."
        )
        node = graph.by_id[name]
        # What is written second is what to correct.
        second = next(iter(mentions_in(node, group)), None)
        place = group.range if second is None else second.block.range(second.vertex.name.span)
        related = [Related(node.flow.range, f"{owner.id} has {name}")]
        yield report(BROKEN_BOX, place, message, related=related, fixes=_sound(context, leave_box(node, group)))


def _too_deep(graph: TypedGraph, boxes: list[Composite], groups: dict[str, Subgraph]) -> Iterator[Diagnostic]:
    """A finding at each box that is the first too deep one."""
    depths: dict[str | None, int] = {None: 0}
    for box in graph.composites:
        depths[box.id] = depths[box.parent] + 1
    for box in boxes:
        if depths[box.id] == _DEEPEST + 1:
            message = (
                f"The {box.operator} {box.id} is inside of {_DEEPEST} Loops and Maps, and no more are allowed around one; move "
                "it out of one of them."
            )
            yield report(BROKEN_BOX, groups[box.id].range, message)


def _sound(context: GraphContext, fixes: Iterator[Fix]) -> Iterator[Fix]:
    """Those fixes after which a finding less about broken boxes is there."""
    yield from asked(context).sound(BROKEN_BOX, fixes, what_edges_bring)


def _is_around(groups: dict[str, Subgraph], outer: str, inner: str) -> bool:
    at: str | None = inner
    while at is not None and at != outer:
        at = groups[at].parent
    return at is not None


def _coming_back(context: GraphContext, groups: dict[str, Subgraph]) -> Iterator[Diagnostic]:
    """One finding for each knot of composites and nodes around them that wait for each other."""
    graph = context.graph
    if any(box.implied for box in graph.composites) or _stand_together(graph):
        # An implied Loop has all that leads back into it, but for arrows with findings of their own.
        return
    knotted = {index for cycle in graph.cycles for index in cycle}
    ends = {graph.core.handles[name] for name in ends_inside(graph)}
    for row in unit_edges(graph.core).values():
        # An edge into an input, or out of an output, has a finding of its own.
        units = [unit for unit in row if isinstance(unit, str) or graph.node(unit).kind not in ("input", "output")]
        if not any(isinstance(unit, str) for unit in units):
            continue
        numbers = {unit: number for number, unit in enumerate(units)}
        following = [sorted(numbers[target] for target in row[unit] if target in numbers) for unit in units]
        for component in components(following, range(len(units))):
            boxed = [number for number in component if isinstance(units[number], str)]
            if len(component) < 2 or not boxed:
                continue
            members = [index for number in component for index in _handles(graph, units[number])]
            if knotted.intersection(members) or not ends.isdisjoint(members):
                continue  # which has a finding of its own
            first = boxed[0]
            circle = shortest_cycle(following, [first, *(number for number in component if number != first)])
            yield _comes_back(context, str(units[first]), [units[number] for number in circle[1:]], groups)


def _stand_together(graph: TypedGraph) -> bool:
    """Whether in the order of the nodes no other one stands between those of any composite, so that none comes back."""
    if graph.cycles or graph.shape.wrong:
        return False
    handles, places = graph.core.handles, graph.shape.places
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    count: dict[str, int] = {}
    for box in reversed(list(graph.composites)):  # inner ones first, each of which is added to the one around it
        occupied = [places[handles[name]] for name in box.nodes if name in handles]
        if box.id in count:
            occupied += [first[box.id], last[box.id]]
        if not occupied:
            continue
        low, high = min(occupied), max(occupied)
        held = len(occupied) - 2 * (box.id in count) + count.get(box.id, 0)
        if high - low >= held:
            return False
        if box.parent is not None:
            first[box.parent], last[box.parent] = (
                min(low, first.get(box.parent, low)),
                max(high, last.get(box.parent, high)),
            )
            count[box.parent] = held + count.get(box.parent, 0)
    return True


def _handles(graph: TypedGraph, unit: Unit) -> list[int]:
    if isinstance(unit, int):
        return [unit]
    return [graph.core.handles[name] for name in graph.composites.members(unit) if name in graph.core.handles]


def _comes_back(context: GraphContext, box: str, between: list[Unit], groups: dict[str, Subgraph]) -> Diagnostic:
    graph = context.graph
    inside = set(graph.composites.members(box))
    first, last = (set(_handles(graph, unit)) for unit in (between[0], between[-1]))
    out = next(e for e in graph.edges if e.source.id in inside and e.target.index in first)
    back = next(e for e in graph.edges if e.source.index in last and e.target.id in inside)
    names = [unit if isinstance(unit, str) else graph.node(unit).id for unit in between]
    nodes = [graph.node(unit) for unit in between if isinstance(unit, int)]
    place = nodes[0].flow.range if nodes else groups[names[0]].range
    message = (
        f"A path leaves {box} at {out.source.id} and comes back at {back.target.id} by {listed(names)}, but {box} begins "
        f"only when all that enters it is there; move {listed(names)} into {box}."
    )
    related = [
        Related(out.flow.range, f"it leaves {box} here"),
        Related(back.flow.range, f"it comes back into {box} here"),
    ]
    fixes: Iterable[Fix] = ()
    # The inner one of two boxes that mention a node has it.
    claimed = {
        name
        for group in groups.values()
        if not _is_around(groups, group.id, box) or group.id == box
        for name in group.nodes
    }
    if len(nodes) == len(between) and not claimed.intersection(names):
        start = groups[box].block
        lines = [f"{indentation(start)}    {name}" for name in names]
        moved = [fix(f"Move {listed(names)} into {box}", [insert_lines_after(start, lines)], safe=False)]
        fixes = asked(context).sound(LEAVES_AND_COMES_BACK, moved, what_edges_bring)
    return report(LEAVES_AND_COMES_BACK, place, message, related=related, fixes=fixes)


def _entering(graph: TypedGraph) -> dict[str, list[TypedEdge]]:
    """The edges without a word that lead into each composite."""
    entering: dict[str, list[TypedEdge]] = {}
    for edge in graph.edges:
        for box in edge.entered if edge.word is None else ():
            entering.setdefault(box, []).append(edge)
    return entering


def _without_each(
    context: GraphContext, box: Composite, entering: Sequence[TypedEdge], groups: dict[str, Subgraph]
) -> Iterator[Diagnostic]:
    graph = context.graph
    lists = [edge for edge in entering if any((feed.type or "").startswith("list[") for feed in edge.feeds)]
    message = f"No edge into the Map {box.id} says `each`, so it has no items; "
    innermost = [edge for edge in lists if graph.composites.around(edge.target.id)[0] == box.id]
    misspelled = [edge for edge in entering if says_nearly(edge, EACH)]
    likely = misspelled or innermost
    if len(likely) == 1:
        edge = likely[0]
        label = with_word(edge, EACH)
        message += f"write `{label}` on the edge from {edge.source.id}, which brings a list."
    else:
        wire = next(lists_into(graph, box), None) if is_small(graph) else None
        arrow = f"LIST -->|each| {next(iter(box.nodes), 'X')}" if wire is None else wire.arrow
        message += f"write `each` on the edge that brings the list, such as `{arrow}`."
    because = [
        Cause(box_kind.code, box_kind.range)
        for box_kind in box_kinds(groups[box.id], UNKNOWN_OPERATOR, OPERATOR_DISAGREEMENT)
    ]
    misplaced = misplaced_causes(context)
    because += [cause for edge in entering for cause in misplaced.get(edge.record, ())]
    fixes = take_apart(context, MAP_WITHOUT_EACH, box, likely)
    yield report(MAP_WITHOUT_EACH, groups[box.id].range, message, fixes=fixes, because=because)


def _idle(
    context: GraphContext, box: Composite, own: list[EdgeRecord], groups: dict[str, Subgraph]
) -> Iterator[Diagnostic]:
    graph = context.graph
    handles, resolutions = graph.core.handles, graph.resolutions
    for record in own:
        if resolutions[handles[record.source]].kind != "decision" or not graph.edge(record).order_only:
            return
    if graph.cycles:
        members = {handles[name] for name in graph.composites.members(box.id) if name in handles}
        if any(not members.isdisjoint(cycle) for cycle in graph.cycles):
            return  # The edge back has a finding of its own.
    if own:
        message = (
            f"The `again` edges of {box.id} bring no value, so each turn is given what the first was, and repeats it at "
            "temperature 0; let one of them feed a port."
        )
        related = [Related(graph.edge(record).flow.range, "it brings no value") for record in own[:5]]
        yield report(IDLE_LOOP, groups[box.id].range, message, related=related)
        return
    message = (
        f"The Loop {box.id} has no `again` edge, so it has one turn; write `again` on the edge that begins the next one, "
        "or remove the box."
    )
    fixes = chain(_begun_again(context, box), as_group(context, IDLE_LOOP, box))
    yield report(IDLE_LOOP, groups[box.id].range, message, fixes=fixes)


def _always_left(context: GraphContext, box: Composite, groups: dict[str, Subgraph]) -> Iterator[Diagnostic]:
    """A finding at a Loop that never has another turn, since whatever would begin one also leads out of it."""
    graph = context.graph
    live, loop = graph.combinations.live, graph.combinations.loops.get(box.id)
    if live is None or loop is None or not loop.leads_out:
        return
    algebra = live.algebra
    try:
        begun = live.any_taken(loop.again)
        if begun == NEVER or algebra.both(begun, algebra.negated(live.any_taken(loop.leads_out))) != NEVER:
            return
        choices = dict.fromkeys((way.source, way.case) for way in loop.leads_out)
        ending = [
            choice
            for choice in choices
            if algebra.both(
                begun,
                algebra.negated(live.any_taken([way for way in loop.leads_out if (way.source, way.case) != choice])),
            )
            != NEVER
        ]
    except TooManyCombinationsError:
        return
    edges = [
        edge
        for edge in graph.edges
        if box.id in edge.left and edge.word is None and (edge.source.index, order_of(edge).case) in ending
    ]
    message = f"{box.id} never has another turn: each turn takes a case that leads out of it, and so ends it; "
    if edges:
        first = edges[0]
        message += f"write `{with_word(first, OVER)}` at {first.source.id} if it is for when the turns have run out."
    else:
        message += "let one of the cases stay inside."
    related = [Related(edge.flow.range, f"it ends {box.id} here") for edge in edges[:5]]
    yield report(IDLE_LOOP, groups[box.id].range, message, related=related, fixes=_left_when_over(context, edges))


def _left_when_over(context: GraphContext, edges: Sequence[TypedEdge]) -> Iterator[Fix]:
    """Lead the edges of one case out of a Loop only where its turns have run out."""
    cases: dict[tuple[int, str | None], list[TypedEdge]] = {}
    for edge in edges:
        cases.setdefault((edge.source.index, edge.case_label), []).append(edge)
    for (_, case), alike in islice(cases.items(), 3):
        links = {
            edge.flow.index: (WantedEdge(edge.source.id, edge.target.id, with_word(edge, OVER), kept=True),)
            for edge in alike
        }
        title = f"Lead {case} out of the Loop by `over`"
        yield from asked(context).changed(IDLE_LOOP, title, GraphChange(edges=links))


def _begun_again(context: GraphContext, box: Composite) -> Iterator[Fix]:
    """Mark the edge with `again` that leads back inside a Loop: the last one of a cycle."""
    graph = context.graph
    inside = {graph.core.handles[name] for name in box.nodes if name in graph.core.handles}
    for cycle in graph.cycles:
        if inside.issuperset(cycle):
            ids = {graph.node(index).id for index in cycle}
            last = [edge for edge in graph.core.chart.edges if edge.source in ids and edge.target in ids][-1]
            yield from looped(context, IDLE_LOOP, cycle, last=last)


def _never_over(context: GraphContext, edge: TypedEdge) -> Iterator[Diagnostic]:
    if edge.implied:
        return
    combinations = context.graph.combinations
    box = edge.left[0]
    loop = combinations.loops.get(box)
    if loop is None or not loop.again or combinations.live is None:
        return
    try:
        taken = combinations.live.taken(order_of(edge))
    except TooManyCombinationsError:
        return
    if taken != NEVER or combinations.runs(edge.source) == NEVER:
        return
    message = (
        f"This `over` edge is never taken: {edge.source.id} runs in no turn of {box} after which another one would follow; "
        "remove it."
    )
    yield report(NEVER_OVER, part_range(edge, OVER), message, fixes=remove_edge(context, NEVER_OVER, edge.flow))
