"""Budgets: nothing starts once the settled sum has reached a limit, whatever calls do, in whatever order."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.patience import PATIENCE

from merrow_runtime.errors import BudgetFailure
from merrow_runtime.models import budget as budgets
from merrow_runtime.models.budget import Budget
from merrow_runtime.usage import Usage


def tokens(count: int, usd: float | None = 0.0) -> Usage:
    return Usage(count, 0, 1, usd)


async def settled_after(*rounds: Budget) -> None:
    for _ in rounds or range(5):
        await asyncio.sleep(0)


async def test_without_limits_everything_starts() -> None:
    budget = Budget()
    async with budget.reserve(tokens(10**9, None)) as one, budget.reserve(tokens(10**9, None)) as two:
        one.settle(tokens(5))
        two.settle(tokens(6))
    assert budget.settled == Usage(11, 0, 2, 0.0)
    assert budget.remaining_seconds is None


USED_UP = "is used up ({} spent): raise it with --budget-usd."
NO_PRICE = (
    "The price of {} is not known, so a budget in US dollars can't be kept: set its price in your own settings (`[prices]`, 0"
    " for a model that costs nothing) or limit `tokens` instead."
)
BUT_FOR_LESS = "is used up but for less than another call may use: raise it with {}."


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (
            Budget(tokens=100, spent=tokens(100)),
            "The budget of 100 tokens is used up (100 used): raise it with --budget-tokens.",
        ),
        (
            Budget(tokens=0),
            "The budget of 0 tokens is used up (0 used): raise it with --budget-tokens.",
        ),
        (Budget(usd=0.5, spent=tokens(1, 0.5)), f"The budget of 0.5 US dollars {USED_UP.format('0.5000 US dollars')}"),
        (Budget(usd=0.5, spent=tokens(1, None)), f"The budget of 0.5 US dollars {USED_UP.format('an unknown sum')}"),
        (Budget(seconds=0), "The budget of 0 seconds is over: raise it with --budget-seconds."),
        (
            Budget(seconds=60, elapsed=60),
            "The budget of 60 seconds is over: raise it with --budget-seconds.",
        ),
        (
            Budget(tokens=100, spent=tokens(91), strict=True),
            f"The budget of 100 tokens {BUT_FOR_LESS.format('--budget-tokens')}",
        ),
        (
            Budget(usd=0.5, spent=tokens(1, 0.35), strict=True),
            f"The budget of 0.5 US dollars {BUT_FOR_LESS.format('--budget-usd')}",
        ),
        (
            Budget(usd=0.5, tokens=9, strict=True),
            f"The budget of 0.5 US dollars and 9 tokens {BUT_FOR_LESS.format('--budget-usd')}",
        ),
    ],
)
async def test_nothing_starts_where_the_budget_is_used_up(budget: Budget, sentence: str) -> None:
    with pytest.raises(BudgetFailure) as caught:
        await budget.reserve(tokens(10, 0.25)).__aenter__()
    assert str(caught.value) == sentence
    assert isinstance(caught.value, budgets.NotEnoughLeft) is ("but for less" in sentence)


@pytest.mark.parametrize(
    "limits",
    [
        {"tokens": 100, "spent": tokens(99)},
        {"usd": 0.5, "spent": tokens(1, 0.49)},
        {"seconds": PATIENCE, "elapsed": 0},
        {"tokens": 100, "spent": tokens(90), "strict": True},
        {"usd": 0.5, "spent": tokens(1, 0.25), "strict": True},
        {"tokens": 100, "usd": 0.5, "spent": tokens(90, 0.25), "strict": True},
    ],
)
async def test_a_call_starts_as_long_as_there_is_something_left(limits: dict[str, Any]) -> None:
    async with Budget(**limits).reserve(tokens(10, 0.25)) as reservation:
        reservation.settle(tokens(1, 0.0))


async def test_new_limits_hold_from_then_on() -> None:
    budget = Budget(tokens=5, spent=tokens(5, 0.5))
    budget.bound(1.0, 10)
    async with budget.reserve(tokens(1, 0.25)) as reservation:
        reservation.settle(tokens(5, 0.25))
    with pytest.raises(BudgetFailure, match="10 tokens"):
        await budget.reserve(tokens(1, 0.25)).__aenter__()
    budget.bound(0.75, None)
    with pytest.raises(BudgetFailure, match=r"0\.75 US dollars"):
        await budget.reserve(tokens(1, 0.25)).__aenter__()
    budget.bound(None, None)
    async with budget.reserve(tokens(1, None)):
        assert budget.settled == Usage(10, 0, 2, 0.75)


def test_the_time_that_is_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 100.0, 139.0, 140.0, 141.0])
    monkeypatch.setattr(budgets, "time", SimpleNamespace(monotonic=moments.__next__))
    budget = Budget(seconds=60, elapsed=20)
    assert [budget.remaining_seconds for _ in range(4)] == [40.0, 1.0, 0.0, 0.0]


def test_an_unknown_price_is_told_with_what_is_known() -> None:
    found = [str(budgets.unpriced_failure(*known)) for known in ((), ("m",), (None, "https://h"), ("m", "https://h"))]
    assert found == [NO_PRICE.format(what) for what in ("a model", "`m`", "a model at https://h", "`m` at https://h")]


async def test_money_without_a_price_is_refused_before_the_first_call() -> None:
    with pytest.raises(BudgetFailure, match="price"):
        await Budget(usd=10.0).reserve(tokens(1, None)).__aenter__()


async def test_a_call_alone_whose_prompt_exceeds_what_is_left_is_refused() -> None:
    budget = Budget(tokens=20, usd=1.0, spent=tokens(12, 0.25))
    for sent in (tokens(9, 0.0), tokens(1, 0.76)):
        with pytest.raises(budgets.NotEnoughLeft):
            await budget.reserve(tokens(500, 5.0), sent).__aenter__()
    async with budget.reserve(tokens(500, 5.0), tokens(8, 0.75)) as reservation:
        reservation.settle(tokens(17, 0.5))
    assert budget.settled.tokens == 29


async def test_who_waits_is_refused_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(budgets, "time", SimpleNamespace(monotonic=lambda: now))
    budget = Budget(tokens=100, seconds=1000)
    async with budget.reserve(tokens(90)):
        now = 999.95
        with pytest.raises(BudgetFailure, match="1000 seconds"):
            await budget.reserve(tokens(20)).__aenter__()


async def test_who_waits_behind_one_that_is_cancelled_starts_where_it_fits() -> None:
    budget = Budget(tokens=100)
    async with budget.reserve(tokens(50)):
        large = asyncio.ensure_future(budget.reserve(tokens(80)).__aenter__())
        small = asyncio.ensure_future(budget.reserve(tokens(10)).__aenter__())
        await settled_after()
        assert not small.done()
        large.cancel()
        await asyncio.wait_for(small, PATIENCE)
    assert large.cancelled()
    assert budget.settled == Usage()


async def test_who_was_let_in_is_refused_where_another_used_up_the_rest_in_the_same_moment() -> None:
    budget = Budget(tokens=100)
    async with budget.reserve(tokens(40)) as one, budget.reserve(tokens(40)) as other:
        waiting = asyncio.ensure_future(budget.reserve(tokens(50)).__aenter__())
        await settled_after()
        one.settle(tokens(1))
        other.settle(tokens(200))
        with pytest.raises(BudgetFailure, match="201 used"):
            await waiting


async def test_who_gave_up_in_the_same_moment_as_another_ends_is_passed_over() -> None:
    budget = Budget(tokens=100)
    async with budget.reserve(tokens(80)) as one:
        waiting = [asyncio.ensure_future(budget.reserve(tokens(50)).__aenter__()) for _ in range(2)]
        await settled_after()
        waiting[0].cancel()
        one.settle(tokens(1))
        await asyncio.wait_for(waiting[1], PATIENCE)
    assert waiting[0].cancelled()


async def test_a_cancelled_call_is_counted_by_its_estimate_and_marked() -> None:
    budget = Budget(tokens=100)
    inside = asyncio.Event()

    async def call() -> None:
        async with budget.reserve(tokens(30, 0.01)):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.settled == Usage(30, 0, 1, 0.01, estimated=True)


async def test_an_answer_without_a_cost_counts_as_reserved_where_money_is_limited() -> None:
    budget = Budget(usd=1.0)
    async with budget.reserve(tokens(30, 0.25)) as reservation:
        reservation.settle(tokens(20, None))
    assert budget.settled == Usage(20, 0, 1, 0.25, estimated=True)


class BudgetMachine(RuleBasedStateMachine):
    """Calls that come, settle, fail and are cancelled in any order, against a model of what must hold."""

    @initialize(limit=st.integers(1, 300))
    def start(self, limit: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.limit = limit
        self.budget = Budget(tokens=limit)
        self.used = 0
        self.number = 0
        self.waiting: dict[int, asyncio.Task[None]] = {}
        self.inside: dict[int, tuple[int, asyncio.Future[int | None]]] = {}
        self.begun: list[int] = []
        self.estimates: dict[int, int] = {}

    def settle_down(self) -> None:
        self.loop.run_until_complete(settled_after())
        for number in [number for number, task in self.waiting.items() if task.done()]:
            self.waiting.pop(number)

    async def call(self, number: int, estimate: int) -> None:
        async with self.budget.reserve(tokens(estimate)) as reservation:
            self.begun.append(number)
            end: asyncio.Future[int | None] = self.loop.create_future()
            self.inside[number] = (estimate, end)
            try:
                real = await end
                if real is None:
                    raise ConnectionError
                reservation.settle(tokens(real))
            finally:
                del self.inside[number]

    @rule(estimate=st.integers(1, 150))
    def come(self, estimate: int) -> None:
        task = self.loop.create_task(self.call(self.number, estimate))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.waiting[self.number] = task
        self.estimates[self.number] = estimate
        self.number += 1
        self.settle_down()

    @precondition(lambda self: self.inside)
    @rule(pick=st.randoms(use_true_random=False), real=st.integers(0, 200))
    def settle(self, pick: random.Random, real: int) -> None:
        number = pick.choice(sorted(self.inside))
        self.inside[number][1].set_result(real)
        self.used += real
        self.settle_down()

    @precondition(lambda self: self.inside)
    @rule(pick=st.randoms(use_true_random=False))
    def fail(self, pick: random.Random) -> None:
        self.inside[pick.choice(sorted(self.inside))][1].set_result(None)
        self.settle_down()

    @precondition(lambda self: self.waiting)
    @rule(pick=st.randoms(use_true_random=False))
    def cancel(self, pick: random.Random) -> None:
        number = pick.choice(sorted(self.waiting))
        if number in self.inside:
            self.used += self.inside[number][0]
        self.waiting[number].cancel()
        self.settle_down()

    @precondition(lambda self: bool(self.inside and set(self.waiting) - set(self.inside)))
    @rule(pick=st.randoms(use_true_random=False), real=st.integers(0, 200), turns=st.integers(0, 4))
    def settle_and_cancel_who_waits(self, pick: random.Random, real: int, turns: int) -> None:
        """Cancel the oldest that waits at any moment between its turn's coming and its going on."""
        oldest = min(set(self.waiting) - set(self.inside))
        self.inside[pick.choice(sorted(self.inside))][1].set_result(real)
        self.used += real
        for _ in range(turns):
            self.loop.run_until_complete(asyncio.sleep(0))
        if not self.waiting[oldest].done():
            if oldest in self.inside:
                self.used += self.inside[oldest][0]
            self.waiting[oldest].cancel()
        self.settle_down()

    @invariant()
    def the_settled_sum_is_what_was_used(self) -> None:
        if hasattr(self, "budget"):
            assert self.budget.settled.tokens == self.used

    @invariant()
    def calls_start_in_the_order_in_which_they_came(self) -> None:
        if hasattr(self, "begun"):
            assert self.begun == sorted(self.begun)

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        if hasattr(self, "budget") and not self.inside:
            assert not self.waiting

    @invariant()
    def the_oldest_waits_only_where_it_does_not_fit(self) -> None:
        if hasattr(self, "budget") and (waits := set(self.waiting) - set(self.inside)):
            held = sum(estimate for estimate, _ in self.inside.values())
            assert self.used + held + self.estimates[min(waits)] > self.limit

    @invariant()
    def nobody_waits_for_a_budget_that_is_used_up(self) -> None:
        if hasattr(self, "budget") and self.used >= self.limit:
            assert set(self.waiting) == set(self.inside)

    @invariant()
    def what_is_inside_together_fits(self) -> None:
        if hasattr(self, "budget") and len(self.inside) > 1:
            # Settled sums only grow after a start, so they may be over by now; the reservations alone must fit.
            assert sum(estimate for estimate, _ in self.inside.values()) <= self.limit

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.run_until_complete(self.end())
            self.loop.close()

    async def end(self) -> None:
        for task in self.waiting.values():
            task.cancel()
        await asyncio.gather(*self.waiting.values(), return_exceptions=True)


