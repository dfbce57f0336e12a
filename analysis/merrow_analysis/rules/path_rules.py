"""The shape of the graph: inputs and outputs, paths between them, cycles, forbidden edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ANY
from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.change import label_of
from merrow_analysis.edits.renaming import rename_node
from merrow_analysis.graph.bare.reach import reach, shortest_cycle
from merrow_analysis.graph.boxes.box_expressions import read_nodes
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.drawings.drawing import PROBLEM_ID, RETURN_ID
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.measures.siblings import edges_into_siblings
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.rules.boundary import Boundary
from merrow_analysis.rules.box_kinds import led_to_boxes
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.copies import unroll_once
from merrow_analysis.rules.fixes.edge_fixes import remove_edge, remove_node, turn_edge
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.loop_fixes import looped, with_word
from merrow_analysis.rules.fixes.near_names import near_node
from merrow_analysis.rules.fixes.operator_fixes import call_it
from merrow_analysis.rules.fixes.path_fixes import (
    add_input,
    add_output,
    beside_inputs,
    feed_node,
    feed_output,
    lead_on,
    lead_to_all,
    remove_input,
)
from merrow_analysis.rules.operator_rules import UNKNOWN_OPERATOR
from merrow_analysis.rules.registry import Flags, Rule, RuleFamily, Scope
from merrow_analysis.rules.reporting import continued, fix, listed, report
from merrow_analysis.rules.word_rules import misplaced_causes
from merrow_analysis.suggest import Guesses
from merrow_analysis.text import Span
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.takers import open_ports
from merrow_analysis.wiring.wires import NodeOutput, is_small, wire_to

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.QUICK_LOOK)
MISSING_INPUT_OR_OUTPUT = _FAMILY.rule(
    "MW101",
    "missing-input-or-output",
    "PROBLEM or RETURN, or a node that the front matter names in their place, is missing.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NAMES_CAUSE | Flags.PATHS,
)
OFF_PATH = _FAMILY.rule(
    "MW102",
    "off-path",
    "A node lies on no path from an input to an output.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.PATHS,
)
CYCLE = _FAMILY.rule(
    "MW110", "cycle", "Nodes wait for each other in a cycle.", Severity.ERROR, fix="sometimes", flags=Flags.PATHS
)
SELF_LOOP = _FAMILY.rule(
    "MW111", "self-loop", "An edge leads from a node to itself.", Severity.ERROR, fix="sometimes", flags=Flags.PATHS
)
EDGE_INTO_INPUT = _FAMILY.rule(
    "MW112", "edge-into-input", "An edge leads into an input node.", Severity.ERROR, fix="sometimes", flags=Flags.PATHS
)
EDGE_OUT_OF_OUTPUT = _FAMILY.rule(
    "MW113",
    "edge-out-of-output",
    "An edge leads out of an output node.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.PATHS,
)
REPEATED_EDGE = _FAMILY.rule(
    "MW117",
    "repeated-edge",
    "Two edges bring the same value to the same port.",
    Severity.WARNING,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_paths(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the shape of the graph."""
    yield from _missing_rims(context)
    causes = misplaced_causes(context) if context.graph.cycles or context.graph.shape.wrong else {}
    yield from _misplaced_edges(context, causes)
    yield from _cycles(context, causes)
    yield from _off_path(context)


def _missing_rims(context: GraphContext) -> Iterator[Diagnostic]:
    """Missing inputs and outputs, reported where the front matter names them, else where the diagram begins."""
    graph, boundary = context.graph, context.boundary
    places = context.boundary_places() if boundary.missing else {}
    for name in boundary.missing:
        what = {PROBLEM_ID: "the task to solve", RETURN_ID: "the result"}.get(name)
        named = f", {what}" if what is not None else ", which the front matter names"
        side = "an input" if name == PROBLEM_ID or name in (graph.settings.inputs or ()) else "an output"
        stand_in = boundary.stand_ins.get(name)
        if stand_in is None:
            message = f"There is no node {name}{named}; declare it (`{name}([...])`, class Interface) and connect it."
            fixes: Iterable[Fix] = (add_input if side == "an input" else add_output)(context, name)
            yield report(MISSING_INPUT_OR_OUTPUT, places.get(name, context.top), message, fixes=fixes)
            continue
        message = f"There is no node {name}{named}; {stand_in.id} looks like {side}: rename it to {name}."
        place = stand_in.flow.range
        edits = rename_node(stand_in.flow, name, graph.flow.class_assigns)
        fixes = [fix(f"Rename {stand_in.id} to {name}", edits, safe=False)]
        yield report(MISSING_INPUT_OR_OUTPUT, place, message, fixes=fixes)


