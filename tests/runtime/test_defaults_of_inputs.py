"""A default that a run refuses before its first call is a finding of the checker, and no other is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.check import analyse
from merrow_runtime import UsageFailure
from merrow_runtime.program.inputs import read_inputs

FRONT = """---
workflow:
  model: m
  inputs: [PROBLEM, LIMIT]
  types: {Route: [math, code], Idea: {title: Text, size: Number}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    LIMIT@{ shape: stadium, type: "TYPE", default: VALUE }
    class LIMIT Interface
    A@{ op: Custom, prompt: "Answer." }
    RETURN([Result]):::Interface
    PROBLEM -->|input| A
    LIMIT -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
"""
TYPES = ("Text", "Number", "Bool", "Json", "Route", "Idea", "list[Number]", "list[Route]")
LEAVES = st.sampled_from((True, False, 0, 25, 1.5, "25", "1,200", "many", "yes", "No", "math", "Math.", "", "x"))
VALUES = LEAVES | st.lists(LEAVES, max_size=3) | st.fixed_dictionaries({}, optional={"title": LEAVES, "Size": LEAVES})


def is_found(type_: str, value: Any) -> tuple[bool, bool]:
    """Whether the checker reports a default, and whether a run refuses it."""
    analysis = analyse(
        FRONT.replace("TYPE", type_).replace(
            "VALUE", json.dumps(json.dumps(value)) if isinstance(value, dict) else json.dumps(value)
        )
    )
    found = {one.code for one in analysis.errors}
    assert found <= {"MW305"}, found
    assert analysis.typed is not None
    try:
        read_inputs(analysis.typed, {"PROBLEM": "x"})
    except UsageFailure:
        return bool(found), True
    return bool(found), False


@settings(max_examples=38, deadline=None)
@given(st.sampled_from(TYPES), VALUES)
def test_the_checker_and_the_run_agree(type_: str, value: Any) -> None:
    reported, refused = is_found(type_, value)
    assert reported == refused


@pytest.mark.parametrize(
    ("type_", "value", "refused"), [("Number", "many", True), ("Number", "25", False), ("Route", "art", True)]
)
def test_cases_in_full(type_: str, value: Any, refused: bool) -> None:
    assert is_found(type_, value) == (refused, refused)
