"""A fault of Merrow itself: found by no check, told in place of what could not be found."""

from __future__ import annotations

from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.registry import RuleFamily, Scope

_FAMILY = RuleFamily[None](Scope.RUN)
FAULT = _FAMILY.rule("MW590", "merrow-failed", "Merrow itself failed at a file, a rule or a fix.", Severity.ERROR)