def _misplaced_edges(context: GraphContext, causes: Mapping[EdgeRecord, Sequence[Cause]]) -> Iterator[Diagnostic]:
    """Forbidden edges: to the same node, into inputs, out of outputs, and duplicates."""
    graph = context.graph
    shape = graph.shape
    inputs = set(shape.inputs)
    for record in _wrong_edges(graph):
        edge = graph.flow.edge(record)
        source_id, target_id = record.source, record.target
        unfinished = continued(edge)
        into_input = graph.core.handles[target_id] in inputs
        if unfinished is not None:
            rule, what = (
                (SELF_LOOP, f"leads from {source_id} to itself")
                if source_id == target_id
                else (EDGE_INTO_INPUT, f"leads into {target_id}, which is an input")
                if into_input
                else (EDGE_OUT_OF_OUTPUT, f"leads out of {source_id}, which is an output")
            )
            message = f"{unfinished.why}, so it {what}; write its target after it, or remove it."
            yield report(rule, unfinished.place, message, fixes=unfinished.fixes)
        elif source_id == target_id:
            message = f"The edge from {source_id} to itself can never be followed; remove it or name another node."
            yield report(
                SELF_LOOP, edge.range, message, fixes=_without_loop(context, edge), because=causes.get(record, ())
            )
        elif into_input:
            message = f"{target_id} is an input and takes no edges, but {source_id} leads into it; turn the edge round."
            yield report(EDGE_INTO_INPUT, edge.range, message, fixes=_led_away(context, EDGE_INTO_INPUT, edge))
        else:
            what = "turn the edge round" if _leads_nowhere(graph, target_id) else "remove it"
            message = f"{source_id} is an output and nothing follows it, but an edge leads on to {target_id}; {what}."
            yield report(EDGE_OUT_OF_OUTPUT, edge.range, message, fixes=_led_away(context, EDGE_OUT_OF_OUTPUT, edge))
    for index in shape.by_rank(shape.repeated):
        yield from context.at_node(index, REPEATED_EDGE.code, lambda node: _repeated(context, node))


def _without_loop(context: GraphContext, edge: FlowEdge) -> Iterator[Fix]:
    """Turn a node that leads to itself into a Loop, or remove the edge. A lone Decision has nothing new to decide on."""
    node = context.graph.by_id[edge.record.source]
    if asked(context).is_crowded_at(node.id):
        return
    if node.kind != "decision":
        yield from looped(context, SELF_LOOP, [node.index])
    yield from remove_edge(context, SELF_LOOP, edge, reveals=_off_the_path)


def _led_away(context: GraphContext, rule: Rule, edge: FlowEdge) -> Iterator[Fix]:
    """Reverse or remove an edge, starting with what its message says."""
    turned = turn_edge(context, rule, edge)
    removed = remove_edge(context, rule, edge, reveals=_off_the_path)
    turns = rule is EDGE_INTO_INPUT or _leads_nowhere(context.graph, edge.record.target)
    for fixes in (turned, removed) if turns else (removed, turned):
        yield from fixes


def _leads_nowhere(graph: TypedGraph, name: str) -> bool:
    """Whether a node is a step that nothing follows."""
    node = graph.by_id[name]
    return node.kind == "operator" and not node.ways


def _off_the_path(rule: Rule) -> bool:
    """What an edge that leads nowhere, to itself or back may have hidden."""
    return rule is OFF_PATH


def _wrong_edges(graph: TypedGraph) -> list[EdgeRecord]:
    """Forbidden edges, in text order."""
    shape, core = graph.shape, graph.core
    if not shape.wrong:
        return []
    inputs, outputs = set(shape.inputs), set(shape.outputs)
    edges = (
        edge
        for index in shape.wrong
        for edge in core.into(graph.node(index).id)
        if index in inputs or edge.source == edge.target or core.handles[edge.source] in outputs
    )
    return sorted(edges, key=core.chart.numbers.__getitem__)


