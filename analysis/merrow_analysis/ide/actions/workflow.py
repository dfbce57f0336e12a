"""A flowchart that names no operators made a workflow: its front matter says so."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.check import analyse
from merrow_analysis.edits.front_entries import declare_workflow
from merrow_analysis.ide.actions.actions import AS_WORKFLOW, Action, Edits, Request, possible
from merrow_analysis.rules.drawn.plain_rules import PLAIN_STEPS

_MOST_WRITTEN = 300
"""Nodes of a drawing whose operators are written out, which is looked at whenever actions are asked for."""


def read_as_workflow(request: Request) -> Iterator[Action]:
    """Have a flowchart with nodes read as a workflow, unless it says that it is none."""
    analysis = request.analysis
    if analysis.is_workflow or not analysis.diagram.is_flowchart or analysis.settings.opted_out:
        return
    if analysis.flow.chart.nodes:
        yield from possible("Read this flowchart as a workflow", AS_WORKFLOW, _edits(request))
    if analysis.may_be_drawn and len(analysis.flow.chart.nodes) <= _MOST_WRITTEN:
        yield from possible("Write the operators out", AS_WORKFLOW, _written_out(request))


def _edits(request: Request) -> Edits | None:
    edit = declare_workflow(request.analysis.diagram.front_matter)
    return None if edit is None else (edit,)


def _written_out(request: Request) -> Edits | None:
    """What writes the operators out, as they are read into the flowchart."""
    text = "".join(block.text for block in request.analysis.diagram.blocks)
    hints = [
        diagnostic for diagnostic in analyse(text, as_workflow=True).diagnostics if diagnostic.code == PLAIN_STEPS.code
    ]
    fix = next((fix for hint in hints for fix in hint.fixes), None)
    return None if fix is None else fix.edits
