"""What calls that others stop have cost: nothing where no connection ever was, else what they were expected to use."""

from __future__ import annotations

import asyncio

import pytest
from tests.runtime.models.making import asking, endpoint_at
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step

from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.gate import CallSlots
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.requests import Message, ModelReply, ModelRequest
from merrow_runtime.usage import Usage

GONE = EndpointFailure("The endpoint x refuses connections.", fatal=True, sent=False)


class Dying:
    """An endpoint of a program's own: it answers, holds a call, or is gone, as the prompt says."""

    origin = "my:dying"

    def __init__(self) -> None:
        self.holds = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:  # noqa: ARG002
        match request.messages[0].content:
            case "gone":
                raise GONE
            case "busy":
                raise EndpointFailure("The endpoint x is busy.")
            case "hold":
                self.holds.set()
                await asyncio.Event().wait()
        return ModelReply("42", "stop", Usage(), request.model, 0.0, "")

    async def close(self) -> None: ...


class Listening:
    """Keeps what it hears of calls that are lost."""

    def __init__(self) -> None:
        self.lost_calls: list[tuple[Usage, str]] = []

    def retrying(self, failure: EndpointFailure, wait: float) -> None: ...

    def moved(self, moment: str) -> None: ...

    def streamed(self, text: str) -> None: ...

    async def lost(self, usage: Usage, why: str) -> None:
        self.lost_calls.append((usage, why))


@pytest.mark.parametrize(("before", "counted"), [("answer", 1), ("busy", 1), ("", 0)])
async def test_a_stopped_call_is_counted_only_where_it_may_have_been_sent(before: str, counted: int) -> None:
    endpoint = Dying()
    calling = Calling(endpoint, CallSlots(8))
    listener = Listening()

    async def call(text: str) -> ModelReply | BaseException:
        request = ModelRequest("m", (Message("user", text),))
        try:
            return await calling.call(request, 0, listener)
        except EndpointFailure as failure:
            return failure

    if before:
        await call(before)
    held = asyncio.create_task(call("hold"))
    await endpoint.holds.wait()
    assert await call("gone") is GONE
    assert await held is GONE
    assert len(listener.lost_calls) == counted
    assert all(why == "stopped" and usage.calls == 1 and usage.estimated for usage, why in listener.lost_calls)


async def test_each_form_of_a_request_is_a_try_of_its_own_for_budgets_and_events_and_no_retry() -> None:
    budget = Budget(tokens=100_000)

    def answer(request: Received) -> Step:
        given = next((name for name in ("temperature", "max_tokens", "seed") if name in request.body), None)
        return Status(400, f"{given} is not supported", param=given) if given else Reply("42")

    heard: list[tuple[str, float]] = []

    class Hearing(Listening):
        def retrying(self, failure: EndpointFailure, wait: float) -> None:
            heard.append((str(failure).partition(" take ")[2].partition(" for ")[0], wait))

    async with OpenAIServer(answer) as server, endpoint_at(server.base_url) as endpoint:
        request = asking(max_tokens=9, seed=3)
        calling, listener = Calling(endpoint, CallSlots(1), budget), Hearing()
        reply = await calling.call(request, 0, listener)
        assert (await calling.call(request, 0, listener)).text == reply.text == "42"
        assert len(server.requests) == 5
    assert [what for what, _ in heard] == ["`temperature`", "`max_tokens`", "`seed`"]
    assert {wait for _, wait in heard} == {0.0}
    assert listener.lost_calls == []
    assert budget.settled.calls == 2
