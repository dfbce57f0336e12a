"""Decisions: their cases, and the expressions that decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.definitions.plain_values import FALSY, TRUTHY
from merrow_analysis.definitions.types import BOOL
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.labels import write_label
from merrow_analysis.graph.decisions import ELSE, CaseProblem
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.decision_fixes import (
    draw_cases,
    other_case,
    rename_in_value,
    write_case,
)
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import (
    MOST_SHARING,
    edges_of_arrow,
    fix,
    label_range,
    listed,
    parameter_range,
    part_range,
    report,
    spelled,
)
from merrow_analysis.rules.word_rules import misplaced_causes
from merrow_analysis.suggest import Guesses

_MOST_OFFERED = 3

_FAMILY = RuleFamily[GraphContext](Scope.EDGE, Flags.QUICK_LOOK)
EDGE_WITHOUT_CASE = _FAMILY.rule(
    "MW210",
    "edge-without-case",
    "An edge out of a Decision doesn't say for which case it is.",
    Severity.ERROR,
    fix="sometimes",
)
UNKNOWN_CASE = _FAMILY.rule(
    "MW211",
    "unknown-case",
    "A Decision has a case that its value can never match.",
    Severity.ERROR,
    fix="sometimes",
)
UNCOVERED_CASE = _FAMILY.rule(
    "MW212",
    "uncovered-case",
    "A Decision lacks a case for one of its values.",
    Severity.ERROR,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)
UNREACHABLE_CASE = _FAMILY.rule(
    "MW213",
    "unreachable-case",
    "A Decision has an `else` although its other cases take every value.",
    Severity.WARNING,
    fix="sometimes",
)
DECISION_EXPRESSION = _FAMILY.rule(
    "MW214",
    "decision-expression",
    "The `if:` of a Decision is not an expression over its inputs.",
    Severity.ERROR,
    fix="sometimes",
)
UNUSED_INPUT = _FAMILY.rule(
    "MW405",
    "unused-decision-input",
    "The `if:` of a Decision doesn't use an input that an edge names.",
    Severity.HINT,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_decisions(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about Decisions. One that nothing follows is a dead end and not looked at here."""
    graph = context.graph
    for node in graph.decisions:
        if node.cases is None:
            continue
        for finding in node.placement.findings:
            if finding.kind == "bad-expression":
                yield report(DECISION_EXPRESSION, parameter_range(node, "if"), f"{node.id}: {finding.names[0]}")
            elif finding.kind == "unknown-name":
                yield _unknown_name(node, finding.names)
            elif finding.kind == "unused-input" and finding.edge is not None:
                edge = node.incoming[finding.edge]
                message = (
                    f"The `if:` of {node.id} doesn't use its input `{finding.port}`; use it there, or remove this edge."
                )
                fixes = remove_edge(context, UNUSED_INPUT, edge.flow)
                yield report(UNUSED_INPUT, label_range(edge), message, fixes=fixes)
        if node.ways:
            guesses = Guesses()
            if node.cases.problems:
                causes = misplaced_causes(context)
                because = tuple([cause for edge in node.ways for cause in causes.get(edge.record, ())])
                for problem in node.cases.problems:
                    if problem.kind == "unlabelled" and node.ways[problem.edge or 0].flow.arrow.label is not None:
                        continue  # on a cycle, which has a finding of its own
                    yield _TELL[problem.kind](context, node, problem, guesses)._replace(because=because)


def _unknown_name(node: TypedNode, names: tuple[str, ...]) -> Diagnostic:
    name, *near = names
    again = next((edge for edge in node.again_in if any(feed.port == name for feed in edge.feeds)), None)
    if again is not None:
        message = (
            f"The `if:` of {node.id} names `{name}`, which only `again` from {again.source.id} brings, so there is nothing in "
            "the first turn; draw an edge that brings it from the beginning."
        )
        return report(DECISION_EXPRESSION, parameter_range(node, "if"), message)
    fed = list(dict.fromkeys(feed.port for edge in node.incoming for feed in edge.feeds))
    hint = f"did you mean `{near[0]}`?" if near else f"its inputs are {listed(f'`{port}`' for port in fed)}."
    message = f"The `if:` of {node.id} names `{name}`, but no edge into {node.id} brings it; {hint}"
    fixes = [made for right in (near or fed)[:_MOST_OFFERED] for made in rename_in_value(node, "if", name, right)]
    return report(DECISION_EXPRESSION, parameter_range(node, "if"), message, fixes=fixes)


