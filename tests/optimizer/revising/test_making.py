"""Changes of a reviser in a workflow's text: what is not concerned stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from merrow_analysis.edits.merging import without_redo
from merrow_optimizer.revising.answers import read_answer
from merrow_optimizer.revising.making import GraphChanges
from merrow_runtime.workflow import check_workflow

TEXT = """\
---
title: A plan   # as it is
workflow:
  agents:
    pro: {role: Pro}
  prompts:
    a: Do a.
    b: Do b.
---
%% a comment
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: a)"]
    B["Custom<br/>(role: b)"]
    JOIN["Assemble<br/>"]
    RETURN([Result])
    PROBLEM -->|input| A & B
    A -->|input| B
    PROBLEM -->|problem| JOIN
    A & B --> JOIN
    JOIN --> RETURN
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    class JOIN AssembleOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    classDef AssembleOp fill:#ccc
"""
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "add": ({"do": "add", "id": "C", "objective": "Do c.", "after": ["A"], "agent": "pro", "format": "json"}, "C"),
    "edit": ({"do": "edit", "id": "B", "objective": "Do it better."}, "Do it better."),
    "remove": ({"do": "remove", "id": "A"}, "B"),
    "redo": ({"do": "redo", "id": "B"}, "redo:"),
    "reassign": ({"do": "reassign", "id": "B", "agent": "pro"}, "agent: pro"),
    "split": (
        {
            "do": "split",
            "id": "B",
            "into": [{"id": "B1", "objective": "x"}, {"id": "B2", "objective": "y", "after": ["B1"]}],
        },
        "B2",
    ),
    "rename": ({"do": "rename", "id": "B", "to": "Q"}, "Q"),
    "unlink": ({"do": "unlink", "from": "A", "to": "B"}, "A & B --> JOIN"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_change_is_written_and_leaves_the_rest(name: str) -> None:
    said, found = CASES[name]
    revised = GraphChanges(read_answer(json.dumps({"reason": "r", "changes": [said]}), 50)).on(check_workflow(TEXT), 50)
    assert found in revised.text
    check_workflow(revised.text)
    lines = revised.text.splitlines()
    for line in TEXT.splitlines():
        if not any(word in line for word in ("A", "B", "a:", "b:", "Do b.")):
            assert line in lines, line
    assert revised.renamed == ({"Q": "B"} if name == "rename" else {})


def test_what_is_accepted_has_no_trace_of_the_run() -> None:
    revised = GraphChanges(read_answer('{"reason": "", "changes": [{"do": "redo", "id": "B"}]}', 50)).on(
        check_workflow(TEXT), 50
    )
    assert revised.text != TEXT
    assert without_redo(revised.text, TEXT) == TEXT
    assert without_redo(TEXT, TEXT) == TEXT
