"""The gate of an endpoint: who shares it, who bounds whom, and what stops calls without taking a cancellation away."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.calls.gate import EndpointGate, InFlightCall, Stops, gate_of
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage


class Plain:
    """An endpoint of a program's own."""

    origin = "my:own"

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:  # noqa: ARG002
        return ModelReply("42", "stop", Usage(), request.model, 0.0, "")

    async def close(self) -> None: ...


def test_an_endpoint_has_a_gate_in_each_event_loop() -> None:
    endpoint = Plain()

    async def gate() -> EndpointGate:
        assert gate_of(endpoint) is gate_of(endpoint)
        assert gate_of(endpoint).loop is asyncio.get_running_loop()
        return gate_of(endpoint)

    assert asyncio.run(gate()) is not asyncio.run(gate())


async def test_endpoints_share_a_gate_where_they_share_connections() -> None:
    def made(url: str = "http://127.0.0.1:9/v1", key: str = "key-of-mine", concurrency: int = 64) -> OpenAIEndpoint:
        return OpenAIEndpoint(EndpointConnection(url, key, concurrency))

    first, second = made(), made()
    gate = gate_of(first)
    assert gate_of(second) is gate
    for other in (made(url="http://127.0.0.1:8/v1"), made(key="another-key"), made(concurrency=1)):
        assert gate_of(other) is not gate
    assert gate.places(3) is gate.places(3)
    assert gate.places(3) is not gate.places(4)


async def test_an_endpoint_that_has_a_connection_of_another_kind_is_a_plain_one() -> None:
    one, other = Plain(), Plain()
    one.connection = other.connection = "a database"  # type: ignore[attr-defined]
    assert gate_of(one) is gate_of(one)
    assert gate_of(one) is not gate_of(other)


ALL = EndpointFailure("The endpoint x is gone.", fatal=True)
ONE = EndpointFailure("The endpoint x has no model `a`.", fatal=True, model="a")


class Calls:
    """Calls under way through one `Stops`; each ends as a failure, as cancelled, or with "answer"."""

    def __init__(self) -> None:
        self.stops = Stops()
        self.go = asyncio.Event()

    async def call(self, model: str) -> str:
        self.stops.check(model)
        task = self.stops.enter(model)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            if not self.stops.leave(task):
                raise
            failure = self.stops.of(model)
            assert failure is not None
            raise failure from None
        self.stops.leave(task)
        return "answer"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["before", "after", "never"])), min_size=1, max_size=6),
    st.sampled_from([ALL, ONE]),
)
def test_a_stop_ends_what_cannot_succeed_and_a_cancellation_stays_one(
    calls: list[tuple[str, str]], failure: EndpointFailure
) -> None:
    async def run() -> None:
        under_way = Calls()
        tasks = [asyncio.create_task(under_way.call(model)) for model, _ in calls]
        await asyncio.sleep(0)
        for moment in ("before", "stop", "after"):
            if moment == "stop":
                under_way.stops.stop(failure)
                under_way.stops.stop(failure)
            for task, (_, cancelled) in zip(tasks, calls, strict=True):
                if cancelled == moment:
                    task.cancel()
        under_way.go.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for (model, cancelled), outcome in zip(calls, outcomes, strict=True):
            if cancelled != "never":
                assert isinstance(outcome, asyncio.CancelledError)
            elif failure.model in (None, model):
                assert outcome is failure
            else:
                assert outcome == "answer"
        for model in "abc":
            if failure.model in (None, model):
                with pytest.raises(EndpointFailure) as caught:
                    under_way.stops.check(model)
                assert caught.value is failure
            else:
                under_way.stops.check(model)

    asyncio.run(run())


async def test_whoever_stops_the_others_goes_on() -> None:
    stops = Stops()
    task = stops.enter("a")
    stops.stop(ALL)
    await asyncio.sleep(0)
    assert not stops.leave(task)
    assert task.cancelling() == 0


async def test_the_failure_of_one_model_is_told_beside_that_of_all() -> None:
    stops = Stops()
    stops.stop(ONE)
    assert stops.of("a") is ONE
    assert stops.of("b") is None
    stops.stop(ALL)
    assert stops.of("b") is ALL


@given(st.integers(0, 4), st.integers(0, 4), st.sampled_from([None, ALL]))
def test_all_that_wait_for_a_flight_get_its_outcome(before: int, after: int, outcome: EndpointFailure | None) -> None:
    async def run() -> None:
        flight = InFlightCall()
        early = [asyncio.create_task(flight.wait()) for _ in range(before)]
        await asyncio.sleep(0)
        if early:
            early[0].cancel()  # takes nothing from the others
        flight.settle(outcome)
        late = [asyncio.create_task(flight.wait()) for _ in range(after)]
        assert await asyncio.gather(*early[1:], *late) == [outcome] * (len(early[1:]) + len(late))

    asyncio.run(run())
