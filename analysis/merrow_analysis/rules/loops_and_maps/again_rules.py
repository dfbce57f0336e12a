"""What edges with a word of composites bring: to ports in later turns, and items of lists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from itertools import combinations as pairs

from merrow_analysis.definitions.types import list_of
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, FIRST
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.placement import Placement
from merrow_analysis.graph.placing.type_variables import takes_again
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.rules.box_kinds import led_to_boxes
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_fixes import give_list, one_list, other_word
from merrow_analysis.rules.fixes.box_moves import moved_below
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.liveness_fixes import one_value
from merrow_analysis.rules.fixes.port_fixes import fed
from merrow_analysis.rules.liveness_rules import ENSEMBLE_NEEDS_TWO_SOURCES, PORT_FED_TWICE
from merrow_analysis.rules.operator_rules import UNKNOWN_OPERATOR
from merrow_analysis.rules.port_rules import MISSING_REQUIRED_INPUT, TYPE_MISMATCH, tell_of_edge
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import label_range, listed, named, part_range, report
from merrow_analysis.rules.word_rules import without_word

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.PORTS | Flags.QUICK_LOOK)
TWO_LISTS = _FAMILY.rule(
    "MW222",
    "two-lists",
    "The `each` edges of a Map go through different lists, which may differ in length.",
    Severity.ERROR,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_turns(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about edges with a word."""
    graph = context.graph
    if not graph.core.words:
        return
    for name, edges in graph.lists.items():
        yield from _two_lists(context, name, edges)
    # A workflow may have hundreds of Loops, and this is looked at with each key: objects are made for what is wrong alone.
    targets = dict.fromkeys(record.target for record in graph.again_records)
    handles, resolutions = graph.core.handles, graph.resolutions
    for name in targets if not graph.core.reading.drawn else ():
        if not graph.core.into(name) or resolutions[handles[name]].kind == "decision":
            yield from _first_turn(context, graph.by_id[name])
    for record, placement in graph.again_placements.items():
        yield from _again(context, record, placement)
    for record, worded in graph.core.words.items():
        if worded.word not in (EACH, FIRST):
            continue
        edge = graph.edge(record)
        if worded.word == EACH:
            yield from _no_list(context, edge)
        elif edge.target.spec is not None and edge.target.spec.is_ensemble:
            message = (
                f"`first` would leave {named(edge.target)} without this voice in later turns, and an ensemble needs all of "
                "its sources; remove `first`."
            )
            yield report(ENSEMBLE_NEEDS_TWO_SOURCES, part_range(edge, FIRST), message, fixes=without_word(graph, edge))
    for name in targets if not graph.core.loose else ():
        # Where arrows are read as in a drawing the newest value counts.
        if not _takes_one_value(graph, name):
            continue
        try:
            yield from _fed_twice(context, graph.by_id[name])
        except TooManyCombinationsError:
            return


def _two_lists(context: GraphContext, box: str, edges: list[TypedEdge]) -> Iterator[Diagnostic]:
    first = edges[0]
    for edge in edges:
        several = _brings_several(edge)
        same = edge.source is first.source and _root(edge) == _root(first)
        if same and not several:
            continue
        first_list, other = _list_of(first), _list_of(edge)
        message = (
            f"`each` takes {other} apart for the items of {box}, but {first_list} as well, and the two may differ in length; "
            f"bring one of them whole, or join them in one list before {box}."
        )
        if several:
            message = (
                f"{edge.source.id} passes several lists on, and `each` can't take them apart for the items of {box} "
                "together; bring one list."
            )
        related = [] if edge is first else [Related(first.flow.range, f"{first_list} is taken apart here")]
        fixes = () if edge is first else one_list(context, TWO_LISTS, first, edge)
        yield report(TWO_LISTS, part_range(edge, EACH), message, related=related, fixes=fixes)
        return


def _brings_several(edge: TypedEdge) -> bool:
    """Whether an edge brings more than one of the values that an asking Decision passes on."""
    passes = edge.source.placement.signature.passes
    numbers = {feed.passed for feed in edge.feeds if feed.passed is not None}
    return passes is not None and (
        len(numbers) > 1 or (not edge.raised and any(passes[number].several for number in numbers))
    )


