"""Parameters that change nothing at their operator are said to."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose, workflow

from merrow_analysis.definitions.operators import BUILT_IN_OPERATORS, COMMON_PARAMETERS
from merrow_analysis.diagnostics import Applicability, Diagnostic, Severity, Tag
from merrow_analysis.text import apply_edits

DECLARED = """
workflow:
  operators:
    One: {inputs: {text: Text}, outputs: {text: Text}}
    Two: {inputs: {text: Text}, outputs: {text: Text, more: Text}}
"""


def idle(text: str) -> list[Diagnostic]:
    return [one for one in diagnose(text) if one.code == "MW406"]


@pytest.mark.parametrize("operator", [spec.name for spec in BUILT_IN_OPERATORS if not (spec.is_call or spec.is_tool)])
def test_format_counts_at_these_operators(operator: str) -> None:
    found = idle(workflow(f"A@{{ op: {operator}, format: json }}"))
    assert bool(found) == (operator not in ("Custom", "Revise", "Format", "Assemble"))
    for one in found:
        assert (one.severity, one.tags) == (Severity.HINT, (Tag.UNNECESSARY,))
        assert operator in one.message


@pytest.mark.parametrize(("operator", "count"), [("One", 0), ("Two", 1)])
def test_format_is_for_one_output(operator: str, count: int) -> None:
    assert len(idle(workflow(f"A@{{ op: {operator}, format: json }}", front=DECLARED))) == count


@pytest.mark.parametrize("key", sorted(COMMON_PARAMETERS))
def test_a_decision_asks_no_model(key: str) -> None:
    found = idle(workflow(f'D{{ok?}}\nD@{{ op: Decision, {key}: "x" }}' if key != "op" else "D@{ op: Decision }"))
    assert bool(found) == (key not in ("op", "on_error", "default"))


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("A@{ op: Test, format: json, seed: 1 }", "A@{ op: Test, seed: 1 }"),
        ("A@{ op: Test, format: json }", "A@{ op: Test }"),
        ("A@{\n  op: Test\n  format: json\n}", "A@{\n  op: Test\n}"),
        ('A["Test<br/>(format: json, seed: 1)"]', 'A["Test<br/>(seed: 1)"]'),
        ('A["Test<br/>(format: json)"]', 'A["Test<br/>"]'),
    ],
)
def test_the_fix_takes_it_out(written: str, after: str) -> None:
    text = workflow(written)
    (found,) = idle(text)
    (fix,) = found.fixes
    assert (fix.title, fix.applicability) == ("Remove format", Applicability.SAFE)
    assert apply_edits(text, fix.edits) == workflow(after)


def test_what_overrules_is_what_is_told() -> None:
    (found,) = idle(workflow('A["Test<br/>(format: json)"]', "A@{ format: text }"))
    assert found.range.start.line == 5
