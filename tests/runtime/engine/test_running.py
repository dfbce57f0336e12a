"""Runs of whole workflows through the Python API: order, values, events, failures, cancellation."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import Priced
from tests.runtime.engine.fakes import FakeEndpoint, names_of, workflow

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, UsageFailure
from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.prices import Price
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.models.spending_limits import SpendingLimits
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow

AT_ONCE = RetryPolicy(first_wait=0.0, jitter=0.0)


async def finished(flow: Workflow, endpoint: FakeEndpoint, **options: object) -> RunResult:
    return await merrow_runtime.run(
        flow,
        {"problem": "what?"},
        endpoint=endpoint,
        store=MemoryStore(),
        options=RunOptions(retry=AT_ONCE, **options),  # type: ignore[arg-type]
    )


async def test_events_tell_all_of_a_run_to_every_reader() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    run = merrow_runtime.start(flow, {"PROBLEM": "x"}, endpoint=FakeEndpoint(), store=MemoryStore())
    first, second = await asyncio.gather(names_of(run), names_of(run))
    assert first == second
    assert first == [
        ("run_started", None),
        ("node_finished", "PROBLEM"),
        ("node_started", "A"),
        ("node_finished", "A"),
        ("node_finished", "RETURN"),
        ("run_finished", None),
    ]
    last = [event async for event in run.events()][-1].to_json()
    assert last["outputs"] == {"RETURN": "p <- x"}
    assert last["usage"]["calls"] == 1
    assert last["schema"] == 2


PLAIN = ('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
IN_TURNS = (
    'A@{op: Custom, prompt: "p"}', 'B@{op: Custom, prompt: "q"}', "PROBLEM --> A --> B --> RETURN",
    'subgraph TURNS["Loop (max: 2)"]', "A & B", "end", "B -->|again| A",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("lines", [PLAIN, IN_TURNS], ids=["a chain", "a Loop"])
async def test_a_run_that_is_over_leaves_nothing_to_the_collector(lines: tuple[str, ...]) -> None:
    """Its parts know each other; in an evaluation of thousands of runs the collector would be busy with them all the time."""
    flow, store = workflow(*lines), MemoryStore()
    left: list[int] = []
    for _ in range(2):  # the first one fills what is kept for later ones
        run = merrow_runtime.start(flow, {"PROBLEM": "x"}, endpoint=FakeEndpoint(), store=store)
        gc.collect()
        gc.disable()
        try:
            result = await run.result()
            assert result.status == "finished"
            with pytest.raises(UsageFailure, match="is over"):
                run.decide(1, apply=True)
            with pytest.raises(UsageFailure, match="is over"):
                await run.revise(flow)
            del run, result
            await asyncio.sleep(0)
            left.append(gc.collect())
        finally:
            gc.enable()
    assert left[-1] == 0


async def test_nothing_of_a_run_that_is_over_waits_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server goes on and closes the journal; nothing may look into it for the run then."""
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []
    call_later = loop.call_later

    def noted(*arguments: Any, **more: Any) -> asyncio.TimerHandle:
        timers.append(call_later(*arguments, **more))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    flow = workflow('A@{op: Custom, prompt: "first"}', "PROBLEM --> A --> RETURN")
    assert (await finished(flow, FakeEndpoint(), budget_seconds=600)).status == "finished"
    assert len(timers) >= 2
    assert [one for one in timers if not one.cancelled()] == []


async def test_a_node_starts_when_its_own_inputs_are_there_and_not_a_level_later() -> None:
    flow = workflow(
        'SLOW@{op: Custom, prompt: "slow"}', 'A@{op: Custom, prompt: "a"}', 'B@{op: Custom, prompt: "b"}',
        'END@{op: Custom, prompt: "end"}', "PROBLEM --> SLOW & A", "A --> B", "SLOW & B --> END --> RETURN",
    )  # fmt: skip
    released = asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[0].content == "slow":
            await released.wait()
        if request.messages[0].content == "b":
            released.set()
        return "x"

    assert (await asyncio.wait_for(finished(flow, FakeEndpoint(answer)), PATIENCE)).status == "finished"


