"""What must hold whatever the Decisions choose: one value a port, two voices an ensemble, a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice

from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.labels import between_bars
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.boxes.edge_words import OVER
from merrow_analysis.graph.liveness.combinations import Combinations
from merrow_analysis.graph.liveness.live_nodes import RunTruth, spread
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.notation import AFTER
from merrow_analysis.graph.together import fed_at_once, voices_alone
from merrow_analysis.rules.box_kinds import led_to_boxes
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.end_rules import ends_inside
from merrow_analysis.rules.fixes.edge_fixes import relabel
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.liveness_fixes import filled, gated, let_run, one_value, second_voice
from merrow_analysis.rules.fixes.near_names import says_nearly
from merrow_analysis.rules.operator_rules import UNKNOWN_OPERATOR
from merrow_analysis.rules.path_rules import told_dead_ends
from merrow_analysis.rules.port_rules import without_value
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, listed, named, report
from merrow_analysis.rules.word_rules import misplaced_causes
from merrow_analysis.text import TextEdit
from merrow_analysis.wiring.decision_cases import gates

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.QUICK_LOOK)
ENSEMBLE_NEEDS_TWO_SOURCES = _FAMILY.rule(
    "MW105",
    "ensemble-needs-two-sources",
    "An ensemble never has two different sources in the same run.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.VOICES,
)
PORT_FED_TWICE = _FAMILY.rule(
    "MW205",
    "port-fed-twice",
    "A port for one value is fed by several edges at once.",
    Severity.ERROR,
    fix="sometimes",
)
OUTPUT_LEFT_EMPTY = _FAMILY.rule(
    "MW216",
    "output-left-empty",
    "Some combination of cases leaves an output without a value.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)
NEVER_RUNS = _FAMILY.rule(
    "MW217",
    "never-runs",
    "A node is skipped whatever the Decisions choose.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)

_MOST_DEAD_ENDS = 3
"""Dead ends that ensembles may wait for: each costs a walk through the graph."""


@_FAMILY.checked_by
def check_liveness(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about what is live together. Never raises. Nothing is said while an edge out of a Decision has no
    case.

    An ensemble that lacks one source, and that does not come before a node that nothing follows, most likely waits for that
    node.
    """
    graph = context.graph
    if graph.core.reading.drawn and not graph.core.reading.names:
        return  # What is live in a drawing follows from how it is read.
    if any(case is None for node in graph.decisions if node.cases is not None for case in node.cases.of_edge):
        return
    if not all(map(graph.marks.plain.isdisjoint, graph.cycles)):
        # Of a drawing with an arrow back nothing more is to be said before it has a loop.
        return
    combinations = graph.combinations
    undecided = combinations.undecided

    @cache
    def before() -> list[tuple[bytearray, Cause]]:
        """What comes before each of the dead ends."""
        ends = islice(told_dead_ends(context).items(), _MOST_DEAD_ENDS)
        return [(reach(graph.shape.before, [index]), cause) for index, cause in ends]

    findings: list[Diagnostic] = []
    if undecided is None:
        for index in graph.shape.by_rank(graph.marks.gathering):
            placement = graph.placements[index]
            if not placement.crowded and not graph.decisions and _has_voices(graph, index):
                continue
            node = graph.node(index)
            try:
                findings += _node(context, node, combinations, before)
            except TooManyCombinationsError:
                undecided = node.index
                break
    yield from findings
    if undecided is not None:
        node = graph.node(undecided)
        message = (
            f"The Decisions before {node.id} combine in too many ways to show that nothing is left empty; split the "
            "workflow, or join branches before the next Decision."
        )
        yield report(OUTPUT_LEFT_EMPTY, node.flow.range, message)
    elif combinations.live is not None:
        yield from _skipped(context, combinations)


def _has_voices(graph: TypedGraph, index: int) -> bool:
    """Whether an ensemble has enough sources, in a graph where every node runs; without making objects of its edges."""
    spec = graph.resolutions[index].spec
    if spec is None:
        return True
    port = spec.inputs[0].name
    placed = zip(graph.shape.before[index], graph.placements[index].edges, strict=True)
    return len({source for source, edge in placed if any(feed.port == port for feed in edge.feeds)}) >= spec.sources


