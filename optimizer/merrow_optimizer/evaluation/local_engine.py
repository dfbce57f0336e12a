"""Answers the items of an evaluation in this process, as many at a time as the endpoint takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from merrow_optimizer.evaluation.answering import Answering, ignore_failure
from merrow_optimizer.evaluation.evaluator import AnswerTask, Tally
from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.asking.bounded import bounded
from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage


class LocalEngine:
    """``user`` is the user's store, with answers and scores; ``own`` the journal of the runs. ``spent`` is what was used before
    of the plan's money and tokens. ``is_resumed`` says that there may be runs already, ``is_shared`` that other processes work
    on the evaluation, too.
    """

    def __init__(
        self,
        evaluation: str,
        plan: Plan,
        user: Store,
        own: Store,
        spent: Usage,
        *,
        is_resumed: bool,
        is_shared: bool = False,
    ) -> None:
        self._evaluation, self._plan, self._user, self._own = evaluation, plan, user, own
        self._is_shared = is_shared
        endpoint = bounded(plan.chosen.endpoint, Budget(plan.limits.usd, plan.limits.tokens, spent=spent))
        if plan.asking is not None:
            plan.asking.begin(replace(plan.chosen, endpoint=endpoint), whole_path(plan.workflow.name), user.cache)
        self._answering = Answering(evaluation, plan, endpoint, user, own, is_resumed=is_resumed, is_shared=is_shared)

    async def answer(self, tasks: Iterable[AnswerTask], tally: Tally) -> None:
        """See `AnswerEngine`."""
        if self._is_shared:
            tasks = list(tasks)
            await self._answering.look_up([(task.item, task.repeat) for task in tasks])
        left = iter(tasks)
        # While one item is asked, kept and scored, another waits at the gate, ready to be asked: answers that come at the same
        # moment are worked on one after the other, and the endpoint would be idle meanwhile. One at a time stays one at a time.
        count = 2 * self._plan.concurrency - 1
        workers = {asyncio.ensure_future(self._work(left, tally)) for _ in range(count)}
        pending = workers
        try:
            with self._user.gathering(), self._own.gathering():
                while pending:
                    ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    for worker in ended:
                        worker.result()
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)  # where one fails, others may have, too

    def close(self) -> None:
        """See `AnswerEngine`: what was paid for questions of the metric is written down."""
        if self._plan.asking is not None:
            self._plan.asking.close()

    async def _work(self, tasks: Iterator[AnswerTask], tally: Tally) -> None:
        for task in tasks:
            try:
                record, fatal = await self._answering.answer(task.item, task.repeat, again=task.again)
            except asyncio.CancelledError:
                self._note_unfinished(task)
                raise
            await self._user.evaluations.keep(self._evaluation, record)
            if tally.ended(task, record, fatal):
                return

    def _note_unfinished(self, task: AnswerTask) -> None:
        """Keep what an answer has paid that was cut off, so that it is counted; a resume goes on with it."""
        with suppress(StoreFailure):
            record = self._answering.unfinished(task.item, task.repeat)
            if record is not None:
                self._user.evaluations.keep(self._evaluation, record).add_done_callback(ignore_failure)
