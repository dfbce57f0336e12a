"""Calls: nothing asked twice, samples, cache, budgets, recordings, and what the journal keeps of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import count, permutations
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.models.making import endpoint_at
from tests.runtime.openai_server import OpenAIServer, Reply

import merrow_runtime
from merrow_runtime import RunOptions, UsageFailure
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.prices import Price
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage

VOTERS = (
    'A@{op: Custom, prompt: "same"%s}', 'B@{op: Custom, prompt: "same"%s}', "PROBLEM --> A & B --> M",
    'M@{op: Custom, prompt: "merge"}', "M --> RETURN",
)  # fmt: skip


def voters(more: str = "") -> merrow_runtime.Workflow:
    return workflow(VOTERS[0] % more, VOTERS[1] % more, *VOTERS[2:])


class Priced(FakeEndpoint):
    """An endpoint where every token costs a dollar, and each call has 10 of them."""

    def price(self, model: str) -> Price | None:
        return Price(1e6, 1e6) if model != "unpriced" else None


def ten_tokens(request: ModelRequest) -> ModelReply:
    return ModelReply("ok", usage=Usage(4, 6, 1, 10.0))


async def test_the_same_request_in_flight_at_temperature_0_is_one_call() -> None:
    endpoint, store = FakeEndpoint(lambda _: ModelReply("ok", usage=Usage(1, 1, 1, 0.0))), MemoryStore()
    endpoint.gate = asyncio.Event()
    run = merrow_runtime.start(voters(), {"problem": "x"}, endpoint=endpoint, store=store)
    await endpoint.until_asked(1)
    endpoint.gate.set()
    result = await run.result()
    assert result.status == "finished"
    assert len(endpoint.seen) == 2
    assert Counter(call.origin for call in store.calls(run.id)) == {"endpoint": 2, "shared": 1}
    assert result.usage.calls == 2


async def test_equal_voters_above_temperature_0_each_have_their_own_answer() -> None:
    answers = iter(["one", "two", "merged"])
    endpoint, store = FakeEndpoint(lambda _: next(answers)), MemoryStore()
    flow = voters(", temperature: 0.7")
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    assert result.status == "finished"
    assert {result.nodes[node].outputs["response"] for node in "AB"} == {"one", "two"}  # type: ignore[index]
    # The same again comes from the cache, voter by voter; another repetition asks again.
    again = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    assert {node: again.nodes[node].outputs for node in "AB"} == {node: result.nodes[node].outputs for node in "AB"}
    assert again.usage.calls == 0
    answers = iter(["three", "four", "merged"])
    other = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(repeat=1)
    )
    assert other.usage.calls == 3


async def test_a_follower_takes_over_when_the_call_it_waits_for_is_cancelled() -> None:
    endpoint = FakeEndpoint(lambda _: "ok")
    endpoint.gate = asyncio.Event()
    flow = workflow('A@{op: Custom, prompt: "same"}', "PROBLEM --> A --> RETURN")
    first = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    await endpoint.until_asked(1)
    second = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    async for event in second.events():
        if event.event == "node_started":
            break
    first.cancel()
    assert (await first.result()).status == "cancelled"
    endpoint.gate.set()
    result = await asyncio.wait_for(second.result(), PATIENCE)
    assert result.outputs == {"RETURN": "ok"}
    assert len(endpoint.seen) == 2


async def test_a_node_has_used_what_all_its_calls_have_used_in_whichever_process() -> None:
    flow = workflow(
        'S@{op: Custom, prompt: "think", samples: 3, temperature: 1}', 'A@{op: Custom, prompt: "all"}',
        "PROBLEM --> S --> A --> RETURN",
    )  # fmt: skip
    store = MemoryStore()
    said: list[ModelReply | Exception] = [ModelReply(str(n), usage=Usage(n, 10 * n, 1, n / 8)) for n in (1, 2, 4)]
    whole, failing = iter([*said, said[0]]), iter([said[0], said[1], EndpointFailure("no")])
    options = RunOptions(concurrency=1, fresh=True)
    first = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(lambda _: next(whole)), store=store, options=options
    )
    assert first.nodes["S"].usage == Usage(7, 70, 3, 7 / 8)
    assert first.usage == Usage(8, 80, 4, 1.0)
    failed = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(lambda _: next(failing)), store=store, options=options
    )
    assert (failed.status, failed.nodes["S"].usage) == ("failed", Usage(3, 30, 2, 3 / 8))
    rest = iter([said[2], said[0]])
    result = await merrow_runtime.resume(failed.run, endpoint=FakeEndpoint(lambda _: next(rest)), store=store).result()
    assert result.nodes["S"].usage == Usage(7, 70, 3, 7 / 8)
    assert store.run(failed.run).usage == result.usage == Usage(8, 80, 4, 1.0)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("votes", [False, True])
async def test_of_several_failures_the_first_question_has_the_say_whichever_fails_first(
    order: tuple[int, ...], votes: bool
) -> None:
    """After a resume another one may fail first, and what comes of the node must not depend on that."""
    flow = workflow(
        'S@{op: Custom, prompt: "think", samples: 3, temperature: 1}', 'V["MdEnsemble"]:::MdEnsembleOp',
        "PROBLEM --> S --> V --> RETURN",
    )  # fmt: skip
    numbers = {True: count(), False: count()}

    async def answer(request: ModelRequest) -> str | Exception:
        is_vote = request.schema is not None
        number = next(numbers[is_vote])
        if is_vote is not votes or number >= 3:
            return '{"thought": "", "choice": "A"}' if is_vote else f"answer {number}"
        for _ in range(20 * order[number]):
            await asyncio.sleep(0)
        return EndpointFailure(f"no {number}")

    options = RunOptions(retry=RetryPolicy(retries=0))
    result = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(answer), store=MemoryStore(), options=options
    )
    assert (result.status, result.error) == ("failed", f"Node {'V' if votes else 'S'}: no 0")


async def test_answers_are_cached_by_origin_and_only_usable_ones() -> None:
    store = MemoryStore()
    flow = workflow('A@{op: Custom, prompt: "p", returns: Number}', "PROBLEM --> A --> RETURN")
    answers = ["nothing", '{"response": 1}']
    first = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(lambda _: answers.pop(0)), store=store
    )
    assert first.usage.calls == 2
    endpoint = FakeEndpoint(lambda _: '{"response": 2}')
    second = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    # The unusable answer was not kept, so the first attempt is asked; what it gives is another answer.
    assert second.outputs == {"RETURN": 2}
    third = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    assert (third.outputs, third.usage.calls) == ({"RETURN": 2}, 0)
    fresh = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(fresh=True)
    )
    assert fresh.usage.calls == 1
    elsewhere = FakeEndpoint(lambda _: '{"response": 3}', origin="http://other.test")
    assert (await merrow_runtime.run(flow, {"problem": "x"}, endpoint=elsewhere, store=store)).outputs == {"RETURN": 3}


async def test_nothing_starts_once_a_budget_is_used_up() -> None:
    chain = [f'N{n}@{{op: Custom, prompt: "p{n}"}}' for n in range(5)]
    edges = "PROBLEM --> " + " --> ".join(f"N{n}" for n in range(5)) + " --> RETURN"
    for front in ("{budget: {tokens: 25}}", "{budget: {usd: 25}}"):
        flow = workflow(*chain, edges, front=front)
        store = MemoryStore()
        endpoint = Priced(ten_tokens)
        result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
        assert result.status == "failed"
        assert "is used up" in (result.error or "")
        assert "raise it with --budget-" in (result.error or "")
        assert len(endpoint.seen) == 2, "the prompt of the third one does not fit into what is left"
        resumed = merrow_runtime.resume(
            result.run, endpoint=endpoint, store=store, options=RunOptions(budget_tokens=500, budget_usd=500)
        )
        ended = await resumed.result()
        assert ended.status == "finished", ended.error
        assert len(endpoint.seen) == 5
        assert ended.usage.tokens == 50


async def test_a_budget_of_time_ends_the_run() -> None:
    for seconds in (0.5, 30):  # A machine that stood still before the call was made is given longer.
        flow = workflow(
            'A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN", front=f"{{budget: {{seconds: {seconds}}}}}"
        )
        endpoint = FakeEndpoint()
        endpoint.gate = asyncio.Event()
        result = await asyncio.wait_for(
            merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore()), PATIENCE
        )
        assert result.status == "failed"
        assert "budget" in (result.error or "")
        if endpoint.seen:
            break
    assert result.usage.estimated


def test_a_money_budget_with_an_unpriced_model_is_refused_before_the_first_call() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "p", model: unpriced}', "PROBLEM --> A --> RETURN", front="{budget: {usd: 1}}"
    )
    endpoint, store = Priced(ten_tokens), MemoryStore()
    with pytest.raises(UsageFailure, match="price of `unpriced`"):
        merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    assert endpoint.seen == []
    assert store.runs() == []


async def test_a_recorded_run_is_replayed_without_an_endpoint(tmp_path: Path) -> None:
    flow = workflow(
        'S@{op: Custom, prompt: "think", samples: 3, temperature: 1}', 'V["MdEnsemble"]:::MdEnsembleOp',
        "PROBLEM --> S --> V --> RETURN",
    )  # fmt: skip
    answers = iter(["one", "two", "three"])
    file = tmp_path / "run.jsonl"

    def answer(request: ModelRequest) -> str:
        return '{"thought": "", "choice": "B"}' if request.schema else next(answers)

    recorded = await merrow_runtime.run(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(answer), store=MemoryStore(), options=RunOptions(record=file)
    )
    assert recorded.status == "finished", recorded.error
    replayed = await merrow_runtime.run(flow, {"problem": "x"}, store=MemoryStore(), options=RunOptions(replay=file))
    assert replayed.outputs == recorded.outputs
    assert replayed.usage.calls == 0
    missing = await merrow_runtime.run(flow, {"problem": "y"}, store=MemoryStore(), options=RunOptions(replay=file))
    assert missing.status == "failed"
    assert "node S, step 'answer'" in (missing.error or "")


async def test_results_of_generated_code_are_journalled_recorded_and_replayed(tmp_path: Path) -> None:
    flow = workflow(
        'P["Programmer"]:::ProgrammerOp',
        'B@{op: Custom, prompt: "after"}',
        "PROBLEM -->|problem| P",
        "P --> B --> RETURN",
    )
    # The code says what time it is: were it run again, the answer would be another one.
    code = "```python\nimport time\ndef solve():\n    return time.perf_counter_ns()\n```"
    file, store = tmp_path / "run.jsonl", MemoryStore()

    def answer(request: ModelRequest) -> str | Exception:
        return EndpointFailure("out of order") if request.messages[0].content == "after" else code

    first = await merrow_runtime.run(flow, {"problem": "what time?"}, endpoint=FakeEndpoint(answer), store=store)
    assert first.status == "failed"
    assert [(call.kind, call.origin) for call in store.calls(first.run, "P")] == [
        ("model", "endpoint"),
        ("sandbox", "sandbox"),
    ]
    again = merrow_runtime.resume(
        first.run, endpoint=FakeEndpoint(lambda _: "done"), store=store, options=RunOptions(record=file)
    )
    second = await again.result()
    assert second.nodes["P"].outputs == first.nodes["P"].outputs
    # What was in the journal already is in the recording too.
    replayed = await merrow_runtime.run(
        flow, {"problem": "what time?"}, store=MemoryStore(), options=RunOptions(replay=file)
    )
    assert replayed.status == "finished", replayed.error
    assert replayed.nodes["P"].outputs == first.nodes["P"].outputs


async def test_without_a_store_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")
    endpoint = FakeEndpoint()
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, options=RunOptions(no_store=True))
    assert result.status == "finished"
    assert not (tmp_path / "state").exists()
    kept = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint)
    store = Store.open()
    assert [record.id for record in store.runs()] == [kept.run]
    store.close()
    assert not endpoint.closed


MODELS = [
    ("model: own", "{model: flow}", RunOptions(model="line", default_model="mine"), "own"),
    ("", "{model: flow}", RunOptions(model="line", default_model="mine"), "line"),
    ("", "{model: flow}", RunOptions(default_model="mine"), "flow"),
    ("", "", RunOptions(default_model="mine"), "mine"),
    ("", "", RunOptions(), "gpt-4o-mini"),
]


@pytest.mark.parametrize(("node", "front", "options", "expected"), MODELS)
async def test_the_most_specific_model_is_asked(node: str, front: str, options: RunOptions, expected: str) -> None:
    more = f", {node}" if node else ""
    flow = workflow(f'A@{{op: Custom, prompt: "p"{more}}}', "PROBLEM --> A --> RETURN", front=front)
    endpoint = FakeEndpoint()
    await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=options)
    assert [request.model for request in endpoint.seen] == [expected]


async def test_a_node_is_asked_with_its_own_parameters_and_the_workflows() -> None:
    flow = workflow(
        'A@{op: Custom, role: simple_solver_1, temperature: 0.5, max_tokens: 7}', "PROBLEM --> A --> B",
        'B["Custom<br/>(role: careful_checker_2)"]:::CustomOp', "classDef CustomOp fill:#fff", "B --> RETURN",
        front="{seed: 9, temperature: 1, max_tokens: 70}",
    )  # fmt: skip
    endpoint = FakeEndpoint()
    await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    first, second = endpoint.seen
    assert (first.temperature, first.max_tokens, first.seed) == (0.5, 7, 9)
    assert (second.temperature, second.max_tokens, second.seed) == (1, 70, 9)
    assert first.messages[0].content == "Simple solver."
    assert second.messages[0].content == "Careful checker."


class OpensFirst(FakeEndpoint):
    """An endpoint that is made ready before the first call; ``limits`` are the time limits that began."""

    def __init__(self) -> None:
        super().__init__(lambda _: "done")
        self.opened, self.limits = False, list[float]()

    async def open(self) -> None:
        assert not self.limits, "the time of the node runs already"
        await asyncio.sleep(0)
        self.opened = True


async def test_the_time_of_a_node_is_not_spent_on_making_its_endpoint_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = workflow('S@{op: Custom, prompt: "think", timeout: 77, retries: 0}', "PROBLEM --> S --> RETURN")
    endpoint, timeout = OpensFirst(), asyncio.timeout

    def noted(seconds: float | None) -> asyncio.Timeout:
        if seconds == 77:
            endpoint.limits.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", noted)
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    assert result.outputs == {"RETURN": "done"}, result.error
    assert (endpoint.opened, endpoint.limits) == (True, [77])


async def test_what_a_try_without_a_result_has_used_is_counted_and_kept() -> None:
    counted = EndpointFailure("An empty answer.", transient=True, usage=Usage(3, 50, 1, 0.5))
    cut = EndpointFailure("The connection was cut.", transient=True, paid=True)
    unpaid = EndpointFailure("Too busy.", transient=True)
    steps: list[ModelReply | EndpointFailure] = [counted, cut, unpaid, ModelReply("ok", usage=Usage(4, 6, 1, 1.0))]

    def answer(_: ModelRequest) -> ModelReply:
        step = steps.pop(0)
        if isinstance(step, EndpointFailure):
            raise step
        return step

    store = MemoryStore()
    flow = workflow('S@{op: Custom, prompt: "think"}', "PROBLEM --> S --> RETURN")
    options = RunOptions(retry=RetryPolicy(retries=3, first_wait=0.0, jitter=0.0))
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=FakeEndpoint(answer), store=store, options=options)
    result = await run.result()
    assert result.outputs == {"RETURN": "ok"}, result.error
    assert (result.usage.calls, result.usage.completion_tokens, result.usage.estimated) == (3, 56, True)
    assert store.lost(run.id) == [("S", "answer", "failed")] * 2
    assert store.run(run.id).usage == result.usage


class TwoFail(FakeEndpoint):
    """An endpoint whose first answer is empty but paid, and whose key is refused in the same moment."""

    def __init__(self) -> None:
        super().__init__()
        self.both = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del on_text
        number = len(self.seen)
        self.seen.append(request)
        if number:
            asyncio.get_running_loop().call_soon(self.both.set)
        await self.both.wait()
        if number:
            raise EndpointFailure("The key is refused.", fatal=True)
        raise EndpointFailure("An empty answer.", transient=True, usage=Usage(3, 5, 1, 0.5))


async def test_a_failure_that_stops_all_is_told_while_the_usage_of_another_is_kept() -> None:
    result = await merrow_runtime.run(
        voters(", temperature: 0.7"),
        {"problem": "x"},
        endpoint=TwoFail(),
        store=MemoryStore(),
        options=RunOptions(retry=RetryPolicy(retries=1, first_wait=0.0, jitter=0.0)),
    )
    assert (result.status, result.error) == ("failed", "Node B: The key is refused.")
    assert result.usage == Usage(3, 5, 1, 0.5)


class Blocks(FakeEndpoint):
    """An endpoint that answers without ever making way for others."""

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del on_text
        self.seen.append(request)
        time.sleep(0.05)  # this is what is tried
        return ModelReply(f"answer {len(self.seen)}")


async def test_a_chain_whose_calls_never_wait_can_be_cancelled() -> None:
    nodes = [f'N{n}@{{op: Custom, prompt: "{n}"}}' for n in range(40)]
    flow = workflow(*nodes, "PROBLEM --> " + " --> ".join(f"N{n}" for n in range(40)) + " --> RETURN")
    endpoint = Blocks(lambda _: "")
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    async for event in run.events():
        if event.event == "node_finished" and event.node == "N0":
            run.cancel()
    assert (await run.result()).status == "cancelled"
    assert len(endpoint.seen) < 10


@pytest.mark.parametrize(("reached", "calls"), [(True, 2), (False, 0)])
async def test_a_call_that_is_stopped_counts_where_it_can_have_been_sent(reached: bool, calls: int) -> None:
    """The endpoint goes away while a call is on its way there; or it was never there at all."""
    under_way = asyncio.Event()

    async def answer(request: ModelRequest) -> str | Exception:
        match request.messages[0].content:
            case "waits":
                under_way.set()
                await asyncio.Event().wait()
            case "fails":
                await under_way.wait()
                return EndpointFailure("It can't be reached.", fatal=True, sent=False)
        return "fine"

    first = ('A@{op: Custom, prompt: "first"}', "PROBLEM --> A", "A --> B & C") if reached else ("PROBLEM --> B & C",)
    lines = (
        'B@{op: Custom, prompt: "waits"}',
        'C@{op: Custom, prompt: "fails"}',
        "E@{op: ScEnsemble}",
        "B & C --> E --> RETURN",
    )
    result = await merrow_runtime.run(
        workflow(*first, *lines), {"problem": "x"}, endpoint=FakeEndpoint(answer), store=MemoryStore()
    )
    assert (result.status, result.usage.calls) == ("failed", calls)


@pytest.mark.parametrize(
    ("said", "finish", "formats"),  # the third time the same cut answer would come, so it is not asked for
    [
        ("no JSON at all", None, ["json_schema", "json_object", None]),
        ('{"other": 1}', None, ["json_schema"] * 3),
        ('{"oth', "length", ["json_schema"] * 2),
    ],
    ids=["no JSON", "other JSON", "cut JSON"],
)
async def test_an_endpoint_that_ignores_a_schema_is_asked_for_less_step_by_step(
    said: str, finish: str | None, formats: list[str | None]
) -> None:
    """JSON of another shape is the model's mistake, not the server's."""
    flow = workflow("R@{op: Review}", "PROBLEM -->|problem| R", "PROBLEM -->|solution| R", "R --> RETURN")
    reply = Reply(said) if finish is None else Reply(said, finish=finish)
    async with OpenAIServer(lambda _: reply) as server, endpoint_at(server.base_url) as endpoint:
        result = await merrow_runtime.run(
            flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=RunOptions(model="m")
        )
    assert f"no usable answer in {len(formats)} attempts, the same more than once" in str(result.error)
    assert [(body.get("response_format") or {}).get("type") for body in server.bodies] == formats


async def test_an_answer_that_comes_again_is_not_shown_again_and_the_seed_differs() -> None:
    flow = workflow('A@{op: Custom, prompt: "p", returns: Number, seed: 5}', "PROBLEM --> A --> RETURN")
    endpoint = FakeEndpoint(lambda _: "forty-two, I think")
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    assert "no usable answer in 3 attempts, the same more than once" in str(result.error)
    first, second, third = endpoint.seen
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages[-2:]] == ["assistant", "user"]
    assert "forty-two" in second.messages[-2].content
    assert "forty-two" not in "".join(message.content for message in third.messages)
    assert [message.role for message in third.messages] == [message.role for message in first.messages]
    assert third.messages[-1].content.startswith(first.messages[-1].content)
    assert [request.seed for request in endpoint.seen] == [5, 5, 7]


@pytest.mark.parametrize("long", ["cut", "whole"])
async def test_the_question_does_not_grow_with_answers_that_can_not_be_used(long: str) -> None:
    flow = workflow('A@{op: Custom, prompt: "p", returns: Number}', "PROBLEM --> A --> RETURN")
    numbers = count(1)

    def answer(_: ModelRequest) -> ModelReply:
        text = f"word {next(numbers)} " * 10_000
        return ModelReply(text[:4_000], "length") if long == "cut" else ModelReply(text)

    endpoint = FakeEndpoint(answer)
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    assert "no usable answer in 3 attempts" in str(result.error)
    lengths = [sum(len(message.content) for message in request.messages) for request in endpoint.seen]
    assert max(lengths) < lengths[0] + 600


async def test_an_attempt_that_is_judged_as_before_does_not_see_its_result_again() -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "p", validate: good, attempts: 4}', "PROBLEM --> A --> RETURN",
        front="{validators: {good: {regex: '^yes$'}}}",
    )  # fmt: skip
    endpoint = FakeEndpoint(lambda _: "no")
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    assert result.status == "failed"
    assert ["no" in [message.content for message in request.messages] for request in endpoint.seen] == [
        False,
        True,
        False,
    ]
