"""A2Flow's ablations in a simulated world: the starts are real workflows, and the rules are as they are published."""

from __future__ import annotations

import pytest
from benchmarks.ablations.__main__ import table
from benchmarks.ablations.libraries import ALL, ROWS, Row, library, start
from benchmarks.ablations.world import Rules, World

from merrow_analysis.check import analyse
from merrow_optimizer.search.candidates import CandidateDraft, ItemRepeat


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_row_begins_with_a_valid_single_executor_that_declares_its_operators(row: Row) -> None:
    analysis = analyse(start(row, 3))
    assert not analysis.errors
    assert analysis.typed is not None
    assert [node.id for node in analysis.typed.nodes if node.kind == "operator"] == ["EXECUTE"]
    assert set(analysis.settings.operators) == set(library(row, 3))
    assert analysis.settings.memory.kind == row.memory


def chances(memory: str) -> float:
    """The true score of a workflow whose last step needs what only memory shows it."""
    head, _, _ = start(ALL, 1).replace('"memory": "all"', f'"memory": "{memory}"').partition("flowchart TD")
    flow = """flowchart TD
    PROBLEM([Problem])
    SEE["Understand<br/>"]
    MID@{ op: Custom, prompt: "Go on." }
    LAST["Devise<br/>"]
    DONE@{ op: Custom, prompt: "Answer." }
    RETURN([Answer])
    PROBLEM -->|problem| SEE
    PROBLEM -->|problem| LAST
    SEE -->|input| MID
    MID -->|input| DONE
    LAST -->|input| DONE
    DONE --> RETURN
    classDef Interface fill:#eee
    class PROBLEM,RETURN Interface
"""
    text = head + flow
    assert not analyse(text).errors, analyse(text).errors
    world = World(Rules(luck=0.0), library(ALL, 1), 1, 20)
    return world.truth(CandidateDraft(text, (), "", "", memory, (), 4, 6))


def test_a_result_that_is_remembered_counts_as_one_that_an_edge_brings() -> None:
    assert chances("all") > chances("none")


def test_an_answer_is_the_same_whenever_it_is_asked_for() -> None:
    text = start(ALL, 1)
    draft = CandidateDraft(text, (), "", "", "start", (), 1, 3)
    first, second = (World(Rules(), library(ALL, 1), 1, 20) for _ in range(2))
    places = [ItemRepeat(item, 0) for item in range(20)]
    assert [first.answer(draft, place) for place in places] == [second.answer(draft, place) for place in places]


def test_the_table_says_what_is_simulated() -> None:
    runs = {
        (row.name, seed): {"start": 0.4, "found": 0.5, "nodes": 4, "memory": 0.0} for row in ROWS for seed in (0, 1)
    }
    shown = table(runs)
    assert "simulated (not a reproduction)" in shown
    assert "| all | 58.5 | +0.0 | 50.0 | - |" in shown
    assert shown.count("\n") == len(ROWS) + 3