@pytest.mark.parametrize(("word", "taken", "skipped"), [("math", "M", "C"), (" Code.", "C", "M"), ("verse", "C", "M")])
async def test_a_router_takes_one_branch_and_skips_the_other_at_once(word: str, taken: str, skipped: str) -> None:
    flow = workflow(
        'R@{op: Custom, prompt: "route", returns: Route}', "D{which?}:::DecisionOp", 'M@{op: Custom, prompt: "math"}',
        'C@{op: Custom, prompt: "code"}', "PROBLEM --> R --> D", "D -- math --> M", "D -- code --> C", "D -- other --> C",
        "PROBLEM --> M & C", "M & C --> OUT", 'OUT@{op: Custom, prompt: "out"}', "OUT --> RETURN",
        front="{types: {Route: [math, code, other]}}",
    )  # fmt: skip
    said = "other" if word == "verse" else word
    result = await finished(flow, FakeEndpoint(lambda r: f'{{"response": "{said}"}}' if r.schema else "done"))
    assert result.status == "finished", result.error
    assert result.nodes[taken].status == "finished"
    assert result.nodes[skipped].status == "skipped"
    assert "D chose" in (result.nodes[skipped].error or "")


async def test_a_value_that_no_case_takes_fails_naming_both() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "p", returns: Score}', "D@{op: Decision, if: \"len(score) > wrong\"}", "PROBLEM --> A",
        "A -->|score| D", "PROBLEM -->|wrong| D", "D -- yes --> B", "D -- no --> B", 'B@{op: Custom, prompt: "b"}',
        "PROBLEM --> B --> RETURN", front="{types: {Score: Text}}",
    )  # fmt: skip
    result = await finished(flow, FakeEndpoint())
    assert result.status == "failed"
    assert result.error is not None
    assert "Decision D" in result.error
    assert "len(score) > wrong" in result.error
    assert result.outputs == {}


async def test_what_becomes_ready_together_with_a_failure_is_not_begun() -> None:
    flow = workflow(
        'E@{op: Custom, prompt: "e"}', 'B@{op: Custom, prompt: "b"}', "D@{op: Decision, if: \"len(score) > wrong\"}",
        "PROBLEM --> E", "PROBLEM -->|score| D", "PROBLEM -->|wrong| D", "D -- yes --> B", "D -- no --> B",
        "PROBLEM --> B", "E --> B --> RETURN",
    )  # fmt: skip
    endpoint = FakeEndpoint()
    result = await finished(flow, endpoint)
    assert result.status == "failed"
    assert endpoint.seen == []
    assert set(result.nodes) == {"PROBLEM", "D"}


async def test_a_decisions_expression_reads_its_named_inputs() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "p", returns: Number}', 'D@{op: Decision, if: "score > 3"}', "PROBLEM --> A",
        "A -->|score| D", "D -- yes --> B", "D -- no --> C", 'B@{op: Custom, prompt: "high"}',
        'C@{op: Custom, prompt: "low"}', "PROBLEM --> B & C", "B --> RETURN", "C --> RETURN",
    )  # fmt: skip
    for score, expected in (("4", "high"), ("3", "low")):
        endpoint = FakeEndpoint(
            lambda r, score=score: f'{{"response": {score}}}' if r.schema else r.messages[0].content
        )
        result = await finished(flow, endpoint)
        assert result.outputs == {"RETURN": expected}, result.error


THREE = (
    'BAD@{op: Custom, prompt: "bad"%s}', 'GOOD@{op: Custom, prompt: "good"}', 'AFTER@{op: Custom, prompt: "after"}',
    'NEXT@{op: Custom, prompt: "next"}', "PROBLEM --> BAD & GOOD", "BAD --> AFTER", "GOOD --> NEXT",
    "AFTER & NEXT --> END", 'END@{op: Custom, prompt: "end"}', "END --> RETURN",
)  # fmt: skip


