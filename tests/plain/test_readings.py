"""Drawings with scripted answers: which questions are asked, which steps run how often, and what comes out where."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from tests.plain.turns import Went, carry_out, scripted
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.graph.nodes import TypedGraph

READINGS = SHARED / "field" / "readings"

ENDS_TOGETHER = """flowchart TD
    A([Letter]) --> B[Read it]
    B --> C[Answer it]
    B --> D[File it]
"""
TWO_CHOICES_BACK = """flowchart TD
    A([Task]) --> W[Write]
    W --> S{Short?}
    S -->|no| W
    S -->|yes| K{Kind?}
    K -->|no| W
    K -->|yes| E([Text])
"""
LANE = TWO_CHOICES_BACK + "    subgraph lane [Editors]\n        S\n    end\n"
NO_CHOICE = """flowchart LR
    A[Sow] --> B[Water]
    B --> C[Weed]
    C -->|once more| A
    B --> D[Reap]
"""
NO_WAY_OUT = """flowchart LR
    A[Ask around] --> B[Note it] --> C[Think it over]
    C --> A
"""
INTO_THE_MIDDLE = """flowchart TD
    A[Read] --> X{New?}
    X -->|yes| B[Draft]
    X -->|no| C[Edit]
    B --> C --> D{Good?}
    D -->|no| B
    D -->|yes| E([Text])
"""
REVIEWERS = """flowchart TD
    A[Write] --> B{Facts right?}
    A --> C{Style good?}
    B & C -->|no| A
    B & C -->|yes| D[Print]
"""
BOX = """flowchart TD
    A[Name it] --> team
    subgraph team [Research]
        W[Search] --> R[Rank]
        V[Ask]
    end
    team --> Z[Report]
"""
ITSELF = """flowchart LR
    A[Improve] --> A
    A --> B{Ready?}
    B -->|wait| B
    B -->|yes| C[Print]
"""
BACK_TO_THE_DIAMOND = """flowchart TD
    A[Draft] --> C{Good?}
    C -->|no| B[Improve]
    B --> C
    C -->|yes| E([Text])
"""
LINES = """flowchart LR
    A[Ask] <--> B[Look up]
    B --- C[Write]
    C --- A
    A ~~~ C
    N[A note]
"""
QUESTION_IN_A_BOX = """flowchart TD
    A[Read] --> B[Is it true?]
    B -->|Yes| C[Confirm]
    B -->|No| D[Correct]
    C & D --> E[Sign]
