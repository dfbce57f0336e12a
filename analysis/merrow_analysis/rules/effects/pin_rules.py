"""Tools that are not as they were pinned: found by no check, which reaches no server, but by `merrow tools check` and by runs."""

from __future__ import annotations

from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.registry import RuleFamily, Scope

_FAMILY = RuleFamily[None](Scope.RUN)
TOOL_DIFFERS = _FAMILY.rule(
    "MW504", "tool-differs", "A server says something else of a tool than its pin.", Severity.ERROR
)
