"""The held-out items, read once at the end of a search: its best candidate against the start."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from merrow_optimizer.optimization.plan import SearchPlan
from merrow_optimizer.optimization.readings import read_before
from merrow_optimizer.optimization.search_answers import SearchAnswers, WantedAnswer, value_of
from merrow_optimizer.search.candidates import START
from merrow_optimizer.search.held_out import HeldOutResult, read_held_out
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import HELD_OUT, CandidateRecord, OptimizationRecord


async def read(
    user: Store,
    search: OptimizationRecord,
    plan: SearchPlan,
    answers: SearchAnswers,
    start: CandidateRecord,
    crown: CandidateRecord,
) -> HeldOutResult | None:
    """What the held-out items say, noted as a reading of them before the first is read; None where the answers can't be had now,
    and ``answers`` say why. Raises `StoreFailure`.
    """
    assert plan.split.part is not None  # noqa: S101 (whoever asks has looked)
    items = plan.split.held_out
    before = plan.seen + read_before(user, search.dataset, search.part, plan.split.part, start.key, search.id)
    user.optimizations.read_held_out(search, plan.split.part, crown.key)
    answers.begin_again()
    wanted = [WantedAnswer(number, HELD_OUT, item, 0) for item in items for number in (START, crown.number)]
    scores = await _had(answers, wanted)
    if scores is None:
        return None
    values = [value_of(score) for score in scores]
    pairs = [(a, b) for a, b in zip(values[::2], values[1::2], strict=True) if a is not None and b is not None]
    if not pairs:
        answers.halt(next((score.reason for score in scores if score is not None), "No held-out item could be scored."))
        return None
    return read_held_out(
        [pair[0] for pair in pairs],
        [pair[1] for pair in pairs],
        before,
        left_out=len(items) - len(pairs),
        start_cost=start.cost,
        crown_cost=crown.cost,
    )


async def read_judged(
    user: Store,
    search: OptimizationRecord,
    plan: SearchPlan,
    answers: SearchAnswers,
    judged: Sequence[int],
    crown: CandidateRecord,
) -> None:
    """Have the candidates that a judge scored answer held-out items, noted as a reading of them. Raises `StoreFailure`."""
    assert plan.split.part is not None  # noqa: S101 (whoever asks has looked)
    user.optimizations.read_held_out(search, plan.split.part, crown.key)
    answers.begin_again()
    await _had(answers, [WantedAnswer(number, HELD_OUT, item, 0) for item in plan.judge_items for number in judged])


async def _had(answers: SearchAnswers, wanted: Sequence[WantedAnswer]) -> list[ScoreRecord | None] | None:
    """These answers; None where they can't be had now, and ``answers`` say why."""
    reading = asyncio.ensure_future(answers.all(wanted))
    stop = asyncio.ensure_future(answers.stop.wait())
    try:
        await asyncio.wait((reading, stop), return_when=asyncio.FIRST_COMPLETED)
        return None if answers.stopped_by is not None else reading.result()
    finally:
        for task in (reading, stop):
            task.cancel()
        await asyncio.gather(reading, stop, return_exceptions=True)