def _node(
    context: GraphContext,
    node: TypedNode,
    combinations: Combinations,
    before: Callable[[], Sequence[tuple[bytearray, Cause]]],
) -> Iterator[Diagnostic]:
    crowded = [finding for port in node.placement.crowded if (finding := _crowded(context, node, port, combinations))]
    yield from crowded
    if node.spec is not None and node.spec.is_ensemble and node.incoming:
        ensemble = _ensemble(context, node, combinations)
        voices = {edge.source.index for edge in node.sources(node.spec.inputs[0].name)}
        if ensemble is not None and not crowded:
            awaited = [cause for earlier, cause in before() if not earlier[node.index]] if len(voices) == 1 else []
            yield ensemble._replace(because=tuple(awaited)) if awaited else ensemble


def _crowded(context: GraphContext, node: TypedNode, port: str, combinations: Combinations) -> Diagnostic | None:
    """The first edge that can bring a second value to a port for one. Of a drawing the first that arrives is a result."""
    graph = context.graph
    if node.kind == "output" and context.settings.drawn:
        return None
    pair = fed_at_once(node, port, combinations)
    if pair is None:
        return None
    other, edge = pair
    when = ""
    if combinations.cases is not None:
        both = combinations.cases.both(combinations.brings(other, port), combinations.brings(edge, port))
        when = _choices(graph, combinations, combinations.cases.holding(both) or {}, " when ")
    sources = f"{other.source.id} and {edge.source.id}" if other.source is not edge.source else "two edges"
    if other is edge:
        sources = f"several values that {edge.source.id} passes on"
    remedy = "keep one, or let the cases of a Decision keep them apart."
    if node.kind == "output" and (edge.source.resolution.plain is not None or node.id in graph.core.ends):
        remedy = "lead them into one box that joins them, or let the cases of a diamond keep them apart."
    gate = next(gates(node), None)
    if gate is not None:
        remedy = f"let {gate.target.id} run in case `{gate.case}` of {gate.source.id} alone: `{gate.arrow}`."
    message = f"Port `{port}` of {named(node)} takes one value, but {sources} feed it at once{when}; {remedy}"
    related = [Related(other.flow.range, f"`{port}` is fed here already")]
    causes = misplaced_causes(context)
    because = [cause for way in (other, edge) for cause in causes.get(way.record, ())]
    if node.implied:
        because += [
            cause for way in (other, edge) for cause in led_to_boxes(graph, way.source, UNKNOWN_OPERATOR, out=True)
        ]
    fixes = chain(gated(context, PORT_FED_TWICE, node), one_value(context, PORT_FED_TWICE, other, edge, port))
    return report(PORT_FED_TWICE, edge.flow.range, message, related=related, because=because, fixes=fixes)


def _ensemble(context: GraphContext, node: TypedNode, combinations: Combinations) -> Diagnostic | None:
    port = node.spec.inputs[0].name if node.spec is not None else ""
    alone = voices_alone(node, port, combinations)
    if alone is None:
        return None
    names = [source.id for source in alone]
    if len(names) > 1:
        message = (
            f"{named(node)} needs two sources that can be there together, but {listed(names)} never are: each runs "
            "only where the others don't. Connect them to what follows directly, or add a source that always runs."
        )
    elif names:
        message = (
            f"{named(node)} needs two different sources for `{port}` but has only {names[0]}; draw an edge from a "
            f"second one, or give {names[0]} `samples: 3`."
        )
    else:
        message = f"{named(node)} needs two different sources for `{port}` but has none; draw edges from them."
    related = [Related(edge.flow.range, f"{edge.source.id} feeds `{port}`") for edge in node.sources(port)]
    fixes = second_voice(context, ENSEMBLE_NEEDS_TWO_SOURCES, node, port)
    return report(ENSEMBLE_NEEDS_TWO_SOURCES, node.flow.range, message, related=related, fixes=fixes)