def _root(edge: TypedEdge) -> object:
    """The list that an edge takes apart: fields of its items are of one length."""
    return edge.apart and (edge.apart.output, edge.apart.path)


def _list_of(edge: TypedEdge) -> str:
    output = edge.output
    return f"`{output}` of {edge.source.id}" if output else f"what {edge.source.id} gives"


def _no_list(context: GraphContext, edge: TypedEdge) -> Iterator[Diagnostic]:
    """An `each` edge that brings something else than a list."""
    apart = edge.apart
    if apart is None or apart.type is None or apart.is_list:
        return
    given = apart.type
    if apart.path:
        message = (
            f"`each` takes a list apart, but `{'.'.join(apart.path)}` of {edge.source.id} is {given}, which is not a list; name "
            "a field that is one, or remove `each`."
        )
        without = other_word(context, TYPE_MISMATCH, edge, EACH, None)
        yield report(TYPE_MISMATCH, part_range(edge, EACH), message, fixes=without)
        return
    message = f"`each` takes a list apart, but {edge.source.id} gives {given}, which is not a list"
    spec = edge.source.spec
    if spec is not None and spec.bulk is not None and not spec.is_ensemble and edge.source.kind == "operator":
        message += f"; write `returns: '{list_of(given)}'` at {edge.source.id}, or remove `each`."
    else:
        message += "; connect a node that gives a list."
    yield report(TYPE_MISMATCH, part_range(edge, EACH), message, fixes=give_list(context, TYPE_MISMATCH, edge, given))


def _again(context: GraphContext, record: EdgeRecord, placement: Placement) -> Iterator[Diagnostic]:
    """What is wrong with where an `again` edge goes, and with the type of what it brings."""
    graph = context.graph
    handle, reported = graph.core.handles[record.target], False
    for finding in placement.findings:
        if finding.edge is not None:
            diagnostic = tell_of_edge(context, graph.node(handle), graph.edge(record), finding)
            if diagnostic is not None:
                reported = True
                yield diagnostic
    if reported or graph.core.loose or graph.resolutions[handle].kind not in ("operator", "decision"):
        return
    for feed in placement.edges[0].feeds:
        wanted = takes_again(graph.core.facts[handle].facts, graph.placements[handle], feed, graph.types)
        if wanted is not None:
            node = graph.node(handle)
            message = (
                f"`again` brings {feed.type} to port `{feed.port}` of {named(node)}, which is {wanted} in the first turn; "
                f"connect a node that gives {wanted}."
            )
            edge = graph.edge(record)
            fixes = remove_edge(context, TYPE_MISMATCH, edge.flow)
            yield report(TYPE_MISMATCH, label_range(edge), message, fixes=fixes)
            return


def _first_turn(context: GraphContext, node: TypedNode) -> Iterator[Diagnostic]:
    """Ports that nothing feeds in the first turn."""
    graph = context.graph
    again = {feed.port: edge for edge in node.again_in for feed in edge.feeds}
    if not node.incoming:
        for port in node.placement.required:
            if port in again:
                yield _only_again(context, node, port, again[port])
        return
    live = graph.combinations.live
    if node.kind != "decision" or node.asks or "value" not in again or live is None:
        return
    algebra = live.algebra
    values, runs = live.values.get(node.index), live.runs.get(node.index)
    if values is None or runs is None:
        return
    try:
        open_turns = algebra.both(runs, algebra.negated(values))
    except TooManyCombinationsError:
        return
    if open_turns != NEVER:
        yield _only_again(context, node, "value", again["value"])


def _only_again(context: GraphContext, node: TypedNode, port: str, edge: TypedEdge) -> Diagnostic:
    message = (
        f"Port `{port}` of {named(node)} has nothing in the first turn, for `again` from {edge.source.id} brings a value only "
        f"in later ones; draw an edge that feeds it whenever {node.id} runs."
    )
    related = [Related(edge.flow.range, f"`{port}` is fed here in later turns")]
    fixes = fed(context, MISSING_REQUIRED_INPUT, node, port, None)
    because = led_to_boxes(context.graph, node, UNKNOWN_OPERATOR)
    return report(MISSING_REQUIRED_INPUT, node.flow.range, message, related=related, fixes=fixes, because=because)


