"""Repairs where somebody looks: remedies for the findings of a place, and the smallest repair of a whole workflow.

Loaded when first needed: it brings the search with it.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import WorkflowDifference, workflow_difference
from merrow_optimizer.repair.remedies import TIME_LIMIT, Remedy, remedies
from merrow_optimizer.repair.search import Repair, given_up
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers.mutations import delta_object

_MOST_SEARCHED = 3
"""Findings of one menu that remedies are searched for."""


def searched(diagram: OpenDiagram, place: Range, meant: Container[int]) -> Iterator[tuple[Diagnostic, list[Remedy]]]:
    """Errors and warnings with the remedies found for them in the time that a menu may take.

    Those whose identity is in ``meant``; where that is empty, those at ``place``.
    """
    deadline = time.monotonic() + TIME_LIMIT
    findings = (finding for finding in diagram.analysis.diagnostics if finding.severity is not Severity.HINT)
    wanted = [finding for finding in findings if id(finding) in meant] if meant else _at(diagram, place)
    for finding in wanted[:_MOST_SEARCHED]:
        left = deadline - time.monotonic()
        if left > 0:
            yield finding, remedies(diagram.text, finding, left, diagram.document.context.opener)


def _at(diagram: OpenDiagram, place: Range) -> list[Diagnostic]:
    return [
        finding
        for finding in diagram.analysis.diagnostics
        if finding.severity is not Severity.HINT
        and finding.range.start <= place.end
        and place.start <= finding.range.end
    ]


def repair_object(diagram: OpenDiagram, done: Repair, before: Analysis, after: Analysis) -> dict[str, Any]:
    """A repair as JSON; its places are those of the document. ``delta`` is how the graph changes, ``effect`` says so."""
    told = before.typed is not None and after.typed is not None
    return {
        "valid": done.is_valid,
        "smallest": done.is_smallest,
        "weight": done.weight,
        "repairs": [{"title": step.title, "weight": step.weight, "codes": list(step.codes)} for step in done.steps],
        "left": [finding.message for finding in done.left],
        "edits": diagram.edits_to_lsp(done.edits),
        "effect": _effect(done),
        "delta": delta_object(workflow_difference(before, after) if told else WorkflowDifference()),
        "diagramText": done.text,
    }


def _effect(done: Repair) -> str:
    """What a repair does, in a sentence or two."""
    warning = given_up(done.steps)
    sentence = ("" if warning is None else f"{warning} ") + "; ".join(step.title for step in done.steps) + "."
    count = len(done.left)
    return sentence if not count else f"{sentence} {count} {'finding is' if count == 1 else 'findings are'} left."
