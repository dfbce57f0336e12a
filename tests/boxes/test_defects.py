"""Each defect of a workflow with Loops and Maps has exactly the one finding that explains it, at its place."""

from __future__ import annotations

import json

import pytest
from tests.boxes.defects import DEFECTS, MAP, REFINE, ROUNDS, UNTIL, VOTES, Defect
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import apply_edits, split_lines

CORPUS = SHARED / "corpus" / "language2"
UNWRITTEN = {"MW302", "MW309"}
"""Hints that the corpus' files have no prompts."""


def serious(text: str) -> list[Diagnostic]:
    return [one for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


def marked(text: str, found: Diagnostic) -> tuple[str, str]:
    """The text at a finding's place, and its line."""
    line = split_lines(text)[found.range.start.line]
    return line[found.range.start.column : found.range.end.column], line


@pytest.mark.parametrize("text", [REFINE, UNTIL, MAP, VOTES, ROUNDS], ids=["refine", "until", "map", "votes", "rounds"])
def test_without_its_defect_a_workflow_has_no_finding(text: str) -> None:
    assert serious(text) == []


@pytest.mark.parametrize("defect", [pytest.param(one, id=one.name) for one in DEFECTS])
def test_a_defect_has_the_one_finding_that_explains_it(defect: Defect) -> None:
    found = serious(defect.text)
    assert [one.code for one in found] == [defect.code], [one.message for one in found]
    place, line = marked(defect.text, found[0])
    assert place == defect.marked
    assert defect.line in line
    assert found[0].message.endswith((".", "?"))


@pytest.mark.parametrize("defect", [pytest.param(one, id=one.name) for one in DEFECTS])
def test_a_fix_repairs_its_defect(defect: Defect) -> None:
    [found] = serious(defect.text)
    for fix in found.fixes:
        fixed = apply_edits(defect.text, fix.edits)
        after = serious(fixed)
        assert defect.code not in [one.code for one in after], fix.title
        assert not analyse(fixed).refusals


REPAIRED = {
    "again to an unknown port",
    "again of an unknown output",
    "a path comes back",
    "a path comes back into a Map",
    "a Map without each",
    "an output inside",
    "metadata above end",
    "empty when the turns run out",
    "first into an ensemble",
    "first where nothing comes again",
    "first at another port",
    "until of an unknown node",
    "until of an unknown output",
    "until of text",
    "an unknown key",
    "a misspelled title",
    "a title in small letters",
    "again in no box",
}


@pytest.mark.parametrize("defect", [pytest.param(one, id=one.name) for one in DEFECTS if one.name in REPAIRED])
def test_one_edit_makes_it_right_where_one_edit_can(defect: Defect) -> None:
    [found] = serious(defect.text)
    assert found.fixes
    assert serious(apply_edits(defect.text, found.fixes[0].edits)) == []


@pytest.mark.shared("corpus/language2")
def test_the_corpus_defects_have_the_findings_that_it_names() -> None:
    for line in (CORPUS / "defects" / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        found = serious((CORPUS / told["file"]).read_text(encoding="utf-8"))
        places = [(one.code, one.range.start.line + 1, one.severity.value) for one in found]
        assert places == [(told["rule"], told["place"]["line"], told["severity"])], told["file"]
