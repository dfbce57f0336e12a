"""Changes of a reviser in a workflow's text: what is not concerned stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.growth.steps import steps

from merrow_analysis.edits.merging import without_redo
from merrow_optimizer.revising.making import GraphChanges
from merrow_optimizer.revising.revision_answers import read_answer
from merrow_runtime.revising.reviser import CannotReviseError
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
    "add": ({"do": "add", "id": "C", "objective": "Do c.", "after": ["A"], "agent": "pro", "format": "json"}, "Do c."),
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


def made(text: str, *changes: dict[str, Any]) -> str:
    """A workflow's text after some changes, which has no errors."""
    answer = read_answer(json.dumps({"reason": "r", "changes": list(changes)}), 50)
    after = GraphChanges(answer).on(check_workflow(text), 50).text
    check_workflow(after)
    return after


@pytest.mark.parametrize(
    ("changes", "feeds"),
    [
        (
            [{"do": "split", "id": "B", "into": [{"id": "B1", "objective": "x"}, {"id": "B2", "objective": "y"}]}],
            "B1 B2",
        ),
        ([{"do": "add", "id": "C", "objective": "x", "after": ["A"]}], "B C"),
        ([{"do": "add", "id": name, "objective": "x", "after": ["A"]} for name in "CD"], "B C D"),
    ],
)
def test_several_results_before_the_only_output_are_put_together(changes: list[dict[str, Any]], feeds: str) -> None:
    """Without an Assemble there, an output would get several values, or a new node would have no reader."""
    nodes = "".join(f'    {name}["Custom (role: p)"]:::CustomOp\n' for name in "AB")
    plain = f"{HEAD}{nodes}    PROBLEM -->|input| A\n    A -->|input| B\n    B --> RETURN\n"
    graph = check_workflow(made(plain, *changes)).graph
    join = graph.by_id["ASSEMBLE"]
    assert join.operator == "Assemble"
    assert {edge.source.id for edge in join.incoming} == {"PROBLEM", *feeds.split()}
    assert [edge.source.id for edge in graph.by_id["RETURN"].incoming] == ["ASSEMBLE"]


HEAD = """\
---
workflow:
  prompts: {p: Shared words., q: Other words.}
---
flowchart TD
    PROBLEM([P]):::Interface
    RETURN([R]):::Interface
"""
DECIDED = f"""\
{HEAD}\
    A["Custom (role: p)"]:::CustomOp
    D{{"Is it good?"}}
    B["Custom (role: q)"]:::CustomOp
    C["Custom (role: p)"]:::CustomOp
    PROBLEM -->|input| A
    A --> D
    D -->|yes:input| B
    D -->|no| C
    B & C --> RETURN
"""


def test_what_follows_a_case_of_a_decision_follows_it_still() -> None:
    assert "D -->|yes| RETURN" in made(DECIDED, {"do": "remove", "id": "B"})
    parts = [{"id": "S", "objective": "one"}, {"id": "T", "objective": "two", "after": ["S"]}]
    assert "D -->|yes| S" in made(DECIDED, {"do": "split", "id": "B", "into": parts})
    both = DECIDED.replace("B & C --> RETURN", "C --> RETURN\n    D -->|maybe| E\n    B --> E").replace(
        "    B[", '    E["Custom (role: q)"]:::CustomOp\n    B['
    )
    both = both.replace("C --> RETURN", "C & E --> RETURN")
    text = made(both, {"do": "remove", "id": "B"})
    assert "D -->|maybe| E" in text
    assert "D -->|yes| E" in text


@pytest.mark.parametrize(
    "change",
    [
        {"do": "edit", "id": "D", "objective": "Really?"},
        {"do": "redo", "id": "D"},
        {"do": "rename", "id": "D", "to": "E"},
        {"do": "unlink", "from": "D", "to": "B"},
        {"do": "edit", "id": "B", "after": ["A"]},
        {"do": "add", "id": "N", "objective": "n", "after": ["D"], "before": ["C"]},
    ],
)
def test_a_decision_stays_as_it_is(change: dict[str, Any]) -> None:
    with pytest.raises(CannotReviseError, match="D is a Decision"):
        made(DECIDED, change)


