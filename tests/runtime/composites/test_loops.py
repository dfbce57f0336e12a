"""Loops: how many turns there are, what `again` brings, and what goes out."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.runtime.composites.loops import Ran, asks, box, custom, data, flow, ran, says

from merrow_runtime import RunFailure, RunOptions, UsageFailure, Workflow
from merrow_runtime.errors import NodeFailure
from merrow_runtime.models.prices import Price
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running import loop_budgets
from merrow_runtime.usage import Usage
from merrow_runtime.visit import Visit

DECIDED = ['JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp', "D{which?}:::DecisionOp"]


def refining(title: str = "Loop (max: 4)", again: str = "bad:again:input", out: str = "good") -> Workflow:
    """A draft that is judged, and written again while it is bad."""
    return flow(
        box("L", title, custom("WRITE"), *DECIDED),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| JUDGE",
        "JUDGE -->|when| D",
        "WRITE -->|value| D",
        f"D -->|{again}| WRITE",
        f"D -->|{out}| RETURN",
        "WRITE -->|over| RETURN",
    )


@pytest.mark.parametrize(("moods", "turns"), [(["good"], 1), (["bad", "good"], 2), (["bad", "bad", "bad", "good"], 4)])
async def test_turns_go_on_until_a_case_leads_out(moods: list[str], turns: int) -> None:
    done = await ran(refining(), says(JUDGE=moods, WRITE=["one", "two", "three", "four"]))
    assert done.result.outputs == {"RETURN": ["one", "two", "three", "four"][turns - 1]}
    assert done.asked == ["WRITE", "JUDGE"] * turns
    last = f"L[{turns}]/WRITE"
    assert done.result.nodes["WRITE"] is done.result.nodes[last]
    assert done.record("RETURN").inputs == {
        "result": [{"node": "WRITE", "output": "response", "type": "Text", "path": f"L[{turns}]"}]
    }


async def test_when_turns_run_out_the_last_one_goes_out_by_over() -> None:
    done = await ran(refining("Loop (max: 3)"), says(JUDGE="bad", WRITE=["one", "two", "three", "four"]))
    assert done.result.outputs == {"RETURN": "three"}
    assert [one for one in done.told if one[0].startswith("turn")] == [
        (event, "L", "") for _ in range(3) for event in ("turn_started", "turn_finished")
    ]
    assert [event.data for event in done.events if event.event == "turn_started"] == [
        {"turn": turn, "of": 3} for turn in (1, 2, 3)
    ]


@pytest.mark.parametrize(("goes", "why"), [(True, "the turns of L did not run out"), (False, "Q chose `no`")])
async def test_why_nothing_goes_out_by_over_is_said(goes: bool, why: str) -> None:
    """The turns ended before, or there were none."""
    inside = box("L", "Loop (max: 2)", custom("B"), custom("R", "returns: Bool"), "D{Good?}:::DecisionOp")
    workflow = flow(
        custom("A", "returns: Bool"), "Q{Go?}:::DecisionOp", custom("C"), custom("E"), inside, "PROBLEM -->|input| A & B & E",
        "A --> Q", "Q -->|yes:after| B", "Q -->|no:after| E", "B -->|input| R", "R --> D", "D -.->|no:again| B",
        "D -->|yes:after| E", "B -->|over:input| C", "C & E --> RETURN",
    )  # fmt: skip
    done = await ran(workflow, says(A=goes, R=True))
    assert [event.data["reason"] for event in done.events if event.event == "node_skipped" and event.node == "C"] == [
        why
    ]


async def test_first_gives_way_to_what_again_brings() -> None:
    workflow = flow(
        box("L", "Loop (max: 3)", custom("WRITE")),
        "PROBLEM -->|first:input| WRITE",
        "WRITE -.->|again:input| WRITE",
        "WRITE --> RETURN",
    )
    done = await ran(workflow, says(WRITE=["one", "two", "three"]))
    assert [data(request) for request in done.endpoint.seen] == ["x", "one", "two"]
    assert done.result.outputs == {"RETURN": "three"}


async def test_a_port_for_one_value_keeps_the_newest() -> None:
    """In turns in which REVISE is left out, its newest value stays."""
    workflow = flow(
        box(
            "L",
            "Loop (max: 4)",
            'V["Review"]:::ReviewOp',
            'JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
            "D{which?}:::DecisionOp",
            custom("REVISE"),
        ),
        "PROBLEM -->|problem| V",
        "PROBLEM -->|solution| V",
        "PROBLEM -->|input| JUDGE",
        "V -.->|again:feedback:input| JUDGE",
        "JUDGE -->|when| D",
        "D -->|bad| REVISE",
        "D -->|good:again| V",
        "V -->|feedback:input| REVISE",
        "REVISE -.->|again:solution| V",
        "V -->|feedback:result| RETURN",
    )
    done = await ran(workflow, says(JUDGE=["bad", "good", "good", "good"], REVISE="revised"))
    reviews = [
        data(request) for request in done.endpoint.seen if request.schema and "feedback" in str(request.schema.schema)
    ]
    assert len(reviews) == 4
    assert "revised" not in reviews[0]
    assert all("revised" in text for text in reviews[1:])


async def test_until_ends_after_the_turn_in_which_it_holds() -> None:
    workflow = flow(
        box("L", "Loop (max: 5, until: RATE.response >= 7)", custom("WRITE"), custom("RATE", "returns: Number")),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| RATE",
        "RATE -.->|again:input| WRITE",
        "WRITE --> RETURN",
    )
    done = await ran(workflow, says(RATE=[3, 5, 7, 9], WRITE=["one", "two", "three", "four"]))
    assert done.result.outputs == {"RETURN": "three"}
    assert done.asked == ["WRITE", "RATE"] * 3


@pytest.mark.parametrize(("scores", "best"), [([3, 9, 5], "two"), ([9, 9, 5], "one"), ([1, 2, 3], "three")])
async def test_where_turns_run_out_the_best_one_goes_out(scores: list[int], best: str) -> None:
    workflow = flow(
        box("L", "Loop (max: 3, best: RATE.response)", custom("WRITE"), custom("RATE", "returns: Number")),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| RATE",
        "RATE -.->|again:input| WRITE",
        "WRITE -->|over| RETURN",
        "RATE -->|input| SEE",
        custom("SEE"),
        "SEE --> SECOND([Second]):::Interface",
    )
    done = await ran(workflow, says(RATE=scores, WRITE=["one", "two", "three"]))
    assert done.result.outputs["RETURN"] == best
    see = next(request for name, request in zip(done.asked, done.endpoint.seen, strict=True) if name == "SEE")
    assert data(see) == str(max(scores))


async def test_best_may_read_a_field_of_what_a_step_with_a_thought_answers() -> None:
    rated = 'RATE["AnswerGenerate (prompt: RATE, returns: Rating)"]:::AnswerGenerateOp'
    workflow = flow(
        box("L", "Loop (max: 2, best: RATE.score)", custom("WRITE"), rated),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| RATE",
        "RATE -.->|again:advice:input| WRITE",
        "WRITE -->|over| RETURN",
        front="{types: {Rating: {score: Number, advice: Text}}}",
    )
    scores = iter((9, 5))
    texts = iter(("one", "two"))

    def answer(request: ModelRequest) -> str:
        if asks(request) == "WRITE":
            return next(texts)
        return json.dumps({"thought": "hm", "answer": {"score": next(scores), "advice": "shorter"}})

    done = await ran(workflow, answer)
    assert done.result.outputs == {"RETURN": "one"}


async def test_a_case_that_leads_out_of_several_loops_ends_them_all() -> None:
    workflow = flow(
        box("OUTER", "Loop (max: 3)", *box("INNER", "Loop (max: 2)", custom("WRITE"), *DECIDED), custom("NOTE")),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| JUDGE",
        "JUDGE -->|when| D",
        "WRITE -->|value| D",
        "D -->|bad:again:input| WRITE",
        "WRITE -->|over:input| NOTE",
        "NOTE -.->|again:input| WRITE",
        "D -->|good| RETURN",
        "NOTE -->|over| RETURN",
    )
    done = await ran(workflow, says(JUDGE=["bad", "bad", "bad", "good"], WRITE=["1", "2", "3", "4"]))
    assert done.result.outputs == {"RETURN": "4"}
    assert done.asked == ["WRITE", "JUDGE", "WRITE", "JUDGE", "NOTE", "WRITE", "JUDGE", "WRITE", "JUDGE"]
    skipped = [(event.node, event.path) for event in done.events if event.event == "node_skipped"]
    assert skipped == [("NOTE", "OUTER[2]")]
    done = await ran(workflow, says(JUDGE="bad", WRITE=[str(n) for n in range(1, 9)], NOTE=["n1", "n2", "n3"]))
    assert done.result.outputs == {"RETURN": "n3"}
    assert done.asked.count("WRITE") == 6


@pytest.mark.parametrize("said", ["fail", "skip"])
async def test_on_error_of_a_loop_is_that_of_its_turns(said: str) -> None:
    workflow = flow(
        box("L", f"Loop (max: 3, on_error: {said})", custom("WRITE")),
        custom("OTHER"),
        custom("JOIN"),
        "PROBLEM -->|input| WRITE & OTHER",
        "WRITE -.->|again:input| WRITE",
        "WRITE -->|input| JOIN",
        "OTHER -->|input| JOIN",
        "JOIN --> RETURN",
    )
    failure = NodeFailure("Node WRITE: no more.", node="WRITE", reason="no more.")
    done = await ran(workflow, says(WRITE=["one", failure]))
    failed = [event for event in done.events if event.event == "turn_failed"]
    assert [event.data["turn"] for event in failed] == [2]
    if said == "fail":
        assert done.result.status == "failed"
        assert done.result.failure is not None
        assert (done.result.failure.node, done.result.failure.path) == ("WRITE", "L[2]")
        return
    assert done.result.outputs == {"RETURN": "JOIN"}
    assert data(done.endpoint.seen[-1]) == "OTHER"


async def test_a_decision_that_failed_counts_as_having_led_out() -> None:
    """REVIEW's `again` edge is live, but the Decision with the way out has failed: there is no other turn, and no `over`."""
    workflow = flow(
        box(
            "L",
            "Loop (max: 4)",
            custom("WRITE"),
            custom("JUDGE", "returns: Mood, on_error: skip"),
            "D{which?}:::DecisionOp",
        ),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| JUDGE",
        "JUDGE -->|when| D",
        "WRITE -->|value| D",
        "WRITE -.->|again:input| WRITE",
        "D -->|bad:again:input| WRITE",
        "D -->|good| RETURN",
        "WRITE -->|over| RETURN",
    )
    done = await ran(workflow, says(JUDGE=["bad", NodeFailure("Node JUDGE: odd.", node="JUDGE")]))
    assert done.asked == ["WRITE", "JUDGE"] * 2
    assert done.result.status == "failed"
    assert str(done.result.error).startswith("Output RETURN stays empty")


