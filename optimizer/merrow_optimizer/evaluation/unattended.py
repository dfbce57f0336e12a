"""Options of runs that nobody watches: those of evaluations, searches and cases."""

from __future__ import annotations

from dataclasses import replace

from merrow_runtime.options import RunOptions
from merrow_runtime.revising.reviser import refining
from merrow_runtime.workflow import Workflow


def unattended(workflow: Workflow, options: RunOptions) -> RunOptions:
    """The options of such a run. Nobody is there to agree to a change of the workflow, so that it is applied unasked, also where
    `refine: {ask: true}` would ask.
    """
    if refining(workflow.analysis.settings.refine, options.refine) is None:
        return options
    return replace(options, refine={**(options.refine or {}), "ask": False})