TestBudgetMachine = BudgetMachine.TestCase
TestBudgetMachine.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), min_size=1, max_size=25),
    st.integers(1, 400),
    st.booleans(),
)
def test_a_strict_budget_is_kept_and_refuses_only_what_might_not_fit(
    calls: list[tuple[int, float]], limit: int, in_money: bool
) -> None:
    """Calls use some share of what they reserve, in any order of ends; a call is refused only where it doesn't fit alone."""

    async def main() -> None:
        budget = Budget(*((limit / 64, None) if in_money else (None, limit)), strict=True)

        def usage(count: int) -> Usage:
            return tokens(0, count / 64) if in_money else tokens(count)

        async def call(estimate: int, share: float) -> bool:
            try:
                async with budget.reserve(usage(estimate)) as reservation:
                    await asyncio.sleep(0)
                    reservation.settle(usage(int(estimate * share)))
            except BudgetFailure:
                left = limit - (budget.settled.cost_usd or 0.0) * 64 if in_money else limit - budget.settled.tokens
                assert estimate > left or left <= 0
                return False
            return True

        began = await asyncio.gather(*(call(*one) for one in calls))
        assert budget.settled.calls == sum(began)
        assert (budget.settled.cost_usd or 0.0) * 64 <= limit if in_money else budget.settled.tokens <= limit

    asyncio.run(main())
