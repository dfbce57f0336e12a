"""What is offered for findings about Loops, Maps and named ends: it repairs them, and brings nothing else."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.analysis.workflows import workflow

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import apply_edits

WRITE = 'WRITE["Custom<br/>(role: write)"]'
REVIEW = 'REVIEW["Review<br/>"]'
REVISE = 'REVISE["Revise<br/>"]'
SPLIT = "SPLIT[\"Custom<br/>(role: split, returns: 'list[Text]')\"]"
VOTE = 'VOTE["ScEnsemble<br/>"]:::ScEnsembleOp'
UNTIL = 'subgraph BOX["Loop (max: 3, until: REVIEW.result)"]'
NAMED = """---
workflow:
  inputs: [LETTER, POLICY]
---
flowchart TD
    LETTER([Letter]):::Interface
    A["Custom<br/>(role: one)"]
    RETURN([Answer]):::Interface
    LETTER -->|input| A --> RETURN
    classDef Interface fill:#eee
"""


class Case(NamedTuple):
    """The code of a finding, the title of its first fix, and the text."""

    code: str
    title: str
    text: str


CASES = {
    "an input that the front matter names is missing": Case("MW101", "Add POLICY and lead it to A", NAMED),
    "an input feeds nothing": Case(
        "MW102",
        "Lead POLICY to A",
        NAMED.replace("A[", "POLICY([Policy]):::Interface\n    A[", 1),
    ),
    "a label of two edges": Case(
        "MW201",
        "Write |input|",
        workflow(
            WRITE,
            'OTHER["Custom<br/>(role: other)"]',
            'JOIN["Custom<br/>(role: join)"]',
            "PROBLEM -->|question| WRITE & OTHER",
            "WRITE & OTHER -->|input| JOIN",
            "JOIN --> RETURN",
        ),
    ),
    "a class of two nodes": Case(
        "MW107",
        "Make B an AnswerGenerate",
        workflow(
            WRITE,
            'B["AnswerGenerate<br/>"]',
            VOTE,
            "PROBLEM -->|input| WRITE & B",
            "PROBLEM -->|problem| VOTE",
            "WRITE & B --> VOTE",
            "VOTE --> RETURN",
            "class WRITE,B CustomOp",
            "classDef CustomOp fill:#eee",
            "classDef ScEnsembleOp fill:#eee",
        ),
    ),
    "voices that are never there together": Case(
        "MW105",
        "Remove VOTE, and connect A and B to what follows",
        workflow(
            'ASK["Custom<br/>(role: ask, returns: Bool)"]',
            "WAY{Which?}:::DecisionOp",
            'A["Custom<br/>(role: one)"]',
            'B["Custom<br/>(role: two)"]',
            VOTE,
            "PROBLEM -->|input| ASK",
            "ASK -->|when| WAY",
            "PROBLEM -->|value| WAY",
            "WAY -->|yes:input| A",
            "WAY -->|no:input| B",
            "A & B --> VOTE",
            "PROBLEM -->|problem| VOTE",
            "VOTE --> RETURN",
            "classDef ScEnsembleOp fill:#eee",
        ),
    ),
    "an arrow back that a Decision takes": Case(
        "MW118",
        "Draw a Loop around WRITE, REVIEW and OK",
        workflow(
            WRITE,
            REVIEW,
            "OK{Good?}:::DecisionOp",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW",
            "WRITE -->|solution| REVIEW",
            "WRITE -->|value| OK",
            "REVIEW -->|result:when| OK",
            "OK -->|no:again:input| WRITE",
            "OK -->|yes| RETURN",
        ),
    ),
    "two cases that lead back": Case(
        "MW110",
        "Draw a Loop around WRITE, SORT, WAY and MORE",
        "---\nworkflow:\n  types:\n    Mood: [bad, fair, good]\n---\n"
        + workflow(
            WRITE,
            'SORT["Custom<br/>(role: sort, returns: Mood)"]',
            "WAY{Which?}:::DecisionOp",
            'MORE["Custom<br/>(role: more)"]',
            "PROBLEM -->|input| WRITE",
            "WRITE -->|input| SORT",
            "SORT -->|when| WAY",
            "WRITE -->|value| WAY",
            "WAY -->|bad:input| WRITE",
            "WAY -->|fair:input| MORE",
            "MORE -->|input| WRITE",
            "WAY -->|good| RETURN",
        ),
    ),
    "an arrow to a box around a Loop": Case(
        "MW104",
        "Connect the nodes inside OUT",
        workflow(
            'subgraph OUT["All of it"]',
            'subgraph IN["Loop (max: 2)"]',
            WRITE,
            "end",
            "end",
            "PROBLEM --> OUT",
            "WRITE -.->|again:input| WRITE",
            "WRITE --> RETURN",
        ),
    ),
    "an output that the front matter names is missing": Case(
        "MW101",
        "Add NOTE after A",
        NAMED.replace("  inputs: [LETTER, POLICY]", "  inputs: [LETTER]\n  outputs: [RETURN, NOTE]"),
    ),
    "nothing in the first turn": Case(
        "MW204",
        "Ask REVIEW before the first turn as well, as REVIEW2",
        workflow(
            WRITE,
            UNTIL,
            REVISE,
            REVIEW,
            "end",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW & REVISE",
            "WRITE -->|solution| REVISE",
            "REVISE -->|solution| REVIEW",
            "REVIEW -.->|again:feedback:feedback| REVISE",
            "REVISE --> RETURN",
        ),
    ),
    "a first draft in each turn": Case(
        "MW205",
        "Move WRITE out of BOX",
        workflow(
            UNTIL,
            WRITE,
            REVIEW,
            REVISE,
            "end",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW & REVISE",
            "WRITE -->|solution| REVIEW & REVISE",
            "REVIEW -->|feedback| REVISE",
            "REVISE -.->|again:solution| REVIEW",
            "REVISE --> RETURN",
        ),
    ),
    "a path that comes back into an inner Loop": Case(
        "MW119",
        "Move CUT into INNER",
        workflow(
            'subgraph OUTER["Loop (max: 2)"]',
            'subgraph INNER["Loop (max: 2, until: REVIEW.result)"]',
            WRITE,
            REVIEW,
            "end",
            'CUT["Custom<br/>(role: cut)"]',
            'LAST["Custom<br/>(role: last)"]',
            "end",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW",
            "WRITE -->|input| CUT",
            "CUT -->|solution| REVIEW",
            "REVIEW -.->|again:feedback:input| WRITE",
            "CUT -->|input| LAST",
            "LAST -.->|again:input| WRITE",
            "LAST --> RETURN",
        ),
    ),
    "a case that only lets an output have what another edge brings": Case(
        "MW216",
        "Lead CHECK to RETURN when the turns run out",
        workflow(
            'subgraph BOX["Loop (max: 3)"]',
            WRITE,
            REVIEW,
            "CHECK{Good?}:::DecisionOp",
            "end",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW",
            "WRITE -->|solution| REVIEW",
            "REVIEW -->|result:when| CHECK",
            "REVIEW -->|feedback:value| CHECK",
            "CHECK -->|no:again:input| WRITE",
            "CHECK -->|yes:after| RETURN",
            "WRITE --> RETURN",
        ),
    ),
    **{
        f"the title of {written} without parentheses": Case(
            "MW118",
            "Write Loop ()",
            workflow(
                written,
                WRITE,
                REVIEW,
                "end",
                "PROBLEM -->|input| WRITE",
                "PROBLEM -->|problem| REVIEW",
                "WRITE -->|solution| REVIEW",
                "REVIEW -.->|again:feedback:input| WRITE",
                "WRITE --> RETURN",
            ),
        )
        for written in ("subgraph BOX[Loop]", 'subgraph BOX["loop"]', "subgraph Loop", 'subgraph "Loop"')
    },
    "a title that says Map without parentheses": Case(
        "MW118",
        "Write Map ()",
        workflow(
            SPLIT,
            'subgraph EACH["Map"]',
            WRITE,
            "end",
            'JOIN["Custom<br/>(role: join)"]',
            "PROBLEM -->|input| SPLIT",
            "SPLIT -->|each:input| WRITE",
            "WRITE -->|input| JOIN",
            "JOIN --> RETURN",
        ),
    ),
    "best of a Bool": Case(
        "MW225",
        "Remove best",
        workflow(
            'subgraph BOX["Loop (max: 3, best: REVIEW.result)"]',
            WRITE,
            REVIEW,
            "end",
            "PROBLEM -->|input| WRITE",
            "PROBLEM -->|problem| REVIEW",
            "WRITE -->|solution| REVIEW",
            "REVIEW -.->|again:feedback:input| WRITE",
            "WRITE --> RETURN",
        ),
    ),
    "a Loop that is skipped in a Map": Case(
        "MW223",
        "Write on_error: fail at TRY",
        workflow(
            SPLIT,
            'subgraph EACH["Map (max: 5)"]',
            'subgraph TRY["Loop (max: 2, on_error: skip)"]',
            WRITE,
            "end",
            "end",
            VOTE,
            "PROBLEM -->|input| SPLIT",
            "SPLIT -->|each:input| WRITE",
            "WRITE -.->|again:input| WRITE",
            "WRITE -->|solutions| VOTE",
            "PROBLEM -->|problem| VOTE",
            "VOTE --> RETURN",
            "classDef ScEnsembleOp fill:#eee",
        ),
    ),
    "more results than items": Case(
        "MW305",
        "Write min: 4",
        workflow(
            SPLIT,
            'subgraph EACH["Map (max: 4, min: 9)"]',
            WRITE,
            "end",
            'JOIN["Custom<br/>(role: join)"]',
            "PROBLEM -->|input| SPLIT",
            "SPLIT -->|each:input| WRITE",
            "WRITE -->|input| JOIN",
            "JOIN --> RETURN",
        ),
    ),
}


FOLLOWED = {"MW104", "MW201"}
"""Where other findings follow from the one that is repaired."""


def serious(text: str) -> list[Diagnostic]:
    return [one for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_leaves_nothing_to_repair(name: str, ending: str) -> None:
    case = CASES[name]
    text = case.text.replace("\n", ending)
    found = serious(text)
    [one, *_] = [one for one in found if one.code == case.code]
    assert len(found) == 1 or case.code in FOLLOWED, [one.message for one in found]
    first = one.fixes[0]
    assert first.title == case.title, [fix.title for fix in one.fixes]
    assert serious(apply_edits(text, first.edits)) == []


def test_an_input_that_is_there_is_not_renamed_to_one_that_is_missing() -> None:
    [found] = serious(NAMED)
    assert "LETTER" not in found.message
    assert NAMED.split("\n")[found.range.start.line][found.range.start.column : found.range.end.column] == "POLICY"
    assert [fix.title for fix in found.fixes][-1] == "Remove POLICY from inputs"
    assert serious(apply_edits(NAMED, found.fixes[-1].edits)) == []


def test_an_expression_that_would_leave_a_dead_end_is_not_offered() -> None:
    """What ``until`` alone reads leads nowhere once another output is read."""
    text = workflow(
        'subgraph BOX["Loop (max: 4, until: SCORE.response > 8)"]',
        WRITE,
        'LONG["Custom<br/>(role: long, returns: Bool)"]',
        "SIZE{Long?}:::DecisionOp",
        'SCORE["Custom<br/>(role: score, returns: Number)"]',
        'HINT["Custom<br/>(role: hint)"]',
        "end",
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| LONG",
        "LONG -->|when| SIZE",
        "WRITE -->|value| SIZE",
        "SIZE -->|yes:input| SCORE",
        "SIZE -->|no:input| HINT",
        "HINT -.->|again:input| WRITE",
        "WRITE --> RETURN",
    )
    [found] = serious(text)
    assert found.code == "MW225"
    for fix in found.fixes:
        assert serious(apply_edits(text, fix.edits)) == []


def test_a_label_that_another_edge_needs_is_left_alone() -> None:
    text = workflow(
        WRITE,
        'PY["Programmer<br/>"]',
        'JOIN["Custom<br/>(role: join)"]',
        "PROBLEM -->|problem| WRITE & PY",
        "WRITE & PY -->|input| JOIN",
        "JOIN --> RETURN",
    )
    [found] = serious(text)
    assert (found.code, list(found.fixes)) == ("MW201", [])


def test_what_is_asked_before_the_first_turn_reads_what_enters_the_loop() -> None:
    text = CASES["nothing in the first turn"].text
    [found] = serious(text)
    after = apply_edits(text, found.fixes[0].edits)
    for line in (
        "PROBLEM -->|problem| REVIEW2",
        "WRITE -->|solution| REVIEW2",
        "REVIEW2 -->|feedback:feedback| REVISE",
    ):
        assert line in after


def test_an_arrow_that_says_again_is_not_told_so_twice() -> None:
    text = workflow(
        WRITE,
        'subgraph BOX["Loop (max: 3)]',
        REVISE,
        REVIEW,
        "end",
        "PROBLEM -->|input| WRITE -->|solution| REVISE -->|solution| REVIEW",
        "PROBLEM -->|problem| REVISE & REVIEW",
        "REVIEW -.->|again:feedback| REVISE",
        "REVISE -.->|again:solution| REVISE",
        "REVISE --> RETURN",
    )
    fixes = [fix for one in analyse(text).diagnostics for fix in one.fixes if fix.title.startswith("Draw a Loop")]
    assert fixes
    assert all("again:again" not in apply_edits(text, fix.edits) for fix in fixes)
