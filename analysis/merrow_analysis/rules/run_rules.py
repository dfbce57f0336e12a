"""What goes wrong when a workflow is run: found by no check, reported by editors after a run."""

from __future__ import annotations

from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.registry import RuleFamily, Scope

_FAMILY = RuleFamily[None](Scope.RUN)
NODE_FAILED = _FAMILY.rule("MW530", "node-failed", "A node failed when the workflow was last run.", Severity.ERROR)
RUN_FAILED = _FAMILY.rule("MW531", "run-failed", "The last run of the workflow did not finish.", Severity.ERROR)