"""

Wanted = tuple[str, Mapping[str, Sequence[str]], str, Mapping[str, int], Mapping[str, object]]
CASES: list[Wanted] = [
    (ENDS_TOGETHER, {}, "", {"B": 1, "C": 1, "D": 1}, {"C": "C 1", "D": "D 1"}),
    (TWO_CHOICES_BACK, {"S": ["no"], "K": ["no"]}, "S no, S no, S no, K no", {"W": 3}, {"E": "W 3"}),
    (TWO_CHOICES_BACK, {"S": ["yes"], "K": ["no", "yes"]}, "S yes, K no, S yes, K yes", {"W": 2}, {"E": "W 2"}),
    (LANE, {"S": ["no", "yes"], "K": ["yes"]}, "S no, S yes, K yes", {"W": 2}, {"E": "W 2"}),
    (NO_CHOICE, {}, "", {"A": 3, "B": 3, "C": 2, "D": 1}, {"RETURN": "D 1"}),
    (NO_WAY_OUT, {}, "", {"A": 3, "B": 3, "C": 3}, {"RETURN": "C 3"}),
    (INTO_THE_MIDDLE, {"X": ["no"], "D": ["no"]}, "X no, D no, D no, D no", {"A": 1, "B": 2, "C": 3}, {"E": "C 3"}),
    (REVIEWERS, {"B": ["yes"], "C": ["no", "yes"]}, "B yes, C no, B yes, C yes", {"A": 2, "D": 1}, {"RETURN": "D 1"}),
    (REVIEWERS, {"B": ["no"], "C": ["no"]}, "B no, C no, B no, C no, B no, C no", {"A": 3, "D": 1}, {"RETURN": "D 1"}),
    (BOX, {}, "", {"A": 1, "W": 1, "R": 1, "V": 1, "Z": 1}, {"RETURN": "Z 1"}),
    (ITSELF, {"B": ["wait", "yes"]}, "B wait, B yes", {"A": 3, "C": 1}, {"RETURN": "C 1"}),
    (ITSELF, {"B": ["wait"]}, "B wait, B wait, B wait", {"A": 3, "C": 1}, {"RETURN": "C 1"}),
    (BACK_TO_THE_DIAMOND, {"C": ["no", "yes"]}, "C no, C yes", {"A": 1, "B": 1}, {"E": "B 1"}),
    (BACK_TO_THE_DIAMOND, {"C": ["no"]}, "C no, C no, C no", {"A": 1, "B": 2}, {"E": "B 2"}),
    (LINES, {}, "", {"A": 1, "B": 1, "C": 1}, {"RETURN": "C 1"}),
    (QUESTION_IN_A_BOX, {"B": ["no"]}, "B no", {"A": 1, "D": 1, "E": 1}, {"RETURN": "E 1"}),
]


@pytest.mark.parametrize(("text", "ways", "asked", "steps", "outputs"), CASES)
def test_a_drawing_asks_runs_and_gives_what_its_author_means(
    text: str, ways: Mapping[str, Sequence[str]], asked: str, steps: Mapping[str, int], outputs: Mapping[str, object]
) -> None:
    went = went_through(text, ways)
    assert Counter(f"{name} {answer}" for name, answer in went.asked) == Counter(filter(None, asked.split(", ")))
    assert dict(went.steps) == steps
    assert went.outputs == outputs


def went_through(text: str, ways: Mapping[str, Sequence[str]]) -> Went:
    analysis = analyse(text, as_workflow=True)
    assert analysis.errors == []
    assert analysis.typed is not None
    return carry_out(analysis.typed, scripted(ways))


def test_what_leads_only_back_does_not_run_in_the_last_turn() -> None:
    went = went_through(BACK_TO_THE_DIAMOND, {"C": ["no"]})
    assert went.asked == [("C", "no")] * 3, "it is asked in the last turn, too"
    assert went.steps["B"] == 2, "but what it would begin is of no use any more"


def test_the_step_where_turns_begin_says_how_many_there_are() -> None:
    went = went_through(TWO_CHOICES_BACK + "    W@{ turns: 5 }\n", {"S": ["no"], "K": ["yes"]})
    assert went.steps["W"] == 5


@pytest.mark.shared("field/readings")
def test_the_scripted_ways_of_the_field_are_as_expected() -> None:
    for line in (READINGS / "expected.jsonl").read_text("utf-8").splitlines():
        wanted = json.loads(line)
        text = (READINGS / wanted["file"]).read_text("utf-8")
        went = went_through(text, wanted["ways"])
        told = wanted["file"], wanted["ways"]
        assert Counter(went.asked) == Counter(map(tuple, wanted["asked"])), told
        assert dict(went.steps) == wanted["steps"], told
        assert set(went.outputs) == set(wanted["outputs"]), told
        graph = analyse(text, as_workflow=True).typed
        assert graph is not None
        assert {node.id for node in graph.inputs} == set(wanted["inputs"]), told


def typed(text: str) -> TypedGraph:
    graph = analyse(f"flowchart TD\n{text}", as_workflow=True).typed
    assert graph is not None
    return graph


def test_a_loop_that_is_entered_twice_begins_where_an_answer_leads_back_be_it_to_its_own_question() -> None:
    ways = "X[Plan it] --> A[Write it] & Q{Good?}\nA --> Q\nQ -->|no| B[Change it]\nB --> A\nQ -->|yes| Z[Print it]\n"
    assert [box.head for box in typed(ways).composites] == ["A"]
    assert [box.head for box in typed(ways + "Q -->|wait| Q\n").composites] == ["Q"]


def test_a_box_without_an_end_is_left_at_its_last_step_and_entered_at_its_first() -> None:
    ring = "subgraph S\nA[Write it] --> B[Read it]\nB --> A\nend\n"
    for arrow, led in (("S --> C[Print it]\n", ("B", "C")), ("C[Plan it] --> S\n", ("C", "A"))):
        found = {(edge.source.id, edge.target.id) for edge in typed(ring + arrow).edges}
        assert {pair for pair in found if "C" in pair} - {("PROBLEM", "C"), ("C", "RETURN")} == {led}


def test_a_loop_that_nothing_leads_into_begins_where_its_first_arrow_does() -> None:
    """Be it that an answer leads back to a later step, or that a box lists its steps in another order."""
    assert [box.head for box in typed(COLLECTED).composites if box.parent is None] == ["A"]
    listed = (
        "subgraph S\nB[Draft it]\nA[Collect them]\nend\nA --> B\nB --> C{Good?}\nC -->|no| A\nC -->|yes| D[Print it]\n"
    )
    assert [box.head for box in typed(listed).composites] == ["A"]


COLLECTED = "A[Collect them] --> B[Draft it] --> C{Good?}\nC -->|no| B\nC -->|yes| D[Print it] --> A\n"


@pytest.mark.parametrize("word", ["Success", "Rejected", "error", "FAILED", "失败"])
def test_what_came_of_it_is_an_end_and_no_call_but_a_sentence_or_an_id_is_a_step(word: str) -> None:
    graph = typed(f"A[Read it] --> B{{Good?}}\nB -->|yes| C[{word}]\nB -->|no| failed[Write an {word} report]\n")
    assert {node.id: node.kind for node in graph.nodes if node.id in ("C", "failed")} == {
        "C": "output",
        "failed": "operator",
    }
    assert typed(f"A[Read it] --> C[{word}] --> D[Print it]\n").by_id["C"].kind == "operator", "something follows"


@pytest.mark.parametrize(
    ("labels", "asks"),
    [
        (("Approved", "Rejected"), True),
        (("Continue", "Retry"), True),
        (("accept it", "deny it"), True),
        (("Approved", "Continue"), False),
        (("Rejected", "Notes"), False),
    ],
)
def test_a_box_asks_where_its_ways_say_that_it_went_well_or_not(labels: tuple[str, str], asks: bool) -> None:
    graph = typed(f"A[Look at it] -->|{labels[0]}| B[Print it]\nA -->|{labels[1]}| C[Write it again]\n")
    assert (graph.by_id["A"].kind == "decision") is asks


def idle(text: str) -> list[str]:
    found = analyse(f"flowchart TD\n{text}", as_workflow=True).diagnostics
    return [one.message for one in found if one.code == "MW406"]


def test_a_number_of_turns_where_no_loop_begins_is_a_hint_that_says_where_one_does() -> None:
    loop = "A[Draft it] --> B{Good?}\nB -->|no| A\nB -->|yes| C[Print it]\n"
    assert idle(loop + "A@{ turns: 5 }\n") == []
    [inside] = idle(loop + "B@{ turns: 5 }\n")
    assert "begins at A" in inside
    [behind] = idle(loop + "C@{ turns: 5 }\n")
    assert "no loop begins at C" in behind