def _repeated(context: GraphContext, node: TypedNode) -> Iterator[Diagnostic]:
    drawn = context.graph.core.loose
    seen: dict[object, TypedEdge] = {}
    ports: dict[str, InputPort] | None = None
    for edge in node.incoming:
        if not edge.feeds and not edge.order_only:
            continue
        key = (edge.source.index, edge.case, edge.feeds)
        first = seen.setdefault(key, edge)
        if first is edge or (drawn and first.record.arrow is not edge.record.arrow):
            continue  # In a drawing an arrow drawn twice says what it says once.
        if ports is None:
            ports = {port.name: port for port in node.input_ports}
        # A port for one value already reports that it has two sources.
        if any(feed.port in ports and not ports[feed.port].many for feed in edge.feeds):
            continue
        unfinished = continued(edge.flow)
        if unfinished is not None:
            what = f"leads to {node.id}, as another edge does"
            message = f"{unfinished.why}, so it {what}; write its target after it, or remove it."
            related = [Related(first.flow.range, "the edge that it repeats")]
            yield report(REPEATED_EDGE, unfinished.place, message, related=related, fixes=unfinished.fixes)
            continue
        where = f"port `{edge.port}` of {node.id}" if edge.port is not None else node.id
        message = f"{edge.source.id} already leads to {where} by another edge; remove one of them."
        related = [Related(first.flow.range, "the edge that it repeats")]
        # An edge like it stays, and an arrow within a line can be cut out.
        alone = edge.flow.block.line_count == 1
        fixes = remove_edge(context, REPEATED_EDGE, edge.flow, sure=alone, reveals=_off_the_path)
        yield report(REPEATED_EDGE, edge.flow.range, message, related=related, fixes=fixes)


_LONGEST_CIRCLE = 8
"""Nodes of a cycle that a message names, and edges of it that it shows."""


def _cycles(context: GraphContext, causes: Mapping[EdgeRecord, Sequence[Cause]]) -> Iterator[Diagnostic]:
    """One finding for each group of nodes that wait for each other, with the edges of one cycle through it."""
    graph = context.graph
    if not graph.cycles:
        return
    shape, flow = graph.shape, graph.flow
    for component in graph.cycles:
        circle = shortest_cycle(shape.following, component, shape.before)
        records = _edges_along(graph, circle)
        ids = [record.source for record in records]
        shown = ids if len(ids) <= _LONGEST_CIRCLE else [*ids[: _LONGEST_CIRCLE - 1], "...", ids[-1]]
        path = " -> ".join((*shown, ids[0]))
        more = len(component) - len(circle)
        knot = (
            f" ({more} more nodes are tied into it)" if more > 1 else " (one more node is tied into it)" if more else ""
        )
        message = f"{path} is a cycle{knot}: each waits for the other, so none can run. Remove one of these edges."
        if not graph.marks.plain.isdisjoint(circle):
            message = (
                f"{path} is a cycle{knot}: an arrow back needs a loop, and without one each waits for the other, so "
                "none can run. Remove one of these edges."
            )
        lines = [flow.here(record.block).line for record in records]
        lowest = max(lines)
        last = max((record for record, line in zip(records, lines, strict=True) if line == lowest), key=_place)
        back = _named_again(graph, records)
        if back is not None:
            last = back.record
            message = (
                f"{path} is a cycle{knot}: `again` is the name of a case here, as the first part of a label always is out of a "
                f"Decision. Write `{with_word(back, AGAIN)}` if the case begins another turn."
            )
        elif (box := _box_of(graph, circle)) is not None:
            message = (
                f"{path} is a cycle{knot} in the {box.operator} {box.id}: each waits for the other, so none can run. Write "
                f"`{with_word(graph.edge(last), AGAIN)}` on the edge that leads back, or remove one of these edges."
            )
        fixes: list[Fix] = []
        for record in records:
            unfinished = continued(flow.edge(record)) if "\n" in record.block.text.rstrip() else None
            if unfinished is not None:
                last, fixes = record, unfinished.fixes
                message = (
                    f"{unfinished.why}, which makes {path} a cycle{knot}; write its target after it, or remove it."
                )
        inside = {graph.node(index).id for index in component} if causes else ()
        within = [group for edge, group in causes.items() if edge.source in inside and edge.target in inside]
        because = [cause for group in within for cause in group]
        named = records if len(records) <= _LONGEST_CIRCLE else [*records[: _LONGEST_CIRCLE - 1], records[-1]]
        others = [flow.edge(record) for record in named if record is not last]
        related = [Related(edge.range, f"{edge.record.source} leads to {edge.record.target}") for edge in others]
        cut = fixes or _untied(context, component, [flow.edge(last), *others])
        yield report(CYCLE, flow.edge(last).range, message, related=related, fixes=cut, because=because)


