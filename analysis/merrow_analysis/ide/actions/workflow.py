"""A flowchart that names no operators made a workflow: its front matter says so."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.edits.front_entries import declare_workflow
from merrow_analysis.ide.actions.actions import AS_WORKFLOW, Action, Edits, Request, possible


def read_as_workflow(request: Request) -> Iterator[Action]:
    """Have a flowchart with nodes read as a workflow, unless it says that it is none."""
    analysis = request.analysis
    if analysis.is_workflow or not analysis.diagram.is_flowchart or analysis.settings.opted_out:
        return
    if analysis.flow.chart.nodes:
        yield from possible("Read this flowchart as a workflow", AS_WORKFLOW, _edits(request))


def _edits(request: Request) -> Edits | None:
    edit = declare_workflow(request.analysis.diagram.front_matter)
    return None if edit is None else (edit,)
