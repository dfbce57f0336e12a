"""One evaluation at one worker: its journal, its plan and its endpoint, by the worker's own settings, for chunk after chunk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Self

from merrow_optimizer.evaluation.data.kept_items import ItemsById
from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.evaluator import AnswerTask
from merrow_optimizer.evaluation.local_engine import LocalEngine
from merrow_optimizer.evaluation.plan import EvaluationLimits, Plan
from merrow_runtime.errors import RunFailure, StoreFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.selection import OFFLINE_NAMES
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.options import RunOptions
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.lease import BEAT
from merrow_runtime.store.sql import AWAY, DatabaseFailure
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.continuing import ResumeChanges
from merrow_server.evaluations.prepared_evaluation import PreparedEvaluation, prepare_again
from merrow_server.workers.facts import refusal_of_access, refusal_of_journal, refusal_of_program
from merrow_server.workers.terms import ChunkAllowance, ChunkEnd, ChunkTerms, WorkerFacts

_PAUSE = 0.5
"""Seconds between two tries to open a journal that is away."""


class RefusedError(Exception):
    """This worker can't work on the evaluation; the text goes on after its name."""


class WorkerSession:
    """Use `open`."""

    def __init__(self, evaluation: str, user: Store, prepared: PreparedEvaluation) -> None:
        self._evaluation, self._user, self._prepared = evaluation, user, prepared
        self._items = ItemsById(prepared.plan.items)
        self._own: Store | None = None
        self._unlimited: LocalEngine | None = None
        self._beating: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self.at_work = 0
        """How many chunks are being answered."""

    @classmethod
    async def open(cls, evaluation: str, terms: ChunkTerms) -> Self:
        """Make ready what is needed, and check that it is what the coordinator has. Raises `RefusedError`."""
        clock = Clock(AWAY)
        while True:
            try:
                return await cls._opened(evaluation, terms)
            except RunFailure as problem:
                # A worker that comes while the database is away is as good as the others, which wait for it, too.
                if not (isinstance(problem, DatabaseFailure) and problem.why == "away" and clock.left):
                    raise RefusedError(str(problem)) from None
            await asyncio.sleep(_PAUSE)

    @classmethod
    async def _opened(cls, evaluation: str, terms: ChunkTerms) -> Self:
        why = await asyncio.to_thread(refusal_of_program, terms.facts)
        if why is not None:
            raise RefusedError(why)
        user = Store.open()
        prepared: PreparedEvaluation | None = None
        try:
            why = refusal_of_journal(user, evaluation, terms.facts)
            if why is not None:
                raise RefusedError(why)
            changed = ResumeChanges(concurrency=terms.concurrency)
            choosing = partial(_own_choice, terms.facts)
            prepared = await prepare_again(user.evaluations.get(evaluation), user, changed, choosing)
            why = refusal_of_access(prepared, terms.facts)
            if why is not None:
                raise RefusedError(why)
            return cls(evaluation, user, prepared)
        except BaseException:
            if prepared is not None:
                await prepared.close()
            user.close()
            raise

    async def answer(self, items: list[tuple[str, int]], allowance: ChunkAllowance) -> ChunkEnd:
        """Have the items of a chunk answered. Cancelling ends it: what is finished is kept."""
        began = time.monotonic()
        tally = _ChunkTally()
        self.at_work += 1
        failed = ""
        try:
            own = self._journal()
            scores = self._user.evaluations.some(self._evaluation, items)
            tasks = [
                AnswerTask(place, self._items[item], repeat, score is not None)
                for place, ((item, repeat), score) in enumerate(zip(items, scores, strict=True))
            ]
            if allowance.is_limited:
                # The money and tokens are those of this chunk, and the metric asks with the same.
                async with self._turn:
                    await self._within(own, allowance, tasks, tally)
            else:
                if self._unlimited is None:
                    self._unlimited = self._engine(own, EvaluationLimits(), NOTHING)
                await self._unlimited.answer(tasks, tally)
        except StoreFailure as problem:
            failed = str(problem)
        finally:
            self.at_work -= 1
        return ChunkEnd(tally.done, tally.fatal, tally.fatal_at, failed=failed, seconds=time.monotonic() - began)

    async def close(self) -> None:
        """End what was opened."""
        self._let_go()
        await self._prepared.close()
        with suppress(StoreFailure):
            self._user.close()

    def _journal(self) -> Store:
        """The journal of the runs, which is open as long as there is something to do: whoever wants it alone waits for that."""
        if self._own is None:
            self._own = self._user.of_job(self._evaluation)
            self._beating = asyncio.ensure_future(self._beat(self._own))
        return self._own

    async def _beat(self, own: Store) -> None:
        """Show that this process is alive, until it has had nothing to do for a while."""
        while True:
            await asyncio.sleep(BEAT)
            if not self.at_work:
                self._let_go()
                return
            with suppress(StoreFailure):  # the next write reports it, to a caller that can act on it
                await own.beat()

    def _let_go(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._unlimited is not None:
            self._unlimited.close()
        if self._own is not None:
            with suppress(StoreFailure):
                self._own.close()
        self._own = self._unlimited = self._beating = None

    async def _within(self, own: Store, allowance: ChunkAllowance, tasks: list[AnswerTask], tally: _ChunkTally) -> None:
        used = Usage(prompt_tokens=allowance.used_tokens, cost_usd=allowance.used_usd)
        engine = self._engine(own, EvaluationLimits(allowance.usd, allowance.tokens), used)
        try:
            await engine.answer(tasks, tally)
        finally:
            engine.close()

    def _engine(self, own: Store, limits: EvaluationLimits, spent: Usage) -> LocalEngine:
        plan: Plan = replace(self._prepared.plan, limits=limits)
        return LocalEngine(self._evaluation, plan, self._user, own, spent, is_resumed=True, is_shared=True)


class _ChunkTally:
    """See `Tally`: whether all of the evaluation is to stop is for the coordinator; a chunk stops where nothing can be had."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.fatal: Fatal | None = None
        self.fatal_at = -1

    def ended(self, task: AnswerTask, record: ScoreRecord, fatal: Fatal | None = None) -> bool:
        del record
        self.done.append(task.place)
        if fatal is not None and self.fatal is None:
            self.fatal, self.fatal_at = fatal, task.place
        return self.fatal is not None

    def end(self, why: str) -> None:
        """Only a coordinator does that."""


def _own_choice(
    must: WorkerFacts,
    options: RunOptions,
    base_url: str | None,
    machine: Sequence[WorkspaceValue],
    dialects: DialectStore | None,
) -> ChosenEndpoint:
    """The endpoint by this worker's own settings: what the journal has of an evaluation can choose none but the embedded model,
    since a key would go to it. Raises `RefusedError` where it is not the one that ``must`` be.
    """
    named = base_url if base_url is not None and base_url.strip().casefold() in OFFLINE_NAMES else None
    chosen = choose(replace(options, base_url=named), named, machine, dialects)
    if chosen.endpoint.origin != must.origin:
        raise RefusedError(
            f"its own settings lead to {chosen.endpoint.origin}, and the evaluation asks {must.origin}; set OPENAI_BASE_URL, or"
            " `base_url` in the settings, there"
        )
    return chosen
