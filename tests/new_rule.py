"""A rule that is added while the tests run, through the registry, and taken out again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Flags, Rule, RuleFamily, Scope, unregister
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.text import Range, TextEdit

CODE, NAME, SUMMARY = "MW199", "loud-id", "A node shouts."
LOUD = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    LOUD["Custom<br/>(role: solver)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| LOUD
    LOUD --> RETURN
    %% note
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""
"""A workflow with one finding of `loud_ids`, at the node in line 2 (counted from 0)."""
FIX = "Write QUIET for LOUD"


@contextmanager
def added(
    check: Callable[[Rule, Any], Iterable[Diagnostic]], scope: Scope, flags: Flags = Flags.NONE
) -> Iterator[list[object]]:
    """Register a warning with a check. The list grows with each context that it is given."""
    family = RuleFamily[Any](scope, flags)
    rule = family.rule(CODE, NAME, SUMMARY, Severity.WARNING, fix="sometimes")
    given: list[object] = []

    @family.checked_by
    def find(context: object) -> Iterable[Diagnostic]:
        given.append(context)
        return check(rule, context)

    try:
        yield given
    finally:
        unregister(rule)


def loud_ids(rule: Rule, context: GraphContext) -> Iterator[Diagnostic]:
    """Nodes that are called LOUD, with a fix that renames them where they are declared."""
    for node in context.graph.nodes:
        if node.id == "LOUD":
            place = node.flow.range
            name = Range(place.start, place.start._replace(column=place.start.column + len("LOUD")))
            yield report(rule, place, "LOUD shouts.", fixes=[fix(FIX, [TextEdit(name, "QUIET")], safe=False)])
