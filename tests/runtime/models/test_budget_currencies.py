"""A budget in tokens and in dollars: in neither do calls in flight reserve more than there is, and nobody waits in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE

from merrow_runtime.errors import BudgetFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.prices import Price
from merrow_runtime.usage import Usage

CENT = 1 / 64
"""Dollars that floats add up without rounding."""


@dataclass(frozen=True)
class Call:
    """What a call reserves, what it uses, after how many steps it ends, and how."""

    tokens: int
    cents: int | None
    used: int
    spent: int | None
    steps: int
    end: str

    def honest(self) -> Call:
        """The same call using no more than it reserved, and only while it holds it: it settles once."""
        spent = None if self.cents is None or self.spent is None else min(self.spent, self.cents)
        end = "settles" if self.end == "settles twice" else self.end
        return replace(self, used=min(self.used, self.tokens), spent=spent, end=end)


CALLS = st.lists(
    st.builds(
        Call,
        tokens=st.integers(0, 60),
        cents=st.none() | st.integers(0, 60),
        used=st.integers(0, 60),
        spent=st.none() | st.integers(0, 60),
        steps=st.integers(0, 4),
        end=st.sampled_from(["settles", "settles", "settles", "fails", "is cancelled", "settles twice"]),
    ),
    max_size=20,
)
LIMITS = st.tuples(st.none() | st.integers(1, 120), st.none() | st.integers(1, 120))


def usage(tokens: int, cents: int | None) -> Usage:
    return Usage(tokens, 0, 1, None if cents is None else cents * CENT)


@settings(max_examples=75, deadline=None)
@given(LIMITS, CALLS, st.sets(st.integers(0, 19), max_size=4), st.booleans())
def test_reservations_stay_within_the_budget_in_both_currencies(
    limits: tuple[int | None, int | None], calls: Sequence[Call], given_up: set[int], honest: bool
) -> None:
    most_tokens, most_cents = limits
    calls = [call.honest() for call in calls] if honest else calls

    async def run() -> None:
        budget = Budget(usd=None if most_cents is None else most_cents * CENT, tokens=most_tokens)
        inside: dict[int, Call] = {}
        refused: set[int] = set()
        begun: list[int] = []

        def check() -> None:
            """Whoever is let in while others are inside fits beside them and beside what is settled, in each currency."""
            settled = budget.settled
            if most_tokens is not None:
                assert settled.tokens < most_tokens
                if honest and len(inside) > 1:
                    assert settled.tokens + sum(call.tokens for call in inside.values()) <= most_tokens
            if most_cents is not None:
                assert settled.cost_usd is not None
                assert settled.cost_usd < most_cents * CENT
                assert all(call.cents is not None for call in inside.values())
                if honest and len(inside) > 1:
                    held = sum(call.cents or 0 for call in inside.values()) * CENT
                    assert settled.cost_usd + held <= most_cents * CENT

        async def make(number: int, call: Call) -> None:
            try:
                async with budget.reserve(usage(call.tokens, call.cents)) as reservation:
                    inside[number] = call
                    begun.append(number)
                    check()
                    try:
                        for _ in range(call.steps):
                            await asyncio.sleep(0)
                        if call.end == "fails":
                            raise ConnectionError
                        if call.end == "is cancelled":
                            raise asyncio.CancelledError
                        if call.end == "settles twice":
                            inside.pop(number)
                            reservation.settle(usage(call.used, call.spent))
                        inside.pop(number, None)
                        reservation.settle(usage(call.used, call.spent))
                    finally:
                        inside.pop(number, None)
            except BudgetFailure:
                refused.add(number)

        tasks = [asyncio.create_task(make(number, call)) for number, call in enumerate(calls)]
        await asyncio.sleep(0)
        for number in given_up & set(range(len(tasks))):
            tasks[number].cancel()
        _, pending = await asyncio.wait(tasks, timeout=PATIENCE) if tasks else (set(), set())
        for task in tasks:
            if not task.cancelled() and isinstance(task.exception(), AssertionError):
                raise task.exception()  # type: ignore[misc]
        assert not pending  # whoever waits is let in or refused in the end
        assert inside == {}
        assert begun == sorted(begun)
        if most_cents is not None:
            assert {number for number, call in enumerate(calls) if call.cents is None} <= refused | given_up
        over = (most_tokens is not None and budget.settled.tokens >= most_tokens) or (
            most_cents is not None and (budget.settled.cost_usd or 0.0) >= most_cents * CENT
        )
        if not over and most_cents is None:
            assert not refused
        if honest and most_tokens is not None:
            # Only a call that was alone may have gone over.
            assert budget.settled.tokens <= most_tokens - 1 + max((call.tokens for call in calls), default=0)

    asyncio.run(run())


@pytest.mark.parametrize("currency", ["tokens", "usd"])
@pytest.mark.parametrize("settled", [0, 32])
async def test_a_call_that_fits_exactly_goes_and_one_more_waits(currency: str, settled: int) -> None:
    def cost(amount: int) -> Usage:
        return usage(amount, 0) if currency == "tokens" else usage(0, amount)

    budget = Budget(tokens=128, spent=cost(settled)) if currency == "tokens" else Budget(usd=2.0, spent=cost(settled))
    async with budget.reserve(cost(64 - settled)):
        async with asyncio.timeout(PATIENCE), budget.reserve(cost(64)):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01), budget.reserve(cost(1)):
                    raise AssertionError("one more than there is was let in")
        async with asyncio.timeout(PATIENCE), budget.reserve(cost(63)), budget.reserve(cost(1)):
            pass


async def test_what_was_settled_twice_is_counted_twice_and_held_no_more() -> None:
    budget = Budget(tokens=100, usd=1.0)
    async with budget.reserve(usage(90, 60)) as reservation:
        reservation.settle(usage(10, 8))
        async with asyncio.timeout(PATIENCE), budget.reserve(usage(90, 56)):
            pass
        reservation.settle(usage(5, 4))
    assert (budget.settled.tokens, budget.settled.cost_usd, budget.settled.calls) == (15, 12 * CENT, 2)


@given(
    st.floats(0, 100, allow_subnormal=False),
    st.floats(0, 100, allow_subnormal=False),
    st.none() | st.floats(0, 100, allow_subnormal=False),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=6),
)
def test_a_sum_of_costs_is_the_cost_of_the_sum(
    fresh: float, output: float, cached: float | None, calls: list[tuple[int, int]]
) -> None:
    price = Price(fresh, output, cached)
    total = Usage()
    for prompt, completion in calls:
        one = Usage(prompt, completion, 1)
        total += Usage(prompt, completion, 1, price.cost(one))
    assert total.cost_usd == pytest.approx(price.cost(total))
    assert total.calls == len(calls)
    assert not total.estimated


@given(st.lists(st.tuples(st.none() | st.integers(0, 9), st.booleans()), max_size=6))
def test_a_sum_with_an_unknown_cost_is_unknown_and_with_an_estimate_estimated(
    parts: list[tuple[int | None, bool]],
) -> None:
    total = Usage()
    for cents, estimated in parts:
        total += Usage(1, 2, 1, None if cents is None else cents * CENT, estimated)
    known = [cents for cents, _ in parts if cents is not None]
    assert total.cost_usd == (sum(known) * CENT if len(known) == len(parts) else None)
    assert total.estimated == any(estimated for _, estimated in parts)
    assert Usage.from_json(total.to_json()) == total


async def test_a_call_that_is_cancelled_once_it_was_settled_is_counted_once() -> None:
    budget = Budget(tokens=100)

    async def call() -> None:
        async with budget.reserve(usage(90, 0)) as reservation:
            reservation.settle(usage(10, 0))
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await call()
    assert budget.settled == usage(10, 0)
