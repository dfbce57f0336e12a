"""What is said of Calls of planned workflows: their signature, what is missing, what is repaired, what is counted."""

from __future__ import annotations

import pytest
from tests.analysis.test_called_files import check, flow

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.measures.metrics import metrics
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.text import Position, apply_edits

PLAN = 'PLAN@{op: Custom, prompt: "plan", returns: Workflow}'
EDGES = ["PROBLEM -->|input| PLAN", "PROBLEM -->|problem| WORK", "PLAN -->|workflow| WORK", "WORK -->|result:| RETURN"]
PLANNED = flow(PLAN, "WORK@{op: Call, stop_after: 3}", *EDGES)


def read(text: str) -> Analysis:
    return analyse(text, path="main.mmd")


@pytest.mark.parametrize("plan", ['PLAN@{op: Custom, prompt: "plan"}', 'PLAN["Custom<br/>(prompt: plan)"]:::CustomOp'])
def test_the_promise_of_a_workflow_is_written_by_a_fix(plan: str) -> None:
    text = flow(plan, "WORK@{op: Call}", *EDGES)
    (found,) = check(text)
    (repair,) = found.fixes
    repaired = apply_edits(text, repair.edits)
    assert "returns: Workflow" in repaired
    assert check(repaired) == []


def test_how_many_calls_it_makes_is_not_known() -> None:
    graph = read(PLANNED).typed
    assert graph is not None
    shown = metrics(graph).as_json()
    assert shown["calls"] == {"least": 1, "most": None}


def test_it_cannot_be_declared_again() -> None:
    text = PLANNED.replace("flowchart TD", "---\nworkflow: {types: {Workflow: Text}}\n---\nflowchart TD", 1)
    assert "`Workflow` is a built-in type" in "".join(one.message for one in check(text))


def place(text: str, word: str) -> Position:
    """Where a word ends that stands once in a text."""
    before = text[: text.index(word) + len(word)]
    return Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("WORK@", "Call(problem*: Text, workflow*: Workflow) -> result: Text, state: Json, done: Bool"),
        ("returns: Work", "It is checked as it is read"),
        ("stop_a", "How many nodes of a planned workflow"),
    ],
)
def test_hover_explains_it(word: str, says: str) -> None:
    here = place(PLANNED, word)
    found = hover(read(PLANNED), Position(here.line, here.column - 2))
    assert found is not None
    assert says in found.text.plain()


@pytest.mark.parametrize(
    ("text", "word", "label"),
    [
        (PLANNED.replace("stop_after: 3", "sto"), "op: Call, sto", "stop_after"),
        (PLANNED.replace("|workflow|", "|work|"), "|work", "workflow"),
        (PLANNED.replace("|result:|", "|sta|"), "|sta", "state"),
        (PLANNED.replace("returns: Workflow", "returns: Work"), "returns: Work", "Workflow"),
    ],
)
def test_completion_knows_its_words(text: str, word: str, label: str) -> None:
    found = complete(read(text), place(text, word)).items
    assert any(item.label.strip(":") == label for item in found)