async def test_a_decision_that_asks_and_fails_counts_as_having_led_out() -> None:
    """The same where the Decision's own call fails."""
    workflow = flow(
        box("L", "Loop (max: 4)", custom("WRITE"), "D{which?}"),
        "D@{ on_error: skip }",
        "PROBLEM -->|input| WRITE",
        "WRITE --> D",
        "WRITE -.->|again:input| WRITE",
        "D -->|bad:again:input| WRITE",
        "D -->|good| RETURN",
        "WRITE -->|over| RETURN",
    )
    done = await ran(workflow, says(**{"which?": ["bad", NodeFailure("Node D: odd.", node="D")]}))
    assert done.asked == ["WRITE", "which?"] * 2
    assert done.result.error == "Output RETURN stays empty, since D failed."


def limited_to(budget: str) -> Workflow:
    """A Loop of at most four turns with a budget."""
    return flow(
        box("L", "Loop (max: 4)", custom("WRITE")),
        "L@{",
        "  budget:",
        *(f"    {limit}" for limit in budget.split(", ")),
        "}",
        "PROBLEM -->|input| WRITE",
        "WRITE -.->|again:input| WRITE",
        "WRITE -->|over| RETURN",
    )


@pytest.mark.parametrize(
    ("budget", "turns"),
    [
        ("tokens: 1", 1),
        ("tokens: 20", 2),
        ("tokens: 21", 3),
        ("tokens: 1000000", 4),
        ("usd: 0.01", 1),
        ("usd: 20", 2),
        ("usd: 20.5", 3),
        ("usd: 1000", 4),
        ("seconds: 0.000001", 1),
        ("seconds: 1000000", 4),
        ("usd: 1000, tokens: 1000000, seconds: 1000000", 4),
        ("usd: 20, tokens: 1000000, seconds: 1000000", 2),
        ("usd: 1000, tokens: 20, seconds: 1000000", 2),
    ],
)
async def test_beyond_its_budget_a_loop_begins_no_further_turn(budget: str, turns: int) -> None:
    """Each turn takes 10 tokens, at a dollar each."""
    workflow = limited_to(budget)
    answers = iter("1234")
    done = await ran(workflow, lambda _: ModelReply(next(answers), usage=Usage(4, 6, 1, 10.0)), price=Price(1e6, 1e6))
    assert done.result.status == "finished", done.result.error
    assert done.result.outputs == {"RETURN": str(turns)}


