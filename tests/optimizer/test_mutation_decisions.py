"""Moves at the case edges of Decisions, and edges that lead elsewhere: labels, places and promises are kept."""

from __future__ import annotations

import pytest
from tests.optimizer.mutation_checks import check_mutant, check_undone
from tests.optimizer.test_mutation_preconditions import CODE, FRAME
from tests.optimizer.test_mutation_writing import workflow

from merrow_analysis.check import analyse
from merrow_optimizer.mutations.base import Move, MoveRefusal
from merrow_optimizer.mutations.moves import changes, find, identity, moves
from merrow_optimizer.mutations.operator_names import ADDITION
from merrow_optimizer.mutations.original import Original

BRANCH = workflow(
    'G["CustomCodeGenerate<br/>(instruction: write)"]:::CustomCodeGenerateOp',
    'T["Test<br/>"]:::TestOp',
    "CHECK{passed?}:::DecisionOp",
    'F["Custom<br/>(role: fix, returns: Code)"]:::CustomOp',
    'N["Custom<br/>(role: namer)"]:::CustomOp',
    "PROBLEM -->|problem| G",
    "ENTRY_POINT -->|entry_point| G",
    "G -->|solution| T",
    "PROBLEM -->|problem| T",
    "ENTRY_POINT -->|entry_point| T",
    "PROBLEM --> N",
    "T -->|result:when| CHECK",
    "CHECK -->|Passed| D",
    'D["Custom<br/>(role: describe)"]:::CustomOp',
    "T -->|solution:| D",
    "CHECK -->|Failed| F",
    "T -->|solution:| F",
    "N --> F",
    "N --> D",
    "D --> RETURN",
    "F --> RETURN",
    frame=FRAME,
)


def move(text: str, title: str) -> Move:
    """The safe move with a title, with all that is promised of it checked."""
    before = analyse(text)
    assert before.is_valid, before.diagnostics
    found = next(move for move in moves(before) if move.title == title)
    mutant, after = check_mutant(before, text, found)
    if found.operator == ADDITION:
        check_undone(before, found, mutant, after)
    return found


HEADS = workflow(
    'A["Custom<br/>(role: one)"]:::CustomOp',
    'B["Custom<br/>(role: two)"]:::CustomOp',
    'C["Custom<br/>(role: three)"]:::CustomOp',
    "PROBLEM --> A & B",
    "A --> B",
    "%% of both",
    "B --> C",
    "C --> RETURN",
    "linkStyle 2 stroke:red",
    frame=FRAME.replace("    ENTRY_POINT([Name]):::Interface\n", ""),
)


@pytest.mark.parametrize(
    ("text", "title", "there", "gone"),
    [
        (CODE, "Insert Custom on CHECK -> F", ["CHECK -->|Failed| EXPLAIN", "EXPLAIN --> F"], "CHECK -->|Failed| F"),
        (CODE, "Remove F", ["CHECK -->|Failed| RETURN", "CHECK -->|Passed| RETURN"], "F["),
        (
            CODE,
            "Lead case Passed of CHECK to `input` of F instead of RETURN",
            ["CHECK -->|Passed| F"],
            "|Passed| RETURN",
        ),
        (BRANCH, "Replace Custom D by AnswerGenerate", ["CHECK -->|Passed| D"], 'D["Custom'),
        (
            BRANCH,
            "Insert Review before F in case Failed of CHECK",
            ["CHECK -->|Failed| F", "CHECK -->|Failed| REVIEW", "T -->|solution| REVIEW", "REVIEW --> F"],
            "CHECK -->|Failed| F\n    T -->",
        ),
        (HEADS, "Lead A to C instead of B", ["    A --> C\n    %% of both"], "A --> B"),
        (HEADS, "Lead PROBLEM to C instead of B", ["    PROBLEM --> A & C\n"], "A & B"),
    ],
)
def test_labels_and_places_are_kept(text: str, title: str, there: list[str], gone: str) -> None:
    mutant = move(text, title).apply(text)
    for line in there:
        assert line in mutant, mutant
    assert gone not in mutant, mutant


def refused(text: str, title: str) -> MoveRefusal:
    analysis = analyse(text)
    change = next(change for change in changes(Original(analysis)) if change.title == title)
    answer = find(analysis, identity(change))
    assert isinstance(answer, MoveRefusal), answer
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "title", "precondition"),
    [
        (HEADS, "Lead C to A instead of RETURN", "bridge"),
        (HEADS, "Lead PROBLEM to B instead of A", "bridge"),
        (CODE, "Lead ENTRY_POINT to `tests` of T instead of G", "kinds"),
        (CODE, "Lead G to F instead of T", "sides"),
        (BRANCH, "Lead case Failed of CHECK to N instead of F", "capacity"),
    ],
)
def test_a_head_that_may_not_move_says_why(text: str, title: str, precondition: str) -> None:
    assert refused(text, title).precondition == precondition
    assert title not in {found.title for found in moves(analyse(text))}


def test_an_operator_without_inputs_is_replaced_like_any_other() -> None:
    text = (
        "---\nworkflow:\n  operators:\n    Seed:\n      outputs: {text: Text}\n      prompt: Write a theme.\n---\n"
        + workflow(
            'S["Seed<br/>"]:::SeedOp',
            'A["Custom<br/>(role: one)"]:::CustomOp',
            "PROBLEM --> A",
            "S --> A",
            "A --> RETURN",
            frame=FRAME.replace("    ENTRY_POINT([Name]):::Interface\n", "") + "    classDef SeedOp fill:#eee\n",
        )
    )
    analysis = analyse(text)
    assert {node.operator for node in analysis.typed.nodes} >= {"Seed"} if analysis.typed is not None else False
    titles = [change.title for change in changes(Original(analysis))]
    assert "Replace Seed S by Custom" in titles
    assert not any(title.endswith("by Seed") for title in titles)
    for found in moves(analysis):
        check_mutant(analysis, text, found)