def _skipped(context: GraphContext, combinations: Combinations) -> Iterator[Diagnostic]:
    """Nodes that never run, and outputs that some choices leave empty, which may follow from such a node."""
    graph = context.graph
    runs = combinations.live.runs if combinations.live is not None else {}
    numbers = {index for index, condition in runs.items() if condition == NEVER}
    stuck = [graph.node(index) for index in graph.shape.by_rank(numbers)]
    first = [
        node
        for node in stuck
        if node.kind != "output" and not any(edge.source.index in numbers for edge in node.incoming)
    ]
    for node in first:
        ports = [port for port in node.placement.required if node.sources(port)]
        needs = f"its inputs ({listed([f'`{port}`' for port in ports])}) " if len(ports) > 1 else "what it needs "
        deciders = {edge.source.id for edge in node.incoming if edge.source.kind == "decision"}
        gate = f" while the edge from {listed(sorted(deciders))} lets it run" if deciders else ""
        message = (
            f"{named(node)} never runs: no combination of cases brings {needs}together{gate}. Connect it to nodes that "
            "run in the same case, or label the case edge with the port it should feed."
        )
        yield report(NEVER_RUNS, node.flow.range, message, fixes=let_run(context, NEVER_RUNS, node))
    behind = reach(graph.shape.following, [node.index for node in first])
    told = [Cause(NEVER_RUNS.code, node.flow.range) for node in first]
    inside = ends_inside(graph)
    cases = combinations.cases
    if cases is None:
        return
    outputs = [node for node in graph.outputs if node.incoming]
    if any(box.implied for box in graph.composites):
        return  # Its last turns lead on, by what was closed.
    if graph.core.loose or graph.core.results:
        # It ends at one end or another, as drawings do: together they must have a value whatever is chosen.
        some = NEVER
        for node in outputs:
            some = cases.either(some, combinations.runs(node))
        choices = cases.failing(some)
        if choices is not None and outputs:
            yield _left_empty(
                context, outputs[0], combinations, choices, [cause for cause in told if behind[outputs[0].index]]
            )
        return
    for node in outputs:
        choices = cases.failing(combinations.runs(node))
        if choices is not None:
            because = [
                *(told if behind[node.index] else ()),
                *((inside[node.id],) if node.id in inside else ()),
                *(cause for edge in node.incoming for cause in without_value(edge)),
            ]
            because += _dead_ends_of(context, choices)
            if next(gates(node), None) is not None:
                because += [Cause(PORT_FED_TWICE.code, edge.flow.range) for edge in node.incoming if not edge.implied]
            yield _left_empty(context, node, combinations, choices, because)


def _dead_ends_of(context: GraphContext, choices: Mapping[int | str, int]) -> Iterator[Cause]:
    """The findings that say of a step behind one of these cases that nothing follows it."""
    ends = told_dead_ends(context)
    for index, case in choices.items() if ends else ():
        if isinstance(index, int):
            ways = context.graph.node(index).ways
            yield from (ends[edge.target.index] for edge in ways if edge.case == case and edge.target.index in ends)


def _left_empty(
    context: GraphContext,
    node: TypedNode,
    combinations: Combinations,
    choices: Mapping[int | str, int],
    because: Iterable[Cause],
) -> Diagnostic:
    graph = context.graph
    chosen = {index: case for index, case in choices.items() if isinstance(index, int)}
    related = [
        Related(edge.flow.range, f"{graph.node(index).id} chooses `{edge.case_label}` here")
        for index, case in chosen.items()
        for edge in graph.node(index).ways
        if edge.case == case and not edge.implied
    ]
    loop = _run_out(graph, node, combinations, choices)
    if loop is None:
        when = _choices(graph, combinations, choices, " when ")
        message = f"{node.id} stays empty{when}; lead that case to {node.id} as well."
        fixes = filled(context, OUTPUT_LEFT_EMPTY, node, _running(graph, combinations, choices))
        return report(OUTPUT_LEFT_EMPTY, node.flow.range, message, related=related[:5], because=because, fixes=fixes)
    again, way_out = _back_of(graph, loop, chosen), _way_out(graph, loop)
    target = node if way_out is None else way_out.target
    source = again.source.id if again is not None else "X"
    label = "over" if again is None or again.case_label is None else f"{again.case_label}:over"
    if again is not None and way_out is not None and way_out.source is again.source and way_out.placed.label.after:
        label += f":{AFTER}"
    # A Loop that arrows back imply has no name in the text.
    members, implied = graph.composites.members(loop), graph.composites.boxes[loop].implied
    turns, where = (f"the turns of {listed(members)}", "them") if implied else (f"the turns of {loop}", loop)
    message = (
        f"{node.id} stays empty when {turns} run out; add an edge out of {where} that is taken then, such as "
        f"`{source} -->|{label}| {target.id}`."
    )
    over = _led_out(context, again, label, target) if again is not None and target.kind == "output" else ()
    return report(OUTPUT_LEFT_EMPTY, node.flow.range, message, related=related[:5], fixes=over, because=because)


