"""Types and operators that the front matter declares."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Diagnostic, Severity, Tag
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Family, Flags, Scope
from merrow_analysis.rules.reporting import report
from merrow_analysis.text import Range

_FAMILY = Family[GraphContext](Scope.NODE, Flags.QUICK_LOOK)
TYPE_DEFINITION = _FAMILY.rule(
    "MW220", "type-definition", "A type in the front matter is declared wrongly.", Severity.ERROR
)
OPERATOR_DEFINITION = _FAMILY.rule(
    "MW221", "operator-definition", "An operator in the front matter is declared wrongly.", Severity.ERROR
)
UNUSED_OPERATOR = _FAMILY.rule(
    "MW403",
    "unused-operator",
    "A declared operator is used by no node.",
    Severity.HINT,
    flags=Flags.NEEDS_WHOLE | Flags.SPELLING,
)


@_FAMILY.checked_by
def check_definitions(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about ``types:`` and ``operators:``. Those of a library are shown where the diagram begins."""
    graph = context.graph
    for problem in graph.problems:
        rule = TYPE_DEFINITION if problem.path[0] == "types" else OPERATOR_DEFINITION
        yield report(rule, _nearest_place(problem.path, context) or context.top, problem.message)
    if all(spec.built_in for spec in graph.operators.specs.values()):
        return
    used = {node.spec.name for node in graph.nodes if node.spec is not None and not node.spec.built_in}
    used |= {claim.spec.name for node in graph.nodes for claim in node.resolution.claims if claim.spec is not None}
    for spec in graph.operators.specs.values():
        if spec.built_in or spec.name in used:
            continue
        place = context.place_of(("operators", spec.name))
        if place is not None:
            message = f"Operator `{spec.name}` is declared, but no node uses it."
            yield report(UNUSED_OPERATOR, place, message, tags=(Tag.UNNECESSARY,))


def _nearest_place(path: tuple[str | int, ...], context: GraphContext) -> Range | None:
    for length in range(len(path), 0, -1):
        place = context.place_of(path[:length])
        if place is not None:
            return place
    return None
