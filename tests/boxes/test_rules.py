"""Rules about Loops and Maps at their borders: what is right, and what a finding says and repairs."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import workflow
from tests.boxes.defects import MAP, REFINE, ROUNDS, UNTIL, VOTES

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import apply_edits


def serious(text: str) -> list[Diagnostic]:
    return [one for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


def codes(text: str) -> list[str]:
    return [one.code for one in serious(text)]


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


RIGHT = {
    "a port that is called again": workflow(
        "A@{ op: Redo }",
        "PROBLEM -->|again| A",
        "A --> RETURN",
        front="workflow:\n  operators:\n    Redo: {inputs: {again: Text}, outputs: {text: Text}}\n",
    ),
    "an output that is called each": workflow(
        "A@{ op: Split }",
        'B["Custom<br/>(role: b)"]',
        "PROBLEM -->|text| A",
        "A -->|each:input| B",
        "B --> RETURN",
        front="workflow:\n  operators:\n    Split: {inputs: {text: Text}, outputs: {each: Text}}\n",
    ),
    "again edges of two cases": changed(
        REFINE, "REVIEW -.->|again:feedback:input| WRITE", "CHECK -->|no:again:input| WRITE"
    ).replace("CHECK -->|no:again:input| WRITE\nCHECK -->|no:again:input| WRITE", "CHECK -->|no:again:input| WRITE"),
    "metadata below the end": changed(UNTIL, "(max: 3, ", "(").replace(
        'returns: Number)"]\nend', 'returns: Number)"]\nend\nPOLISH@{ max: 3, view: collapsed }'
    ),
    "a title of its own with a class": changed(REFINE, "Loop (max: 4)", "Rounds (at most four)").replace(
        "DecisionOp\nend", "DecisionOp\nend\nclass REFINE LoopOp\nclassDef LoopOp fill:#eee"
    ),
    "op alone": changed(REFINE, "Loop (max: 4)", "Rounds").replace(
        "DecisionOp\nend", "DecisionOp\nend\nREFINE@{ op: Loop, max: 4 }"
    ),
    "a title without parentheses": workflow(
        'subgraph PART["Map of the work"]', 'A["Custom<br/>(role: a)"]', "end", "PROBLEM --> A --> RETURN"
    ),
    "another word with parentheses": workflow(
        'subgraph PART["Cap (note: see below)"]', 'A["Custom<br/>(role: a)"]', "end", "PROBLEM --> A --> RETURN"
    ),
    "items that are left out when they fail": changed(VOTES, "max: 9", "max: 9, on_error: skip"),
    "voices that may be missing beside one that is not": changed(VOTES, "max: 9", "max: 9, min: 0").replace(
        "SHORTEN -->|solutions| VOTE", "SHORTEN -->|solutions| VOTE\nSPLIT -->|solutions| VOTE"
    ),
    "items of a Map that may have none": changed(
        MAP,
        "FINE -->|yes:input| JOIN",
        'subgraph MORE["Map (min: 0)"]\nNEXT["Custom<br/>(role: next)"]\nend\nFINE -->|yes:each:input| NEXT\n'
        "NEXT -->|input| JOIN",
    ),
    "two ways into one merged voice": changed(
        MAP,
        "ASIDE -->|input| JOIN",
        "ASIDE -->|input| JOIN\nWORK -->|solutions| VOTE\nclassDef ScEnsembleOp fill:#eee\n"
        'VOTE["ScEnsemble<br/>"]:::ScEnsembleOp\nVOTE -->|input| JOIN',
    ),
    "until of an expression": changed(UNTIL, "JUDGE.result", "JUDGE.result and SCORE.response > 0.5"),
    "first where something comes again": changed(
        UNTIL, "DRAFT -->|solution| REVISE", "DRAFT -->|first:solution| REVISE"
    ),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in RIGHT.items()])
def test_what_is_right_has_no_finding(text: str) -> None:
    assert [(one.code, one.message) for one in serious(text)] == []


def test_a_voice_that_always_comes_makes_a_list_that_may_be_empty_enough() -> None:
    voices = changed(
        MAP,
        "FINE -->|yes:input| JOIN",
        'FINE -->|yes:solutions| VOTE\nVOTE["ScEnsemble<br/>"]:::ScEnsembleOp\n'
        "classDef ScEnsembleOp fill:#eee\nVOTE -->|input| JOIN",
    )
    assert "MW223" in codes(voices)
    assert "MW223" not in codes(voices + "PROBLEM -->|solutions| VOTE\n")
    # One that comes in some cases only is not enough.
    some = (
        "ROUTE{Which?}:::DecisionOp\nPROBLEM -->|when| ROUTE\nROUTE -->|a:input| MORE\nROUTE -->|else:input| JOIN\n"
        'MORE["Custom<br/>(role: more)"]\nMORE -->|solutions| VOTE\n'
    )
    assert "MW223" in codes(voices + some)


def test_a_node_that_leads_only_to_the_next_turn_is_no_dead_end() -> None:
    assert "JUDGE -.->|again" in UNTIL
    assert "MW102" not in codes(UNTIL)
    alone = changed(UNTIL, "JUDGE -.->|again:feedback:feedback| REVISE\n", "")
    assert "MW102" not in codes(alone), "what until reads is used"
    unread = changed(alone, "until: JUDGE.result, ", "")
    assert codes(unread) == ["MW102"]


def test_turns_that_run_out_are_named() -> None:
    [found] = serious(changed(REFINE, "CHECK -->|no:over| RETURN\n", ""))
    assert "stays empty when the turns of REFINE run out" in found.message
    assert "`CHECK -->|no:over| RETURN`" in found.message


def test_where_nothing_begins_another_turn_the_cases_that_lead_out_are_not_to_blame() -> None:
    text = workflow(
        'subgraph REFINE["Loop (max: 4)"]',
        'WRITE["Custom<br/>(role: writer)"]',
        'REVIEW["Review<br/>"]',
        "CHECK{Good?}:::DecisionOp",
        'BOTH["Review<br/>"]',
        "end",
        "PROBLEM -->|input| WRITE",
        "PROBLEM -->|problem| REVIEW",
        "WRITE -->|solution| REVIEW",
        "WRITE -->|value| CHECK",
        "REVIEW -->|result:when| CHECK",
        "CHECK -->|yes:problem| BOTH",
        "CHECK -->|no:solution| BOTH",
        "BOTH -.->|again:feedback:input| WRITE",
        "CHECK -->|yes| RETURN",
        "CHECK -->|no| RETURN",
    )
    codes = [one.code for one in analyse(text).diagnostics if one.severity is not Severity.HINT]
    assert codes == ["MW217"], "BOTH never runs, whatever leads out"


def test_an_output_that_another_case_leaves_empty_is_no_matter_of_turns() -> None:
    front = "workflow:\n  types: {Mood: [good, bad, odd]}\n"
    text = workflow(
        'subgraph REFINE["Loop (max: 4)"]',
        'WRITE["Custom<br/>(role: writer, returns: Mood)"]',
        "CHECK{Good?}:::DecisionOp",
        "end",
        'LOG["Custom<br/>(role: log)"]',
        "PROBLEM -->|input| WRITE & LOG",
        "WRITE -->|when| CHECK",
        "WRITE -->|value| CHECK",
        "CHECK -->|bad:again:input| WRITE",
        "CHECK -->|good| RETURN",
        "CHECK -->|bad:over| RETURN",
        "CHECK -->|odd:input| LOG",
        "SIDE([Side]):::Interface",
        "LOG --> SIDE",
        front=front,
    )
    messages = [one.message for one in serious(text) if one.code == "MW216"]
    assert any("when CHECK chooses `odd`" in message for message in messages), messages


def test_a_cycle_in_a_box_is_marked_again() -> None:
    text = changed(REFINE, "CHECK -->|no:again:input| WRITE", "CHECK -->|no:input| WRITE")
    found = [one for one in serious(text) if one.code == "MW110"]
    assert [fix.title for fix in found[0].fixes] == ["Mark the edge back with again", "Remove the edge CHECK → WRITE"]
    assert serious(apply_edits(text, found[0].fixes[0].edits)) == []


def test_a_case_that_is_called_again_is_no_word() -> None:
    text = workflow(
        'subgraph L["Loop (max: 2)"]',
        'A["Custom<br/>(role: a, returns: Mood)"]',
        "D{How?}:::DecisionOp",
        "end",
        "PROBLEM -->|input| A",
        "A -->|when| D",
        "A -->|value| D",
        "D -->|again| A",
        "D -->|good| RETURN",
        "D -->|again:over| RETURN",
        front="workflow:\n  types: {Mood: [good, again]}\n",
    )
    [found] = [one for one in serious(text) if one.code == "MW110"]
    fixed = apply_edits(text, found.fixes[0].edits)
    assert "D -->|again:again| A" in fixed
    assert serious(fixed) == []


@pytest.mark.parametrize("indent", ["", "    ", "\t"])
def test_a_loop_is_drawn_around_a_cycle(indent: str) -> None:
    text = "".join(
        f"{indent if number > 4 else ''}{line}\n"
        for number, line in enumerate(
            workflow(
                'A["Custom<br/>(role: a)"]',
                'B["Custom<br/>(role: b)"]',
                "PROBLEM -->|input| A",
                "A -->|input| B",
                "B --> A",
                "B --> RETURN",
            ).splitlines()
        )
    )
    [found] = serious(text)
    assert found.code == "MW110"
    fixed = apply_edits(text, found.fixes[0].edits)
    graph = analyse(fixed).typed
    assert graph is not None
    assert graph.composites.members("LOOP") == ["A", "B"]
    assert [(edge.source.id, edge.target.id) for edge in graph.again] == [("B", "A")]
    assert serious(fixed) == []


def test_a_cycle_that_is_entered_twice_and_has_no_clear_way_back_gets_no_box() -> None:
    text = workflow(
        *(f'{name}["Custom<br/>(role: {name})"]' for name in "ABC"),
        "PROBLEM -->|input| A & B",
        "A -->|input| B",
        "B -->|input| A",
        "B -->|input| C",
        "C -->|input| B",
        "A --> RETURN",
    )
    [found] = serious(text)
    assert (found.code, found.fixes) == ("MW110", ())


def test_what_a_misplaced_word_explains_is_not_told_as_well() -> None:
    text = workflow(
        'A["Custom<br/>(role: a)"]',
        "D{ok?}:::DecisionOp",
        "PROBLEM -->|input| A",
        "A -->|when| D",
        "A -->|value| D",
        "D -->|yes| RETURN",
        "D -->|no:again:input| A",
        'A2["Custom<br/>(role: a)"]',
        "D -->|else:input| A2",
        "A2 --> RETURN",
    )
    assert codes(text) == ["MW118"]


@pytest.mark.parametrize(
    ("title", "edge", "is_explained"),
    [
        ("Loop", "B -->|again:input| A", True),
        ("Map", "B -->|again:input| A", True),
        ("Loop", "OUT -->|again:input| A", False),
        ("Loop", "A -->|each:input| B", False),
        ("Loop", "A -->|over:input| OUT", True),
        ("Map", "A -->|over:input| OUT", False),
        ("Map", "OUT -->|each:input| B", True),
    ],
)
def test_a_title_without_parentheses_is_named_where_it_explains_a_word(
    title: str, edge: str, is_explained: bool
) -> None:
    nodes = [f'{name}["Custom<br/>(role: a)"]' for name in ("A", "B", "OUT")]
    box = [f'subgraph S["{title}"]', *nodes[:2], "end", nodes[2]]
    text = workflow(*box, "PROBLEM -->|input| A", "A -->|input| B", "B --> RETURN", "OUT --> RETURN", edge)
    (found,) = [one for one in analyse(text).diagnostics if one.code == "MW118"]
    assert ("no parentheses" in found.message) == is_explained
    assert (f"Write {title} ()" in [fix.title for fix in found.fixes]) == is_explained


def test_order_out_of_a_loop_is_never_called_superfluous() -> None:
    text = changed(
        REFINE, "CHECK -->|yes| RETURN", "CHECK -->|yes:after| DONE\nWRITE -->|input| DONE\nDONE --> RETURN"
    ).replace("CHECK -->|no:over| RETURN", 'CHECK -->|no:over| DONE\nDONE["Custom<br/>(role: done)"]')
    assert "MW401" not in [one.code for one in analyse(text).diagnostics]


def test_a_drawing_with_a_box_begins_where_only_a_later_turn_leads() -> None:
    text = "\n".join(
        [
            "---",
            "workflow: true",
            "---",
            "flowchart TD",
            '  subgraph L["Loop (max: 3)"]',
            "    A[Draft an answer] --> B[Criticise it]",
            "    B -->|again| A",
            "  end",
            "  B --> C[Write it up]",
            "",
        ]
    )
    assert serious(text) == []
    graph = analyse(text).typed
    assert graph is not None
    assert [edge.source.id for edge in graph.by_id["A"].incoming] == ["PROBLEM"]


def test_ensembles_are_counted_without_what_comes_again() -> None:
    text = changed(
        ROUNDS,
        "FIRST & SECOND -->|solutions| VOTE\nOUTLINE -->|solutions| VOTE",
        "FIRST -->|solutions| VOTE\nSECOND & OUTLINE -->|input| FIRST",
    )
    assert "MW105" in codes(text)


@pytest.mark.slow
@pytest.mark.parametrize(("deep", "wrong"), [(32, []), (33, ["B33"]), (3_000, ["B33"])])
def test_boxes_lie_only_so_deep_in_each_other(deep: int, wrong: list[str]) -> None:
    kinds = ["Loop (max: 1)", "Map ()"]
    boxes = [f'subgraph B{number}["{kinds[number % 2]}"]' for number in range(1, deep + 1)]
    text = workflow(*boxes, 'A["Custom<br/>(role: a)"]', *["end"] * deep, "PROBLEM --> A --> RETURN")
    found = [one for one in serious(text) if one.code == "MW126"]
    lines = text.splitlines()
    assert [lines[one.range.start.line].split("[")[0].split()[1] for one in found] == wrong
    assert all("move it out of one of them" in one.message for one in found)


def test_a_path_through_an_input_comes_back_by_no_node_that_could_be_moved() -> None:
    """What is wrong with it is the arrow into the input; another path that comes back is found all the same."""
    text = (
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Return]):::Interface\n    classDef Interface fill:#eee\n"
        '    subgraph REFINE["Loop (max: 4)"]\n        WRITE["Custom<br/>(role: writer)"]\n        REVIEW["Review<br/>"]\n'
        "    end\n    PROBLEM -->|input| WRITE\n    PROBLEM -->|problem| REVIEW\n    WRITE -->|solution| REVIEW\n"
        "    REVIEW -.->|again:feedback:input| WRITE\n    WRITE --> RETURN\n    WRITE --> PROBLEM\n"
    )
    assert [one.code for one in analyse(text).errors] == ["MW112"]
    behind = analyse(
        text.replace("WRITE --> PROBLEM", "RETURN -->|problem| REVIEW").replace("PROBLEM -->|problem| REVIEW\n", "")
    )
    assert [one.code for one in behind.errors if one.code in ("MW113", "MW119")] == ["MW113"]
    other = '    X["Custom<br/>(role: shorten)"]\n    Y["Custom<br/>(role: sort)"]\n    WRITE --> X --> Y -->|problem| REVIEW\n'
    found = analyse(text.replace("    PROBLEM -->|problem| REVIEW\n", other)).errors
    assert [one.code for one in found] == ["MW119", "MW112"]
    assert "by X and Y, but" in found[0].message
