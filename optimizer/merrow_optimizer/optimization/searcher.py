"""Carries out a search: its draws are answered and saved, and everything else follows from them, so it can always resume."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.statistics.ranks import LEAST
from merrow_optimizer.optimization.bounds import Reserve
from merrow_optimizer.optimization.consulting import Consulting
from merrow_optimizer.optimization.costs import Costs, Priced
from merrow_optimizer.optimization.held_out import read, read_judged
from merrow_optimizer.optimization.plan import JUDGED_READ, SearchPlan, Told, drafts_of
from merrow_optimizer.optimization.record import candidate_facts
from merrow_optimizer.optimization.rounds import Rounds
from merrow_optimizer.optimization.search_answers import SearchAnswers, WantedAnswer, value_of
from merrow_optimizer.search.candidates import START, Draw
from merrow_optimizer.search.engine import Search
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import HELD_OUT, CandidateRecord, DrawRecord, OptimizationRecord


class Searcher:
    """One running search. ``user`` is the user's store, with answers and scores; ``own`` the journal of its runs.

    ``stopped_by`` says why it stopped before its end.
    """

    def __init__(self, record: OptimizationRecord, plan: SearchPlan, rounds: Rounds, user: Store, own: Store) -> None:
        self.id, self.plan = record.id, plan
        self.stopped_by: str | None = None
        self._record, self._rounds = record, rounds
        self._user, self._kept = user, user.optimizations
        self._answers = SearchAnswers(record.id, plan, lambda number: self._candidates[number].text, user, own)
        self._answers.told = self._answered
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
        self._consulting = (
            None if plan.proposing is None else Consulting(record.id, plan, self._answers, self._costs, user)
        )
        self._candidates = {candidate.number: candidate for candidate in self._kept.candidates(record.id)}
        self._drawn = {draw.number: draw for draw in self._kept.draws(record.id)}
        self._outcomes = {draw.number: draw.outcome for draw in self._drawn.values() if draw.outcome is not None}
        self._handed = self._noted = 0
        self._over = record.over
        self._reserve = Reserve(plan, self._costs, self._answers, record.seconds)
        self._told: Told = lambda _: None

    async def run(self, told: Told) -> None:
        """Continue from the state in the journal to the end, and report progress; if it stops early, `stopped_by` says why.

        Cancelling stops the runs in flight; finished work is kept. Raises `StoreFailure`, and `UsageFailure` if the search
        can't continue as it began.
        """
        self._told = told
        try:
            waiting = self._replay()
            await self._drive(waiting)
            if self._answers.stopped_by is None:
                self._believe()
                await self._read()
                await self._read_judged()
        finally:
            self._answers.close()
        self.stopped_by = self._answers.stopped_by

    # What was drawn before

    def _replay(self) -> list[Draw]:
        """Repeat the earlier draws and check that they are the same; returns those whose outcomes are still to come."""
        waiting: list[Draw] = []
        for number, known in sorted(self._drawn.items()):
            draw = self._next()
            if draw is None or not self._is_same(draw, known):
                raise UsageFailure(
                    f"Search {self.id} can't continue: this version of Merrow would try other workflows than"
                    " the one that began it. Begin another one with its best: merrow optimize"
                    f" {self._record.workflow} --from {self.id} ..."
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
        """The next draw, made when exactly the outcomes that it waits for have been applied."""
        if not self._hand_over(len(self._search.history.draws) + 1 - self.plan.jobs):
            return None
        if self._consulting is not None and self._search.is_ready:
            self._search.give(self._consulting.drafts(len(self._search.history.draws) + 1, self._search))
        draw = self._search.next()
        self._note()
        return draw

    def _hand_over(self, number: int) -> bool:
        """Pass the outcomes up to this draw to the search, in order; returns whether all of them have arrived."""
        while self._handed < number:
            outcome = self._outcomes.get(self._handed + 1)
            if outcome is None:
                return False
            self._handed += 1
            self._search.outcome(self._handed, outcome)
        return True

    def _note(self) -> None:
        """Save the estimates after another outcome has been applied."""
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
        """Save the best candidate after a draw, and the estimates of some candidates and of the best one."""
        search = self._search
        told: dict[int, float | None] = {}
        for candidate in sorted({*candidates, crown}):
            told[candidate] = (
                search.strategy.told(search.history, candidate) if search.history.scores[candidate] else None
            )
        self._kept.applied(self.id, number, crown, told[crown], told)
        for candidate, score in told.items():
            self._candidates[candidate] = replace(self._candidates[candidate], told=score)
            self._rounds.write(self._candidates[candidate], *self._score_of(candidate))

    def _score_of(self, candidate: int) -> tuple[float | None, int]:
        """The mean of a candidate's scores, and how many there are."""
        scores = self._search.history.scores[candidate]
        return (self._search.history.mean(candidate) if scores else None), len(scores)

    def _look_at_start(self) -> None:
        """Report if the start is entirely right or entirely wrong."""
        scores = self._search.history.scores[START].values()
        if scores and all(score == 1 for score in scores):
            self._tell(
                "note", text=f"The start has all of its {len(scores)} answers right: there is little to learn from."
            )
        elif scores and not any(scores):
            text = f"The start has all of its {len(scores)} answers wrong: there is little to learn from."
            # The run belongs to an evaluation if that has asked the same before.
            trials = (trial.score for trial in self._kept.trials(self.id) if trial.candidate == START)
            run = next((score.run for score in trials if value_of(score) == 0 and score.run), None)
            if run is not None:
                text += (
                    " Look at one of them, whether the metric reads it as it should, with:"
                    f" merrow show {shlex.quote(run)}"
                )
            self._tell("note", text=text)

    # Answering

    async def _drive(self, waiting: Sequence[Draw]) -> None:
        """Draw and answer until the search is over or stopped."""
        stop = asyncio.ensure_future(self._answers.stop.wait())
        pending: set[asyncio.Future[Any]] = {stop, *map(self._begun, waiting)}
        late: asyncio.TimerHandle | None = None
        try:
            while not stop.done():
                while self._over is None and (draw := await self._draw()) is not None:
                    pending.add(self._begun(draw))
                if self._over is not None:
                    self._finish_off()
                if len(pending) == 1:
                    return
                late = self._timer(late)
                ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in ended - {stop}:
                    task.result()
        finally:
            if late is not None:
                late.cancel()
            for task in pending:
                task.cancel()
            self._answers.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _draw(self) -> Draw | None:
        """Another draw, saved before anything is asked for it; None if outcomes have to come first, or the search is over."""
        await self._user.until_there()
        why = self._why_over()
        if why is not None:
            self._end(why)
            return None
        if not await self._consult():
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
        for candidate in new:
            self._rounds.write(candidate, None, 0)
            self._tell("candidate", **candidate_facts(candidate))
        if new:
            # A candidate with more calls uses more at the end, so less is left for its own answers.
            self._reserve.why_over(self._search.history.drafts)
        return draw

    async def _consult(self) -> bool:
        """Let the model propose candidates when it is time; returns whether the search continues with its next draw."""
        consulting, search = self._consulting, self._search
        if consulting is None or not self._hand_over(len(search.history.draws) + 1 - self.plan.jobs):
            return True
        if not search.is_ready:
            return True
        self._note()
        if not consulting.is_due(search):
            return True
        told_before = consulting.failed > 0
        asking = asyncio.ensure_future(consulting.ask(search))
        stop = asyncio.ensure_future(self._answers.stop.wait())
        try:
            left = self._reserve.seconds_left
            await asyncio.wait((asking, stop), timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done() and not stop.done() and self._over is None:
                self._end(self._reserve.time_is_over)
            failure = asking.result() if asking.done() else None
        finally:
            for task in (asking, stop):
                task.cancel()
            await asyncio.gather(asking, stop, return_exceptions=True)
        if self._over is not None or self._answers.stopped_by is not None:
            return False
        why = self._reserve.used_up if self._answers.is_cut else self._reserve.why_over(search.history.drafts)
        if why is not None:
            self._end(why)
            return False
        if failure is not None and self.plan.proposing is not None and self.plan.proposing.only:
            self._answers.halt(failure)
            return False
        if failure is not None and not told_before:
            self._tell(
                "note", text=f"A question to the model that proposes brought nothing; the search continues: {failure}"
            )
        return True

    def _candidate(self, number: int) -> CandidateRecord:
        """A new candidate in the form of the journal."""
        draft = self._search.history.drafts[number]
        forecast = self._costs.of(draft)
        candidate = CandidateRecord(
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
        self._candidates[number] = candidate
        return candidate

    def _begun(self, draw: Draw) -> asyncio.Future[None]:
        return asyncio.ensure_future(self._carry_out(draw))

    async def _carry_out(self, draw: Draw) -> None:
        """Get the answers of a draw, and save its outcome."""
        answers, items = self._answers, self.plan.split.searched
        records = await answers.all(
            [WantedAnswer(draw.candidate, draw.number, items[place.item], place.repeat) for place in draw.places]
        )
        await self._user.until_there()
        if answers.stopped_by is not None:
            return
        if not answers.is_cut and all(record is not None and record.status == Status.UNANSWERED for record in records):
            answers.halt(next(record.reason for record in records if record is not None))
            return
        outcome = tuple(map(value_of, records))
        self._kept.outcome(self.id, draw.number, outcome)
        self._outcomes[draw.number] = outcome
        known = self._drawn[draw.number]
        self._drawn[draw.number] = DrawRecord(known.number, known.candidate, known.places, outcome)
        scores = [score for score in outcome if score is not None]
        self._tell(
            "draw",
            draw=draw.number,
            candidate=draw.candidate,
            answers=len(records),
            score=math.fsum(scores) / len(scores) if scores else None,
        )

    def _answered(self, wanted: WantedAnswer, score: ScoreRecord) -> None:
        """An answer was saved; if it was the last that the budget pays for, there is no further draw."""
        self._tell(
            "answer",
            candidate=wanted.candidate,
            draw=wanted.draw,
            item=score.item,
            repeat=score.repeat,
            status=score.status,
        )
        if self._answers.is_cut and self._over is None and self._reserve.is_limited:
            self._end(self._reserve.used_up)
        elif self._answers.is_cut and self._over is None:
            self._answers.halt(score.reason)  # The user's limits: it can go on next month.
        elif self._answers.is_cut and wanted.draw == HELD_OUT:
            self._answers.halt(score.reason)

    # Ending

    def _end(self, why: str) -> None:
        """Make no other draw."""
        self._over = why
        self._kept.over(self.id, why)
        self._tell("over", why=why)

    def _finish_off(self) -> None:
        """When no further draws are made, apply the remaining outcomes, one at a time and in order."""
        self._search.end()
        while self._hand_over(self._handed + 1):
            self._note()

    def _why_ended(self) -> str:
        if self._search.drawn >= self.plan.evaluations:
            return self._reserve.no_answers
        if self.plan.most_rounds is not None and len(self._search.history.drafts) >= self.plan.most_rounds:
            return f"All {self.plan.most_rounds:,} rounds are over (--set max-rounds=N for others)."
        if self.plan.most_rounds is not None:
            return "It has converged: the best rounds do not get better any more (--set rounds, top or z for another rule)."
        if self.plan.bounds.patience is not None:
            return f"{self.plan.bounds.patience} draws brought no better workflow."
        return "It has converged: no other workflow is worth a try."

    def _why_over(self) -> str | None:
        """Why there is no further draw: nothing can be better, or the budget pays for no more."""
        start = [
            (place[0], score)
            for number, outcome in self._outcomes.items()
            if self._drawn[number].candidate == START
            for place, score in zip(self._drawn[number].places, outcome, strict=True)
        ]
        if len({item for item, _ in start}) == len(self.plan.split.searched) and all(score == 1 for _, score in start):
            return "The start has every item right: nothing can be better on them."
        return self._reserve.why_over(self._search.history.drafts)

    def _timer(self, late: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
        """Stops the answers in flight when the time is up."""
        if late is not None:
            late.cancel()
        left = self._reserve.seconds_left
        if left is None or self._over is not None:
            return None
        return asyncio.get_running_loop().call_later(max(0.0, left), self._time_is_over)

    def _time_is_over(self) -> None:
        if self._over is None:
            self._end(self._reserve.time_is_over)
        self._answers.cut()

    # At the end

    def _believe(self) -> None:
        """Save the final estimates of all candidates, and write the file of the best one."""
        history, crown = self._search.history, self._search.crown
        if history.applied:
            self._keep_belief(history.applied, crown, range(len(history.drafts)))
            file = self._rounds.crown(self._candidates[crown], *self._score_of(crown))
            self._tell("crown_file", candidate=crown, file=str(file))

    async def _read(self) -> None:
        """Compare the best candidate with the start on the held-out items, once."""
        plan, crown = self.plan, self._search.crown
        if crown == START or not plan.split.held_out or self._record.held_out is not None:
            return
        self._tell("held_out_started", items=len(plan.split.held_out), part=plan.split.part)
        start, best = self._candidates[START], self._candidates[crown]
        with self._reading():
            result = await read(self._user, self._record, plan, self._answers, start, best)
        if result is not None:
            self._kept.conclude(self.id, result.to_json())
            self._tell("held_out", **result.to_json())

    async def _read_judged(self) -> None:
        """Read held-out items with the candidates that a judge scored, for what its scores are worth: they choose nothing."""
        plan, history = self.plan, self._search.history
        judged = [number for number in history.scored() if history.drafts[number].judged is not None]
        if not plan.judge_items or len(judged) < LEAST or self._answers.stopped_by is not None:
            return
        if len(judged) > JUDGED_READ:
            judged = sorted(Random(f"{plan.seed} judged").sample(judged, JUDGED_READ))  # noqa: S311 (no secret)
        with self._reading():
            await read_judged(
                self._user, self._record, plan, self._answers, judged, self._candidates[self._search.crown]
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Held-out items may be read, with what was reserved for them, as long as there is time."""
        self._reserve.release()
        left, loop = self._reserve.whole_seconds_left, asyncio.get_running_loop()
        late = None if left is None else loop.call_later(max(0.0, left), self._reading_is_late)
        try:
            yield
        finally:
            if late is not None:
                late.cancel()

    def _reading_is_late(self) -> None:
        self._answers.halt(f"{self._reserve.time_is_over} The held-out items are not read to the end.")

    def _tell(self, event: str, **data: Any) -> None:
        self._told({"event": event, **data, "spent": self._answers.paid.to_json()})
