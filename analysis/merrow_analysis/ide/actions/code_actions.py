"""Code actions: what can be done about a finding, or to the place of a selection.

Each provider gives actions of one kind; a new group of actions is one more line in `PROVIDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.ide.actions.actions import (
    AS_WORKFLOW,
    EXTRACT_PROMPT,
    INLINE_PROMPT,
    INSERT_APPROVAL,
    MOVE_PARAMETERS,
    QUICK_FIX,
    SPELLING,
    Action,
    Provider,
    Request,
    now,
)
from merrow_analysis.ide.actions.approval import insert_approval
from merrow_analysis.ide.actions.parameters import to_label, to_metadata
from merrow_analysis.ide.actions.prompts import extract_prompt, inline_prompt
from merrow_analysis.ide.actions.spelling import rename_variants
from merrow_analysis.ide.actions.suppress import ignore_here, ignore_in_file
from merrow_analysis.ide.actions.workflow import read_as_workflow
from merrow_analysis.text import Range

_MOST_FINDINGS = 50
"""Findings of one menu whose fixes are made: each may read all of its line, and nobody reads a longer menu."""


def quick_fixes(request: Request) -> Iterator[Action]:
    """The fixes of the findings; the first one of each is the best, and so the preferred one."""
    for diagnostic in request.diagnostics[:_MOST_FINDINGS]:
        for number, fix in enumerate(diagnostic.fixes):
            yield Action(fix.title, QUICK_FIX, now(*fix.edits), diagnostic, preferred=number == 0)


def fix_all(request: Request) -> Iterator[Action]:
    """The fixes of all findings of a rule at once, where the file has several."""
    first = request.diagnostics[:_MOST_FINDINGS]
    for diagnostic in {finding.code: finding for finding in reversed(first) if finding.fixes}.values():
        alike = (finding for finding in request.analysis.diagnostics if finding.code == diagnostic.code)
        repairable = (finding for finding in islice(alike, _MOST_FINDINGS) if finding.fixes)
        if len(list(islice(repairable, 2))) == 2:
            title = f"Fix all: {diagnostic.code} {diagnostic.name} in this file"
            yield Action(title, QUICK_FIX, now(), diagnostic, everywhere=True)


PROVIDERS: tuple[tuple[str, Provider], ...] = (
    (QUICK_FIX, quick_fixes),
    (EXTRACT_PROMPT, extract_prompt),
    (INLINE_PROMPT, inline_prompt),
    (MOVE_PARAMETERS, to_metadata),
    (MOVE_PARAMETERS, to_label),
    (SPELLING, rename_variants),
    (AS_WORKFLOW, read_as_workflow),
    (INSERT_APPROVAL, insert_approval),
    (QUICK_FIX, fix_all),
    (QUICK_FIX, ignore_here),
    (QUICK_FIX, ignore_in_file),
)
"""Who offers actions, in the order in which they are shown: what repairs first, what only silences last."""


def actions(
    analysis: Analysis,
    place: Range,
    diagnostics: tuple[Diagnostic, ...] | None = None,
    wanted: Callable[[str], bool] = lambda kind: True,  # noqa: ARG005
) -> list[Action]:
    """What can be done at a place. ``diagnostics`` are the findings that are meant, None for all that touch the place.

    ``wanted`` says of a kind whether it is asked for.
    """
    findings = tuple(touching(analysis, place)) if diagnostics is None else diagnostics
    request = Request(analysis, place, findings)
    return [action for kind, provider in PROVIDERS if wanted(kind) for action in provider(request)]


def touching(analysis: Analysis, place: Range) -> Iterator[Diagnostic]:
    """The findings that a selection or cursor touches."""
    for diagnostic in analysis.diagnostics:
        if diagnostic.range.start <= place.end and place.start <= diagnostic.range.end:
            yield diagnostic
