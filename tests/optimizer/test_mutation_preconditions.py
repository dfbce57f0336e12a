"""A move that is not safe is not offered; asked for by id, it says which precondition failed."""

from __future__ import annotations

import pytest
from tests.optimizer.test_mutation_writing import workflow

from merrow_analysis.check import analyse
from merrow_optimizer.mutations.base import Move, MoveRefusal, WorkflowDifference, workflow_difference
from merrow_optimizer.mutations.moves import DEFAULT, OPERATORS, MoveFilter, changes, find, identity, moves
from merrow_optimizer.mutations.operator_names import ADDITION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.preconditions import ALL

FRAME = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    ENTRY_POINT([Name]):::Interface
    RETURN([Return]):::Interface
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    classDef ScEnSembleOp fill:#d0e1f9
    classDef TestOp fill:#d0e1f9
    classDef CustomCodeGenerateOp fill:#d0e1f9
    classDef DecisionOp fill:#d0e1f9
"""
VOTE = workflow(
    'A["Custom<br/>(role: one)"]:::CustomOp',
    'B["Custom<br/>(role: two)"]:::CustomOp',
    'V["ScEnsemble<br/>"]:::ScEnSembleOp',
    "PROBLEM --> A & B",
    "A & B --> V",
    "V --> RETURN",
    frame=FRAME.replace("    ENTRY_POINT([Name]):::Interface\n", ""),
)
CODE = workflow(
    'G["CustomCodeGenerate<br/>(instruction: write)"]:::CustomCodeGenerateOp',
    'T["Test<br/>"]:::TestOp',
    "CHECK{passed?}:::DecisionOp",
    'F["Custom<br/>(role: fix, returns: Code)"]:::CustomOp',
    "PROBLEM -->|problem| G",
    "ENTRY_POINT -->|entry_point| G",
    "G -->|solution| T",
    "PROBLEM -->|problem| T",
    "ENTRY_POINT -->|entry_point| T",
    "T --> CHECK",
    "CHECK -->|Passed| RETURN",
    "CHECK -->|Failed| F",
    "F --> RETURN",
    frame=FRAME,
)


def answer(text: str, title: str) -> Move | MoveRefusal | None:
    """What is said of the move with this title when it is asked for by its id."""
    analysis = analyse(text)
    assert analysis.is_valid, analysis.diagnostics
    for change in changes(Original(analysis)):
        if change.title == title:
            return find(analysis, identity(change))
    raise AssertionError(title)


@pytest.mark.parametrize(
    ("text", "title", "precondition"),
    [
        (CODE, "Insert Custom on G -> T", "types"),
        (CODE, "Let T read PROBLEM instead of G", "types"),
        (VOTE, "Remove A", "bridge"),
        (VOTE, "Let A read V instead of PROBLEM", "bridge"),
        (VOTE, "Let V read PROBLEM instead of A", "bridge"),
        (VOTE, "Insert Test on A -> V", "sides"),
        (VOTE, "Replace Custom A by Test", "ports"),
        (VOTE, "Insert Format on PROBLEM -> A", "kinds"),
        (CODE, "Replace Custom F by AnswerGenerate", "promises"),
    ],
)
def test_the_precondition_that_fails_is_named(text: str, title: str, precondition: str) -> None:
    refused = answer(text, title)
    assert isinstance(refused, MoveRefusal)
    assert refused.precondition == precondition
    assert refused.reason.endswith(".")
    assert title not in {move.title for move in moves(analyse(text))}


def test_nothing_is_inserted_where_no_deletion_would_lead_the_edge_back() -> None:
    text = workflow(
        'A["Custom<br/>(role: one)"]:::CustomOp',
        'FIRST["Review<br/>"]',
        'SECOND["Review<br/>"]',
        "PROBLEM --> A",
        "A -->|solution| FIRST",
        "PROBLEM -->|problem| FIRST",
        "FIRST -->|solution| SECOND",
        "PROBLEM -->|problem| SECOND",
        "SECOND -->|input| LAST",
        'LAST["Custom<br/>(role: two)"]:::CustomOp',
        "LAST --> RETURN",
        frame=FRAME.replace("    ENTRY_POINT([Name]):::Interface\n", ""),
    )
    refused = answer(text, "Insert AnswerGenerate on FIRST -> SECOND")
    assert isinstance(refused, MoveRefusal)
    assert refused.precondition == "kinds"
    assert isinstance(answer(text, "Insert AnswerGenerate on A -> FIRST"), Move)


def test_what_is_inserted_in_one_of_two_branches_to_a_node_can_be_taken_out_again() -> None:
    text = CODE.replace("CHECK -->|Passed| RETURN", "CHECK -->|Passed| F")
    inserted = [move for move in moves(analyse(text)) if move.title.startswith("Insert Format on CHECK -> F")]
    assert inserted
    for move in inserted:
        mutant = move.apply(text)
        (new,) = {node.id for node in move.difference.added_nodes}
        back = answer(mutant, f"Remove {new}")
        assert isinstance(back, Move)
        assert workflow_difference(analyse(text), analyse(back.apply(mutant))) == WorkflowDifference()


LINE = FRAME.replace("    ENTRY_POINT([Name]):::Interface\n", "")


def test_no_subgraph_is_emptied() -> None:
    text = workflow(
        "subgraph ALONE",
        'A["Custom<br/>(role: one)"]:::CustomOp',
        "end",
        "subgraph TWO",
        'B["Custom<br/>(role: two)"]:::CustomOp',
        'C["Custom<br/>(role: three)"]:::CustomOp',
        "end",
        "PROBLEM --> A --> B --> C --> RETURN",
        frame=LINE,
    )
    refused = answer(text, "Remove A")
    assert isinstance(refused, MoveRefusal)
    assert refused.precondition == "bridge"
    assert "ALONE" in refused.reason
    assert isinstance(answer(text, "Remove B"), Move)
    for move in moves(analyse(text)):
        after = analyse(move.apply(text))
        assert all(subgraph.nodes for subgraph in after.flow.subgraphs.values()), move.title


@pytest.mark.slow
@pytest.mark.parametrize(("more", "safe"), [(15, True), (16, False), (17, False)])
def test_no_change_draws_more_than_500_edges(more: int, safe: bool) -> None:
    """Two layers of 21 nodes have 484 edges; ``more`` come to it."""
    text = workflow(
        *(f'{layer}{number}["Custom<br/>(role: r)"]:::CustomOp' for layer in "AB" for number in range(21)),
        'LAST["Custom<br/>(role: last)"]:::CustomOp',
        f"PROBLEM --> {' & '.join(f'A{number}' for number in range(21))}",
        f"{' & '.join(f'A{number}' for number in range(21))} --> {' & '.join(f'B{number}' for number in range(21))}",
        f"{' & '.join(f'B{number}' for number in range(21))} --> LAST --> RETURN",
        f"PROBLEM --> {' & '.join(f'B{number}' for number in range(more))}",
        frame=LINE,
    )
    analysis = analyse(text)
    assert len(analysis.flow.edges) == 484 + more
    wide = MoveFilter({ADDITION: OPERATORS[ADDITION]}, ALL, max_nodes=100)
    title = "Insert Custom on LAST -> RETURN"
    change = next(change for change in changes(Original(analysis), wide) if change.title == title)
    found = find(analysis, identity(change), wide)
    assert isinstance(found, Move) is safe
    if isinstance(found, MoveRefusal):
        assert found.precondition == "capacity"
        assert "500 edges" in found.reason


def test_a_port_for_the_problem_may_stay_fed_by_work_but_not_come_to_be() -> None:
    text = workflow(
        'A["Custom<br/>(role: one)"]:::CustomOp',
        'B["Custom<br/>(role: two)"]:::CustomOp',
        'R["Review<br/>"]',
        "PROBLEM --> A & B",
        "A -->|problem| R",
        "B -->|solution| R",
        'C["Custom<br/>(role: three)"]:::CustomOp',
        "A & B & R --> C --> RETURN",
        frame=LINE,
    )
    assert isinstance(answer(text, "Let R read B instead of A"), Move)
    usual = text.replace("A -->|problem| R", "PROBLEM -->|problem| R")
    refused = answer(usual, "Let R read A instead of PROBLEM")
    assert isinstance(refused, MoveRefusal)
    assert refused.precondition == "kinds"


@pytest.mark.parametrize("most", [5, 6, 7, 8])
def test_a_workflow_grows_to_the_bound_and_not_beyond(most: int) -> None:
    found = list(moves(analyse(VOTE), MoveFilter(OPERATORS, ALL, max_nodes=most)))
    sizes = [5 + len(move.difference.added_nodes) - len(move.difference.removed_nodes) for move in found]
    assert max(sizes) == most


def test_growth_is_bounded() -> None:
    small = MoveFilter(OPERATORS, ALL, max_nodes=5)
    found = list(moves(analyse(VOTE), small))
    assert {"substitution", "rewiring"} <= {move.operator for move in found}
    assert all(len(move.difference.added_nodes) <= len(move.difference.removed_nodes) for move in found)


def test_every_move_is_found_by_its_id() -> None:
    analysis = analyse(CODE)
    for move in moves(analysis):
        assert find(analysis, move.id) == move
    assert find(analysis, "nonsense") is None


def test_ids_do_not_depend_on_places() -> None:
    moved = CODE.replace("flowchart TD\n", "flowchart TD\n\n    %% a remark\n")
    assert [move.id for move in moves(analyse(CODE))] == [move.id for move in moves(analyse(moved))]


def test_ids_are_unique() -> None:
    ids = [move.id for move in moves(analyse(CODE), DEFAULT)]
    assert len(ids) == len(set(ids))


def test_what_is_no_workflow_has_no_moves() -> None:
    assert list(moves(analyse("flowchart TD\n A --> B\n"))) == []
    assert list(moves(analyse("pie\n"))) == []
    assert list(moves(analyse(""))) == []


def test_moves_draw_on_the_workflows_own_operators() -> None:
    text = (
        "---\nworkflow:\n  operators:\n    Planner:\n      inputs: {task: Text}\n      outputs: {plan: Text}\n"
        '      prompt: "Write a plan."\n---\n' + VOTE
    )
    titles = {move.title for move in moves(analyse(text))}
    assert "Insert Planner on PROBLEM -> A" in titles
    assert "Replace Custom A by Planner" in titles
