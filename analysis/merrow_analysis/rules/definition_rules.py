"""Types and operators that the front matter declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from merrow_analysis.diagnostics import Diagnostic, Severity, Tag
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.rules.registry import register
from merrow_analysis.rules.reporting import report
from merrow_analysis.text import Range

TYPE_DEFINITION = register(
    "MW220", "type-definition", "A type in the front matter is declared wrongly.", Severity.ERROR
)
OPERATOR_DEFINITION = register(
    "MW221", "operator-definition", "An operator in the front matter is declared wrongly.", Severity.ERROR
)
UNUSED_OPERATOR = register("MW403", "unused-operator", "A declared operator is used by no node.", Severity.HINT)

PlaceOf = Callable[[tuple[str | int, ...]], Range | None]
"""Where the front matter says something, by its path from ``workflow`` on; None for what a library says."""


def check_definitions(graph: TypedGraph, place_of: PlaceOf, header: Range) -> Iterator[Diagnostic]:
    """Findings about ``types:`` and ``operators:``. Those without a place in this file are told at ``header``."""
    for problem in graph.problems:
        rule = TYPE_DEFINITION if problem.path[0] == "types" else OPERATOR_DEFINITION
        yield report(rule, _nearest_place(problem.path, place_of) or header, problem.message)
    if all(spec.built_in for spec in graph.operators.specs.values()):
        return
    used = {node.spec.name for node in graph.nodes if node.spec is not None and not node.spec.built_in}
    used |= {claim.spec.name for node in graph.nodes for claim in node.resolution.claims if claim.spec is not None}
    for spec in graph.operators.specs.values():
        if spec.built_in or spec.name in used:
            continue
        place = place_of(("operators", spec.name))
        if place is not None:
            message = f"Operator `{spec.name}` is declared, but no node uses it."
            yield report(UNUSED_OPERATOR, place, message, tags=(Tag.UNNECESSARY,))


def _nearest_place(path: tuple[str | int, ...], place_of: PlaceOf) -> Range | None:
    for length in range(len(path), 0, -1):
        place = place_of(path[:length])
        if place is not None:
            return place
    return None