def _takes_one_value(graph: TypedGraph, name: str) -> bool:
    """Whether an `again` edge may feed a port for one value of a node."""
    resolution, placements = graph.resolutions[graph.core.handles[name]], graph.again_placements
    spec = resolution.spec
    if spec is None or spec.is_pass or resolution.kind == "decision":
        return True
    for record in graph.core.chart.incoming[name]:
        placement = placements.get(record)
        for feed in placement.edges[0].feeds if placement is not None else ():
            port = spec.ports.get(feed.port)
            if port is None or not port.many:
                return True
    return False


def _fed_twice(context: GraphContext, node: TypedNode) -> Iterator[Diagnostic]:
    """Ports for one value that two edges bring a newer value to."""
    graph = context.graph
    many = {port.name: port.many for port in node.input_ports}
    by_port: dict[str, list[EdgeRecord]] = {}
    for record in graph.core.chart.incoming[node.id]:
        placement = graph.again_placements.get(record)
        for feed in placement.edges[0].feeds if placement is not None else ():
            if not many.get(feed.port, node.kind == "decision" and feed.port not in ("when", "value")):
                by_port.setdefault(feed.port, []).append(record)
    for port, again in by_port.items():
        pair = _rivals(graph, node, port, again)
        if pair is None:
            continue
        other, edge = pair
        if other.word == AGAIN:
            what = f"both {listed(dict.fromkeys((other.source.id, edge.source.id)))} bring it a value for the next turn"
            if other.source is edge.source:
                what = f"two `again` edges from {edge.source.id} bring it a value for the next turn"
        else:
            what = f"{other.source.id} feeds it in each turn, and `again` from {edge.source.id} too"
        message = (
            f"Port `{port}` of {named(node)} takes one value, but {what}; keep one, or join them in a node before it."
        )
        related = [Related(other.flow.range, f"`{port}` is fed here already")]
        fixes = chain(
            one_value(context, PORT_FED_TWICE, other, edge, port),
            _before_the_loop(context, other) if not other.word else (),
        )
        yield report(PORT_FED_TWICE, edge.flow.range, message, related=related, fixes=fixes)


def _before_the_loop(context: GraphContext, edge: TypedEdge) -> Iterator[Fix]:
    """Move the node that feeds a port in each turn out of the Loop, so that it feeds it in the first turn alone."""
    graph, node = context.graph, edge.source
    box = graph.composites.inside.get(node.id)
    if box is None or any(box in graph.composites.around(entry.source.id) for entry in node.incoming) or node.again_in:
        return
    for mention in node.flow.mentions[:1]:
        made = moved_below(graph.flow.subgraphs[box], mention.block, f"Move {node.id} out of {box}")
        yield from asked(context).sound(PORT_FED_TWICE, made)


def _rivals(
    graph: TypedGraph, node: TypedNode, port: str, again: list[EdgeRecord]
) -> tuple[TypedEdge, TypedEdge] | None:
    """Two edges that bring a value to a port in the same turn."""
    border, combinations = graph.composites.border, graph.combinations
    flat = zip(graph.core.into(node.id), node.placement.edges, strict=True)
    sources = [record for record, placed in flat if any(feed.port == port for feed in placed.feeds)]
    for edge in again:
        scope = border(edge.source, edge.target).scope
        for other in sources:
            around = border(other.source, other.target).scope
            if scope is not None and around is not None and scope in graph.composites.chain(around):
                return graph.edge(other), graph.edge(edge)
    for other, edge in pairs(again, 2):
        if border(other.source, other.target).scope != border(edge.source, edge.target).scope:
            continue
        rival, latest = graph.edge(other), graph.edge(edge)
        if combinations.together(combinations.brings(rival, port), combinations.brings(latest, port)):
            return rival, latest
    return None
