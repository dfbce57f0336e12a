"""A reproduction carried out: its rows one after another, cheapest first, within its budget; what came of each is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from merrow_optimizer.evaluation.plan import EvaluationLimits, TooSmall
from merrow_optimizer.evaluation.summary import item_means, summary_of
from merrow_runtime.errors import BudgetFailure, RunFailure, StoreFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.jobs.life import carry_out
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.jobs import JobRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.evaluations.updates import seconds_of, updates_of
from merrow_server.reproductions.bench import RowStep, StepStopped
from merrow_server.reproductions.estimates import total
from merrow_server.reproductions.prepared import KIND, PreparedReproduction, PreparedRow
from merrow_server.reproductions.steps import EvaluateStep

Json = dict[str, Any]
Told = Callable[[str, int, int], None]
"""Hears which row is worked on, how many are done, and of how many."""
ROW = "row "
"""The beginning of the key in the journal of what came of a row."""
_IN_A_ROW = 2
"""So many rows that stop one after another end it: what stops them is not of the rows."""


async def work(user: Store, record: JobRecord, prepared: PreparedReproduction, told: Told) -> Reproducing:
    """Work on a reproduction to its end, and keep how it ended. Cancelling ends it: what is finished is kept. Raises
    `StoreFailure` where another process works on it.
    """
    return await carry_out(
        user,
        user.jobs[KIND],
        record.id,
        lambda _: Reproducing(record, prepared),
        lambda one: one.run(told),
        has_runs=False,
    )


class Reproducing:
    """One at work; ``stopped_by`` says why it stopped before its end."""

    def __init__(self, record: JobRecord, prepared: PreparedReproduction) -> None:
        self.stopped_by: str | None = None
        self._prepared, self._record = prepared, record
        self._kept = prepared.bench.user.jobs[KIND]
        self._clock = Clock(prepared.request.limits.seconds, record.seconds)
        self._stopped = 0

    async def run(self, told: Told) -> None:
        """Work on the rows that have not ended."""
        order = self._prepared.in_order
        for one in self._prepared.rows:
            if one.missing:
                await self._keep(one, {"status": "not run", "why": " ".join(lack.what for lack in one.missing)})
        for number, one in enumerate(order):
            told(one.row.id, number, len(order))
            await self._row(one)
            if self._stopped >= _IN_A_ROW:
                return
        told("the table", len(order), len(order))

    async def _row(self, one: PreparedRow) -> None:
        """Work on a row, and keep what came of it."""
        began = time.time()
        why = self._too_dear(one)
        if why is not None:
            return await self._not_begun(one, why)
        for step in one.steps:
            if step.is_done:
                continue
            try:
                await step.work(self._left())
            except asyncio.CancelledError:  # what it has used is shown all the same
                await self._keep(one, {"status": "stopped", "why": "It was cancelled.", "step": step.id})
                raise
            except TooSmall as failure:
                return await self._not_begun(one, str(failure))
            except (StepStopped, BudgetFailure) as failure:
                return await self._stop(one, step, str(failure))
            except StoreFailure:
                raise
            except RunFailure as failure:
                self._stopped = 0
                return await self._keep(one, {"status": "failed", "why": str(failure)})
        self._stopped = 0
        return await self._keep(one, {"status": "ended", **outcome(one), "at": began})

    def _too_dear(self, one: PreparedRow) -> str | None:
        """Why a row that has not begun does not fit what is left of the budget; None where it does."""
        if any(step.is_begun and not step.is_done for step in one.steps):
            return None
        left = self._left()
        wanted = total(estimate for step, estimate in zip(one.steps, one.estimates, strict=True) if not step.is_done)
        if left.usd is not None and (wanted.usd or 0.0) > left.usd:
            return f"It may cost about ${wanted.usd:.4f}, but only ${left.usd:.4f} of the budget is left."
        if left.tokens is not None and wanted.tokens > left.tokens:
            return f"It may take about {wanted.tokens:,.0f} tokens, but only {left.tokens:,} of the budget are left."
        return None

    async def _not_begun(self, one: PreparedRow, why: str) -> None:
        self.stopped_by = "The budget is used up, or too small for the rows that are left; give more with --budget-usd."
        await self._keep(one, {"status": "not begun", "why": why})

    async def _stop(self, one: PreparedRow, step: RowStep, why: str) -> None:
        self._stopped += 1
        self.stopped_by = f"Row {one.row.id} stopped: {why}"
        await self._keep(one, {"status": "stopped", "why": why, "step": step.id})

    async def _keep(self, one: PreparedRow, came: Json) -> None:
        """Keep what came of a row, with what each of its jobs has used."""
        used = {step.id: step.used.to_json() for step in one.steps}
        await self._kept.keep(self._record.id, f"{ROW}{one.row.id}", {**came, "used": used})

    def _left(self) -> EvaluationLimits:
        """What is left of the budget."""
        limits = self._prepared.request.limits
        if limits == EvaluationLimits():
            return limits
        used = used_in(self._prepared)
        return EvaluationLimits(
            None if limits.usd is None else max(0.0, limits.usd - (used.cost_usd or 0.0)),
            None if limits.tokens is None else max(0, limits.tokens - used.tokens),
            self._clock.left,
        )


def used_in(prepared: PreparedReproduction) -> Usage:
    """What all of its jobs have used, in all processes."""
    steps = {step.id: step for one in prepared.rows for step in one.steps}
    return sum((step.used for step in steps.values()), NOTHING)


def outcome(one: PreparedRow) -> Json:
    """What the evaluations of a row come to, as plain data: its score with its interval, on how many items; seconds of an
    answer; models; what updates changed.
    """
    user = one.steps[0].user
    evaluations = [step for step in one.steps if isinstance(step, EvaluateStep)]
    scores = [score for step in evaluations for score in user.evaluations.scores(step.id)]
    records = [user.evaluations.get(step.id) for step in evaluations]
    repeats = max(record.repeats for record in records)
    items = sum(int(record.plan["items"]) for record in records)
    found = summary_of(scores, items, repeats)
    return {
        "score": found.score,
        "interval": None if found.interval is None else list(found.interval),
        "items": items,
        "counted": len(item_means(scores)),
        "left_out": found.left_out,
        "repeats": repeats,
        "model": ", ".join(dict.fromkeys(record.model for record in records)),
        "answer_seconds": seconds_of([score.seconds for score in scores if score.run]),
        **_updates(user, records),
    }


def _updates(user: Store, records: Sequence[EvaluationRecord]) -> Json:
    """How many tasks the runs began with, how many of them were changed, and their share: means over the evaluations; empty
    where nobody changes them.
    """
    found = [updates_of(user, record, user.evaluations.scores(record.id)).get("updates") for record in records]
    known = [one for one in found if one is not None]
    if not known:
        return {}
    initial, changed = (fmean(one[name] for one in known) for name in ("initial", "changed"))
    return {"initial": initial, "changed": changed, "ratio": 100 * changed / initial if initial else 0.0}


def rows_kept(user: Store, identity: str) -> dict[str, Mapping[str, Any]]:
    """What came of each row, by its id."""
    kept = user.jobs[KIND].kept(identity)
    return {key.removeprefix(ROW): said for key, said in kept.items() if key.startswith(ROW)}
