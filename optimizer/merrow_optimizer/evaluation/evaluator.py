"""Runs an evaluation: items times repeats, answered wherever its engine has them answered, each kept before it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.stopping import Stopping
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING

OnScore = Callable[[ScoreRecord], None]

_AGAIN, _STAYS = 1, 2


class AnswerTask(NamedTuple):
    """One answer to be had: to which item, which repeat, and at which place of the evaluation. ``again`` says that there is a
    score of it that does not stay.
    """

    place: int
    item: Item
    repeat: int
    again: bool = False


class Tally(Protocol):
    """What an engine works for: it is told of each score, and knows when to stop."""

    def ended(self, task: AnswerTask, record: ScoreRecord, fatal: Fatal | None = None) -> bool:
        """Count a score that is kept, and why no other can be had now; whether to begin no more."""
        ...

    def end(self, why: str) -> None:
        """End all of it before its end."""
        ...


class AnswerEngine(Protocol):
    """Where the items of an evaluation are answered, each kept in the journal before it is counted."""

    async def answer(self, tasks: Iterable[AnswerTask], tally: Tally) -> None:
        """Have the tasks answered, in about their order, until there are no more or ``tally`` says to stop. Cancelling ends what
        is in flight; what is finished is kept. Raises `StoreFailure`.
        """
        ...

    def close(self) -> None:
        """Nothing more will be answered."""
        ...


class Evaluator:
    """One evaluation at work. ``user`` is the user's store, with answers and scores; ``elapsed`` seconds were worked on it
    before. ``spent`` is what it had used until then, ``scored`` whether it had any score, and ``stopped_by`` says why it stopped
    before its end. The journal has the scores: those of many items would fill the memory.
    """

    def __init__(self, evaluation: str, plan: Plan, user: Store, elapsed: float = 0.0) -> None:
        self.id = evaluation
        self.plan = plan
        self.spent = NOTHING
        self.scored = False
        self.stopped_by: str | None = None
        self._clock = Clock(plan.limits.seconds, elapsed)
        self._stopping = Stopping()
        self._stop = asyncio.Event()
        self._told: OnScore = lambda _: None
        self._before = bytearray(len(plan.items) * plan.repeats)
        """For each repeat of each item whether it had a score then, and whether that stays."""
        self._look_back(user)

    def _look_back(self, user: Store) -> None:
        places: dict[str, int] = {}
        for score in user.evaluations.scores(self.id):
            places = places or {item: place for place, item in enumerate(self.plan.inputs)}
            self.scored = True
            self.spent += score.usage
            if score.item in places and score.repeat < self.plan.repeats:
                stays = score.status != Status.UNANSWERED and self._counts(score)
                place = score.repeat * len(places) + places[score.item]
                self._before[place] = _STAYS if stays else _AGAIN

    def left(self) -> Iterator[AnswerTask]:
        """The answers to be had, in order: every item once before any is repeated."""
        place = 0
        for repeat in range(self.plan.repeats):
            for number, before in enumerate(self._before[repeat * len(self.plan.items) :][: len(self.plan.items)]):
                if before != _STAYS:
                    yield AnswerTask(place, self.plan.items[number], repeat, before == _AGAIN)
                    place += 1

    def _counts(self, score: ScoreRecord) -> bool:
        """Whether a score stays: not where only answers of the endpoint that answers now are wanted, and another gave it."""
        return self.plan.options.reuse != "same" or score.work == self.plan.work_key(score.item, score.repeat)

    async def run(self, engine: AnswerEngine, told: OnScore = lambda _: None) -> None:
        """Have ``engine`` answer all that is left, tell each score once it is kept, and end; early where `stopped_by` says why.

        Cancelling ends the runs in flight; what is finished is kept. Raises `StoreFailure`.
        """
        self._told = told
        left = self._clock.left
        late: asyncio.TimerHandle | None = None
        if left is not None:
            over = f"{self._clock.is_over}: raise it with --budget-seconds."
            if left <= 0:
                self.end(over)
                return
            late = asyncio.get_running_loop().call_later(left, self.end, over)
        working = asyncio.ensure_future(engine.answer(self.left(), self))
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((working, stop), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            if late is not None:
                late.cancel()
            for task in (working, stop):
                task.cancel()
            await asyncio.gather(working, stop, return_exceptions=True)

    def ended(self, task: AnswerTask, record: ScoreRecord, fatal: Fatal | None = None) -> bool:
        """See `Tally`."""
        self._told(record)
        why = self._stopping.ended(task.place, Status(record.status), record.reason)
        if fatal is Fatal.BUDGET:
            # What is in flight is paid in any case, so it may end; it can't begin another call.
            self.stopped_by = self.stopped_by or record.reason
        elif why is not None or fatal is Fatal.ENDPOINT:
            self.end(why or record.reason)
        return self.stopped_by is not None

    def end(self, why: str) -> None:
        """See `Tally`; what is in flight is cancelled."""
        self.stopped_by = self.stopped_by or why
        self._stop.set()
