"""A flowchart that names no operators made a workflow: its front matter says so."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.ide.actions.actions import AS_WORKFLOW, Action, Edits, Request
from merrow_analysis.text import Position, Range, TextEdit

_TOP = Range(Position(0, 0), Position(0, 0))


def read_as_workflow(request: Request) -> Iterator[Action]:
    """Have a flowchart with nodes read as a workflow, unless it says that it is none."""
    analysis = request.analysis
    if analysis.is_workflow or not analysis.diagram.is_flowchart or analysis.settings.opted_out:
        return
    if analysis.flow.chart.nodes:
        yield Action("Read this flowchart as a workflow", AS_WORKFLOW, lambda: _edits(request))


def _edits(request: Request) -> Edits | None:
    front = request.analysis.diagram.front_matter
    if front is None:
        return (TextEdit(_TOP, "---\nworkflow: true\n---\n"),)
    matter, block = front
    body = block.text[slice(*matter.body_span)]
    added = f"{matter.indent}workflow: true"
    added = f"{added}\n" if not body or body.endswith("\n") else f"\n{added}"
    if not read_settings(body + added, matter.indent).declared:
        return None
    end = block.position(matter.body_span[1])
    return (TextEdit(Range(end, end), added),)
