"""Answers of candidates: as an evaluation has them, within the budget of the whole search, and kept before they count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from merrow_optimizer.evaluation.answering import Answering, ignore_failure
from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.stopping import Stopping
from merrow_optimizer.evaluation.summary import COUNTED
from merrow_optimizer.optimization.plan import SearchPlan
from merrow_runtime.asking.bounded import BudgetedEndpoint, Most
from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import TrialRecord
from merrow_runtime.usage import NOTHING, Usage


class WantedAnswer(NamedTuple):
    """An answer to be had: of a candidate by its number, for a draw (`HELD_OUT`: at the end; `SHOWN`: to show it to a model), to
    an item, which repeat.
    """

    candidate: int
    draw: int
    item: Item
    repeat: int


class SearchAnswers:
    """The answers of one search. ``text_of`` gives the text of a candidate; ``user`` is the user's store, ``own`` the journal
    of the search's runs.

    ``told`` is called with each answer once it is kept. ``stopped_by`` says why no answer can be had now, and `stop` is set then;
    ``is_cut`` says that no other one is begun, since what may be used is used up. ``spent`` is what all of them have used,
    ``proposing`` what a model that proposes candidates has used, and ``asked`` how many have been had here. ``budget`` is that
    of the whole search.
    """

    def __init__(self, search: str, plan: SearchPlan, text_of: Callable[[int], str], user: Store, own: Store) -> None:
        self.stopped_by: str | None = None
        self.stop = asyncio.Event()
        self.is_cut = False
        self.told: Callable[[WantedAnswer, ScoreRecord], None] = lambda _wanted, _score: None
        self._search, self._plan, self._text_of = search, plan, text_of
        self._user, self._own = user, own
        trials = user.optimizations.trials(search)
        self._known = {(trial.candidate, trial.score.item, trial.score.repeat): trial.score for trial in trials}
        self._is_resumed = bool(trials) or own.has_runs
        self.spent = sum((trial.score.usage for trial in trials), NOTHING)
        self.proposing = sum(
            (Usage.from_json(proposal["usage"]) for proposal in user.optimizations.proposals(search).values()), NOTHING
        )
        self.asked = 0
        base = plan.base
        self.budget = Budget(base.limits.usd, base.limits.tokens, spent=self.paid, strict=True)
        self._endpoint: Endpoint = base.chosen.endpoint
        self._bounded: BudgetedEndpoint | None = None
        if base.limits.usd is not None or base.limits.tokens is not None:
            self._endpoint = self._bounded = BudgetedEndpoint(self._endpoint, self.budget)
            for earlier in trials:
                if earlier.score.usage.calls:
                    self._bounded.dearest = self._bounded.dearest.or_of(earlier.score.usage, earlier.score.usage.calls)
        if base.asking is not None:
            chosen = replace(base.chosen, endpoint=self._endpoint)
            base.asking.begin(chosen, whole_path(base.workflow.name), user.cache)
        self._of_candidate: dict[int, Answering] = {}
        self._placing: set[asyncio.Future[Any]] = set()
        self._gate = asyncio.Semaphore(base.concurrency)
        self._stopping, self._started = Stopping(), 0

    @property
    def paid(self) -> Usage:
        """All that the search has used."""
        return self.spent + self.proposing

    def bound(self, usd: float | None, tokens: int | None) -> None:
        """From here on so much may be used in all."""
        self.budget.bound(usd, tokens)

    @property
    def dearest(self) -> Most:
        """The most that one call of an answer has used; of calls that were made earlier, on average in an answer."""
        return Most() if self._bounded is None else self._bounded.dearest

    @property
    def may_use(self) -> Most:
        """The most that one call of an answer was taken to use, here."""
        return Most() if self._bounded is None else self._bounded.may_use

    def begin_again(self) -> None:
        """What follows is judged for itself: whether it is cut, and whether so many come to nothing that all stop."""
        self.is_cut = False
        self._stopping, self._started = Stopping(), 0

    def cut(self) -> None:
        """Begin no other answer, and end those in flight."""
        self.is_cut = True
        self.cancel()

    def cancel(self) -> None:
        """End the answers in flight."""
        for task in self._placing:
            task.cancel()

    def close(self) -> None:
        """No other answer is had; what was paid is written down."""
        if self._plan.base.asking is not None:
            self._plan.base.asking.close()

    def halt(self, why: str) -> None:
        """Have no other answer, for this reason."""
        self.stopped_by = self.stopped_by or why
        self.stop.set()

    async def all(self, wanted: Sequence[WantedAnswer]) -> list[ScoreRecord | None]:
        """These answers, in their order; None for those that can't be had any more. Raises `StoreFailure`."""
        placing = [asyncio.ensure_future(self._one(answer)) for answer in wanted]
        self._placing.update(placing)
        try:
            results = await asyncio.gather(*placing, return_exceptions=True)
        finally:
            for task in placing:
                task.cancel()
            self._placing.difference_update(placing)
        for result in results:
            if isinstance(result, BaseException) and not (isinstance(result, asyncio.CancelledError) and self.is_cut):
                raise result
        return [None if isinstance(result, BaseException) else result for result in results]

    async def _one(self, wanted: WantedAnswer) -> ScoreRecord | None:
        key = (wanted.candidate, wanted.item.id, wanted.repeat)
        known = self._known.get(key)
        if known is not None and known.status != Status.UNANSWERED:
            return known
        async with self._gate:
            if self.is_cut or self.stopped_by is not None:
                return None
            place = self._started
            self._started += 1
            try:
                record, fatal = await self._answered(wanted, again=known is not None)
            except asyncio.CancelledError:
                self._note_unfinished(wanted)
                raise
            await self._user.optimizations.keep(self._search, TrialRecord(wanted.candidate, wanted.draw, record))
        self._count(key, record)
        self.asked += 1
        why = self._stopping.ended(place, Status(record.status), record.reason)
        if fatal is Fatal.BUDGET:
            # What is in flight is paid in any case, so it may end; it can't begin another call.
            self.is_cut = True
        elif why is not None or fatal is Fatal.ENDPOINT:
            self.halt(why or record.reason)
        self.told(wanted, record)
        return record

    def _note_unfinished(self, wanted: WantedAnswer) -> None:
        """Keep what an answer has paid that was cut off, so that it is counted; a resume goes on with it."""
        with suppress(StoreFailure):
            record = self._answering(wanted.candidate).unfinished(wanted.item, wanted.repeat)
            if record is not None:
                self._count((wanted.candidate, record.item, record.repeat), record)
                trial = TrialRecord(wanted.candidate, wanted.draw, record)
                self._user.optimizations.keep(self._search, trial).add_done_callback(ignore_failure)

    def _count(self, key: tuple[int, str, int], record: ScoreRecord) -> None:
        """An answer has come, in place of what is known by its key: that is part of what it has used."""
        before, self._known[key] = self._known.get(key), record
        self.spent += record.usage
        if before is not None and before.usage.calls:
            self.spent = sum((score.usage for score in self._known.values()), NOTHING)

    async def _answered(self, wanted: WantedAnswer, *, again: bool) -> tuple[ScoreRecord, Fatal | None]:
        """An answer with its score; that a candidate can't be run at all is its own fault."""
        answering, item, repeat = self._answering(wanted.candidate), wanted.item, wanted.repeat
        try:
            return await answering.answer(item, repeat, again=again)
        except UsageFailure as problem:
            work = answering.plan.work_key(item.id, repeat)
            scored = score_key(work, item, answering.plan.metric)
            failed = (Status.FAILED, 0.0, "", str(problem), NOTHING, 0.0, "", work, scored)
            return ScoreRecord(item.id, repeat, *failed), None

    def _answering(self, candidate: int) -> Answering:
        known = self._of_candidate.get(candidate)
        if known is None:
            plan = self._plan.candidate(self._text_of(candidate))
            beginning = f"{self._search}/{run_part(candidate)}"
            known = Answering(beginning, plan, self._endpoint, self._user, self._own, is_resumed=self._is_resumed)
            self._of_candidate[candidate] = known
        return known


def run_part(candidate: int) -> str:
    """What stands for a candidate in the ids of its runs."""
    return f"round_{candidate:03d}"


def value_of(score: ScoreRecord | None) -> float | None:
    """What an answer counts in a search: its score, 0 where the workflow failed, None where it says nothing of the workflow."""
    return (score.value or 0.0) if score is not None and score.status in COUNTED else None