def _without_case(context: GraphContext, node: TypedNode, problem: CaseProblem, guesses: Guesses) -> Diagnostic:
    del guesses
    edge = node.ways[problem.edge or 0]
    example = "Passed" if node.placement.decided_by == "truth" else ELSE
    message = (
        f"The edge from {node.id} to {edge.target.id} doesn't say for which case it is; write it on the edge, such as "
        f"`{node.id} -- {example} --> {edge.target.id}`."
    )
    fixes = write_case(context, EDGE_WITHOUT_CASE, node, edge)
    return report(EDGE_WITHOUT_CASE, edge.flow.range, message, fixes=fixes)


def _unknown_case(context: GraphContext, node: TypedNode, problem: CaseProblem, guesses: Guesses) -> Diagnostic:
    edge = node.ways[problem.edge or 0]
    case = edge.case_label or ""
    if node.placement.decided_by == "truth":
        known = sorted(TRUTHY | FALSY)
        what = "decides on true or false"
        hint = f"write one of {listed(['yes', 'no', 'passed', 'failed', ELSE], 'or')}."
    else:
        known = [*problem.words, ELSE]
        what = f"decides on a {node.placement.when}"
        named = "kinds" if node.placement.decided_by == "kinds" else "words"
        hint = f"its {named} are {listed(problem.words, most=10)}."
    near = guesses.closest(case, known)
    fixes: Iterable[Fix] = other_case(context, UNKNOWN_CASE, node, edge)
    if near is not None:
        hint = f"did you mean `{near}`?"
        alike = [other for other in node.ways if other.case_label == case]
        if all(len(edges_of_arrow(other, context.graph)) == 1 for other in alike[:MOST_SHARING]):
            edits = [write_label(other, _with_case(other, near)) for other in alike[:MOST_SHARING]]
            fixes = [fix(f"Write {near}", edits, safe=False)]
    message = f"{node.id} {what}, which is never `{case}`; {hint}"
    return report(UNKNOWN_CASE, part_range(edge, case), message, fixes=fixes)


def _with_case(edge: TypedEdge, case: str) -> str:
    label = edge.placed.label
    rest = "after" if label.after else label.port
    if label.output:
        return f"{spelled(case, edge.word, label.output)}:{rest or ''}"
    return spelled(case, edge.word, rest)


def _uncovered(context: GraphContext, node: TypedNode, problem: CaseProblem, guesses: Guesses) -> Diagnostic:
    del guesses
    graph, fixes = context.graph, draw_cases(context, UNCOVERED_CASE, node, problem.words)
    words = listed([f"`{word}`" for word in problem.words], "or")
    if node.placement.decided_by != "text":
        message = f"{node.id} has no case for {words}; draw an edge for it, or one labelled `{ELSE}`."
        return report(UNCOVERED_CASE, node.flow.range, message, fixes=fixes)
    message = f"{node.id} decides on a {node.placement.when}, which can be anything; draw an edge labelled `{ELSE}`."
    for edge in node.incoming:
        bools = [
            name for name, type_ in edge.source.outputs.items() if type_ is not None and graph.types.fits(type_, BOOL)
        ]
        if edge.source.kind == "operator" and len(bools) == 1 and any(feed.port == "when" for feed in edge.feeds):
            message += f" If {bools[0]} of {edge.source.id} should decide, write `{bools[0]}:when` on its edge."
            break
    return report(UNCOVERED_CASE, node.flow.range, message, fixes=fixes)


def _covered(context: GraphContext, node: TypedNode, problem: CaseProblem, guesses: Guesses) -> Diagnostic:
    del guesses
    edge = node.ways[problem.edge or 0]
    message = f"`{ELSE}` of {node.id} is never chosen, for its other cases take every value; remove this edge."
    return report(
        UNREACHABLE_CASE,
        part_range(edge, edge.case_label),
        message,
        fixes=remove_edge(context, UNREACHABLE_CASE, edge.flow),
    )


_TELL = {
    "unlabelled": _without_case,
    "unknown": _unknown_case,
    "uncovered": _uncovered,
    "covered": _covered,
}