def failing(request: ModelRequest) -> str | Exception:
    prompt = request.messages[0].content.split("\n")[0]
    return EndpointFailure("The model is out of order.") if prompt == "bad" else f"{prompt}!"


async def test_on_error_fail_starts_nothing_new_and_keeps_what_is_in_flight() -> None:
    flow = workflow(THREE[0] % "", *THREE[1:])
    released = asyncio.Event()

    async def answer(request: ModelRequest) -> str | Exception:
        if request.messages[0].content != "bad":
            await released.wait()
        return EndpointFailure("The model is out of order.") if request.messages[0].content == "bad" else "kept"

    slow = FakeEndpoint(answer)
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=slow, store=MemoryStore())
    async for event in run.events():
        if event.event == "node_failed":
            released.set()
    result = await run.result()
    assert result.status == "failed"
    assert "out of order" in (result.error or "")
    assert result.nodes["GOOD"].outputs == {"response": "kept"}
    assert set(result.nodes) == {"PROBLEM", "GOOD", "BAD"}
    assert len(slow.seen) == 2


async def test_on_error_skip_goes_on_without_the_node() -> None:
    result = await finished(workflow(THREE[0] % ", on_error: skip", *THREE[1:]), FakeEndpoint(failing))
    assert result.status == "finished"
    assert result.nodes["BAD"].status == "failed"
    assert result.nodes["AFTER"].status == "skipped"
    assert result.nodes["AFTER"].error == "BAD failed"
    assert result.outputs == {"RETURN": "end!"}


async def test_on_error_default_goes_on_with_the_default() -> None:
    flow = workflow(THREE[0] % ', on_error: default, default: "spare"', *THREE[1:])
    endpoint = FakeEndpoint(failing)
    result = await finished(flow, endpoint)
    assert result.status == "finished"
    after = next(request for request in endpoint.seen if request.messages[0].content == "after")
    assert after.messages[-1].content == "spare"
    assert result.nodes["BAD"].error == "The model is out of order."


async def test_an_output_that_stays_empty_since_a_node_was_skipped_fails_the_run() -> None:
    flow = workflow('A@{op: Custom, prompt: "bad", on_error: skip}', "PROBLEM --> A --> RETURN")
    result = await finished(flow, FakeEndpoint(failing))
    assert result.status == "failed"
    assert result.error == "Output RETURN stays empty, since A failed."


async def test_a_default_without_a_value_is_refused_before_the_run() -> None:
    with pytest.raises(UsageFailure, match=r"needs a `default:`.*MW320"):
        workflow('A@{op: Custom, prompt: "p", on_error: default}', "PROBLEM --> A --> RETURN")


IF = 'D@{{op: Decision, if: "len(n) > 3", {}}}'
ASK = 'D@{{op: Decision, ask: "which?", {}}}'


def choosing(decision: str, default: str, *labels: str, front: str = "") -> Workflow:
    """A Decision that fails; each of its cases leads to a node that answers with its label."""
    lines = [decision.format(default), "PROBLEM --> D"]
    if decision == IF:
        lines[1:] = ["N([n]):::Interface", "N@{type: Number, default: 1}", "N -->|n| D"]
    for number, label in enumerate(labels):
        lines += [
            f'A{number}@{{op: Custom, prompt: "{label}", on_error: fail}}',
            f"D -- {label} --> A{number} --> RETURN",
        ]
        lines += [f"PROBLEM --> A{number}"] if decision == IF else []
    return workflow(*lines, front=front)


