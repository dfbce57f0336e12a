"""Ports and types: what `merrow_analysis.graph.placing.ports` found when it placed the edges of each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from merrow_analysis.definitions.types import CODE, ENTRY_POINT, PROBLEM, TEXT, Type
from merrow_analysis.diagnostics import Cause, Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.labels import takes_label, write_label
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.arrived import is_odd_result
from merrow_analysis.graph.placing.placement import PlacementFinding
from merrow_analysis.places.constant_places import constant_range
from merrow_analysis.rules.call_rules import BAD_CALLEE
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.copies import ask_before
from merrow_analysis.rules.fixes.decision_fixes import rename_in_value
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.fixes.key_fixes import remove_key, written_keys_of
from merrow_analysis.rules.fixes.near_names import near_word
from merrow_analysis.rules.fixes.port_fixes import (
    fed,
    fitted,
    fitting_ports,
    from_what_gives,
    labelled,
    other_ports,
    promise,
    results,
    with_value,
)
from merrow_analysis.rules.fixes.tool_fixes import without_constant
from merrow_analysis.rules.key_rules import CONFLICT
from merrow_analysis.rules.misplaced import word_of
from merrow_analysis.rules.path_rules import MISSING_INPUT_OR_OUTPUT, OFF_PATH
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import (
    MOST_LISTED,
    MOST_SHARING,
    continued,
    edges_of_arrow,
    fix,
    label_range,
    listed,
    named,
    parameter_range,
    part_range,
    report,
    spelled,
)
from merrow_analysis.suggest import closest
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.wires import is_small, wire_to

_FAMILY = RuleFamily[GraphContext](Scope.EDGE, Flags.PORTS | Flags.QUICK_LOOK)
UNKNOWN_PORT = _FAMILY.rule(
    "MW201", "unknown-port", "An edge names a port that its target doesn't have.", Severity.ERROR, fix="sometimes"
)
MISSING_PORT_LABEL = _FAMILY.rule(
    "MW202",
    "missing-port-label",
    "An edge into an operator with several ports doesn't say which one it feeds.",
    Severity.WARNING,
    fix="sometimes",
    # Where one edge says its port, it is clear which one another edge leads to, and only its label is missing.
    flags=Flags.LEFT_BY_FIXES,
)
AMBIGUOUS_PORT = _FAMILY.rule(
    "MW203",
    "ambiguous-port",
    "An edge without a label fits several ports of its target equally well.",
    Severity.ERROR,
    fix="sometimes",
)
MISSING_REQUIRED_INPUT = _FAMILY.rule(
    "MW204",
    "missing-required-input",
    "No edge feeds a port that a node needs.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)
TYPE_MISMATCH = _FAMILY.rule(
    "MW206",
    "type-mismatch",
    "An edge brings a value of a type that its port doesn't take.",
    Severity.ERROR,
    fix="sometimes",
)
UNKNOWN_OUTPUT = _FAMILY.rule(
    "MW207", "unknown-output", "An edge names an output that its source doesn't have.", Severity.ERROR, fix="sometimes"
)
PORT_SPELLING = _FAMILY.rule(
    "MW208",
    "port-spelling",
    "A port is named by another spelling that published files use.",
    Severity.WARNING,
    fix="sometimes",
)
ODD_RESULT = _FAMILY.rule(
    "MW209",
    "odd-result",
    "An output of the workflow receives a verdict or feedback, not a result.",
    Severity.WARNING,
    fix="sometimes",
)
HIDDEN_FIELD = _FAMILY.rule(
    "MW224",
    "hidden-field",
    "An edge names an output that hides a field of the same name.",
    Severity.WARNING,
    fix="sometimes",
)
NO_ORDER = _FAMILY.rule(
    "MW228", "no-order", "A Select has no number to order its items by.", Severity.ERROR, fix="sometimes"
)
CASE_WITHOUT_VALUE = _FAMILY.rule(
    "MW215",
    "case-without-value",
    "A case edge names a port, but its Decision has no value to carry.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)


@_FAMILY.checked_by
def check_ports(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about ports. That one is open may follow from what is reported of an input node."""
    graph, lacking = context.graph, _lacking(context)
    for index in graph.shape.by_rank(graph.marks.found):
        node = graph.node(index)
        if _lacks_workflow(node):
            message = (
                f"{named(node)}: which workflow to run is missing; write `workflow: ./file.mmd`, or lead one that is planned "
                "into its port `workflow`."
            )
            yield report(BAD_CALLEE, node.flow.range, message)
            continue
        for finding in node.placement.findings:
            if finding.kind == "missing-input" and graph.core.kinds.get(node.id, "passes") != "passes":
                continue  # In a knot of many cycles a node may be reached in later turns alone.
            if finding.kind == "missing-input":
                causes = [cause for given, cause in lacking.items() if _feeds(given, finding.wanted, graph)]
                yield _missing_input(context, node, finding, causes)
                continue
            if finding.kind == "given-twice":
                yield _given_twice(node, finding.port or "")
                continue
            if finding.kind == "no-order":
                yield _no_order(node, finding)
                continue
            if finding.edge is not None:
                told = tell_of_edge(context, node, node.incoming[finding.edge], finding)
                if told is not None:
                    yield told


