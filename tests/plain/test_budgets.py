"""Loops that arrows make, at a budget of the run: their arrows back are closed, and the run ends with what it has."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.plain.test_turns import tangle
from tests.plain.turns import carry_out, scripted
from tests.runtime.engine.fakes import FakeEndpoint
from tests.sizes import sized

import merrow_runtime
from merrow_analysis.check import analyse
from merrow_runtime import RunOptions, RunResult
from merrow_runtime.events import Event
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import check_workflow

DRAFTS = """flowchart TD
    X[Plan it] --> A[Draft it]
    A --> Q{Ready?}
    Q -->|no| B[Change it]
    B --> A
    Q -->|yes| C([Text])
"""
COST = 1_000
"""Tokens of each call, more than any prompt here is taken for."""


class Model(FakeEndpoint):
    """Answers every question with the first case, and each step with its text and a number; ``told`` is what it was asked."""

    def __init__(self) -> None:
        super().__init__(self._said)
        self.told: list[str] = []

    def _said(self, request: ModelRequest) -> ModelReply:
        what = request.messages[0].content.splitlines()[0]
        self.told.append(what)
        schema = request.schema
        text = f"{what} {Counter(self.told)[what]}"
        if schema is not None:
            text = json.dumps({"choice": schema.schema["properties"]["choice"]["enum"][0]})
        return ModelReply(text, usage=Usage(COST - 100, 100, 1, 0.01))


async def ran(text: str, model: Model, tokens: int | None, store: MemoryStore | Store) -> tuple[RunResult, list[Event]]:
    flow = check_workflow(text)
    inputs = {node.id: "it" for node in flow.graph.inputs}
    run = merrow_runtime.start(flow, inputs, endpoint=model, store=store, options=RunOptions(budget_tokens=tokens))
    events = [event async for event in run.events()]
    return await run.result(), events


@pytest.mark.parametrize(
    ("calls", "turns", "asked"),
    [
        (20, 3, ["Plan it", *["Draft it", "Ready?", "Change it"] * 2, "Draft it", "Ready?"]),
        # Two more turns would have fitted in, but for a part of the last one.
        (8, 2, ["Plan it", *["Draft it", "Ready?", "Change it"] * 2]),
        # After a turn it is known that what is left is less than that.
        (5, 1, ["Plan it", "Draft it", "Ready?", "Change it"]),
    ],
)
async def test_at_a_budget_the_last_turn_that_fits_is_the_last_one(calls: int, turns: int, asked: list[str]) -> None:
    model = Model()
    result, events = await ran(DRAFTS, model, calls * COST, MemoryStore())
    assert (result.status, result.outputs) == ("finished", {"C": f"Draft it {turns}"}), result.error
    assert model.told == asked, "nothing twice"
    [ended] = [event for event in events if event.event == "loop_ended"]
    why = "turns" if turns == 3 else "budget"
    assert (ended.data["why"], ended.data["turns"], ended.data["of"]) == (why, turns, 3)
    assert ended.data["replaced"] == [{"at": "Q", "answer": "no", "taken": "yes"}]
    assert list(result.exhausted) == ["LOOP"]
    begun = Counter(event.data["turn"] for event in events if event.event == "turn_started")
    over = Counter(event.data["turn"] for event in events if event.event in ("turn_finished", "turn_failed"))
    assert begun == over


async def test_a_turn_that_the_budget_stops_in_its_middle_counts_for_nothing() -> None:
    cheap = DRAFTS.replace("B --> A", "B --> D[Look at it] --> E[Look again] --> A")
    model = Model()
    # The first turn asks nothing of what the second one does before it comes back to its beginning.
    result, events = await ran(cheap, model, 9 * COST + 500, MemoryStore())
    assert (result.status, result.outputs) == ("finished", {"C": "Draft it 1"})
    assert "Look again" not in model.told or model.told.count("Draft it") == 1
    [ended] = [event for event in events if event.event == "loop_ended"]
    assert (ended.data["why"], ended.data["turns"]) == ("budget", 1)


async def test_without_a_turn_that_is_over_a_budget_ends_the_run_and_with_more_it_goes_on(tmp_path: Path) -> None:
    store, model = Store.open(tmp_path / "j.sqlite"), Model()
    result, events = await ran(DRAFTS, model, 2 * COST, store)
    assert result.status == "failed"
    assert model.told == ["Plan it", "Draft it"]
    more = Model()
    options = RunOptions(budget_tokens=100 * COST)
    done = await merrow_runtime.resume(events[0].run, endpoint=more, store=store, options=options).result()
    assert done.status == "finished"
    assert more.told[0] == "Ready?", "what was paid is not asked again"
    store.close()


@pytest.mark.parametrize("seed", [*range(sized(12, 200)), 669, 872, 1460, 1641])
async def test_any_drawing_has_a_result_or_says_that_the_budget_is_used_up(seed: int) -> None:
    text = tangle(seed)
    result, events = await ran(text, Model(), Random(seed).randint(1, 12) * COST, MemoryStore())
    if result.status == "finished":
        assert any(value is not None for value in result.outputs.values()), text
        turns = [(one.event, (one.path, one.node, one.data["turn"])) for one in events if one.event.startswith("turn_")]
        begun = Counter(turn for event, turn in turns if event == "turn_started")
        over = Counter(turn for event, turn in turns if event in ("turn_finished", "turn_failed"))
        assert begun == over
        assert max(begun.values(), default=1) == 1, "no turn begins twice"
    else:
        assert "--budget-tokens" in str(result.error), text


def test_after_a_thousand_calls_of_the_run_each_turn_is_the_last() -> None:
    """Also of calls outside of the loop."""
    for steps, turns in ((990, 3), (1_000, 1)):
        chain = " --> ".join(f"S{number}[Step {number}]" for number in range(steps))
        text = f"flowchart TD\n{chain} --> A[Draft it]\nA --> Q{{Ready?}}\nQ -->|no| A\nQ -->|yes| C([Text])\n"
        graph = analyse(text, as_workflow=True).typed
        assert graph is not None
        assert carry_out(graph, scripted({"Q": ["no"]})).steps["A"] == turns