@pytest.mark.parametrize(
    ("decision", "default", "labels", "taken"),
    [
        (IF, "yes", ("yes", "no"), "yes"),
        (IF, "no", ("yes", "no"), "no"),
        (IF, "false", ("yes", "no"), "no"),
        (IF, "true", ("no", "yes"), "yes"),
        (IF, "No", ("true", "false"), "false"),
        (ASK, "RIGHT", ("left", "right"), "right"),
        (ASK, "left", ("left", "else"), "left"),
        (ASK, "2", ("1", "2"), "2"),
    ],
)
async def test_a_decision_that_fails_takes_the_case_of_its_default(
    decision: str, default: str, labels: tuple[str, ...], taken: str
) -> None:
    flow = choosing(decision, f"on_error: default, default: {default}", *labels)

    def answer(request: ModelRequest) -> str | Exception:
        asked = request.messages[0].content
        return EndpointFailure("no luck") if asked.startswith("which?") else asked

    result = await finished(flow, FakeEndpoint(answer))
    assert (result.status, result.outputs) == ("finished", {"RETURN": taken}), result.error


@pytest.mark.parametrize("said", ["on_error: default", "on_error: default, default: maybe", "default: maybe"])
@pytest.mark.parametrize("decision", [IF, ASK])
async def test_a_decision_whose_default_is_none_of_its_cases_is_refused_before_the_run(
    decision: str, said: str
) -> None:
    front = "" if "on_error" in said else "{on_error: default}"
    with pytest.raises(UsageFailure, match=r"one of its cases, `yes` or `no`.*MW3(05|20)"):
        choosing(decision, said, "yes", "no", front=front)


async def test_cancelling_stops_calls_and_keeps_their_estimated_usage() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', 'B@{op: Custom, prompt: "q"}', "PROBLEM --> A & B --> M",
                    'M@{op: Custom, prompt: "m"}', "M --> RETURN")  # fmt: skip
    endpoint, store = FakeEndpoint(), MemoryStore()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    await endpoint.until_asked(2)
    run.cancel()
    result = await run.result()
    assert result.status == "cancelled"
    assert result.usage.estimated
    assert result.usage.calls == 2
    assert result.usage.prompt_tokens > 0
    assert endpoint.finished == 0
    assert endpoint.in_flight == 0
    assert store.run(run.id).status == "cancelled"
    assert (await names_of(run))[-1] == ("run_cancelled", None)


async def test_a_run_cancelled_before_it_took_a_step_ends_as_any_other() -> None:
    store = MemoryStore()
    endpoint = FakeEndpoint()
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    run.cancel()
    result = await asyncio.wait_for(run.result(), PATIENCE)
    assert result.status == "cancelled"
    assert (await names_of(run))[-1] == ("run_cancelled", None)
    assert store.run(run.id).status == "cancelled"
    resumed = await merrow_runtime.resume(run.id, endpoint=endpoint, store=store).result()
    assert resumed.status == "finished"
    run.cancel()
    assert (await run.result()).status == "cancelled"


async def test_nothing_follows_an_answer_that_comes_as_the_run_is_cancelled() -> None:
    """An endpoint may finish its answer although it is cancelled."""

    class Stubborn(FakeEndpoint):
        async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
            try:
                return await super().complete(request, on_text)
            except asyncio.CancelledError:
                if len(self.seen) > 1:
                    raise
                return ModelReply("late")

    nodes = [f'N{n}@{{op: Custom, prompt: "{n}"}}' for n in range(5)]
    flow = workflow(*nodes, "PROBLEM --> " + " --> ".join(f"N{n}" for n in range(5)) + " --> RETURN")
    endpoint = Stubborn()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    await endpoint.until_asked(1)
    run.cancel()
    result = await asyncio.wait_for(run.result(), PATIENCE)
    assert result.status == "cancelled"
    assert len(endpoint.seen) == 1
    assert [node for event, node in await names_of(run) if event == "node_started" and node != "N0"] == []


async def test_cancelling_the_task_that_runs_cancels_the_run() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    endpoint, store = FakeEndpoint(), MemoryStore()
    endpoint.gate = asyncio.Event()
    task = asyncio.create_task(merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store))
    await endpoint.until_asked(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record.status for record in store.runs()] == ["cancelled"]


async def test_another_process_can_ask_for_the_end() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    endpoint, store = FakeEndpoint(), MemoryStore()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    await endpoint.until_asked(1)
    assert store.request_cancel(run.id)
    assert (await asyncio.wait_for(run.result(), PATIENCE)).status == "cancelled"