def _place(edge: EdgeRecord) -> tuple[Span, Span, Span]:
    """By this, edges of one block are in the order of the text."""
    return edge.arrow.span, edge.source_vertex.span, edge.target_vertex.span


_MOST_CUT = 4
"""How many edges of a cycle are offered for removal."""


def _untied(context: GraphContext, component: Sequence[int], edges: Sequence[FlowEdge]) -> Iterator[Fix]:
    """Draw a Loop around a cycle, or remove one of its edges, starting with the last one in the text."""
    yield from looped(context, CYCLE, component, last=edges[0].record)
    yield from unroll_once(context, CYCLE, {context.graph.node(index).id for index in component}, edges[0])
    for edge in edges[:_MOST_CUT]:
        yield from remove_edge(context, CYCLE, edge, reveals=_off_the_path)


def _named_again(graph: TypedGraph, records: Sequence[EdgeRecord]) -> TypedEdge | None:
    """An edge of a cycle in a composite that leaves a Decision in a case called ``again``."""
    if not graph.composites:
        return None
    for record in records:
        label = record.arrow.label
        if label is None or label.text.partition(":")[0].strip() != AGAIN:
            continue
        edge = graph.edge(record)
        if edge.source.kind == "decision" and edge.border.scope is not None:
            return edge
    return None


def _box_of(graph: TypedGraph, circle: Sequence[int]) -> Composite | None:
    """The innermost composite that contains all nodes of a cycle."""
    chains = [graph.composites.around(graph.node(index).id) for index in circle] if graph.composites else []
    held = next((box for box in chains[0] if all(box in chain for chain in chains)), None) if chains else None
    box = None if held is None else graph.composites.boxes[held]
    return None if box is None or box.implied else box


def _edges_along(graph: TypedGraph, circle: Sequence[int]) -> list[EdgeRecord]:
    """The first edge from each node of a circle to the next."""
    core = graph.core
    ids = [record.id for index in circle if (record := core.records[index]) is not None]
    edges: list[EdgeRecord] = []
    for source, target in zip(ids, (*ids[1:], ids[0]), strict=True):
        for edge in core.out_of(source):
            if edge.target == target:
                edges.append(edge)
                break
    return edges


def _off_path(context: GraphContext) -> Iterator[Diagnostic]:
    """Nodes that are not on a path from an input to an output; of several in a row only the one where the path is broken."""
    graph, boundary = context.graph, context.boundary
    shape, starts, ends = graph.shape, dict.fromkeys(boundary.starts), dict.fromkeys(boundary.ends)
    # Nothing but itself leads to a root, or follows a sink.
    unreached = (
        [index for index in shape.by_rank(shape.roots) if index not in starts and index not in ends] if starts else []
    )
    if unreached and graph.again_records:
        # Values from `again` edges come from an input as well.
        following = _with_again(graph, graph.shape.following, back=False)
        seen = reach(following, starts)
        unreached = [index for index in unreached if not seen[index]]
    stuck = _dead_ends(graph, boundary)
    idle = [index for index in starts if not shape.following[index]] if ends else []
    unfed = _unfed(graph, boundary)
    groups = graph.flow.groups
    lost = [index for index in unreached if graph.node(index).id not in groups] if groups else unreached
    again = {graph.core.handles[edge.source] for edge in graph.again_records} if graph.core.words else set()
    roots = [index for index in lost if shape.following[index] or index in again]
    broken = _gap(graph, stuck, roots) if not (idle or unfed) else None
    if unreached or idle:
        yield from _broken_beginnings(context, lost, roots, [graph.node(i) for i in idle], broken)
    if stuck or unfed:
        yield from _broken_ends(context, [graph.node(i) for i in stuck], [graph.node(i) for i in unfed], broken)


