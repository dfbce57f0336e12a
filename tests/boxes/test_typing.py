"""Workflows with nested Loops, Maps and Decisions while they are edited: what is found again is what is found cold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.test_edge_edits import check_same
from tests.analysis.workflows import workflow
from tests.boxes.defects import DEFECTS, MAP, REFINE, ROUNDS, UNTIL, VOTES
from tests.runtime.frontier.nested_workflows import nested_workflow

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.text import Position, Range, TextEdit, split_lines

PIECES = [
    *(
        "again",
        "again:",
        "over",
        "over:",
        "each",
        "each:",
        "first:",
        "yes:",
        "no:",
        ":",
        "|",
        "-->",
        "-->|again:input| ",
    ),
    *(
        "Loop (max: 3)",
        "Map ()",
        "end\n",
        'subgraph X["Map (max: 3)"]\n',
        'subgraph Y["Loop (max: 2)"]\n',
        "\n",
        "}",
        '"]',
    ),
    *(
        "WRITE",
        "REVIEW",
        "CHECK",
        "N1",
        "C1",
        "C2",
        "D1",
        "A --> B\n",
        ":::DecisionOp",
        "on_error: skip",
        "until: C1.response",
    ),
]

small = st.sampled_from([REFINE, UNTIL, MAP, VOTES, ROUNDS, *(defect.text for defect in DEFECTS)])
nested = st.integers(0, 100_000).map(nested_workflow)


def boxes(analysis: Analysis) -> object:
    graph = analysis.typed
    if graph is None:
        return None
    live = graph.combinations
    return (
        graph.composites.boxes,
        graph.composites.inside,
        [(edge.record.source, edge.record.target, edge.word, edge.feeds, edge.raised) for edge in graph.again],
        [(edge.record.source, edge.record.target, edge.word, edge.lowered) for edge in graph.edges],
        {name: ([graph.node(feed.source).id for feed in loop.again], loop.until) for name, loop in live.loops.items()},
        [graph.node(index).id for index in live.order] if live.by_unit is not None else None,
    )


@settings(max_examples=6, deadline=None)
@given(st.one_of(small, nested), st.data())
def test_what_is_found_after_edits_is_what_is_found_cold(text: str, data: st.DataObject) -> None:
    analyser = Analyser(text)
    if data.draw(st.booleans()):
        analyser.analysis()
    for _ in range(data.draw(st.integers(1, 8))):
        lines = split_lines(text)
        number = data.draw(st.integers(0, len(lines) - 1))
        line = lines[number].rstrip("\n")
        start = data.draw(st.integers(0, len(line)))
        end = min(len(line), start + data.draw(st.sampled_from([0, 0, 0, 1, 1, 2, 9, 80])))
        new = data.draw(st.sampled_from(["", "", *PIECES, *"abWX:|>- "]))
        analyser.edit(TextEdit(Range(Position(number, start), Position(number, end)), new))
        lines[number] = line[:start] + new + line[end:] + lines[number][len(line) :]
        text = "".join(lines)
        if data.draw(st.booleans()):
            compare(analyser.analysis(), text)
    compare(analyser.analysis(), text)


def compare(warm: Analysis, text: str) -> None:
    cold = analyse(text)
    check_same(warm, cold)
    assert boxes(warm) == boxes(cold)


@settings(max_examples=5, deadline=None)
@given(nested, st.data())
def test_what_is_found_after_whole_lines_come_and_go_is_what_is_found_cold(text: str, data: st.DataObject) -> None:
    lines = split_lines(text)
    analyser = Analyser(text)
    analyser.analysis()
    taken: list[str] = []
    for _ in range(data.draw(st.integers(1, 6))):
        number = data.draw(st.integers(1, len(lines) - 1))
        if taken and data.draw(st.booleans()):
            line = taken.pop()
            analyser.edit(TextEdit(Range(Position(number, 0), Position(number, 0)), line))
            lines.insert(number, line)
        else:
            analyser.edit(TextEdit(Range(Position(number, 0), Position(number + 1, 0)), ""))
            taken.append(lines.pop(number))
        compare(analyser.analysis(), "".join(lines))


def test_a_way_to_the_next_turn_that_comes_or_goes_is_felt_where_the_turns_run_out() -> None:
    line = "WORK -.->|again:input| WORK\n"
    text = workflow(
        'subgraph TURNS["Loop (max: 3)"]',
        'WORK["Custom<br/>(role: work)"]',
        "FINE{Good?}:::DecisionOp",
        "end",
        "PROBLEM -->|input| WORK",
        "WORK -->|over| RETURN",
    )
    number = text.count("\n")
    analyser = Analyser(text)
    compare(analyser.analysis(), text)
    analyser.edit(TextEdit(Range(Position(number, 0), Position(number, 0)), line))
    compare(analyser.analysis(), text + line)
    analyser.edit(TextEdit(Range(Position(number, 0), Position(number + 1, 0)), ""))
    compare(analyser.analysis(), text)
