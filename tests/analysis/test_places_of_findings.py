"""Where findings about Loops, Maps and their words point: at the word, the port or the line that a person would correct."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose, errors, told, workflow
from tests.growth.shapes import SHAPES

from merrow_analysis.check import analyse
from merrow_analysis.text import apply_edits

LOOP = ('subgraph L["Loop (max: 3)"]', 'W["Custom (role: w)"]:::CustomOp', 'R["Review"]:::ReviewOp', "end")
FED = ("PROBLEM -->|input| W", "PROBLEM -->|problem| R", "W -->|solution| R")
LIST = 'A["Custom (role: a, returns: list[Text])"]:::CustomOp'
MAP = (LIST, 'subgraph M["Map (max: 3)"]', 'B["Custom (role: b)"]:::CustomOp', "end", "PROBLEM -->|input| A")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            (*LOOP, *FED, "R -.->|again:feedback:input| W", "PROBLEM -->|again:input| R", "W --> RETURN"),
            ("MW118", "again"),
        ),
        ((*MAP, "A -->|each:input| B", "B -->|over| RETURN"), ("MW118", "over")),
        ((*MAP, "A -->|each:input| B", "PROBLEM -->|first:input| B", "B --> RETURN"), ("MW118", "first")),
        ((*MAP, "A -->|each:input| B", "PROBLEM -->|each:input| B", "B --> RETURN"), ("MW206", "each")),
        ((*LOOP, *FED, "R -.->|again:advice:input| W", "W --> RETURN"), ("MW207", "advice")),
        ((*LOOP, *FED, "R -.->|again:feedback:inptu| W", "W --> RETURN"), ("MW201", "inptu")),
    ],
)
def test_a_finding_about_a_part_of_a_label_points_at_that_part(lines: tuple[str, ...], found: tuple[str, str]) -> None:
    assert found in told(workflow(*lines))


@pytest.mark.parametrize(
    ("lines", "written", "right"),
    [
        ((*MAP, "A -->|response:each:input| B", "B --> RETURN"), "response:each:input", "each:response:input"),
        ((*MAP, "A -->|response:each| B", "B --> RETURN"), "response:each", "each:response:"),
        (
            (*LOOP, *FED, "R -.->|feedback:again:input| W", "W --> RETURN"),
            "feedback:again:input",
            "again:feedback:input",
        ),
        (
            (*LOOP, *FED, "R -.->|again:feedback:input| W", "W -->|response:over:result| RETURN"),
            "response:over:result",
            "over:response:result",
        ),
        (
            (*LOOP, *FED, "R -.->|again:feedback:input| W", "W -.->|response:again:input| W", "W --> RETURN"),
            "response:again:input",
            "again:response:input",
        ),
    ],
)
def test_a_word_after_the_output_is_moved_before_it(lines: tuple[str, ...], written: str, right: str) -> None:
    text = workflow(*lines)
    [found] = [one for one in diagnose(text) if one.code == "MW118"]
    assert right in found.message
    assert errors(text) == ["MW118"]
    repaired = apply_edits(text, next(iter(found.fixes)).edits)
    assert repaired == text.replace(written, right)
    assert errors(repaired) == []


def test_a_case_called_again_that_leads_back_is_told_from_the_word() -> None:
    lines = (*LOOP[:-1], "D{Good?}:::DecisionOp", "end", *FED, "R -->|feedback:when| D", "W -->|value| D")
    text = workflow(*lines, "D -->|again| W", "D -->|else| RETURN", "W -->|over| RETURN")
    assert told(text) == [("MW110", "-->|again|")]
    [found] = [one for one in diagnose(text) if one.code == "MW110"]
    assert "`again:again`" in found.message
    repaired = apply_edits(text, next(iter(found.fixes)).edits)
    assert repaired == text.replace("|again|", "|again:again|")
    assert errors(repaired) == []


def test_an_edge_to_the_id_of_a_box_is_the_one_finding() -> None:
    inside = ('subgraph L["Loop (max: 3)"]', 'W["Custom (role: w)"]:::CustomOp', "end", "W -.->|again:input| W")
    assert told(workflow(*inside, "PROBLEM -->|input| L", "W --> RETURN")) == [("MW104", "L")]
    assert told(workflow(*inside, "PROBLEM -->|input| W", "L --> RETURN")) == [("MW104", "L")]


def test_a_node_in_two_boxes_is_shown_where_it_is_written_second() -> None:
    text = workflow(
        *LOOP, 'subgraph K["Loop ()"]', "R", 'Y["Custom (role: y)"]:::CustomOp', "end", *FED, "W --> RETURN"
    )
    [found] = [one for one in diagnose(text) if one.code == "MW126"]
    assert text.splitlines()[found.range.start.line - 1].strip() == 'subgraph K["Loop ()"]'


def test_a_value_that_comes_in_later_turns_alone_is_told_at_the_decision_alone() -> None:
    lines = (*LOOP[:-1], "D{Good?}:::DecisionOp", "end", *FED, "R -->|result:when| D", "W -.->|again:value| D")
    text = workflow(*lines, "D -->|no:again:input| W", "D -->|yes| RETURN", "W -->|over| RETURN")
    assert told(text) == [("MW204", "D")]


@pytest.mark.parametrize(("key", "word"), [("euros", "the keys are"), ("token", "did you mean `tokens`")])
def test_a_key_inside_of_a_parameter_is_named(key: str, word: str) -> None:
    budget = f"L@{{\n      budget:\n        {key}: 3\n    }}"
    text = workflow(*LOOP, *FED, "R -.->|again:feedback:input| W", budget, "W --> RETURN")
    [found] = [one for one in diagnose(text) if one.code == "MW304"]
    assert word in found.message
    assert ("MW304", key) in told(text)


def test_a_field_is_not_vouched_for_by_what_its_node_returns() -> None:
    front = "workflow:\n  types:\n    Verdict: {good: Bool, advice: Text}"
    lines = ('J["Custom (role: j, returns: Verdict)"]:::CustomOp', 'R["Review"]:::ReviewOp', "PROBLEM -->|input| J")
    text = workflow(*lines, "PROBLEM -->|problem| R", "J -->|good:solution| R", "R -->|feedback:| RETURN", front=front)
    [found] = [one for one in diagnose(text) if one.code == "MW206"]
    assert "returns:" not in found.message
    assert not [one for one in found.fixes if "returns" in one.title]


@pytest.mark.parametrize(("read", "skips"), [("R.result", "R"), ("R.result", "W"), ("J.score", "J")])
def test_what_a_failure_skips_is_not_read_after_every_turn(read: str, skips: str) -> None:
    front = "workflow:\n  types: {Rating: {score: Number}}"
    key = "until" if read.startswith("R") else "best"
    boxes = [
        f'subgraph L["Loop (max: 3, {key}: {read})"]',
        'W["Custom (prompt: w)"]:::CustomOp',
        'R["Review"]:::ReviewOp',
        'J["Custom (prompt: j, returns: Rating)"]:::CustomOp',
        "end",
    ]
    edges = [*FED, "W -->|input| J", "R -.->|again:feedback:input| W", "J -.->|again:input| W", "W --> RETURN"]
    assert told(workflow(*boxes, *edges, front=front)) == []
    found = told(workflow(*boxes, *edges, f"{skips}@{{ on_error: skip }}", front=front))
    assert ("MW225", read) in found


@pytest.mark.parametrize(("always", "found"), [(True, []), (False, ["MW223"])])
def test_a_list_that_may_be_empty_needs_another_voice_that_always_runs(always: bool, found: list[str]) -> None:
    lines = (
        LIST,
        'subgraph M["Map (max: 3)"]',
        'B["Custom (role: b)"]:::CustomOp',
        'R["Review"]:::ReviewOp',
        "D{Good?}:::DecisionOp",
        "end",
        'K["Custom (role: k, returns: Bool)"]:::CustomOp',
        "ASIDE{Aside?}:::DecisionOp",
        'W["Custom (role: w)"]:::CustomOp',
        'Z["Custom (role: z)"]:::CustomOp',
        'V["ScEnsemble"]:::ScEnsembleOp',
        "PROBLEM -->|input| A & K & W & Z",
        "PROBLEM -->|problem| R & V",
        "A -->|each:input| B",
        "B -->|solution| R",
        "B -->|value| D",
        "R -->|result:when| D",
        "D -->|yes:solutions| V",
        "D -->|no:input| Z",
        "K -->|when| ASIDE",
        "ASIDE -->|yes:after| W" if not always else "ASIDE -->|yes:after| Z",
        "ASIDE -->|no:after| Z",
        "W -->|solutions| V",
        "V -->|input| Z",
        "Z --> RETURN",
    )
    assert [code for code in errors(workflow(*lines)) if code == "MW223"] == found


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("click\nclick\nw click\n", [(2, 0, 5), (4, 6, 7)]),
        ("click\n" * 5, [(2, 0, 5), (4, 0, 5), (6, 0, 5)]),
        ("w click\n", [(2, 6, 7)]),
    ],
)
def test_a_line_is_not_blamed_for_the_unfinished_one_before(text: str, places: list[tuple[int, int, int]]) -> None:
    found = analyse("flowchart TD\nA-->B\n" + text).diagnostics
    assert [(one.range.start.line, one.range.start.column, one.range.end.column) for one in found] == places
    assert all("the end of the line" not in one.message for one in found)


@pytest.mark.slow
def test_every_finding_lies_in_the_text() -> None:
    """In texts of all kinds, whole and cut off in the middle."""
    for name, shape in SHAPES.items():
        for text in (shape.make(5), shape.make(6)[:-9], shape.make(7)[: len(shape.make(7)) // 2]):
            # Behind the last line there is the end of the text.
            lengths = [len(line.encode("utf-16-le")) // 2 for line in text.split("\n")] + [0]
            for one in analyse(text).diagnostics:
                (line, column), (end_line, end_column) = one.range
                assert 0 <= line <= end_line < len(lengths), (name, one)
                assert 0 <= column <= lengths[line], (name, one)
                assert 0 <= end_column <= lengths[end_line], (name, one)


@pytest.mark.parametrize("line", ["A;@", "A; @", "A --> B@", "A;;@", "@", "A;B;@;C"])
@pytest.mark.parametrize("character", ["\x1f", "\x1c", "]"])
def test_a_character_without_meaning_is_marked_itself(line: str, character: str) -> None:
    text = line.replace("@", character)
    [found] = [one for one in diagnose(f"flowchart TD\n{text}\n") if "has no meaning here" in one.message]
    place = found.range
    assert (place.start.line, place.end.line) == (1, 1)
    assert text[place.start.column : place.end.column] == character