def _with_again(graph: TypedGraph, rows: Sequence[list[int]], *, back: bool) -> list[list[int]]:
    """Successors of nodes, including those over ``again`` edges; with ``back`` their predecessors."""
    extended = list(rows)
    handles = graph.core.handles
    for edge in graph.again_records:
        handle, other = handles[edge.source], handles[edge.target]
        if back:
            handle, other = other, handle
        extended[handle] = [*extended[handle], other]
    return extended


def told_dead_ends(context: GraphContext) -> dict[int, Cause]:
    """Nodes without successors that an input leads to and that are not outputs, and where that is reported."""
    graph, boundary = context.graph, context.boundary
    stuck = [graph.node(index) for index in _dead_ends(graph, boundary)]
    result = _unfed_result([graph.node(index) for index in _unfed(graph, boundary)])
    together = result is not None and len(stuck) > 1
    return {
        node.index: Cause(OFF_PATH.code, result.flow.range if together and result is not None else node.flow.range)
        for node in stuck
    }


def _unfed(graph: TypedGraph, boundary: Boundary) -> list[int]:
    """Outputs that nothing leads to."""
    return [index for index in dict.fromkeys(boundary.ends) if not graph.shape.before[index]] if boundary.starts else []


def _unfed_result(unfed: list[TypedNode]) -> TypedNode | None:
    return next((node for node in unfed if node.id == RETURN_ID), None)


def _dead_ends(graph: TypedGraph, boundary: Boundary) -> list[int]:
    shape, starts, ends = graph.shape, set(boundary.starts), set(boundary.ends)
    stuck = [index for index in shape.by_rank(shape.sinks) if index not in ends and index not in starts] if ends else []
    # A subgraph's own id is reported as such.
    stuck = [index for index in stuck if graph.node(index).id not in graph.flow.groups] if graph.flow.groups else stuck
    if stuck and graph.composites:
        stuck = _unread(graph, stuck, boundary)
    if stuck and starts:
        known: dict[int, bool] = {}
        stuck = [index for index in stuck if shape.is_reached(starts, index, known)]
    return stuck


def _unread(graph: TypedGraph, stuck: list[int], boundary: Boundary) -> list[int]:
    """The given nodes whose values don't reach an output in a later turn, and that no ``until`` or ``best`` reads."""
    read = {
        name
        for box in graph.composites
        for key in ("until", "best")
        if key in box.parameters
        for name in read_nodes(box.parameters[key].value)
    }
    seen = reach(_with_again(graph, graph.shape.before, back=True), boundary.ends)
    reading = {graph.core.handles[name] for name in read if name in graph.core.handles}
    return [index for index in stuck if not seen[index] and index not in reading]


_Gap = tuple[TypedNode, TypedNode]
"""The node before a gap in a chain, and the one after it."""


def _gap(graph: TypedGraph, last: list[int], roots: list[int]) -> _Gap | None:
    """Where a chain is broken: there is one step that leads nowhere, and one that nothing leads to."""
    if len(last) != 1 or len(roots) != 1 or reach(graph.shape.following, roots)[last[0]]:
        return None
    return graph.node(last[0]), graph.node(roots[0])


_FEW = 3
"""Nodes that nothing leads to whose neighbours are asked what may lead to them: one edge was lost, and not half of the file."""


