"""The meter of a run: the cap of the month, places in line, and what is counted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.runtime.spending.test_ledger import HERE, Clock, admit

from merrow_runtime.errors import BudgetFailure
from merrow_runtime.models.spending_limits import MinuteLimits, SpendingLimits
from merrow_runtime.spending.ledger import Ledger
from merrow_runtime.spending.meter import NO_LEAVE, Leave, Meter
from merrow_runtime.spending.pacing import MINUTE
from merrow_runtime.usage import Usage


def metered(
    folder: Path, minute: MinuteLimits | None = None, month: float | None = None
) -> tuple[Meter, Ledger, Clock]:
    clock = Clock()
    ledger = Ledger(folder / "l.sqlite", clock)
    endpoints = {} if minute is None else {HERE: minute}
    return Meter(ledger, SpendingLimits(month_usd=month, endpoints=endpoints), "w", HERE), ledger, clock


async def begin(meter: Meter, tokens: int) -> Leave:
    return await meter.begin("m", lambda: tokens, lambda: Usage(1, 0, 1, None), lambda: None)


def test_what_a_month_may_cost_is_spent_when_it_is_reached(tmp_path: Path) -> None:
    meter, _, _ = metered(tmp_path, month=2.0)
    meter.count(NO_LEAVE, "m", Usage(1, 1, 1, 1.75))
    meter.check()
    meter.count(NO_LEAVE, "m", Usage(1, 1, 1, 0.25))
    with pytest.raises(BudgetFailure, match=r"2 US dollars a month, and 2\.0000 are spent"):
        meter.check()


async def test_a_call_is_settled_by_what_it_used_and_none_is_not_counted(tmp_path: Path) -> None:
    minute = MinuteLimits(None, 100)
    meter, ledger, _ = metered(tmp_path, minute)
    leave = await begin(meter, 60)
    meter.count(leave, "m", Usage(10, 20, 1, None))
    assert admit(ledger, HERE, minute, 71)[0] is None
    assert admit(ledger, HERE, minute, 70)[0]
    before = ledger.spent()
    meter.count(NO_LEAVE, "other", Usage(0, 0, 0, None))
    assert ledger.spent() == before


async def test_a_large_call_is_not_passed_by(tmp_path: Path) -> None:
    meter, _, clock = metered(tmp_path, MinuteLimits(None, 100))
    await begin(meter, 60)
    clock.now += MINUTE - 0.1
    began: list[int] = []

    async def ask(tokens: int) -> None:
        await begin(meter, tokens)
        began.append(tokens)

    waiting = [asyncio.ensure_future(ask(tokens)) for tokens in (90, 5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert began == []
    clock.now += 0.2
    await asyncio.gather(*waiting)
    assert began == [90, 5]


async def test_who_waits_for_a_place_learns_that_the_month_is_spent(tmp_path: Path) -> None:
    meter, _, clock = metered(tmp_path, MinuteLimits(1), month=1.0)
    await begin(meter, 1)
    clock.now += MINUTE - 0.05
    waiting = asyncio.ensure_future(begin(meter, 1))
    await asyncio.sleep(0)
    meter.count(NO_LEAVE, "m", Usage(1, 1, 1, 3.0))
    clock.now += 0.1
    with pytest.raises(BudgetFailure, match="a month"):
        await waiting


def test_the_last_place_that_must_be_left_decides(tmp_path: Path) -> None:
    _, ledger, clock = metered(tmp_path)
    assert admit(ledger, HERE, MinuteLimits(2, 100), 60)[0]
    clock.now += 10
    assert admit(ledger, HERE, MinuteLimits(2, 100), 40)[0]  # all tokens of the minute
    assert admit(ledger, HERE, MinuteLimits(None, 100), 1)[0] is None
    # Now only one call a minute is allowed: the second one must have left, though the tokens of the first would do.
    assert admit(ledger, HERE, MinuteLimits(1, 100), 10)[1] == pytest.approx(MINUTE, abs=0.01)


async def test_calls_wait_while_another_process_was_refused_and_what_they_had_is_given_back(tmp_path: Path) -> None:
    minute = MinuteLimits(5)
    meter, ledger, clock = metered(tmp_path, minute)
    other = Meter(Ledger(tmp_path / "l.sqlite", clock), SpendingLimits(), "w", HERE)
    await other.pause("m", 60)
    waits: list[str] = []
    waiting = asyncio.ensure_future(
        meter.begin("m", lambda: 1, lambda: Usage(1, 0, 1, None), lambda: waits.append("waits"))
    )
    await asyncio.sleep(0)
    assert waits == ["waits"]
    waiting.cancel()
    ledger.flush()
    # Nothing was sent: nothing is open, and all of the minute is left.
    assert ledger.spent() == []
    assert [admit(ledger, HERE, minute, 1)[0] is not None for _ in range(6)] == [True] * 5 + [False]
