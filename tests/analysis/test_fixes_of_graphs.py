"""What is offered for findings about the graph: the best remedy first, in plain words, and what it leaves."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import workflow

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability, Diagnostic, Severity
from merrow_analysis.text import apply_edits, split_lines

A = 'A["Custom<br/>(role: one)"]'
B = 'B["Custom<br/>(role: two)"]'
PY = 'PY["Programmer<br/>"]'
VOTE = 'VOTE["ScEnsemble<br/>"]'
REVIEW = 'REVIEW["Review<br/>"]'
CHECK = "CHECK{Good?}:::DecisionOp"
JUDGED = (
    "PROBLEM -->|input| A",
    "PROBLEM -->|problem| REVIEW",
    "A -->|solution| REVIEW",
    "REVIEW -->|result:when| CHECK",
)
LOOP = 'subgraph REFINE["Loop (max: 3)"]'

CASES = {
    "MW204": (
        workflow(A, PY, "PROBLEM -->|input| A", "A -->|analysis| PY", "PY --> RETURN"),
        ["Feed problem from PROBLEM"],
    ),
    "MW102 at an end": (
        workflow(A, B, "PROBLEM -->|input| A & B", "A --> RETURN"),
        ["Lead B to A", "Remove B"],
    ),
    "MW102 beside a Decision that has its value": (
        workflow(
            A,
            'ASK["Human"]',
            B,
            CHECK,
            *("PROBLEM -->|input| A & B", "A -->|input| ASK", "A -->|value| CHECK", "ASK -->|when| CHECK"),
            "CHECK -->|yes| RETURN",
        ),
        ["Lead B to ASK", "Lead B to A", "Remove B"],
    ),
    "MW102 before RETURN": (workflow(A, "PROBLEM -->|input| A"), ["Lead A to RETURN"]),
    "MW102 at a beginning": (
        workflow(A, VOTE, B, "PROBLEM -->|input| A", "A --> VOTE", "B --> VOTE", "VOTE --> RETURN"),
        ["Lead PROBLEM to B", "Feed input from A"],
    ),
    "MW105": (
        workflow(A, VOTE, "PROBLEM -->|input| A", "A --> VOTE", "VOTE --> RETURN"),
        ["Sample A 3 times", "Vote over three: A, A2 and A3", "Remove VOTE"],
    ),
    "MW110": (
        workflow(A, B, "PROBLEM -->|input| A & B", "A -->|input| B", "B -->|input| A", "A & B --> RETURN"),
        ["Draw a Loop around A and B", "Unroll once: A again as A2", "Remove the edge B → A", "Remove the edge A → B"],
    ),
    "MW112": (
        workflow(A, "A --> PROBLEM", "A --> RETURN"),
        ["Turn the edge round: PROBLEM → A", "Remove the edge A → PROBLEM"],
    ),
    "MW113": (workflow(A, "PROBLEM -->|input| A", "A --> RETURN", "RETURN --> A"), ["Remove the edge RETURN → A"]),
    "MW117": (
        workflow(A, "PROBLEM -->|input| A", "PROBLEM -->|input| A", "A --> RETURN"),
        ["Remove the edge PROBLEM → A"],
    ),
    "MW120": (
        workflow(
            A,
            'subgraph ITEMS["Map (max: 20)"]',
            "OTHER([Other]):::Interface",
            "end",
            "PROBLEM -->|input| A",
            "A --> OTHER",
        ),
        ["Make ITEMS a plain group"],
    ),
    "MW201": (
        workflow(
            A, REVIEW, CHECK, *JUDGED[:3], "REVIEW -->|result| CHECK", "CHECK -->|yes| RETURN", "CHECK -->|no| RETURN"
        ),
        ["Write |result:when|"],
    ),
    "MW205": (
        workflow(A, B, "PROBLEM -->|input| A & B", "A --> RETURN", "B --> RETURN"),
        [
            "Keep A as result of RETURN, and remove B",
            "Keep B as result of RETURN, and remove A",
            "Join A and B in JOIN (Custom)",
            "Vote over A and B in VOTE (ScEnsemble)",
        ],
    ),
    "MW206": (
        workflow(A, PY, "PROBLEM -->|input| A", "A -->|problem| PY", "PY --> RETURN"),
        ["Write |analysis| and feed problem from PROBLEM", "Write returns: Problem at A"],
    ),
    "MW209": (
        workflow(A, REVIEW, *JUDGED[:3], "REVIEW --> RETURN"),
        ["Read A, which REVIEW judges, and remove REVIEW"],
    ),
    "MW210": (
        workflow(A, REVIEW, CHECK, *JUDGED, "A -->|value| CHECK", "CHECK -->|Passed| RETURN", "CHECK --> RETURN"),
        ["Write |Failed|", "Write |else|"],
    ),
    "MW212": (
        workflow(A, REVIEW, CHECK, *JUDGED, "A -->|value| CHECK", "CHECK -->|yes| RETURN"),
        ["Lead no of CHECK to RETURN", "Lead else of CHECK to RETURN"],
    ),
    "MW213": (
        workflow(
            A,
            REVIEW,
            CHECK,
            *JUDGED,
            "A -->|value| CHECK",
            "CHECK -->|yes| RETURN",
            "CHECK -->|no| RETURN",
            "CHECK -->|else| RETURN",
        ),
        ["Remove the edge CHECK → RETURN"],
    ),
    "MW214": (
        workflow(
            A,
            'CHECK@{ op: Decision, if: "scor > 3" }',
            "PROBLEM -->|input| A",
            "A -->|score| CHECK",
            "PROBLEM -->|value| CHECK",
            "CHECK -->|yes| RETURN",
            "CHECK -->|no| RETURN",
        ),
        ["Write score"],
    ),
    "MW204 behind a Decision": (
        workflow(A, REVIEW, CHECK, *JUDGED, "CHECK -->|yes| RETURN", "CHECK -->|no| RETURN"),
        [
            "Feed value of CHECK from A",
            "Feed value of CHECK from PROBLEM",
            "Feed result from A",
            "Feed result from PROBLEM",
        ],
    ),
    "MW216": (
        workflow(
            A,
            B,
            REVIEW,
            CHECK,
            *JUDGED,
            "CHECK -->|yes| RETURN",
            "CHECK -->|no| B",
            "PROBLEM -->|input| B",
            "B --> RETURN",
        ),
        ["Feed value of CHECK from A", "Feed value of CHECK from PROBLEM"],
    ),
    "MW107": (
        workflow('PY["Programmer<br/>"]:::CustomOp', "PROBLEM -->|problem| PY", "PY --> RETURN"),
        ["Make PY a Programmer", "Make PY a Custom"],
    ),
    "MW109": (
        workflow('A["Custom<br/>(role: one)"]', 'A["Custom<br/>(role: two)"]', "PROBLEM -->|input| A", "A --> RETURN"),
        ["Keep A as “Custom (role: two)”", "Keep A as “Custom (role: one)”", "Rename to A2, the step after A"],
    ),
    "MW219": (
        workflow("A@{ op: Custom, role: one, returns: Cod }", "PROBLEM -->|input| A", "A --> RETURN"),
        ["Write Code", "Declare type Cod: Text", "Remove returns at A"],
    ),
    "MW104": (
        workflow('A["Xyzzy<br/>(role: one)"]:::XyzzyOp', "PROBLEM -->|input| A", "A --> RETURN"),
        ["Declare operator Xyzzy", "Make A a Custom"],
    ),
    "MW124": (
        workflow(LOOP, A, "end", "PROBLEM -->|input| A", "A --> RETURN"),
        ["Make REFINE a plain group"],
    ),
    "MW126": (
        workflow('subgraph "Loop (max: 3)"', A, "end", "PROBLEM -->|input| A", "A --> RETURN"),
        ["Write the id LOOP"],
    ),
}


def found(text: str, code: str) -> Diagnostic:
    return next(one for one in analyse(text).diagnostics if one.code == code)


def serious(text: str) -> list[str]:
    return [one.code for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


@pytest.mark.parametrize("name", CASES)
def test_fixes_are_offered_best_first(name: str) -> None:
    text, titles = CASES[name]
    diagnostic = found(text, name[:5])
    assert [fix.title for fix in diagnostic.fixes] == titles
    assert all(fix.applicability is Applicability.UNSAFE for fix in diagnostic.fixes)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_a_fix_repairs_its_finding_and_touches_nothing_else(name: str, ending: str) -> None:
    text = CASES[name][0].replace("\n", ending)
    for whole in (text, text.rstrip()):
        before, diagnostic = serious(whole), found(whole, name[:5])
        for number, fix in enumerate(diagnostic.fixes):
            after = apply_edits(whole, fix.edits)
            assert serious(after).count(name[:5]) < before.count(name[:5]), after
            if number == 0:
                assert not set(serious(after)) - set(before), after
            touched = {line for edit in fix.edits for line in range(edit.range.start.line, edit.range.end.line + 1)}
            kept = iter(split_lines(after))
            others = [line for line_number, line in enumerate(split_lines(whole)) if line_number not in touched]
            assert all(line in kept for line in others), after
            if ending == "\r\n":
                assert "\n" not in after.replace("\r\n", "")


def test_a_new_edge_draws_no_node_into_a_box() -> None:
    text = workflow(
        LOOP, A, REVIEW, "A -->|solution| REVIEW", "REVIEW -->|again:feedback:input| A", "end", "A --> RETURN"
    )
    text = text.replace("A --> RETURN\n", "PROBLEM -->|input| A\nA --> RETURN\n")
    best = found(text, "MW204").fixes[0]
    assert best.title == "Feed problem from PROBLEM"
    after = analyse(apply_edits(text, best.edits))
    assert after.is_valid
    assert after.flow.subgraphs["REFINE"].nodes == analyse(text).flow.subgraphs["REFINE"].nodes


def test_an_arrow_back_that_is_several_edges_is_not_made_an_again_edge() -> None:
    """The word would stand on the edge to OUT as well."""
    out = 'OUT["Custom<br/>(role: out)"]:::CustomOp'
    text = workflow(A, B, out, "PROBLEM -->|input| A", "A -->|input| B", "B -->|input| A & OUT", "B & OUT --> RETURN")
    alone = text.replace("B -->|input| A & OUT", "B -->|input| A\nB -->|input| OUT")
    titles = [[fix.title for fix in found(one, "MW110").fixes] for one in (text, alone)]
    assert ["Draw a Loop" in " ".join(one) for one in titles] == [False, True]


def test_a_loop_of_one_node_gets_an_id_that_nothing_has() -> None:
    taken = ['LOOP["Custom<br/>(role: l)"]:::CustomOp', "PROBLEM -->|input| LOOP", "LOOP --> RETURN"]
    text = workflow(A, *taken, "PROBLEM LOOP2@-->|input| A", "A --> A", "A --> RETURN")
    best = found(text, "MW111").fixes[0]
    assert best.title == "Draw a Loop around A"
    assert 'subgraph LOOP3["Loop (max: 3)"]' in apply_edits(text, best.edits)


def test_an_edge_that_is_only_implied_is_not_edited() -> None:
    text = 'flowchart TD\n    A["Custom<br/>(role: a)"]\n    PY["Programmer<br/>"]\n    A --> B[Join]\n    PY --> B\n'
    assert "MW202" in serious(text)
    for diagnostic in analyse(text).diagnostics:
        for fix in diagnostic.fixes:
            assert not [one for one in analyse(apply_edits(text, fix.edits)).diagnostics if one.code.startswith("MW0")]


@pytest.mark.parametrize("given", ["", "B --> RETURN"])
def test_a_missing_input_and_output_are_added_with_their_edges(given: str) -> None:
    text = f"""flowchart TD
    A["Custom<br/>(role: one)"]:::CustomOp
    PY["Programmer<br/>"]:::ProgrammerOp
    PY2["Programmer<br/>"]:::ProgrammerOp
    A -->|analysis| PY
    PY -->|analysis| PY2
    RETURN([Return]):::Interface
    {given.replace("B", "PY2")}
    classDef CustomOp fill:#eee
    classDef ProgrammerOp fill:#eee
    classDef Interface fill:#eee
