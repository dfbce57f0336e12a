"""Types and operators that the front matter declares."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.types import DefinitionProblem
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity, Tag
from merrow_analysis.edits.front_entries import remove_entry
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.text import Range, TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.NODE, Flags.QUICK_LOOK)
TYPE_DEFINITION = _FAMILY.rule(
    "MW220", "type-definition", "A type in the front matter is declared wrongly.", Severity.ERROR, fix="sometimes"
)
OPERATOR_DEFINITION = _FAMILY.rule(
    "MW221",
    "operator-definition",
    "An operator in the front matter is declared wrongly.",
    Severity.ERROR,
    fix="sometimes",
)
UNUSED_OPERATOR = _FAMILY.rule(
    "MW403",
    "unused-operator",
    "A declared operator is used by no node.",
    Severity.HINT,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.SPELLING,
)


@_FAMILY.checked_by
def check_definitions(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about ``types:`` and ``operators:``. Those of a library are shown where the diagram begins."""
    graph = context.graph
    for problem in graph.problems:
        rule = TYPE_DEFINITION if problem.path[0] == "types" else OPERATOR_DEFINITION
        word = _named_wrongly(problem, context)
        near = None if word is None or problem.misspelled is None else problem.misspelled.near
        better = [] if word is None or near is None else [fix(f"Write {near}", [TextEdit(word, near)], safe=False)]
        where = word or _nearest_place(problem.path, context) or context.top
        yield report(rule, where, problem.message, fixes=better)
    if all(spec.built_in for spec in graph.operators.specs.values()):
        return
    used = {node.spec.name for node in graph.nodes if node.spec is not None and not node.spec.built_in}
    used |= {claim.spec.name for node in graph.nodes for claim in node.resolution.claims if claim.spec is not None}
    meant = {other.near.name for node in graph.nodes for other in node.resolution.problems if other.near is not None}
    for spec in graph.operators.specs.values():
        if spec.built_in or spec.name in used:
            continue
        place = context.place_of(("operators", spec.name))
        if place is not None:
            message = f"Operator `{spec.name}` is declared, but no node uses it."
            fixes = () if spec.name in meant else _without_operator(context, spec.name)
            yield report(UNUSED_OPERATOR, place, message, fixes=fixes, tags=(Tag.UNNECESSARY,))


def _without_operator(context: GraphContext, name: str) -> Iterator[Fix]:
    edit = None if context.front is None else remove_entry(context.front, ("workflow", "operators", name))
    if edit is not None:
        yield fix(f"Remove operator {name}", [edit], safe=False)


def _named_wrongly(problem: DefinitionProblem, context: GraphContext) -> Range | None:
    """Where a definition has the word that names nothing, if it has it once."""
    misspelled = problem.misspelled
    located = context.value_of(problem.path) if misspelled is not None else None
    if misspelled is None or located is None:
        return None
    block, (start, end) = located
    places = list(re.finditer(rf"(?<![\w-]){re.escape(misspelled.word)}(?![\w-])", block.text[start:end]))
    if len(places) != 1:
        return None
    first, last = places[0].span()
    return block.range((start + first, start + last))


def _nearest_place(path: tuple[str | int, ...], context: GraphContext) -> Range | None:
    for length in range(len(path), 0, -1):
        place = context.place_of(path[:length])
        if place is not None:
            return place
    return None