LOOP = f"""\
{HEAD}\
    subgraph TRY ["Loop (max: 3)"]
      A["Custom (role: p)"]:::CustomOp
      B["Custom (role: q)"]:::CustomOp
      A -->|input| B
    end
    PROBLEM -->|input| A
    B -.->|again| A
    B --> RETURN
"""


def test_in_a_loop_what_comes_again_stays() -> None:
    assert "B -->|again| B" in made(LOOP, {"do": "remove", "id": "A"})
    assert "PROBLEM -->|input| B" in made(LOOP, {"do": "remove", "id": "A"})
    last = made(LOOP, {"do": "remove", "id": "B"})
    assert "A -->|again| A" in last
    assert "A --> RETURN" in last
    parts = [{"id": "S", "objective": "one"}, {"id": "T", "objective": "two", "after": ["S"]}]
    split = made(LOOP, {"do": "split", "id": "B", "into": parts})
    assert "T -->|again| A" in split
    assert "T --> RETURN" in split
    assert made(LOOP, {"do": "edit", "id": "A", "after": []}) == LOOP


def test_an_edge_into_a_loop_is_written_outside_of_it() -> None:
    text = made(LOOP, {"do": "edit", "id": "B", "after": ["PROBLEM", "A"]})
    assert text.index("PROBLEM -->|input| B") > text.index("    end\n")


def test_changes_after_a_rename_may_say_either_name() -> None:
    text = made(
        DECIDED,
        {"do": "rename", "id": "B", "to": "X"},
        {"do": "edit", "id": "X", "objective": "Newer words."},
        {"do": "rename", "id": "X", "to": "Y"},
        {"do": "add", "id": "N", "objective": "n", "after": ["A", "Y"], "before": []} | {"after": ["Y"]},
        {"do": "link", "from": "N", "to": "RETURN"},
        {"do": "unlink", "from": "B", "to": "RETURN"},
    )
    assert "D -->|yes:input| Y" in text
    assert "Newer words." in text
    assert "Y -->|input| N" in text


def test_a_node_that_was_made_again_can_be_removed() -> None:
    again = DECIDED.replace("workflow:\n", "workflow:\n  redo:\n    A: 2\n    C: 1\n", 1)
    assert "redo:\n    C: 1\n" in made(again, {"do": "redo", "id": "A"}, {"do": "remove", "id": "A"})


def test_a_prompt_of_a_locked_node_stays_where_another_one_shares_it() -> None:
    locked = DECIDED.replace('A["Custom (role: p)"]', 'A["Custom (role: p, locked: true)"]')
    text = made(locked, {"do": "edit", "id": "C", "objective": "Words of its own."})
    assert "p: Shared words." in text
    assert "Words of its own." in text


def test_an_answer_of_any_size_is_refused_soon() -> None:
    parts = [[{"id": f"P{n}_{i}", "objective": "x"} for i in range(100)] for n in range(100)]
    huge = [{"do": "split", "id": f"P{n - 1}_0" if n else "B", "into": into} for n, into in enumerate(parts)]

    def refuse() -> None:
        with pytest.raises(CannotReviseError, match="more than 50 nodes; 50 are allowed"):
            made(DECIDED, *huge)

    assert steps(refuse) < 1_000_000
    with pytest.raises(CannotReviseError) as refused:
        made(DECIDED, {"do": "redo", "id": "A" * 900_000})
    assert len(str(refused.value)) < 200
    with pytest.raises(CannotReviseError, match="C is removed by an earlier change"):
        made(DECIDED, {"do": "remove", "id": "C"}, {"do": "redo", "id": "C"})