@pytest.mark.parametrize(("budget", "turns"), [("seconds: 1000", 4), ("tokens: 20, seconds: 1000", 2)])
async def test_a_replay_ends_a_loop_after_the_same_turn_however_slow_it_is(
    budget: str, turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow, answers = limited_to(budget), iter("1234")
    spent, recording = Usage(4, 6, 1), tmp_path / "run.jsonl"
    first = await ran(workflow, lambda _: ModelReply(next(answers), usage=spent), options=RunOptions(record=recording))
    assert first.result.outputs == {"RETURN": str(turns)}
    clock = itertools.count(0.0, 10_000.0)
    monkeypatch.setattr(loop_budgets, "time", SimpleNamespace(monotonic=lambda: next(clock), time=time.time))
    again = await ran(workflow, asks, options=RunOptions(replay=recording))
    assert again.result.status == "finished", again.result.error
    assert (again.result.outputs, again.endpoint.seen) == (first.result.outputs, [])


async def test_a_loop_with_a_budget_in_dollars_needs_a_price() -> None:
    workflow = flow(
        box("L", "Loop (max: 4)", custom("WRITE")),
        "L@{",
        "  budget:",
        "    usd: 1",
        "}",
        "PROBLEM -->|input| WRITE",
        "WRITE -.->|again:input| WRITE",
        "WRITE -->|over| RETURN",
    )
    with pytest.raises(UsageFailure, match="price"):
        await ran(workflow, says())


async def test_an_expression_that_cannot_be_worked_out_fails_the_loop() -> None:
    workflow = flow(
        box("L", "Loop (max: 3, until: len(RATE.response) > 'x')", custom("RATE")),
        "PROBLEM -->|input| RATE",
        "RATE -.->|again:input| RATE",
        "RATE --> RETURN",
    )
    done = await ran(workflow, says())
    assert done.result.status == "failed"
    assert isinstance(done.result.failure, RunFailure)
    assert str(done.result.error).startswith("Loop L: `until: len(RATE.response) > 'x'` can't be worked out:")


async def test_of_two_loops_the_inner_one_brings_the_newer_value() -> None:
    workflow = flow(
        box("O", "Loop (max: 2)", *box("I", "Loop (max: 2)", 'V["Review"]:::ReviewOp', custom("FIX")), custom("NOTE")),
        "PROBLEM -->|problem| V",
        "PROBLEM -->|solution| V",
        "V -->|feedback:input| FIX",
        "FIX -.->|again:solution| V",
        "FIX -->|input| NOTE",
        "NOTE -.->|again:solution| V",
        "NOTE --> RETURN",
    )
    done = await ran(workflow, says(FIX=["f1", "f2", "f3", "f4"], NOTE=["n1", "n2"]))
    assert done.result.status == "finished", done.result.error
    solutions = {
        name: (node.inputs or {})["solution"][0]["node"]
        for name, node in done.result.nodes.items()
        if name.endswith("]/V")
    }
    assert solutions == {"O[1]/I[1]/V": "PROBLEM", "O[1]/I[2]/V": "FIX", "O[2]/I[1]/V": "NOTE", "O[2]/I[2]/V": "FIX"}


def arrived(done: Ran, name: str, port: str = "input") -> list[str]:
    """Which visits gave what arrived at a port, in the order in which it arrived."""
    record = done.record(name)
    given = (record.inputs or {})[port]
    return [Visit(one["node"], one.get("path", record.path)).name for one in given]


async def test_what_comes_back_follows_what_comes_in_and_takes_the_place_of_what_came_first() -> None:
    workflow = flow(
        custom("S"),
        box("L", "Loop (max: 3)", custom("A"), custom("J"), custom("K")),
        "PROBLEM -->|input| A & S",
        "PROBLEM -->|first:input| J",
        "S & A -->|input| J",
        "J -->|input| K",
        "K & J -.->|again:input| J",
        "K --> RETURN",
    )
    done = await ran(workflow, says())
    assert done.result.status == "finished", done.result.error
    assert arrived(done, "L[1]/J") == ["PROBLEM", "S", "L[1]/A"]
    assert arrived(done, "L[2]/J") == ["S", "L[2]/A", "L[1]/K", "L[1]/J"]
    assert arrived(done, "L[3]/J") == ["S", "L[3]/A", "L[2]/K", "L[2]/J"]
    assert [arrived(done, f"L[{turn}]/A") for turn in (1, 2, 3)] == [["PROBLEM"]] * 3


async def test_a_port_that_takes_one_value_has_what_the_innermost_loop_brought_last() -> None:
    workflow = flow(
        custom("A"),
        box(
            "OUT",
            "Loop (max: 3)",
            *box("IN", "Loop (max: 2)", 'R["Review<br/>"]:::ReviewOp', custom("F")),
            custom("G"),
        ),
        "PROBLEM -->|input| A",
        "PROBLEM -->|problem| R",
        "A -->|solution| R",
        "R -->|feedback:input| F",
        "F -.->|again:solution| R",
        "F -->|input| G",
        "G -.->|again:solution| R",
        "G --> RETURN",
    )

    def answer(request: ModelRequest) -> str:
        return json.dumps({"accepted": False, "feedback": "more"}) if request.schema is not None else asks(request)

    done = await ran(workflow, answer)
    assert done.result.status == "finished", done.result.error
    visits = [f"OUT[{outer}]/IN[{inner}]/R" for outer in (1, 2, 3) for inner in (1, 2)]
    assert [arrived(done, name, "solution") for name in visits] == [
        ["A"], ["OUT[1]/IN[1]/F"], ["OUT[1]/G"], ["OUT[2]/IN[1]/F"], ["OUT[2]/G"], ["OUT[3]/IN[1]/F"],
    ]  # fmt: skip


FIXED = ["PROBLEM -->|input| WRITE", "WRITE -.->|again:input| WRITE", "WRITE --> RETURN"]
RATED = ["PROBLEM -->|input| WRITE", "WRITE -->|input| RATE", "RATE -.->|again:input| WRITE", "WRITE --> RETURN"]
RATE = custom("RATE", "returns: Number")


@pytest.mark.parametrize(
    ("workflow", "ended"),
    [
        pytest.param(refining("Loop (max: 2)"), (2, "turns", True, None), id="its Decision wants more"),
        pytest.param(
            flow(box("L", "Loop (max: 3, until: RATE.response >= 8)", custom("WRITE"), RATE), *RATED),
            (3, "turns", True, None),
            id="its condition does not hold",
        ),
        pytest.param(
            flow(box("L", "Loop (max: 5, until: RATE.response >= 7)", custom("WRITE"), RATE), *RATED),
            (1, "until", False, None),
            id="its condition holds",
        ),
        pytest.param(
            flow(box("L", "Loop (max: 3)", custom("WRITE")), *FIXED), (3, "turns", False, None), id="nothing ends it"
        ),
        pytest.param(
            flow(box("L", "Loop (max: 3, best: RATE.response)", custom("WRITE"), RATE), *RATED),
            (3, "turns", False, 1),
            id="nothing ends it, and the best turn is taken",
        ),
        pytest.param(
            flow(
                box("L", "Loop (max: 3, until: RATE.response >= 8, best: RATE.response)", custom("WRITE"), RATE), *RATED
            ),
            (3, "turns", True, 1),
            id="its condition does not hold, and the best turn is taken",
        ),
        pytest.param(
            flow(
                box("L", "Loop (max: 5, until: RATE.response >= 8)", custom("WRITE"), RATE),
                "L@{",
                "  budget:",
                "    tokens: 1",
                "}",
                *RATED,
            ),
            (1, "budget", True, None),
            id="its budget is used up",
        ),
    ],
)
async def test_a_loop_says_why_it_made_no_further_turn(
    workflow: Workflow, ended: tuple[int, str, bool, int | None]
) -> None:
    done = await ran(workflow, says(JUDGE="bad", RATE=7, WRITE="draft"))
    assert done.result.status == "finished"
    (loop,) = done.result.loops
    assert (loop.turns, loop.why, loop.exhausted, loop.best) == ended
    assert done.result.exhausted == (["L"] if ended[2] else [])
    told = [event for event in done.events if event.event in ("turn_finished", "loop_ended")]
    assert [event.event for event in told] == [*["turn_finished"] * ended[0], "loop_ended"]


async def test_inner_loops_say_it_for_each_outer_turn() -> None:
    inner = box("IN", "Loop (max: 2)", custom("WRITE"), *DECIDED)
    outer = box("OUT", "Loop (max: 2)", *inner, custom("END"))
    workflow = flow(
        outer,
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| JUDGE",
        "JUDGE -->|when| D",
        "WRITE -->|value| D",
        "D -->|bad:again:input| WRITE",
        "D -->|good:input| END",
        "WRITE -->|over:input| END",
        "END -.->|again:input| WRITE",
        "END --> RETURN",
    )
    done = await ran(workflow, says(JUDGE=["bad", "bad", "good"]))
    assert [(one.place, one.turns, one.why, one.exhausted) for one in done.result.loops] == [
        ("OUT[1]/IN", 2, "turns", True), ("OUT[2]/IN", 1, "case", False), ("OUT", 2, "turns", False),
    ]  # fmt: skip
    assert done.result.exhausted == ["OUT[1]/IN"]


async def test_a_loop_that_fails_does_not_say_how_it_ended() -> None:
    done = await ran(refining(), says(WRITE=NodeFailure("broken", node="WRITE"), JUDGE="bad"))
    assert done.result.status == "failed"
    assert (list(done.result.loops), [one for one in done.told if one[0] == "loop_ended"]) == ([], [])