async def test_a_fatal_failure_stops_all_calls_to_the_endpoint_at_once() -> None:
    nodes = [f'N{n}@{{op: Custom, prompt: "p{n}"}}' for n in range(5)]
    flow = workflow(*nodes, 'BAD@{op: Custom, prompt: "bad"}', "PROBLEM --> N0 & N1 & N2 & N3 & N4 & BAD --> M",
                    'M@{op: Custom, prompt: "m"}', "M --> RETURN")  # fmt: skip

    async def answer(request: ModelRequest) -> Exception:
        if request.messages[0].content != "bad":
            await asyncio.Event().wait()
        return EndpointFailure("The key is not accepted.", fatal=True)

    endpoint = FakeEndpoint(answer)
    result = await asyncio.wait_for(finished(flow, endpoint), PATIENCE)
    assert result.status == "failed"
    assert result.error == "Node BAD: The key is not accepted."
    assert len(endpoint.seen) == 6
    assert result.usage.estimated


async def test_a_fatal_failure_of_one_model_leaves_the_others_alone() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "a", model: gone, on_error: default, default: "spare"}', 'B@{op: Custom, prompt: "b"}',
        "PROBLEM --> A & B --> M", 'M@{op: Custom, prompt: "m"}', "M --> RETURN",
    )  # fmt: skip
    endpoint = FakeEndpoint(
        lambda r: EndpointFailure("No such model.", fatal=True, model="gone") if r.model == "gone" else "ok"
    )
    result = await finished(flow, endpoint)
    assert result.status == "finished"


async def test_failed_calls_are_tried_again_as_often_as_the_node_says() -> None:
    flow = workflow('A@{op: Custom, prompt: "p", retries: 2}', "PROBLEM --> A --> RETURN")
    answers: list[str | Exception] = [EndpointFailure("busy", transient=True) for _ in range(2)]
    answers.append("good")
    result = await finished(flow, FakeEndpoint(lambda _: answers.pop(0)))
    assert result.outputs == {"RETURN": "good"}
    answers = [EndpointFailure("busy", transient=True) for _ in range(9)]
    result = await finished(flow, FakeEndpoint(lambda _: answers.pop(0)))
    assert result.status == "failed"
    assert len(answers) == 6


async def test_a_call_that_takes_longer_than_its_timeout_is_given_up() -> None:
    flow = workflow('A@{op: Custom, prompt: "p", timeout: 0.01, retries: 1}', "PROBLEM --> A --> RETURN")
    endpoint = FakeEndpoint()
    endpoint.gate = asyncio.Event()
    result = await asyncio.wait_for(finished(flow, endpoint), PATIENCE)
    assert result.status == "failed"
    assert "within 0.01 seconds" in (result.error or "")
    assert len(endpoint.seen) == 2
    assert result.usage.estimated


async def test_an_endpoint_of_a_programs_own_that_times_out_is_tried_again() -> None:
    answers: list[str | Exception] = [TimeoutError(), "fine"]
    endpoint = FakeEndpoint(lambda _: answers.pop(0))
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    options = RunOptions(no_store=True, retry=RetryPolicy(first_wait=0, jitter=0))
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, options=options)
    assert result.outputs == {"RETURN": "fine"}, result.error


async def test_an_unusable_answer_is_asked_for_anew_with_the_remedy_and_counted() -> None:
    flow = workflow('A@{op: Custom, prompt: "p", returns: Number}', "PROBLEM --> A --> RETURN")
    answers = ["no idea", '{"response": 7}']
    endpoint, store = FakeEndpoint(lambda _: answers.pop(0)), MemoryStore()
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    result = await run.result()
    assert result.outputs == {"RETURN": 7}
    assert [message.role for message in endpoint.seen[1].messages[-2:]] == ["assistant", "user"]
    assert [(call.key.attempt, call.usable) for call in store.calls(run.id)] == [(0, False), (1, True)]
    assert ("node_retrying", "A") in await names_of(run)


