"""Runs an evaluation: items times repeats through the runtime, each scored, and kept before it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from merrow_optimizer.evaluation.answering import Answering, ignore_failure
from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.stopping import Stopping
from merrow_runtime.asking.bounded import bounded
from merrow_runtime.errors import StoreFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.models.budget import Budget
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING, Usage

OnScore = Callable[[ScoreRecord], None]


class AnswerTask(NamedTuple):
    """One answer to be had: to which item, which repeat, and at which place of the evaluation."""

    place: int
    item: Item
    repeat: int


class Evaluator:
    """One evaluation at work. ``user`` is the user's store, with answers and scores; ``own`` the journal of its runs;
    ``elapsed`` seconds were worked on it before.

    ``scores`` has the last score of each item and repeat, those from before a resume too. ``stopped_by`` says why it stopped
    before its end.
    """

    def __init__(self, evaluation: str, plan: Plan, user: Store, own: Store, elapsed: float = 0.0) -> None:
        self.id = evaluation
        self.plan = plan
        self.scores: dict[tuple[str, int], ScoreRecord] = {
            (score.item, score.repeat): score for score in user.evaluations.scores(evaluation)
        }
        self.stopped_by: str | None = None
        self._user, self._own, self._clock = user, own, Clock(plan.limits.seconds, elapsed)
        self._stopping = Stopping()
        self._stop = asyncio.Event()
        endpoint = bounded(plan.chosen.endpoint, Budget(plan.limits.usd, plan.limits.tokens, spent=self.spent))
        if plan.asking is not None:
            plan.asking.begin(replace(plan.chosen, endpoint=endpoint), whole_path(plan.workflow.name), user.cache)
        is_resumed = bool(self.scores) or own.has_runs
        self._answering = Answering(evaluation, plan, endpoint, user, own, is_resumed=is_resumed)

    @property
    def spent(self) -> Usage:
        """What the evaluation has used so far."""
        return sum((score.usage for score in self.scores.values()), NOTHING)

    def left(self) -> list[AnswerTask]:
        """The answers to be had, in order: every item once before any is repeated."""
        done = {key for key, score in self.scores.items() if score.status != Status.UNANSWERED and self._counts(score)}
        every = ((item, repeat) for repeat in range(self.plan.repeats) for item in self.plan.items)
        wanted = ((item, repeat) for item, repeat in every if (item.id, repeat) not in done)
        return [AnswerTask(place, item, repeat) for place, (item, repeat) in enumerate(wanted)]

    def _counts(self, score: ScoreRecord) -> bool:
        """Whether a score stays: not where only answers of the endpoint that answers now are wanted, and another gave it."""
        if self.plan.options.reuse != "same" or score.item not in self.plan.inputs:
            return True
        return score.work == self.plan.work_key(score.item, score.repeat)

    async def run(self, told: OnScore = lambda _: None) -> None:
        """Have all answers that are left, tell each score once it is kept, and end; early where `stopped_by` says why.

        Cancelling ends the runs in flight; what is finished is kept. Raises `StoreFailure`.
        """
        tasks, left = iter(self.left()), self._clock.left
        late: asyncio.TimerHandle | None = None
        if left is not None:
            over = f"{self._clock.is_over}: raise it with --budget-seconds."
            if left <= 0:
                self._end(over)
                return
            late = asyncio.get_running_loop().call_later(left, self._end, over)
        # While one item is asked, kept and scored, another waits at the gate, ready to be asked: answers that come at the same
        # moment are worked on one after the other, and the endpoint would be idle meanwhile. One at a time stays one at a time.
        count = 2 * self.plan.concurrency - 1
        workers = [asyncio.ensure_future(self._work(tasks, told)) for _ in range(count)]
        stop = asyncio.ensure_future(self._stop.wait())
        pending: set[asyncio.Future[Any]] = {stop, *workers}
        try:
            with self._user.gathering(), self._own.gathering():
                while not stop.done() and len(pending) > 1:
                    ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    for worker in ended - {stop}:
                        worker.result()
        finally:
            if late is not None:
                late.cancel()
            for task in pending:
                task.cancel()
            await asyncio.gather(stop, *workers, return_exceptions=True)  # where one fails, others may have, too
            if self.plan.asking is not None:
                self.plan.asking.close()

    async def _work(self, tasks: Iterator[AnswerTask], told: OnScore) -> None:
        for task in tasks:
            again = (task.item.id, task.repeat) in self.scores
            try:
                record, fatal = await self._answering.answer(task.item, task.repeat, again=again)
            except asyncio.CancelledError:
                self._note_unfinished(task)
                raise
            await self._user.evaluations.keep(self.id, record)
            self.scores[record.item, record.repeat] = record
            told(record)
            why = self._stopping.ended(task.place, Status(record.status), record.reason)
            if fatal is Fatal.BUDGET:
                # What is in flight is paid in any case, so it may end; it can't begin another call.
                self.stopped_by = self.stopped_by or record.reason
            elif why is not None or fatal is Fatal.ENDPOINT:
                self._end(why or record.reason)
            if self.stopped_by is not None:
                return

    def _note_unfinished(self, task: AnswerTask) -> None:
        """Keep what an answer has paid that was cut off, so that it is counted; a resume goes on with it."""
        with suppress(StoreFailure):
            record = self._answering.unfinished(task.item, task.repeat)
            if record is not None:
                self.scores[record.item, record.repeat] = record
                self._user.evaluations.keep(self.id, record).add_done_callback(ignore_failure)

    def _end(self, why: str) -> None:
        self.stopped_by = self.stopped_by or why
        self._stop.set()