def _led_out(context: GraphContext, again: TypedEdge, label: str, target: TypedNode) -> Iterator[Fix]:
    """Lead what an `again` edge brings to an output for when the turns run out; first an edge that nearly says so."""
    source = again.source
    for edge in source.outgoing:
        if edge.target is target and says_nearly(edge, OVER):
            yield from relabel(context, OUTPUT_LEFT_EMPTY, edge, OVER)
    line = f"{source.id} -->|{between_bars(label)}| {target.id}"
    title = f"Lead {source.id} to {target.id} when the turns run out"
    made = fix(title, [_below(context.graph, again, line)], safe=False)
    if source.cases is not None:
        yield made
    else:
        yield from asked(context).sound(OUTPUT_LEFT_EMPTY, [made])


def _below(graph: TypedGraph, edge: TypedEdge, line: str) -> TextEdit:
    """A line below all boxes: an edge out of a Loop that is written in there would pull its target inside."""
    return insert_lines_after(graph.flow.last_block, [indentation(edge.flow.block) + line])


def _run_out(
    graph: TypedGraph, node: TypedNode, combinations: Combinations, choices: Mapping[int | str, int]
) -> str | None:
    """The Loop whose turns must have run out where a node stays empty: it would go on, and something in it leads to the node."""
    if not combinations.loops:
        return None
    live = spread(combinations.plan, _algebra(choices), combinations.loops)
    before = reach(graph.shape.before, [node.index])
    for box in graph.composites:
        loop = combinations.loops.get(box.id)
        if loop is None or live.more(loop) is not True:
            continue
        if any(before[feed.source] for feed in loop.leads_out):
            return box.id
    return None


def _algebra(choices: Mapping[int | str, int]) -> RunTruth:
    algebra = RunTruth({index: case for index, case in choices.items() if isinstance(index, int)})
    algebra.untils = {loop: case == 0 for loop, case in choices.items() if isinstance(loop, str)}
    return algebra


def _back_of(graph: TypedGraph, loop: str, chosen: Mapping[int, int]) -> TypedEdge | None:
    """The case edge on which another turn of a Loop would begin, else another ``again`` edge of it."""
    own = [edge for edge in graph.again if edge.border.scope == loop]
    cases = [edge for edge in own if edge.case is not None and chosen.get(edge.source.index) == edge.case]
    return next(iter(cases or [edge for edge in own if edge.case is None]), None)


def _way_out(graph: TypedGraph, loop: str) -> TypedEdge | None:
    """The edge of the case that ends a Loop."""
    return next(
        (edge for edge in graph.edges if edge.case is not None and loop in edge.left and edge.word != OVER), None
    )


def _choices(graph: TypedGraph, combinations: Combinations, choices: Mapping[int | str, int], before: str) -> str:
    """The combination in words: `` when CHECK chooses `Failed` and GATE chooses `no```; of Decisions that run only."""
    chosen = _running(graph, combinations, choices)
    parts = [f"{node.id} chooses `{node.cases.labels[case]}`" for node, case in chosen if node.cases is not None]
    return before + listed(parts) if parts else ""


def _running(
    graph: TypedGraph, combinations: Combinations, choices: Mapping[int | str, int]
) -> list[tuple[TypedNode, int]]:
    """The Decisions of a combination that run, in their order, each with the number of its case."""
    live = spread(combinations.plan, _algebra(choices), combinations.loops)
    place = {node.index: number for number, node in enumerate(combinations.plan)}
    chosen = sorted((index for index in choices if isinstance(index, int)), key=place.__getitem__)
    nodes = [(graph.node(index), choices[index]) for index in chosen if live.runs.get(index) is not False]
    return [(node, case) for node, case in nodes if node.cases is not None]
