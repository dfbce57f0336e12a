"""Calls side by side: what fails beside them costs none of their results, and nobody pays for the same answer twice."""

from __future__ import annotations

import asyncio

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow
from tests.runtime.openai_server import OpenAIServer, Reply

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore


class FirstFails(FakeEndpoint):
    """Its first answer to a question of ``kind`` is a failure; the others wait for ``gate``."""

    def __init__(self, *, votes: bool) -> None:
        super().__init__()
        self.asked_so_far = 0
        self.votes = votes
        self.others = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        if self.votes and request.schema is None:
            return ModelReply(request.messages[0].content)
        self.asked_so_far += 1
        number = self.asked_so_far
        self.seen.append(request)
        async with self.asked:
            self.asked.notify_all()
        if number == 1:
            raise EndpointFailure("It is too long.")
        await self.others.wait()
        return ModelReply(answered(request, f"answer {number}"))


async def test_of_samples_that_fail_the_others_are_finished_and_kept() -> None:
    flow = workflow(
        'A@{ op: Custom, prompt: "x", samples: 3, temperature: 0.5 }',
        "E@{ op: ScEnsemble }",
        "PROBLEM --> A",
        "A --> E",
        "E --> RETURN",
    )
    store, endpoint = MemoryStore(), FirstFails(votes=False)
    run = merrow_runtime.start(flow, {"problem": "p"}, endpoint=endpoint, store=store)
    await endpoint.until_asked(3)
    endpoint.others.set()
    result = await run.result()
    assert result.error == "Node A: It is too long."
    assert sorted(call.key.sample for call in store.calls(run.id)) == [1, 2]
    assert store.lost(run.id) == []
    again = FakeEndpoint(lambda request: answered(request, "now"))
    resumed = await merrow_runtime.resume(run.id, endpoint=again, store=store).result()
    assert resumed.status == "finished"
    assert len([request for request in again.seen if request.schema is None]) == 1


async def test_votes_beside_one_that_fails_are_finished_and_kept() -> None:
    flow = workflow(
        'A@{ op: Custom, prompt: "one" }',
        'B@{ op: Custom, prompt: "two" }',
        "E@{ op: MdEnsemble }",
        "PROBLEM --> A",
        "PROBLEM --> B",
        "A --> E",
        "B --> E",
        "E --> RETURN",
    )
    store, endpoint = MemoryStore(), FirstFails(votes=True)
    run = merrow_runtime.start(flow, {"problem": "p"}, endpoint=endpoint, store=store)
    await endpoint.until_asked(5)
    endpoint.others.set()
    assert (await run.result()).status == "failed"
    assert len(store.calls(run.id, "E")) == 4
    assert store.lost(run.id) == []


async def test_who_waits_longer_does_not_share_the_failure_of_who_does_not() -> None:
    flow = workflow(
        'A@{ op: Custom, prompt: "same", timeout: 0.05, retries: 0, on_error: skip }',
        'B@{ op: Custom, prompt: "same", timeout: 60 }',
        'C@{ op: Custom, prompt: "join" }',
        "PROBLEM --> A",
        "PROBLEM --> B",
        "A --> C",
        "B --> C",
        "C --> RETURN",
    )

    async def slow_for_the_hasty(request: ModelRequest) -> str:
        if request.timeout is not None and request.timeout < 1:
            await asyncio.Event().wait()
        return "late"

    endpoint = FakeEndpoint(slow_for_the_hasty)
    result = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=endpoint, options=RunOptions(no_store=True))
    assert result.outputs == {"RETURN": "late"}


async def test_as_patient_ones_share_a_failure() -> None:
    flow = workflow(
        *(f'N{number}@{{ op: Custom, prompt: "same", on_error: skip }}' for number in range(4)),
        'J@{ op: Custom, prompt: "join", on_error: default, default: "none" }',
        *(f"PROBLEM --> N{number}" for number in range(4)),
        *(f"N{number} --> J" for number in range(4)),
        "PROBLEM --> J",
        "J --> RETURN",
    )

    def fails(request: ModelRequest) -> str | Exception:
        join = request.messages[0].content.startswith("join")
        return "joined" if join else EndpointFailure("Busy.", transient=True)

    endpoint = FakeEndpoint(fails)
    options = RunOptions(no_store=True, retry=RetryPolicy(retries=1, first_wait=0, jitter=0))
    result = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=endpoint, options=options)
    assert result.outputs == {"RETURN": "joined"}
    assert len(endpoint.seen) == 3