"""
    best = found(text, "MW101").fixes[0]
    assert best.title == "Add PROBLEM and lead it to A, PY and PY2"
    after = apply_edits(text, best.edits)
    assert "    PROBLEM([Problem]):::Interface\n    PROBLEM -->|input| A\n" in after.replace(
        "PROBLEM --> A", "PROBLEM -->|input| A"
    )
    assert serious(after) == ([] if given else ["MW102"])


def test_an_ensemble_that_reads_itself_is_not_taken_out() -> None:
    lines = ["PROBLEM -->|input| A", "A --> VOTE", "VOTE -->|problem| VOTE", "VOTE -->|input| B", "B --> RETURN"]
    found = [fix.title for one in analyse(workflow(A, VOTE, B, *lines)).diagnostics for fix in one.fixes]
    assert "Sample A 3 times" in found
    assert "Remove VOTE" not in found


def test_a_step_reads_what_comes_before_it_rather_than_a_step_like_it() -> None:
    text = """---
workflow:
  operators:
    Write: {inputs: {notes: Text}, outputs: {draft: Text}, prompt: Write it.}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    READ["Custom<br/>(prompt: Read.)"]
    A["Write<br/>"]
    B["Write<br/>"]
    V["ScEnsemble<br/>"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| READ
    READ & A & B --> V
    V --> RETURN
    classDef Interface fill:#eee
"""
    first, second = ([fix.title for fix in found.fixes] for found in analyse(text).errors)
    assert first == ["Lead PROBLEM to A", "Feed notes from READ", "Feed notes from B", "Remove A"]
    assert second == ["Lead PROBLEM to B", "Feed notes from READ", "Feed notes from A", "Remove B"]