def _lacks_workflow(node: TypedNode) -> bool:
    """Whether a Call names no file and is brought no workflow: nothing else is said of it then."""
    return (
        node.spec is not None
        and node.spec.is_planned_call
        and "workflow" not in node.placement.fed
        and not node.again_in
    )


def tell_of_edge(
    context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding
) -> Diagnostic | None:
    """What there is to say of an edge; None where that is said elsewhere, as of a word of composites that is out of place."""
    tell = _TELL.get(finding.kind)
    return None if tell is None or word_of(finding) is not None else tell(context, node, edge, finding)


def _lacking(context: GraphContext) -> dict[Type, Cause]:
    """Types that nothing gives since an input node is missing or not connected, with where that is reported."""
    graph, boundary = context.graph, context.boundary
    lacking: dict[Type, Cause] = {}
    if PROBLEM_ID in boundary.missing and PROBLEM_ID not in boundary.stand_ins:
        place = context.boundary_places().get(PROBLEM_ID, context.top)
        lacking[PROBLEM] = Cause(MISSING_INPUT_OR_OUTPUT.code, place)
    for index in graph.shape.inputs:
        node = graph.node(index)
        if node.id == ENTRY_POINT_ID and not graph.shape.following[index]:
            lacking[ENTRY_POINT] = Cause(OFF_PATH.code, node.flow.range)
    return lacking


def _given_twice(node: TypedNode, port: str) -> Diagnostic:
    """A parameter stands for a port that an edge feeds."""
    edge = node.sources(port)[0]
    message = (
        f"{named(node)} gives `{port}` itself, but {edge.source.id} feeds port `{port}` as well; what the edge brings "
        "counts. Keep one of them."
    )
    related = [Related(edge.flow.range, f"`{port}` is fed here")]
    # What the edge brings counts anyway.
    if node.resolution.tool is not None:
        return report(
            CONFLICT,
            constant_range(node, port),
            message,
            related=related,
            fixes=without_constant(node, port, safe=True),
        )
    given = node.resolution.parameters.get(port)
    removed = () if given is None else remove_key(written_keys_of(node), port, given.block, safe=True)
    return report(CONFLICT, parameter_range(node, port), message, related=related, fixes=removed)


def _feeds(given: Type, wanted: Type | None, graph: TypedGraph) -> bool:
    return wanted is not None and graph.types.fits(given, wanted)


def _port(node: TypedNode, name: str | None) -> str:
    """A port as messages call it."""
    return f"port `{name}` of {named(node)}"


def _label_fix(graph: TypedGraph, edge: TypedEdge, port: str, *, safe: bool, output: str | None = None) -> list[Fix]:
    """A fix that writes the label for ``port``; none where other edges that share the arrow are meant for other
    ports.
    """
    text = labelled(edge, port, output)
    sharing = edges_of_arrow(edge, graph) if not edge.implied else []
    if not sharing or len(sharing) > MOST_SHARING or not takes_label(edge, text):
        return []
    for other in sharing:
        if other is not edge and (other.port != port or not other.inferred or labelled(other, port, output) != text):
            return []
    return [fix(f"Write |{text}|", [write_label(edge, text)], safe=safe)]


