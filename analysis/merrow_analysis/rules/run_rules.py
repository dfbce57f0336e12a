"""What goes wrong when a workflow is run: found by no check, reported by editors after a run."""

from __future__ import annotations

from merrow_analysis.diagnostics import Severity
from merrow_analysis.rules.registry import register

NODE_FAILED = register(
    "MW530", "node-failed", "A node failed when the workflow was last run.", Severity.ERROR, at_run_time=True
)
RUN_FAILED = register(
    "MW531", "run-failed", "The last run of the workflow came to its end early.", Severity.ERROR, at_run_time=True
)