async def test_the_time_of_a_cached_answer_is_not_that_of_its_call() -> None:
    flow = workflow('A@{ op: Custom, prompt: "x" }', "PROBLEM --> A", "A --> RETURN")
    store = MemoryStore()
    slow = FakeEndpoint(lambda _: ModelReply("x", seconds=1000.0))
    first = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=slow, store=store)
    second = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=slow, store=store)
    assert [call.seconds > 999 for call in store.calls(first.run)] == [True]
    assert [(call.origin, call.seconds < 999) for call in store.calls(second.run)] == [("cache", True)]


async def test_a_node_with_a_summary_is_taken_over_without_summing_up_again() -> None:
    flow = workflow(
        'A@{ op: Custom, prompt: "x" }',
        'B@{ op: Custom, prompt: "y" }',
        'C@{ op: Custom, prompt: "z", memory: summary, temperature: 0.7 }',
        'D@{ op: Custom, prompt: "q" }',
        "PROBLEM --> A",
        "A --> B",
        "B --> C",
        "C --> D",
        "D --> RETURN",
    )
    store = MemoryStore()
    endpoint = FakeEndpoint(lambda _: f"answer {len(endpoint.seen)}")
    first = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=endpoint, store=store)
    assert len(endpoint.seen) == 5
    options = RunOptions(from_run=first.run, from_node="D", fresh=True)
    second = await merrow_runtime.run(flow, endpoint=endpoint, store=store, options=options)
    assert second.nodes["C"].status == "reused"
    assert second.nodes["C"].memory == first.nodes["C"].memory
    assert len(endpoint.seen) == 6


@pytest.mark.slow
async def test_runs_of_one_process_share_what_bounds_an_endpoint_and_equal_requests() -> None:
    flow = workflow(
        *(f'N{number}@{{ op: Custom, prompt: "n{number}" }}' for number in range(6)),
        'J@{ op: Custom, prompt: "join" }',
        *(f"PROBLEM --> N{number} --> J" for number in range(6)),
        "J --> RETURN",
    )
    async with OpenAIServer(lambda _: Reply("fine", delay=0.05)) as server:
        options = RunOptions(base_url=server.base_url, concurrency=2, no_store=True)
        results = await asyncio.gather(
            *(merrow_runtime.run(flow, {"problem": f"p{number}"}, options=options) for number in range(3))
        )
        assert {result.status for result in results} == {"finished"}
        assert server.most_at_once == 2
    async with OpenAIServer(lambda _: Reply("fine", delay=0.2)) as server:
        options = RunOptions(base_url=server.base_url, no_store=True)
        same = await asyncio.gather(*(merrow_runtime.run(flow, {"problem": "p"}, options=options) for _ in range(3)))
        assert {result.status for result in same} == {"finished"}
        assert len(server.requests) == 7
        assert sum(result.usage.calls for result in same) == 7


@pytest.mark.parametrize(
    ("on_error", "failing", "given"),
    [
        ("on_error: skip", 1, ["fine", "fine"]),
        ("on_error: skip", 2, ["fine"]),
        ("on_error: skip", 3, None),
        ("on_error: default, default: none", 1, ["fine", "fine", "none"]),
        ("on_error: default, default: none", 3, ["none", "none", "none"]),
        ("on_error: fail", 1, None),
    ],
)
async def test_samples_that_fail_are_left_out_or_replaced_and_all_of_them_are_the_nodes_failure(
    on_error: str, failing: int, given: list[str] | None
) -> None:
    left = [failing]

    def answer(request: ModelRequest) -> str | Exception:
        if request.messages[0].content == "x" and left[0] > 0:
            left[0] -= 1
            return EndpointFailure("It is too long.")
        return "fine"

    flow = workflow(
        f'A@{{ op: Custom, prompt: "x", samples: 3, temperature: 0.5, {on_error} }}',
        'B@{ op: Custom, prompt: "y" }',
        "PROBLEM --> A --> B --> RETURN",
    )
    result = await merrow_runtime.run(flow, {"problem": "p"}, endpoint=FakeEndpoint(answer), store=MemoryStore())
    outputs = result.nodes["A"].outputs
    assert (None if outputs is None else sorted(outputs["response"])) == given
    assert (result.status == "finished") is (given is not None)
