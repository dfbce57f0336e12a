"""Which failures are tried again, how often, and after how long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.models.making import asking, endpoint_at
from tests.runtime.openai_server import Cut, OpenAIServer, Reply, Status

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.retry import Retrying, RetryPolicy


class Waiting:
    """Takes the place of time: remembers how long was to be waited, and goes on at once."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.told: list[Retrying] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def call(self, policy: RetryPolicy, attempt: Callable[[], Awaitable[str]]) -> str:
        return await policy.call(attempt, self.told.append, self.sleep)


def failing(*failures: EndpointFailure) -> Callable[[], Awaitable[str]]:
    left = list(failures)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return attempt


BUSY = EndpointFailure("The endpoint x is busy.", transient=True)


async def test_a_run_recovers_over_the_wire() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Status(429, headers={"Retry-After": "3"}), Status(503), Cut(), Reply("42"))
        waiting = Waiting()

        async def attempt() -> str:
            return (await endpoint.complete(asking())).text

        assert await waiting.call(RetryPolicy(jitter=0.0), attempt) == "42"
    assert waiting.waits == [3.0, 2.0, 4.0]
    assert [(told.number, told.of, told.wait) for told in waiting.told] == [(1, 3, 3.0), (2, 3, 2.0), (3, 3, 4.0)]
    assert "429" in str(waiting.told[0].failure)


@pytest.mark.parametrize(
    "failure",
    [
        EndpointFailure("wrong"),
        EndpointFailure("dead", fatal=True),
        EndpointFailure("both", fatal=True, transient=True),
    ],
    ids=str,
)
async def test_what_does_not_pass_is_not_tried_again(failure: EndpointFailure) -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure) as caught:
        await waiting.call(RetryPolicy(), failing(failure))
    assert caught.value is failure
    assert (waiting.waits, waiting.told) == ([], [])


async def test_other_exceptions_pass_through() -> None:
    async def attempt() -> str:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await RetryPolicy().call(attempt)


@given(st.integers(0, 6))
async def test_a_call_is_tried_once_more_than_there_are_retries(retries: int) -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure) as caught:
        await waiting.call(RetryPolicy(retries=retries), failing(*[BUSY] * 10))
    assert len(waiting.waits) == retries
    assert ("tried" in str(caught.value)) == (retries > 0)
    assert caught.value.transient


@given(st.integers(1, 12), st.floats(0, 5), st.floats(0.1, 60))
async def test_waits_grow_to_a_limit(retries: int, jitter: float, longest: float) -> None:
    waiting = Waiting()
    policy = RetryPolicy(retries=retries, jitter=jitter, longest_wait=longest, total=1e9)
    await waiting.call(policy, failing(*[BUSY] * retries))
    for number, wait in enumerate(waiting.waits):
        expected = min(2.0**number, longest)
        assert expected <= wait <= expected + jitter


async def test_a_wait_that_is_too_long_is_told_and_not_waited_for() -> None:
    waiting = Waiting()
    asked = EndpointFailure("The endpoint x is busy.", transient=True, retry_after=3600)
    with pytest.raises(EndpointFailure, match="3600 seconds, more than the 120"):
        await waiting.call(RetryPolicy(), failing(asked))
    assert waiting.waits == []


async def test_nothing_is_tried_that_would_start_too_late() -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure, match="longer than 3 seconds"):
        await waiting.call(RetryPolicy(retries=9, jitter=0.0, total=3.0), failing(*[BUSY] * 10))
    assert waiting.waits == [1.0, 2.0]
