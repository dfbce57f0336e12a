"""Masked results: passed on as `none`, drawn by seed and visit, kept from everything that must not take them for answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.masking import measured
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.revising.test_revisers import CHAIN, World, changes, custom

from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, resume, start
from merrow_runtime.errors import UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow

WIDE = (
    *(custom(name) for name in "ABCDEFGH"),
    *(f"PROBLEM -->|input| {name}" for name in "ABCDEFG"),
    *(f"{name} -->|input| H" for name in "ABCDEFG"),
    "H --> RETURN",
)


def ran(
    first: Workflow, store: MemoryStore | None = None, endpoint: FakeEndpoint | None = None, **options: Any
) -> RunResult:
    async def whole() -> RunResult:
        begun = start(
            first, {"problem": "x"}, endpoint=endpoint or FakeEndpoint(), store=store or MemoryStore(),
            options=RunOptions(**options), reviser=ModelReviser(),
        )  # fmt: skip
        return await begun.result()

    return asyncio.run(whole())


def hidden(result: RunResult) -> set[str]:
    return {name for name, node in result.nodes.items() if node.masked}


def test_a_result_is_passed_on_as_none_and_its_call_keeps_the_truth() -> None:
    store = MemoryStore()
    result = ran(workflow(*CHAIN), store, mask=1.0, mask_only=["B"])
    assert hidden(result) == {"B"}
    assert (result.nodes["B"].outputs, result.nodes["B"].key) == ({"response": "none"}, None)
    assert result.outputs["RETURN"] == "do C <- none"
    (call,) = [call for call in store.calls(result.run) if call.key.node == "B"]
    assert call.result["text"].startswith("do B <- do A")
    (told,) = [node for node in store.nodes(result.run) if node.masked]
    assert told.node == "B"


def test_no_other_run_takes_a_masked_result_for_an_answer() -> None:
    store, endpoint = MemoryStore(), FakeEndpoint()
    first = ran(workflow(*CHAIN), store, endpoint, mask=1.0, mask_only=["A"])
    plain = ran(workflow(*CHAIN), store, endpoint, from_run=first.run)
    assert plain.outputs["RETURN"] == "do C <- do B <- do A <- x"
    assert [node for node in plain.nodes.values() if node.masked] == []


FLOATS = st.floats(0, 1, allow_nan=False)


@settings(max_examples=6, deadline=None)
@given(rate=FLOATS, seed=st.integers(0, 2**40), repeat=st.integers(0, 3), only=st.sets(st.sampled_from("ABCDEFGH")))
def test_what_is_masked_follows_from_seed_and_visit(rate: float, seed: int, repeat: int, only: set[str]) -> None:
    options: dict[str, Any] = {"mask": rate, "seed": seed, "repeat": repeat, "mask_only": sorted(only)}
    found = hidden(ran(workflow(*WIDE), **options))
    assert found == hidden(ran(workflow(*WIDE), **options))
    assert found <= (only or set("ABCDEFGH"))
    # A lower rate masks nothing else.
    assert hidden(ran(workflow(*WIDE), **{**options, "mask": rate / 2})) <= found
    if rate in (0.0, 1.0):
        assert found == (set() if rate == 0 else only or set("ABCDEFGH"))


def test_other_seeds_repeats_and_keys_mask_other_nodes() -> None:
    several = [{"seed": seed} for seed in range(4)] + [{"repeat": 1}, {"mask_key": "item"}]
    found = {frozenset(hidden(ran(workflow(*WIDE), mask=0.5, **one))) for one in several}
    assert len(found) >= 5
    share = sum(len(hidden(ran(workflow(*WIDE), mask=0.25, seed=seed))) for seed in range(40)) / 320
    assert 0.17 < share < 0.33


@pytest.mark.parametrize("stopped_after", [1, 3, 6])
def test_a_resume_masks_the_same(stopped_after: int) -> None:
    options = RunOptions(mask=0.5, seed=3, mask_every=True)
    whole = ran(workflow(*CHAIN), mask=0.5, seed=3, mask_every=True)
    store, endpoint = MemoryStore(), FakeEndpoint()

    async def first() -> None:
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store, run_id="r", options=options)
        count = 0
        async for event in run.events():
            count += event.event == "node_finished"
            if count == stopped_after:
                run.cancel()
        await run.result()

    async def second() -> RunResult:
        return await resume("r", endpoint=endpoint, store=store).result()

    asyncio.run(first())
    result = asyncio.run(second())
    assert hidden(result) == hidden(whole)
    assert result.outputs == whole.outputs
    assert endpoint.finished == 3


def test_what_a_revision_has_made_again_is_not_masked_but_with_every() -> None:
    def looked(*, every: bool) -> tuple[World, RunResult]:
        world = World(changes({"do": "redo", "id": "A"}))

        async def whole() -> RunResult:
            options = RunOptions(mask=1.0, mask_only=["A"], mask_every=every, refine={"every": 1, "max": 2})
            run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                        options=options, reviser=ModelReviser())  # fmt: skip
            return await run.result()

        return world, asyncio.run(whole())

    def shown(world: World, number: int) -> Mapping[str, Any]:
        view = json.loads(world.store.revisions("r")[number].view)
        return next(one for one in view["nodes"] if one["id"] == "A")

    world, result = looked(every=False)
    assert (result.nodes["A!1"].masked, result.nodes["A!1"].outputs) == (False, {"response": "do A"})
    # A reviser sees what everybody sees, and of a node that was made again the newest.
    assert [shown(world, number)["result"] for number in (0, 1)] == ["none", "do A"]
    world, result = looked(every=True)
    assert result.nodes["A!1"].masked
    assert [shown(world, number)["result"] for number in (0, 1)] == ["none", "none"]


def test_a_node_that_is_renamed_stays_masked_without_a_call() -> None:
    world = World(changes({"do": "rename", "id": "A", "to": "FIRST"}))

    async def whole() -> RunResult:
        options = RunOptions(mask=1.0, mask_only=["A"], refine={"every": 1, "max": 1})
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    options=options, reviser=ModelReviser())  # fmt: skip
        return await run.result()

    result = asyncio.run(whole())
    assert result.nodes["FIRST"].outputs == {"response": "none"}
    assert world.asked == ["do A", "do B", "do C"]


KINDS = """\
---
workflow:
  types: {Verdict: [good, bad]}
  operators:
    Look: {inputs: {input: Text}, outputs: {verdict: Verdict, why: Text, score: Number}, prompt: Look.}