def _unknown_port(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    if finding.port is None:
        message = f"{named(node)} takes no inputs, but {edge.source.id} leads into it; remove the edge."
        return report(UNKNOWN_PORT, edge.flow.range, message, fixes=remove_edge(context, UNKNOWN_PORT, edge.flow))
    ports = listed([f"`{port.name}`" for port in node.input_ports], most=8)
    unfinished = continued(edge.flow)
    if unfinished is not None and edge.flow.arrow.label is not None and "\n" in edge.flow.arrow.label.text:
        message = f"{unfinished.why}; write an arrow and a node after the text, or remove it."
        return report(UNKNOWN_PORT, unfinished.place, message)
    written, *near = finding.names
    message = f"{named(node)} has no port `{written}`"
    fixes: Iterable[Fix] = other_ports(context, UNKNOWN_PORT, node, edge, finding.given)
    outputs = [name for name in edge.source.outputs if name == written] if edge.source.kind != "decision" else []
    if near:
        message += f"; did you mean `{near[0]}`? Its ports are {ports}."
        slip = near[0].casefold() == written.casefold()
        fixes = _rewritten(graph, edge, labelled(edge, near[0]), safe=slip)
    elif outputs:
        message += f": `{written}` is an output of {edge.source.id}. Write `{written}:port`; its ports are {ports}."
        fixes = other_ports(context, UNKNOWN_PORT, node, edge, edge.source.outputs[written], written)
    elif edge.word is None and edge.source.kind != "decision" and (word := near_word(edge, written)) is not None:
        message += f"; did you mean the word `{word}`? Its ports are {ports}."
        fixes = _rewritten(graph, edge, word, safe=False)
    elif finding.given is not None and len(fitting := fitting_ports(graph, node, finding.given)) == 1:
        message += f"; `{fitting[0]}` takes what {edge.source.id} gives ({finding.given}). Its ports are {ports}."
        fixes = _rewritten(graph, edge, labelled(edge, fitting[0]), safe=False)
    else:
        message += f"; its ports are {ports}."
    return report(UNKNOWN_PORT, part_range(edge, written), message, fixes=fixes)


def _rewritten(graph: TypedGraph, edge: TypedEdge, text: str, *, safe: bool) -> list[Fix]:
    """A fix that replaces an edge's label, where no other edge shares it for which it would say something else."""
    sharing = [other for other in edges_of_arrow(edge, graph) if other.record is not edge.record]
    if edge.implied or not takes_label(edge, text) or not all(_alike(edge, other) for other in sharing):
        return []
    return [fix(f"Write |{text}|", [write_label(edge, text)], safe=safe)]


def _alike(edge: TypedEdge, other: TypedEdge) -> bool:
    """Whether a label means at two edges the same, and is as welcome."""
    first, second = edge.target, other.target
    return (
        "decision" not in (edge.source.kind, other.source.kind)
        and edge.placed.label == other.placed.label
        and edge.source.outputs == other.source.outputs
        and first.spec is not None
        and first.spec is second.spec
        and first.placement.fed == second.placement.fed
    )


def _missing_label(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    port = finding.port or ""
    text = labelled(edge, port)
    message = f"The edge from {edge.source.id} names no port of {named(node)}; it goes to `{port}`: write `|{text}|`."
    return report(MISSING_PORT_LABEL, edge.flow.range, message, fixes=_label_fix(graph, edge, port, safe=True))


def _ambiguous(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    # There may be hundreds of ports, and as many edges: only what is shown is looked at, and the fixes when they are asked for.
    ports = listed([*(f"`{name}`" for name in finding.names[:MOST_LISTED]), *finding.names[MOST_LISTED:]], "or")
    message = f"What {edge.source.id} gives ({finding.given}) fits {ports} of {named(node)}; write which on the edge."
    return report(AMBIGUOUS_PORT, edge.flow.range, message, fixes=_told_apart(graph, edge, finding))


def _told_apart(graph: TypedGraph, edge: TypedEdge, finding: PlacementFinding) -> Iterator[Fix]:
    """Write which port is meant. A Problem is most likely meant for the port `problem`."""
    own = str(finding.given).casefold()
    for name in sorted(finding.names, key=lambda name: name != own):
        yield from _rewritten(graph, edge, labelled(edge, name), safe=False)


def _missing_input(
    context: GraphContext, node: TypedNode, finding: PlacementFinding, because: list[Cause]
) -> Diagnostic:
    graph = context.graph
    port, wanted = finding.port or "", finding.wanted or TEXT
    carrying = [edge for edge in node.incoming if edge.order_only and edge.source.placement.signature.has_value]
    case_edge = next((edge for edge in carrying if not edge.placed.label.after), None)
    again = next((edge for edge in node.again_in if any(feed.port == port for feed in edge.feeds)), None)
    if again is not None:
        message = (
            f"Only `again` from {again.source.id} feeds port `{port}` ({wanted}) of {named(node)}, and it brings nothing in "
            f"the first turn; draw an edge into it from outside as well, such as `{_arrow(graph, node, port)}`."
        )
        related = [Related(again.flow.range, f"`{port}` is fed here in later turns")]
        drawn = fed(context, MISSING_REQUIRED_INPUT, node, port, None)
        before = ask_before(context, MISSING_REQUIRED_INPUT, port, again)
        return report(
            MISSING_REQUIRED_INPUT,
            node.flow.range,
            message,
            because=because,
            related=related,
            fixes=chain(drawn, before),
        )
    if case_edge is not None:
        how = f"{case_edge.source.id} carries a value: write `{case_edge.case_label}:{port}` on its edge."
    else:
        how = f"draw an edge into it, such as `{_arrow(graph, node, port)}`."
    because = [*because, *(cause for edge in node.incoming for cause in without_value(edge))]
    message = f"{named(node)} needs its port `{port}` ({wanted}), but nothing feeds it; {how}"
    fixes = fed(context, MISSING_REQUIRED_INPUT, node, port, case_edge)
    return report(MISSING_REQUIRED_INPUT, node.flow.range, message, because=because, fixes=fixes)


_FEW = 3
"""Nodes with findings up to which messages of a small graph say where an edge should start."""


def _arrow(graph: TypedGraph, node: TypedNode, name: str) -> str:
    """The edge to suggest into a port: that of the first fix."""
    # A small graph may have a node with thousands of ports that lack something.
    port = None if node.spec is None or node.spec.is_pass else node.spec.ports.get(name)
    port = port or next((port for port in node.input_ports if port.name == name), None)
    if port is None or len(graph.marks.found) > _FEW or not is_small(graph):
        return f"X -->|{name}| {node.id}"
    likely = sources(graph, node, port)
    if likely:
        return wire_to(graph, likely[0], node, port).arrow
    return f"{ENTRY_POINT_ID if port.type == ENTRY_POINT else 'X'} -->|{name}| {node.id}"


def _mismatch(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    source, given, port = edge.source, finding.given or TEXT, finding.port or ""
    feed = next((feed for feed in edge.feeds if feed.port == port), None)
    what = f"`{feed.output}` ({given})" if feed is not None and feed.output and source.kind == "operator" else given
    if finding.names and source.kind != "decision":
        how = f"its output `{finding.names[0]}` would fit: write `{finding.names[0]}:{port}`."
    elif others := [name for name in fitting_ports(graph, node, given) if name != port]:
        how = f"port `{others[0]}` would take it{promise(edge, finding.wanted, ', or ')}."
    else:
        how = _remedy(edge, finding.wanted)
    message = f"{source.id} gives {what}, but {_port(node, port)} takes {finding.wanted}; {how}"
    return report(TYPE_MISMATCH, label_range(edge), message, fixes=fitted(context, TYPE_MISMATCH, node, edge, finding))


def _remedy(edge: TypedEdge, wanted: Type | None) -> str:
    if wanted == CODE:
        return f"let an operator write the code (CustomCodeGenerate){promise(edge, wanted, ', or ')}."
    if wanted == PROBLEM:
        return f"feed it from PROBLEM{promise(edge, wanted, ', or ')}."
    if wanted == ENTRY_POINT:
        return f"feed it from ENTRY_POINT{promise(edge, wanted, ', or ')}."
    vouching = promise(edge, wanted, "")
    return f"{vouching}." if vouching else "connect a node that gives it."


def _unknown_output(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    del node
    written, *near = finding.names
    outputs = listed([f"`{name}`" for name in edge.source.outputs])
    fixes: Iterable[Fix] = from_what_gives(context, UNKNOWN_OUTPUT, edge, written) if edge.word is None else ()
    hint = f"its outputs are {outputs}." if outputs else "it has none."
    if near:
        hint = f"did you mean `{near[0]}`? Its outputs are {outputs}."
        label = edge.placed.label
        fixes = _rewritten(graph, edge, spelled(edge.word, f"{near[0]}:{label.port or ''}"), safe=False)
    elif edge.word is None and (word := near_word(edge, written)) is not None:
        hint = f"did you mean the word `{word}`? Its outputs are {outputs}."
        fixes = _rewritten(graph, edge, spelled(word, edge.placed.label.port), safe=False)
    message = f"{named(edge.source)} has no output `{written}`; {hint}"
    return report(UNKNOWN_OUTPUT, part_range(edge, written), message, fixes=fixes)


def _port_spelling(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    port = finding.port or ""
    message = f"{_port(node, port)} is called `{finding.names[0]}` here; write `{port}`."
    fixes = _rewritten(graph, edge, labelled(edge, port), safe=True)
    return report(PORT_SPELLING, part_range(edge, finding.names[0]), message[0].upper() + message[1:], fixes=fixes)


def _hidden_field(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    del node
    name, label = finding.names[0], edge.placed.label
    field = f"{finding.port}.{name}"
    message = (
        f"`{name}` is an output of {named(edge.source)}, and {finding.given} has a field `{name}`; this edge brings the "
        f"output. Write `{field}` if you mean the field."
    )
    fixes = _rewritten(graph, edge, f"{field}:{label.port or ''}", safe=False)
    return report(HIDDEN_FIELD, part_range(edge, name), message, fixes=fixes)


def _no_order(node: TypedNode, finding: PlacementFinding) -> Diagnostic:
    by, item, numbers = finding.port, finding.given, finding.names
    fields = listed([f"`{name}`" for name in numbers], "or", most=8)
    hint = f"write `by:` with {fields}." if numbers else "give it Numbers, or records that have a field of type Number."
    if by is None:
        message = f"{named(node)} can't tell which {item} is the best; {hint}"
        place = node.flow.range
    else:
        what = "has no such field" if finding.wanted is None else f"has {finding.wanted} there, which is not a Number"
        message = f"{named(node)} orders by `{by}`, but {item} {what}; {hint}"
        place = parameter_range(node, "by")
    near = numbers[0] if len(numbers) == 1 else closest(by or "", numbers)
    if near is None:
        return report(NO_ORDER, place, message)
    here = None if by is None else next(rename_in_value(node, "by", by, near), None)
    edits = rewrite(node, Moved(frozenset({"by"}), {"by": near})) if here is None else here.edits
    fixes = [] if edits is None else [fix(f"Write by: {near}", edits, safe=False)]
    return report(NO_ORDER, place, message, fixes=fixes)


def _odd_result(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    graph = context.graph
    output = finding.names[0]
    what = f"`{output}` of {edge.source.id} ({finding.given})" if output else f"{finding.given} from {edge.source.id}"
    outputs = edge.source.outputs.items()
    others = [name for name, type_ in outputs if type_ is not None and not is_odd_result(type_, graph.types)]
    hint = f"write `{others[0]}:` on the edge if you mean that." if others and output else "connect a solution instead."
    message = f"{node.id} receives {what}, which is hardly the workflow's result; {hint}"
    fixes = results(context, ODD_RESULT, node, edge, others if output else [])
    return report(ODD_RESULT, label_range(edge), message, fixes=fixes)


def _no_value(context: GraphContext, node: TypedNode, edge: TypedEdge, finding: PlacementFinding) -> Diagnostic:
    message = (
        f"{edge.source.id} has no value to carry to `{finding.port}` of {named(node)}; feed its port `value`, or "
        f"connect {node.id} with the node that has the value."
    )
    fixes = with_value(context, CASE_WITHOUT_VALUE, node, edge, finding.port or "")
    return report(
        CASE_WITHOUT_VALUE, part_range(edge, edge.placed.label.port), message, fixes=fixes, because=without_value(edge)
    )


def without_value(edge: TypedEdge) -> list[Cause]:
    """Where it is reported that the Decision before an edge is brought a value by ``again`` alone."""
    source = edge.source
    if source.kind != "decision" or source.placement.signature.has_value:
        return []
    fed = any(feed.port == "value" for other in source.again_in for feed in other.feeds)
    return [Cause(MISSING_REQUIRED_INPUT.code, source.flow.range)] if fed else []


_TELL: dict[str, Callable[[GraphContext, TypedNode, TypedEdge, PlacementFinding], Diagnostic]] = {
    "unknown-port": _unknown_port,
    "unknown-output": _unknown_output,
    "missing-label": _missing_label,
    "ambiguous": _ambiguous,
    "mismatch": _mismatch,
    "port-variant": _port_spelling,
    "odd-result": _odd_result,
    "hidden-field": _hidden_field,
    "no-value": _no_value,
}