def _broken_beginnings(
    context: GraphContext, unreached: list[int], roots: list[int], idle: list[TypedNode], broken: _Gap | None
) -> Iterator[Diagnostic]:
    graph = context.graph
    for index in unreached:
        if index not in roots:
            yield from context.at_node(index, "lonely", lambda node: [_without_edges(context, node)])
    if len(roots) > 1 and len(idle) == 1 and idle[0].id == PROBLEM_ID:
        # One cause: the input was never connected.
        unfed = [graph.node(index) for index in roots]
        names = listed(node.id for node in unfed)
        message = f"{PROBLEM_ID} feeds nothing, and {names} get nothing; draw edges from {PROBLEM_ID} to them."
        related = [Related(node.flow.range, f"nothing leads to {node.id}") for node in unfed]
        fixes = lead_to_all(context, OFF_PATH, idle[0], unfed)
        yield report(OFF_PATH, idle[0].flow.range, message, related=related, fixes=fixes)
        return
    for index in roots:
        if len(roots) <= _FEW:
            yield _unreached(context, graph.node(index), idle, broken)
            continue
        source = next((giver.id for giver in idle or graph.inputs), PROBLEM_ID)
        boxes = tuple(led_to_boxes(graph, graph.node(index), UNKNOWN_OPERATOR)) if graph.flow.subgraphs else ()
        yield from context.at_node(
            index, (OFF_PATH.code, source, boxes), lambda node: [_unreached(context, node, idle, None, alone=False)]
        )
    for node in idle:
        if roots and node.id == PROBLEM_ID:
            continue
        # What nothing leads to is repaired with it, where it takes anything.
        without = [root for root in map(graph.node, roots) if root.spec is not None and root.spec.bulk is not None]
        takers = [other for other in graph.nodes if _has_open(other, node)] or without or beside_inputs(context, node)
        hint = (
            f"connect it (`{_arrow(graph, node.id, takers[0], node)}`)"
            if takers
            else "connect it to a node that needs it"
        )
        message = f"{node.id} is an input that feeds nothing, so it lies on no path to an output; {hint} or remove it."
        related = [Related(other.flow.range, f"{other.id} could take it") for other in takers[:3]]
        all_of_them = lead_to_all(context, OFF_PATH, node, takers) if len(takers) > 1 and node.id != PROBLEM_ID else ()
        fixes = chain(all_of_them, lead_on(context, OFF_PATH, node, takers), remove_input(context, OFF_PATH, node))
        yield report(OFF_PATH, node.flow.range, message, related=related, fixes=fixes)


def _without_edges(context: GraphContext, node: TypedNode) -> Diagnostic:
    message = f"{node.id} has no edges, so it takes no part in the workflow; connect it or remove it."
    fixes = chain(_called_nearly(context, node), remove_node(context, OFF_PATH, node))
    return report(OFF_PATH, node.flow.range, message, fixes=fixes)


_MOST_COMPARED = 50


def _called_nearly(context: GraphContext, node: TypedNode) -> Iterator[Fix]:
    """Where edges name a node that is nowhere else, and is called nearly so: they mean this one."""
    graph = context.graph
    unknown = (
        unknown_node
        for unknown_node in graph.nodes
        if unknown_node.kind == "unknown" and unknown_node.flow.label is None
    )
    for other in islice(unknown, _MOST_COMPARED) if node.flow.label is not None else ():
        if near_node(other, [node.id], Guesses()) == node.id:
            yield from call_it(context, OFF_PATH, other)
            return


def _unreached(
    context: GraphContext, node: TypedNode, idle: list[TypedNode], broken: _Gap | None, *, alone: bool = True
) -> Diagnostic:
    """The finding about a node that nothing leads to; ``alone`` looks at the steps beside it as well."""
    graph = context.graph
    beside = _beside(node) if alone and not idle and not broken else []
    before = broken[:1] if broken else [edge.source for edge in beside]
    if alone and not before and node.kind == "decision" and is_small(graph):
        before = [source.node for source in sources(graph, node, InputPort("when", ANY))[:1]]
    givers = idle or [*before, *graph.inputs]
    arrow = _arrow(graph, givers[0].id if givers else PROBLEM_ID, node, broken[0] if broken else None)
    if beside:
        label = label_of(beside[0].flow)
        arrow = f"{givers[0].id} -->{'' if label is None else f'|{label}|'} {node.id}"
    message = (
        f"Nothing leads to {node.id} from an input, so it never gets anything to work on; draw an edge into it, "
        f"such as `{arrow}`, or remove it."
    )
    named = chain.from_iterable(call_it(context, OFF_PATH, step) for step in (node, *(broken or ())[:1]))
    return report(
        OFF_PATH,
        node.flow.range,
        message,
        fixes=chain(named, feed_node(context, OFF_PATH, node, givers)),
        because=led_to_boxes(graph, node, UNKNOWN_OPERATOR),
    )