---
flowchart TD
    PROBLEM([Problem]):::Interface -->|input| A@{op: Look}
    A -->|why:result| RETURN([Result]):::Interface
"""


def answered(request: ModelRequest) -> str:
    del request
    return json.dumps({"verdict": "good", "why": "because", "score": 2})


def test_only_texts_are_masked() -> None:
    from merrow_runtime.workflow import check_workflow

    result = ran(check_workflow(KINDS), None, FakeEndpoint(answered), mask=1.0)
    assert result.nodes["A"].outputs == {"verdict": "good", "why": "none", "score": 2}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mask": 1.5}, "from 0 to 1"),
        ({"mask_every": True}, "say how often: --mask 0.2"),
        ({"mask": 0.2, "mask_only": ["a"]}, "There is no node a to mask. Did you mean A?"),
        ({"mask": 0.2, "mask_only": ["RETURN"]}, "Node RETURN has no output of a kind of Text"),
    ],
)
def test_what_can_not_be_masked_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageFailure, match=sentence.replace("?", r"\?").replace(".", r"\.")):
        ran(workflow(*CHAIN), **options)


@pytest.mark.slow
@pytest.mark.parametrize("times", [0, 1, 2])
def test_simulated_runs_meet_the_closed_form(times: int) -> None:
    found = measured(3, 0.3, times, 100)
    low, high = found["interval"]
    assert low <= found["closed form"] <= high, found


def test_a_masked_file_that_is_called_is_not_taken_for_another(tmp_path: Path) -> None:
    (tmp_path / "inner.mmd").write_text(
        "flowchart TD\n    PROBLEM([Problem]):::Interface -->|input| T@{op: Custom, prompt: inner}\n"
        "    T --> RETURN([Result]):::Interface\n",
        encoding="utf-8",
    )
    (tmp_path / "flow.mmd").write_text(
        "flowchart TD\n    PROBLEM([Problem]):::Interface -->|PROBLEM| CALL@{op: Call, workflow: ./inner.mmd}\n"
        "    CALL --> RETURN([Result]):::Interface\n",
        encoding="utf-8",
    )
    from merrow_runtime.program.loading import load

    store, whole = MemoryStore(), load(tmp_path / "flow.mmd")
    first = ran(whole, store, mask=1.0, seed=1)
    assert first.outputs == {"RETURN": "none"}
    again = ran(whole, store, from_run=first.run)
    assert again.outputs == {"RETURN": "inner <- x"}
