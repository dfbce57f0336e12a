"""Faults of Merrow, and of programs around it: they end a run in a sentence, and never as if it had finished."""

from __future__ import annotations

import asyncio
import contextlib
from unittest.mock import patch

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.engine.test_running import finished

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import UsageFailure
from merrow_runtime.frontier import Consequence, Frontier, Gave, Outcome
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running import node_recorder, scheduler
from merrow_runtime.store.memory import MemoryStore


async def test_a_call_that_the_endpoint_itself_cancels_is_tried_again_and_missing_in_no_list_of_samples() -> None:
    flow = workflow('A@{op: Custom, prompt: "A", samples: 3}', "PROBLEM --> A --> RETURN")
    asked = 0

    def answer(request: ModelRequest) -> str:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise asyncio.CancelledError
        return "b"

    result = await finished(flow, FakeEndpoint(answer))
    assert (result.status, asked) == ("finished", 4)
    assert result.nodes["A"].outputs == {"response": ["b", "b", "b"]}


async def test_a_run_of_which_a_nodes_task_is_cancelled_from_outside_does_not_end_as_finished() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "A"}',
        'B@{op: Custom, prompt: "B"}',
        'J@{op: Custom, prompt: "J"}',
        "PROBLEM --> A & B --> J --> RETURN",
    )
    endpoint = FakeEndpoint()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    await endpoint.until_asked(2)
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "A")
    task.cancel()
    await asyncio.wait([task])
    endpoint.gate.set()
    result = await run.result()
    assert (result.status, result.outputs) == ("cancelled", {})


async def test_a_fault_in_a_decision_is_told_of_it_and_ends_the_run_in_a_sentence() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "p", returns: Score}', "D@{op: Decision, if: \"len(score) > wrong\"}", "PROBLEM --> A",
        "A -->|score| D", "PROBLEM -->|wrong| D", "D -- yes --> B", "D -- no --> B", 'B@{op: Custom, prompt: "b"}',
        "PROBLEM --> B --> RETURN", front="{types: {Score: Text}}",
    )  # fmt: skip
    with patch.object(scheduler, "decide", side_effect=RecursionError("too deep")):
        result = await finished(flow, FakeEndpoint(lambda _: "x"))
    assert (result.status, result.nodes["D"].status) == ("failed", "failed")
    assert result.error == "Node D: internal error, RecursionError: too deep"


async def test_a_fault_in_merrow_leaves_the_run_to_be_resumed_at_once() -> None:
    flow = workflow('A@{op: Custom, prompt: "A"}', "PROBLEM --> A --> RETURN")
    store = MemoryStore()
    with patch.object(Frontier, "begin", side_effect=RuntimeError("broken")):
        run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=FakeEndpoint(), store=store)
        with pytest.raises(RuntimeError, match="broken"):
            await run.result()
    with pytest.raises(UsageFailure, match="is over"):
        run.decide(1, apply=True)
    assert store.run(run.id).status == "failed"
    again = await merrow_runtime.resume(run.id, endpoint=FakeEndpoint(), store=store).result()
    assert again.status == "finished"


@pytest.mark.slow
async def test_a_run_whose_time_is_over_while_a_cancelled_call_ends_was_cancelled() -> None:
    flow = workflow('A@{op: Custom, prompt: "A"}', "PROBLEM --> A --> RETURN")

    for seconds in (0.5, 30.0):  # A machine that stood still before it was cancelled is given longer.

        async def answer(_: ModelRequest, seconds: float = seconds) -> str:
            try:
                return await asyncio.Future()
            finally:
                await asyncio.sleep(seconds + 0.5)

        endpoint, options = FakeEndpoint(answer), RunOptions(budget_seconds=seconds)
        run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=options)
        began = asyncio.get_running_loop().time()
        await endpoint.until_asked(1)
        run.cancel()
        was_in_time = asyncio.get_running_loop().time() < began + seconds
        result = await run.result()
        if was_in_time:
            break
    assert (result.status, result.error) == ("cancelled", None)


@pytest.mark.parametrize(("at", "before"), [("PROBLEM", {"PROBLEM"}), ("B", {"PROBLEM", "A", "B"})])
async def test_a_fault_in_merrow_loses_no_record_of_what_ended_before(at: str, before: set[str]) -> None:
    flow = workflow('A@{op: Custom, prompt: "A"}', 'B@{op: Custom, prompt: "B"}', "PROBLEM --> A --> B --> RETURN")
    store, tell = MemoryStore(), Frontier.tell

    def broken(self: Frontier, outcome: Outcome) -> list[Consequence]:
        if isinstance(outcome, Gave) and outcome.visit.node == at:
            raise RuntimeError("broken")
        return tell(self, outcome)

    with patch.object(Frontier, "tell", broken), patch.object(node_recorder, "_BATCH_DELAY", 3600.0):
        run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=FakeEndpoint(lambda _: "a"), store=store)
        # Where the run itself met the fault it is raised; where a node's task did, the run ends with it.
        with contextlib.suppress(RuntimeError):
            assert "RuntimeError" in str((await run.result()).error)
    assert store.run(run.id).status == "failed"
    assert {node.node for node in store.nodes(run.id) if node.status == "finished"} == before