async def test_an_unusable_answer_that_comes_again_fails_the_node_and_is_not_asked_for_a_third_time() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    endpoint = FakeEndpoint(lambda _: ModelReply("half of it", finish="length", usage=Usage(1, 1, 1, 0.5)))
    result = await finished(flow, endpoint)
    assert result.status == "failed"
    assert "Node A" in (result.error or "")
    assert "max_tokens" in (result.error or "")
    assert len(endpoint.seen) == 2
    assert result.usage.cost_usd == 1.0


async def test_answers_that_are_never_usable_fail_the_node_after_three_attempts() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    parts = iter(("a", "b", "c"))
    endpoint = FakeEndpoint(lambda _: ModelReply(next(parts), finish="length", usage=Usage(1, 1, 1, 0.5)))
    result = await finished(flow, endpoint)
    assert result.status == "failed"
    assert (len(endpoint.seen), result.usage.cost_usd) == (3, 1.5)


async def test_calls_to_an_endpoint_are_bounded() -> None:
    nodes = [f'N{n}@{{op: Custom, prompt: "p{n}"}}' for n in range(20)]
    sources = " & ".join(f"N{n}" for n in range(20))
    flow = workflow(*nodes, f"PROBLEM --> {sources} --> M", 'M@{op: Custom, prompt: "m"}', "M --> RETURN")
    endpoint = FakeEndpoint()
    endpoint.gate = asyncio.Event()
    done = asyncio.ensure_future(finished(flow, endpoint, concurrency=3))
    await endpoint.until_asked(3)
    endpoint.gate.set()
    await done
    assert endpoint.most_flying == 3


async def test_streamed_text_is_told_where_it_is_asked_for() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    for stream in (True, False):
        options = RunOptions(stream=stream)
        run = merrow_runtime.start(
            flow, {"problem": "x"}, endpoint=FakeEndpoint(), store=MemoryStore(), options=options
        )
        told = [event.data["text"] async for event in run.events() if event.event == "node_output"]
        assert told == (["p <- x"] if stream else [])


async def test_a_fault_in_an_endpoint_of_a_programs_own_ends_the_run_in_a_sentence() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    result = await finished(flow, FakeEndpoint(lambda _: RuntimeError("boom")))
    assert result.status == "failed"
    assert result.error == "Node A: internal error, RuntimeError: boom"


def test_a_workflow_with_errors_is_refused_saying_which() -> None:
    with pytest.raises(UsageFailure, match=r"test.mmd has .*on line .*MW"):
        workflow("A[Custom]:::CustomOp", "PROBLEM --> A")
    with pytest.raises(UsageFailure, match="not a workflow"):
        merrow_runtime.check_workflow("---\nworkflow: false\n---\nflowchart TD\n    A --> B\n", name="x.mmd")


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "The input PROBLEM has no value; give it one with: --input problem=..."),
        ({"problm": "x"}, "The workflow has no input problm. Did you mean PROBLEM?"),
        ({"problem": "x", "PROBLEM": "y"}, "The input PROBLEM is given twice."),
    ],
)
def test_inputs_are_checked_before_the_run(inputs: dict[str, str], sentence: str) -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    with pytest.raises(UsageFailure) as failure:
        merrow_runtime.start(flow, inputs, endpoint=FakeEndpoint(), store=MemoryStore())
    assert str(failure.value) == sentence


async def test_inputs_have_types_and_defaults() -> None:
    flow = workflow(
        "N([n]):::Interface", "N@{type: Number, default: 3}", 'D@{op: Decision, if: "n > 2"}', "N -->|n| D",
        "PROBLEM -->|value| D", "D -- yes --> RETURN", "D -- no --> A", 'A@{op: Custom, prompt: "low"}',
        "A --> RETURN", front="{inputs: [PROBLEM, N]}",
    )  # fmt: skip
    endpoint = FakeEndpoint()
    for given, expected in (({}, "x"), ({"n": "2"}, "low <- x"), ({"n": 2.5}, "x")):
        result = await merrow_runtime.run(flow, {"problem": "x", **given}, endpoint=endpoint, store=MemoryStore())
        assert result.outputs == {"RETURN": expected}, result.error
    with pytest.raises(UsageFailure, match="must be of type Number"):
        await merrow_runtime.run(flow, {"problem": "x", "n": "many"}, endpoint=endpoint, store=MemoryStore())