def _beside(node: TypedNode) -> list[TypedEdge]:
    """The edges into the siblings of a node without a predecessor, from steps that it does not itself lead to."""
    behind = {edge.target for edge in node.outgoing}
    edges = edges_into_siblings(node)
    return [edge for edge in edges if edge.source.kind == "operator" and edge.source not in behind and not edge.implied]


def _givers(graph: TypedGraph, stuck: Sequence[TypedNode]) -> Iterator[TypedNode]:
    """What may lead to an output, the likeliest first: what leads nowhere, else the last steps in the text."""
    last = (other for other in reversed(graph.nodes) if other.kind == "operator")
    yield from sorted(stuck or last, key=_gives_aside)


def _gives_aside(node: TypedNode) -> bool:
    """Whether a step gives a verdict or feedback rather than a result."""
    given = next(iter(node.outputs.values()), None)
    return given is not None and is_odd_result(given, node.types)


def _broken_ends(
    context: GraphContext, stuck: list[TypedNode], unfed: list[TypedNode], broken: _Gap | None
) -> Iterator[Diagnostic]:
    graph = context.graph
    result = _unfed_result(unfed)
    if len(stuck) > 1 and result is not None:
        names = listed(node.id for node in stuck)
        message = f"Nothing leads to {RETURN_ID}, and {names} lead nowhere; draw an edge to {RETURN_ID}."
        related = [Related(node.flow.range, f"{node.id} leads nowhere") for node in stuck]
        yield report(
            OFF_PATH,
            result.flow.range,
            message,
            related=related,
            fixes=feed_output(context, OFF_PATH, result, _givers(graph, stuck)),
        )
        return
    for node in stuck:
        outputs = listed([f"`{name}`" for name in node.outputs], "or")
        what = f"its {outputs}" if outputs else "what it gives"
        arrow = f"{node.id} --> {result.id}" if result is not None else ""
        first = () if result is None else (result,)
        if broken is not None:
            arrow, first = _arrow(graph, node.id, broken[1], node), broken[1:]
        how = f"draw an edge from it (`{arrow}`)" if arrow else "connect it"
        message = f"Nothing follows {node.id}, so {what} never reaches an output; {how} or remove it."
        back = (turn_edge(context, OFF_PATH, edge.flow) for edge in node.incoming if edge.source.kind == "output")
        named = chain.from_iterable(call_it(context, OFF_PATH, step) for step in (node, *(broken or ())[1:]))
        yield report(
            OFF_PATH,
            node.flow.range,
            message,
            fixes=chain(named, chain.from_iterable(back), lead_on(context, OFF_PATH, node, first)),
            because=led_to_boxes(graph, node, UNKNOWN_OPERATOR, out=True),
        )
    for node in unfed:
        if stuck and node is result:
            continue
        likely = next(_givers(graph, stuck), None) if stuck or is_small(graph) else None
        arrow = f"{'X' if likely is None else likely.id} --> {node.id}"
        message = f"{node.id} is an output that nothing leads to; draw an edge into it, such as `{arrow}`."
        yield report(
            OFF_PATH, node.flow.range, message, fixes=feed_output(context, OFF_PATH, node, _givers(graph, stuck))
        )


def _arrow(graph: TypedGraph, source: str, target: TypedNode, giver: TypedNode | None = None) -> str:
    """An edge to suggest, with the port where one must be named."""
    given = None if giver is None else next(iter(giver.outputs.values()), None)
    if giver is not None and given is not None and target.spec is not None:
        ports = open_ports(target, given)[:1]
        return next(
            (wire_to(graph, NodeOutput(giver, None, given), target, port).arrow for port in ports),
            f"{source} --> {target.id}",
        )
    needed = [port.name for port in target.input_ports if port.required]
    is_named = target.spec is not None and target.spec.bulk is None and bool(needed)
    return f"{source} -->{f'|{needed[0]}|' if is_named else ''} {target.id}"


def _has_open(node: TypedNode, giver: TypedNode) -> bool:
    """Whether a step has a port that nothing feeds and that takes just what another node gives."""
    given = next(iter(giver.outputs.values()), None)
    fed = {feed.port for edge in node.incoming for feed in edge.feeds}
    is_step = node is not giver and node.kind == "operator"
    return is_step and any(port.type == given and port.name not in fed for port in node.input_ports)
