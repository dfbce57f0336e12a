"""Which failures are tried again, how often, and after how long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

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

        self.now = 1_000.0

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    async def call(self, policy: RetryPolicy, attempt: Callable[[], Awaitable[str]]) -> str:
        try:
            return await attempt()
        except EndpointFailure as failure:
            first = failure
        return await policy.again(first, attempt, self.told.append, self.sleep, lambda: self.now)


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
        await RetryPolicy(first_wait=0.0, jitter=0.0).again(BUSY, attempt)


@given(st.integers(0, 6))
async def test_a_call_is_tried_once_more_than_there_are_retries(retries: int) -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure) as caught:
        await waiting.call(RetryPolicy(retries=retries), failing(*[BUSY] * 10))
    assert len(waiting.waits) == retries
    assert ("tried" in str(caught.value)) == (retries > 0)
    assert caught.value.transient


@given(
    st.builds(
        RetryPolicy,
        retries=st.integers(0, 8),
        first_wait=st.floats(0, 20),
        longest_wait=st.floats(0, 60),
        jitter=st.floats(0, 5),
        longest_retry_after=st.floats(0, 200),
        total=st.floats(0, 400),
    ),
    st.lists(st.tuples(st.none() | st.floats(0, 300), st.floats(0, 50)), max_size=10),
)
async def test_no_try_starts_after_the_total_and_every_wait_is_as_asked(
    policy: RetryPolicy, tries: list[tuple[float | None, float]]
) -> None:
    waiting = Waiting()
    begun: list[float] = []
    asked: list[float | None] = []

    async def attempt() -> str:
        begun.append(waiting.now - 1_000.0)
        if len(begun) > len(tries):
            return "answer"
        retry_after, takes = tries[len(begun) - 1]
        asked.append(retry_after)
        waiting.now += takes
        raise EndpointFailure("The endpoint x is busy.", transient=True, retry_after=retry_after)

    with suppress(EndpointFailure):
        await waiting.call(policy, attempt)
    failed = tries[0][1] if tries else 0.0
    assert all(start - failed <= policy.total + 1e-6 for start in begun[1:])
    assert len(begun) <= policy.retries + 1
    assert [told.wait for told in waiting.told] == waiting.waits
    for number, (retry_after, wait) in enumerate(zip(asked, waiting.waits, strict=False)):
        least = min(policy.first_wait * 2**number, policy.longest_wait) if retry_after is None else retry_after
        assert least - 1e-9 <= wait <= least + policy.jitter + 1e-9
        assert retry_after is None or retry_after <= policy.longest_retry_after


@pytest.mark.parametrize("asked", [119.9, 120.0, 120.1])
async def test_a_wait_is_honoured_up_to_its_bound(asked: float) -> None:
    waiting = Waiting()
    attempt = failing(EndpointFailure("The endpoint x is busy.", transient=True, retry_after=asked))
    if asked > 120:
        with pytest.raises(EndpointFailure, match="asks to wait"):
            await waiting.call(RetryPolicy(jitter=0.0), attempt)
    else:
        assert await waiting.call(RetryPolicy(jitter=0.0), attempt) == "answer"
    assert waiting.waits == ([asked] if asked <= 120 else [])


@pytest.mark.parametrize("total", [2.9, 3.0])
async def test_a_try_that_starts_at_the_very_end_still_starts(total: float) -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure):
        await waiting.call(RetryPolicy(retries=2, jitter=0.0, total=total), failing(*[BUSY] * 5))
    assert waiting.waits == ([1.0, 2.0] if total == 3.0 else [1.0])


async def test_what_a_failure_says_of_itself_outlives_the_retries() -> None:
    failure = EndpointFailure("The endpoint x is busy.", transient=True, retry_after=1.0, model="m")
    with pytest.raises(EndpointFailure, match=r"busy\. It was tried 2 times\.") as caught:
        await Waiting().call(RetryPolicy(retries=1), failing(failure, failure))
    assert (caught.value.transient, caught.value.fatal) == (True, False)
    assert (caught.value.retry_after, caught.value.model) == (1.0, "m")


async def test_calls_that_were_asked_to_wait_alike_do_not_come_back_together() -> None:
    waits = set()
    for _ in range(8):
        waiting = Waiting()
        failure = EndpointFailure("The endpoint x is busy.", transient=True, retry_after=5.0)
        await waiting.call(RetryPolicy(jitter=1.0), failing(failure))
        waits.update(waiting.waits)
    assert len(waits) > 1
    assert all(5.0 <= wait <= 6.0 for wait in waits)


@pytest.mark.parametrize(
    ("policy", "failure", "tries", "sentence"),
    [
        (RetryPolicy(retries=0), BUSY, 1, "The endpoint x is busy."),
        (RetryPolicy(retries=1, jitter=0.0), BUSY, 2, "The endpoint x is busy. It was tried 2 times."),
        (
            RetryPolicy(),
            EndpointFailure("The endpoint x is busy.", transient=True, retry_after=120.6),
            1,
            "The endpoint x is busy. It asks to wait 121 seconds, more than the 120 that Merrow waits: run it again then.",
        ),
        (
            RetryPolicy(jitter=0.0, total=2.4),
            BUSY,
            2,
            "The endpoint x is busy. Trying again would take longer than 2 seconds in all.",
        ),
    ],
)
async def test_why_nothing_more_is_tried_is_told(
    policy: RetryPolicy, failure: EndpointFailure, tries: int, sentence: str
) -> None:
    waiting = Waiting()
    with pytest.raises(EndpointFailure) as caught:
        await waiting.call(policy, failing(*[failure] * 10))
    assert str(caught.value) == sentence
    assert [(told.number, told.of, told.failure) for told in waiting.told] == [
        (number, policy.retries, failure) for number in range(1, tries)
    ]


async def test_without_other_wishes_it_is_tried_four_times_within_a_quarter_of_an_hour() -> None:
    usual = RetryPolicy()
    assert (usual.retries, usual.first_wait, usual.longest_wait, usual.jitter) == (3, 1.0, 30.0, 1.0)
    assert (usual.longest_retry_after, usual.total) == (120.0, 900.0)