async def test_limits_that_a_caller_has_read_hold_in_place_of_those_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text("[limits]\nmonth_usd = 0\n")
    flow, store = workflow(*PLAIN), MemoryStore()
    with pytest.raises(BudgetFailure, match="0 US dollars a month"):
        merrow_runtime.start(flow, {"PROBLEM": "x"}, endpoint=FakeEndpoint(), store=store)
    own = merrow_runtime.start(
        flow, {"PROBLEM": "x"}, endpoint=FakeEndpoint(), store=store, limits=SpendingLimits(month_usd=1.0)
    )
    assert (await own.result()).status == "finished"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"reuse": "all"}, "`reuse` must be `same` or `any`."),
        ({"concurrency": 0}, "The concurrency must be 1 or more."),
        ({"from_node": "A"}, "To run from A on, name the run that the other results come from."),
        ({"set_values": {"A.input": "x"}}, "Values for ports can only be set where a single node is run."),
        (
            {"only": "A", "set_outputs": {"B": "x"}},
            "Node A runs alone, so no output of a node can be set; set what arrives at it.",
        ),
        (
            {"only": "A", "from_node": "B", "from_run": "r"},
            "Either a single node is run or all from one on, not both.",
        ),
        ({"refine": {"max": -1}}, "`refine.max` must be a whole number of at least 0."),
        ({"mask": 1.01}, "The rate of masking must be from 0 to 1."),
        ({"mask": -0.01}, "The rate of masking must be from 0 to 1."),
        ({"mask_only": ("A",)}, "To say what is masked, say how often: --mask 0.2."),
        ({"mask_every": True}, "To say what is masked, say how often: --mask 0.2."),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageFailure) as refused:
        RunOptions(**options)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "options",
    [
        {"reuse": "any", "concurrency": 1, "mask": 0.0, "mask_only": ("A",), "mask_every": True},
        {"mask": 1, "from_node": "A", "from_run": "r", "set_outputs": {"B": "x"}},
        {"only": "A", "set_values": {"A.input": "x"}, "refine": {"max": 0}, "reuse": "same"},
    ],
)
def test_options_that_go_together_are_kept_for_a_resume(options: dict[str, Any]) -> None:
    said = RunOptions(**options)
    assert RunOptions.from_json({**said.to_json(), "of another version": 1}) == said


@pytest.mark.parametrize("price", [None, Price(1e6, 2e6)], ids=["no price", "a price"])
@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (Usage(4, 6), Usage(4, 6, 1, 16.0)),
        (Usage(4, 6, 0, None, estimated=True), Usage(4, 6, 1, 16.0, estimated=True)),
        (Usage(4, 6, 1, 7.0), Usage(4, 6, 1, 7.0)),
        (Usage(4, 6, 2, None), Usage(4, 6, 2, None)),
        (Usage(0, 6), Usage(0, 6, 1, 12.0)),
        (Usage(), None),
    ],
    ids=str,
)
async def test_what_an_endpoint_of_a_programs_own_does_not_count_is_counted_for_it(
    said: Usage, counted: Usage | None, price: Price | None
) -> None:
    """Tokens that it says are taken as they are; where it says none, they are estimated."""
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    usage = (await finished(flow, Priced(lambda _: ModelReply("fine", usage=said), price))).usage
    if counted is None:
        assert (usage.calls, usage.estimated, usage.tokens > 0) == (1, True, True)
        assert (usage.cost_usd is None) is (price is None)
    else:
        unpriced = price is None and said.calls == 0
        assert usage == (replace(counted, cost_usd=None) if unpriced else counted)
