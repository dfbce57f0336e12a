"""Carries out a search: what it draws is answered and kept, and all else follows from that, so that it continues anywhere."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.answering import Answering
from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.spending import BudgetedEndpoint
from merrow_optimizer.evaluation.stopping import Stopping
from merrow_optimizer.evaluation.summary import COUNTED
from merrow_optimizer.optimization.costs import Costs, Priced
from merrow_optimizer.optimization.plan import ASIDE, SearchPlan, Told, drafts_of
from merrow_optimizer.optimization.record import HeldOutResult
from merrow_optimizer.optimization.rounds import Rounds
from merrow_optimizer.search.candidates import START, Draw
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.held_out import read_held_out
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import (
    HELD_OUT,
    CandidateRecord,
    DrawRecord,
    OptimizationRecord,
    TrialRecord,
)
from merrow_runtime.usage import NOTHING


class Searcher:
    """One search at work. ``user`` is the user's store, with answers and scores; ``own`` the journal of its runs.

    ``stopped_by`` says why it stopped before its end.
    """

    def __init__(self, record: OptimizationRecord, plan: SearchPlan, rounds: Rounds, user: Store, own: Store) -> None:
        self.id, self.plan = record.id, plan
        self.stopped_by: str | None = None
        self._record, self._rounds = record, rounds
        self._user, self._kept, self._own = user, user.optimizations, own
        self._answers = {
            (one.candidate, one.score.item, one.score.repeat): one.score for one in self._kept.trials(record.id)
        }
        self._is_resumed = bool(self._answers) or own.has_runs
        self._spent = sum((one.usage for one in self._answers.values()), NOTHING)
        limits = plan.base.limits
        self._budget = Budget(limits.usd, limits.tokens, spent=self._spent)
        self._endpoint: Endpoint = plan.base.chosen.endpoint
        if limits.usd is not None or limits.tokens is not None:
            self._endpoint = BudgetedEndpoint(self._endpoint, self._budget)
        if plan.base.asking is not None:
            plan.base.asking.begin(self._endpoint, plan.base.concurrency, user.cache)
        self._costs = Costs(plan)
        proposer = plan.moves if plan.bounds.max_cost is None else Priced(plan.moves, self._costs, plan.bounds.max_cost)
        self._search = Search(
            plan.moves.start(),
            plan.make_strategy(proposer),
            items=len(plan.split.searched),
            repeats=plan.repeats,
            evaluations=plan.evaluations,
            seed=plan.seed,
            jobs=plan.jobs,
        )
        self._search.give(drafts_of(plan))
        self._candidates = {one.number: one for one in self._kept.candidates(record.id)}
        self._drawn = {one.number: one for one in self._kept.draws(record.id)}
        self._outcomes = {one.number: one.outcome for one in self._drawn.values() if one.outcome is not None}
        self._handed = self._noted = 0
        self._over = record.over
        self._is_cut = False
        self._answering: dict[int, Answering] = {}
        self._placing: set[asyncio.Future[Any]] = set()
        self._gate = asyncio.Semaphore(plan.base.concurrency)
        self._stopping, self._started = Stopping(), 0
        self._stop = asyncio.Event()
        self._began, self._asked = time.monotonic(), 0
        self._told: Told = lambda _: None

    async def run(self, told: Told) -> None:
        """Go on from what the journal has to the end, and tell what happens; early where `stopped_by` says why.

        Cancelling ends the runs in flight; what is finished is kept. Raises `StoreFailure`, and `UsageFailure` where the search
        can't go on as it began.
        """
        self._told = told
        waiting = self._replay()
        await self._drive(waiting)
        if self.stopped_by is None:
            self._believe()
            await self._read()

    # What was drawn before

    def _replay(self) -> list[Draw]:
        """Draw again what was drawn before, and see that it is the same; the draws whose outcomes are still to come."""
        waiting: list[Draw] = []
        for number, known in sorted(self._drawn.items()):
            draw = self._next()
            if draw is None or not self._is_same(draw, known):
                raise UsageFailure(
                    f"Search {self.id} can't go on: this version of Merrow would try other workflows than the one that began it."
                    f" Begin another one with its best: merrow optimize {self._record.workflow} --from {self.id} ..."
                )
            if number not in self._outcomes:
                waiting.append(draw)
        return waiting

    def _is_same(self, draw: Draw, known: DrawRecord) -> bool:
        draft = self._search.history.drafts[draw.candidate]
        return (draw.number, draw.candidate, tuple(map(tuple, draw.places))) == (
            known.number,
            known.candidate,
            known.places,
        ) and draft.text == self._candidates[draw.candidate].text

    # Drawing

    def _next(self) -> Draw | None:
        """The next draw, made when the outcomes that it waits for have been handed over, no more and no fewer."""
        if not self._hand_over(len(self._search.history.draws) + 1 - self.plan.jobs):
            return None
        draw = self._search.next()
        self._note()
        return draw

    def _hand_over(self, number: int) -> bool:
        """Give the search the outcomes up to this draw, in order; whether all of them have come."""
        while self._handed < number:
            outcome = self._outcomes.get(self._handed + 1)
            if outcome is None:
                return False
            self._handed += 1
            self._search.outcome(self._handed, outcome)
        return True

    def _note(self) -> None:
        """Keep what is believed once another outcome has been applied."""
        search = self._search
        if search.history.applied == self._noted:
            return
        self._noted = search.history.applied
        candidate = search.history.draws[self._noted - 1].candidate
        known = self._drawn[self._noted]
        if known.crown is None:
            crown = search.crown
            self._keep_belief(self._noted, crown, {candidate})
            before = self._drawn[self._noted - 1].crown if self._noted > 1 else START
            self._drawn[self._noted] = DrawRecord(
                known.number, candidate, known.places, known.outcome, crown, self._candidates[crown].told
            )
            if crown != before:
                self._tell("crown", candidate=crown, told=self._candidates[crown].told, draw=self._noted)
        if self._noted == 1:
            self._look_at_start()

    def _keep_belief(self, number: int, crown: int, candidates: Iterable[int]) -> None:
        """Keep the crown after a draw, and what is believed of some candidates and of the crown."""
        search = self._search
        told: dict[int, float | None] = {}
        for one in sorted({*candidates, crown}):
            told[one] = search.strategy.told(search.history, one) if search.history.scores[one] else None
        self._kept.applied(self.id, number, crown, told[crown], told)
        for one, score in told.items():
            known = self._candidates[one]
            self._candidates[one] = CandidateRecord(
                known.number,
                known.parents,
                known.operator,
                known.title,
                known.key,
                known.calls,
                known.nodes,
                known.cost,
                known.text,
                score,
            )
            self._rounds.write(self._candidates[one], *self._score_of(one))

    def _score_of(self, candidate: int) -> tuple[float | None, int]:
        """The mean of a candidate's scores, and how many there are."""
        scores = self._search.history.scores[candidate]
        return (self._search.history.mean(candidate) if scores else None), len(scores)

    def _look_at_start(self) -> None:
        """Say where the start is all right or all wrong."""
        scores = self._search.history.scores[START].values()
        if scores and all(score == 1 for score in scores):
            self._tell(
                "note", text=f"The start has all of its {len(scores)} answers right: there is little to learn from."
            )
        elif scores and not any(scores):
            example = f"merrow show {self.id}/{file_run(START)}/{self.plan.split.searched[0].id}"
            self._tell(
                "note",
                text=f"The start has all of its {len(scores)} answers wrong: there is little to learn from. Look at one of them,"
                f" whether the metric reads it as it should, with: {example}",
            )

    # Answering

    async def _drive(self, waiting: Sequence[Draw]) -> None:
        """Draw and answer until the search is over, or is stopped."""
        stop = asyncio.ensure_future(self._stop.wait())
        pending: set[asyncio.Future[Any]] = {stop, *map(self._begun, waiting)}
        late: asyncio.TimerHandle | None = None
        try:
            while not stop.done():
                while self._over is None and (draw := self._draw()) is not None:
                    pending.add(self._begun(draw))
                if self._over is not None:
                    self._finish_off()
                if len(pending) == 1:
                    return
                late = self._timer(late)
                ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for one in ended - {stop}:
                    one.result()
        finally:
            if late is not None:
                late.cancel()
            for one in (*pending, *self._placing):
                one.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    def _draw(self) -> Draw | None:
        """Another draw, kept before anything is asked for it; None where outcomes have to come first, or it is over."""
        why = self._why_over()
        if why is not None:
            self._end(why)
            return None
        draw = self._next()
        if draw is None:
            if self._over is None and self._search.is_over:
                self._end(self._why_ended())
            return None
        new = [self._candidate(number) for number in range(len(self._candidates), len(self._search.history.drafts))]
        places = tuple((place.item, place.repeat) for place in draw.places)
        self._drawn[draw.number] = DrawRecord(draw.number, draw.candidate, places)
        self._kept.draw(self.id, self._drawn[draw.number], new)
        for one in new:
            self._rounds.write(one, None, 0)
            self._tell("candidate", **shown(one))
        return draw

    def _candidate(self, number: int) -> CandidateRecord:
        """A new candidate, as the journal has it."""
        draft = self._search.history.drafts[number]
        forecast = self._costs.of(draft)
        one = CandidateRecord(
            number,
            draft.parents,
            draft.operator,
            draft.title,
            draft.key,
            draft.calls,
            draft.nodes,
            self._costs.usd(forecast),
            draft.text,
        )
        self._candidates[number] = one
        return one

    def _begun(self, draw: Draw) -> asyncio.Future[None]:
        return asyncio.ensure_future(self._carry_out(draw))

    async def _carry_out(self, draw: Draw) -> None:
        """Have the answers of a draw, and keep its outcome."""
        items = self.plan.split.searched
        found = await self._all(
            [(draw.candidate, draw.number, items[place.item], place.repeat) for place in draw.places]
        )
        if self.stopped_by is not None:
            return
        is_whole = self._over is None or not self._is_cut
        if is_whole and all(one is not None and one.status == Status.UNANSWERED for one in found):
            self._halt(next(one.reason for one in found if one is not None))
            return
        outcome = tuple(None if one is None else value_of(one) for one in found)
        self._kept.outcome(self.id, draw.number, outcome)
        self._outcomes[draw.number] = outcome
        known = self._drawn[draw.number]
        self._drawn[draw.number] = DrawRecord(known.number, known.candidate, known.places, outcome)
        scores = [score for score in outcome if score is not None]
        self._tell(
            "draw",
            draw=draw.number,
            candidate=draw.candidate,
            answers=len(found),
            score=math.fsum(scores) / len(scores) if scores else None,
        )

    async def _all(self, wanted: Sequence[tuple[int, int, Item, int]]) -> list[ScoreRecord | None]:
        """Answers of candidates (by number, draw, item and repeat), in their order; None for those that can't be had any more."""
        placing = [asyncio.ensure_future(self._answer(*one)) for one in wanted]
        self._placing.update(placing)
        try:
            found = await asyncio.gather(*placing, return_exceptions=True)
        finally:
            for one in placing:
                one.cancel()
            self._placing.difference_update(placing)
        for result in found:
            if isinstance(result, BaseException) and not (isinstance(result, asyncio.CancelledError) and self._is_cut):
                raise result
        return [None if isinstance(result, BaseException) else result for result in found]

    async def _answer(self, candidate: int, draw: int, item: Item, repeat: int) -> ScoreRecord | None:
        key = (candidate, item.id, repeat)
        known = self._answers.get(key)
        if known is not None and known.status != Status.UNANSWERED:
            return known
        async with self._gate:
            if self._is_cut or self.stopped_by is not None:
                return None
            place = self._started
            self._started += 1
            record, fatal = await self._scored(candidate, item, repeat, again=known is not None)
            await self._kept.keep(self.id, TrialRecord(candidate, draw, record))
        self._answers[key] = record
        self._spent += record.usage
        self._asked += 1
        self._tell("answer", candidate=candidate, draw=draw, item=item.id, repeat=repeat, status=record.status)
        why = self._stopping.ended(place, Status(record.status), record.reason)
        if fatal is Fatal.BUDGET:
            # What is in flight is paid in any case, so it may end; it can't begin another call.
            self._is_cut = True
            if draw == HELD_OUT:
                self.stopped_by = self.stopped_by or record.reason
            elif self._over is None:
                self._end(self._used_up())
        elif why is not None or fatal is Fatal.ENDPOINT:
            self._halt(why or record.reason)
        return record

    async def _scored(
        self, candidate: int, item: Item, repeat: int, *, again: bool
    ) -> tuple[ScoreRecord, Fatal | None]:
        """An answer of a candidate with its score; that it can't be run at all is its own fault."""
        answering = self._answering_of(candidate)
        try:
            return await answering.answer(item, repeat, again=again)
        except UsageFailure as problem:
            work = answering.plan.work_key(item.id, repeat)
            scored = score_key(work, item, answering.plan.metric)
            failed = (Status.FAILED, 0.0, "", str(problem), NOTHING, 0.0, "", work, scored)
            return ScoreRecord(item.id, repeat, *failed), None

    def _answering_of(self, candidate: int) -> Answering:
        known = self._answering.get(candidate)
        if known is None:
            plan = self.plan.candidate(self._candidates[candidate].text)
            beginning = f"{self.id}/{file_run(candidate)}"
            known = Answering(beginning, plan, self._endpoint, self._user, self._own, is_resumed=self._is_resumed)
            self._answering[candidate] = known
        return known

    # Ending

    def _halt(self, why: str) -> None:
        """Stop before the end."""
        self.stopped_by = self.stopped_by or why
        self._stop.set()

    def _end(self, why: str) -> None:
        """Make no other draw."""
        self._over = why
        self._kept.over(self.id, why)
        self._tell("over", why=why)

    def _finish_off(self) -> None:
        """Once no other draw is made, take the outcomes that are still to come, one at a time and in order."""
        self._search.end()
        while self._hand_over(self._handed + 1):
            self._note()

    def _why_ended(self) -> str:
        if self._search.drawn >= self.plan.evaluations:
            return f"Its {self.plan.evaluations:,} answers are used up."
        if self.plan.bounds.patience is not None:
            return f"{self.plan.bounds.patience} draws brought no better workflow."
        return "It has converged: no other workflow is worth a try."

    def _why_over(self) -> str | None:
        """Why there is no other draw: nothing can be better, or the budget pays for no other one, with what reading the held-out
        items takes left over.
        """
        first = self._outcomes.get(1, ())
        if len(first) == len(self.plan.split.searched) and all(score == 1 for score in first):
            return "The start has every item right: nothing can be better on them."
        left = self._seconds_left()
        if left is not None and left <= 0:
            return f"The budget of {self.plan.base.limits.seconds:g} seconds is over."
        limits = self.plan.base.limits
        return None if limits.usd is None and limits.tokens is None else self._why_unpaid()

    def _why_unpaid(self) -> str | None:
        limits, calls = self.plan.base.limits, self._reserved_calls()
        usd = None if limits.usd is None else limits.usd - calls * self._per_call(self._spent.cost_usd, "cost_usd")
        tokens = None
        if limits.tokens is not None:
            tokens = int(limits.tokens - calls * self._per_call(self._spent.tokens, "tokens"))
        self._budget.bound(usd, tokens)
        no_money = usd is not None and (self._spent.cost_usd or 0.0) >= usd
        return self._used_up() if no_money or (tokens is not None and self._spent.tokens >= tokens) else None

    def _used_up(self) -> str:
        limits = self.plan.base.limits
        bounds = [] if limits.usd is None else [f"{limits.usd:g} US dollars"]
        bounds += [] if limits.tokens is None else [f"{limits.tokens:,} tokens"]
        return f"The budget of {' and '.join(bounds)} is used up, but for what the held-out items take."

    def _reserved_calls(self) -> float:
        """How many calls reading the held-out items may take: the start and the dearest candidate."""
        calls = [self._costs.calls(self._costs.of(draft)) for draft in self._search.history.drafts]
        return len(self.plan.split.held_out) * (calls[START] + max(calls))

    def _per_call(self, spent: float | None, name: str) -> float:
        """What a call uses: as it was measured, else by a dry run."""
        if self._spent.calls:
            return (spent or 0.0) / self._spent.calls
        forecast = self.plan.forecast
        bounds = forecast.cost_usd if name == "cost_usd" else forecast.tokens
        return bounds.least / max(1.0, forecast.calls.least)

    def _seconds_left(self) -> float | None:
        limit = self.plan.base.limits.seconds
        if limit is None:
            return None
        here = time.monotonic() - self._began
        reading = 2 * len(self.plan.split.held_out) * here / self._asked if self._asked else 0.0
        return limit - self._record.seconds - here - reading

    def _timer(self, late: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
        """What ends the answers in flight when the time is over."""
        if late is not None:
            late.cancel()
        left = self._seconds_left()
        if left is None or self._over is not None:
            return None
        return asyncio.get_running_loop().call_later(max(0.0, left), self._time_is_over)

    def _time_is_over(self) -> None:
        self._is_cut = True
        if self._over is None:
            self._end(f"The budget of {self.plan.base.limits.seconds:g} seconds is over.")
        for one in self._placing:
            one.cancel()

    # At the end

    def _believe(self) -> None:
        """Keep what is believed of all candidates at the end, and write the crown's file."""
        history, crown = self._search.history, self._search.crown
        if history.applied:
            self._keep_belief(history.applied, crown, range(len(history.drafts)))
            file = self._rounds.crown(self._candidates[crown], *self._score_of(crown))
            self._tell("crown_file", candidate=crown, file=str(file))

    async def _read(self) -> None:
        """Read the held-out items, once: the crown against the start."""
        plan, crown = self.plan, self._search.crown
        if crown == START or not plan.split.held_out or self._record.held_out is not None:
            return
        assert plan.split.part is not None  # noqa: S101 (there are held-out items)
        limits, kept = plan.base.limits, self._kept
        self._budget.bound(limits.usd, limits.tokens)
        self._is_cut = False
        self._stopping, self._started = Stopping(), 0
        self._tell("held_out_started", items=len(plan.split.held_out), part=plan.split.part)
        before = read_before(
            self._user, self._record.dataset, self._record.part, plan.split.part, self._candidates[START].key, self.id
        )
        kept.read_held_out(self._record, plan.split.part, self._candidates[crown].key)
        wanted = [(number, HELD_OUT, item, 0) for item in plan.split.held_out for number in (START, crown)]
        reading = asyncio.ensure_future(self._all(wanted))
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((reading, stop), return_when=asyncio.FIRST_COMPLETED)
            if self.stopped_by is not None:
                return
            found = reading.result()
        finally:
            for one in (reading, stop):
                one.cancel()
            await asyncio.gather(reading, stop, return_exceptions=True)
        values = [None if one is None else value_of(one) for one in found]
        pairs = [(a, b) for a, b in zip(values[::2], values[1::2], strict=True) if a is not None and b is not None]
        if not pairs:
            self.stopped_by = next(
                (one.reason for one in found if one is not None), "No held-out item could be scored."
            )
            return
        start, best = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        result = read_held_out(start, best, before)
        difference = result.difference
        shown = HeldOutResult(
            difference.items,
            math.fsum(start) / len(start),
            math.fsum(best) / len(best),
            difference.difference,
            (difference.interval.lower, difference.interval.upper),
            difference.better,
            difference.worse,
            difference.test,
            result.p,
            difference.showable,
            before,
            len(plan.split.held_out) - len(pairs),
            self._candidates[START].cost,
            self._candidates[crown].cost,
        )
        kept.conclude(self.id, shown.to_json())
        self._tell("held_out", **shown.to_json())

    def _tell(self, event: str, **data: Any) -> None:
        self._told({"event": event, **data, "spent": self._spent.to_json()})


def read_before(user: Store, dataset: str, searched: str, part: str, start: str, but: str = "") -> int:
    """How often the held-out ``part`` of the data with this hash was read, but by the search ``but``, which searches the part
    ``searched``. Where it is set aside by searches alone, an evaluation of the start, by its semantic hash, has read it, but
    chose nothing with it.
    """
    if part != ASIDE:
        return user.evaluations.readings(dataset, [part, "all"], but=but)
    return user.evaluations.readings(dataset, [part, searched, "all"], but=but, of_others=start)


def file_run(candidate: int) -> str:
    """What the runs of a candidate are named by."""
    return f"round_{candidate:03d}"


def value_of(score: ScoreRecord) -> float | None:
    """What an answer counts in a search: its score, 0 where the workflow failed, None where it says nothing of the workflow."""
    return (score.value or 0.0) if score.status in COUNTED else None


def shown(one: CandidateRecord) -> Mapping[str, Any]:
    """A candidate as plain data, without its text."""
    return {
        "candidate": one.number,
        "parents": list(one.parents),
        "operator": one.operator,
        "title": one.title,
        "key": one.key,
        "calls": one.calls,
        "nodes": one.nodes,
        "cost": one.cost,
    }
