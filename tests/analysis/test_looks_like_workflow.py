"""Flowcharts that look like workflows: the hint, its fix, and what is left alone."""

from __future__ import annotations

import pytest

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import apply_edits

A = 'A["Custom<br/>(role: one)"]'
B = 'B["Custom<br/>(role: two)"]'
P = "P[\"Programmer<br/>(analysis: 'step by step')\"]"


def made(text: str) -> tuple[str, Analysis]:
    """The text after the fix of its one hint, and what is known about it then."""
    (hint,) = analyse(text).diagnostics
    assert (hint.code, hint.severity) == ("MW407", Severity.HINT)
    (fix,) = hint.fixes
    assert fix.title == "Make it a workflow"
    fixed = apply_edits(text, fix.edits)
    assert parse_record(fixed)["ok"], fixed
    return fixed, analyse(fixed)


@pytest.mark.parametrize(
    "body",
    [
        f"    {A}",
        f"    {A} --> {B}",
        f"    START([Question]) --> {A} --> END_([Answer])",
        f"    START --> {A}\n    {A} --> STOP\n    style START fill:#fff\n    class START,STOP s\n    classDef s fill:#eee",
        f"    START:::plain --> {A}\n    classDef plain fill:#eee",
        f"    PROBLEM([Problem]) --> {A}",
        f"    {A} --> RETURN([Answer])",
        f"    subgraph part [Part]\n        {A} --> {B}\n    end",
        f"    {P}\n    classDef Interface fill:#e2e2f2",
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_the_fix_makes_a_workflow(body: str, end: str) -> None:
    fixed, analysis = made(f"flowchart TD\n{body}{end}")
    assert analysis.is_workflow
    assert fixed.count("classDef Interface") == 1
    assert [one for one in analysis.diagnostics if one.severity is not Severity.HINT] == [], fixed
    assert [node.id for node in analysis.typed.inputs] == ["PROBLEM"]  # type: ignore[union-attr]


def test_nodes_at_both_ends_that_are_no_steps_become_input_and_output() -> None:
    fixed, _ = made(f"flowchart TD\n    START([Question]) --> {A} --> END_([Answer])\n")
    assert f"PROBLEM([Question]):::Interface --> {A} --> RETURN([Answer]):::Interface\n" in fixed
    assert "START" not in fixed
    assert "END_" not in fixed


@pytest.mark.parametrize(
    "text",
    [
        "flowchart TD\n    A[Review] --> B[Custom]\n",
        "flowchart TD\n    A[Review the text<br/>by Monday]\n",
        "flowchart TD\n    A --> B\n",
        f"---\nworkflow: false\n---\nflowchart TD\n    {A}\n",
        "sequenceDiagram\n    A->>B: Custom<br/>(role: x)\n",
    ],
)
def test_other_diagrams_are_left_alone(text: str) -> None:
    analysis = analyse(text)
    assert analysis.diagnostics == []
    assert not analysis.is_workflow
    assert analysis.why_no_workflow


def test_the_reason_names_what_is_there_and_what_is_missing() -> None:
    why = analyse(f"flowchart TD\n    PROBLEM --> {A}\n").why_no_workflow
    assert why == "its labels name operators (Custom at A), but it has no RETURN"
    assert analyse(f"flowchart TD\n    PROBLEM --> {A} --> RETURN\n").why_no_workflow is None
