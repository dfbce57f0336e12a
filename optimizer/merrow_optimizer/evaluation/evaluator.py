"""Runs an evaluation: items times repeats through the runtime, each scored, and kept before it counts."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from merrow_optimizer.evaluation.asking import SCORING, Scoring
from merrow_optimizer.evaluation.endings import Fatal, Outcome, ending_of
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import InvalidItemError, Status
from merrow_optimizer.evaluation.spending import BudgetedEndpoint
from merrow_optimizer.evaluation.stopping import Stopping
from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.running.api import finish, resume, start
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord, output_of, output_text
from merrow_runtime.usage import NOTHING, Usage

METRIC_SECONDS = 300.0
"""Seconds after which a metric that has not scored an answer makes its item invalid."""

_OWN_NAME = re.compile(r"[\w.@+=-]{1,80}")
_DIGEST = re.compile(r"x[0-9a-f]{24}")

OnScore = Callable[[ScoreRecord], None]


class Task(NamedTuple):
    """One answer to be had: to which item, which repeat, and at which place of the evaluation."""

    place: int
    item: Item
    repeat: int


def run_name(evaluation: str, item: str, repeat: int) -> str:
    """The id of the run that answers an item: begins with the evaluation's id, and has the item's where a name can have it."""
    name = item
    if _OWN_NAME.fullmatch(item) is None or _DIGEST.fullmatch(item):
        name = "x" + hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{evaluation}/{name}" + (f"/{repeat}" if repeat else "")


class Evaluator:
    """One evaluation at work. ``user`` is the user's store, with answers and scores; ``own`` the journal of its runs.

    ``scores`` has the last score of each item and repeat, those from before a resume too. ``stopped_by`` says why it stopped
    before its end.
    """

    def __init__(self, evaluation: str, plan: Plan, user: Store, own: Store) -> None:
        self.id = evaluation
        self.plan = plan
        self.scores: dict[tuple[str, int], ScoreRecord] = {
            (one.item, one.repeat): one for one in user.evaluations.scores(evaluation)
        }
        self.stopped_by: str | None = None
        self._user = user
        self._own = own
        self._is_resumed = bool(self.scores) or own.has_runs
        self._outputs = [node.id for node in plan.workflow.graph.outputs]
        self._stopping = Stopping()
        self._stop = asyncio.Event()
        self._endpoint = _within(plan, self.spent)
        if plan.asking is not None:
            plan.asking.begin(self._endpoint, plan.concurrency, user.cache)
        self._options = replace(plan.options, concurrency=plan.chosen.concurrency)

    @property
    def spent(self) -> Usage:
        """What the evaluation has used so far."""
        return sum((one.usage for one in self.scores.values()), NOTHING)

    def left(self) -> list[Task]:
        """The answers to be had, in order: every item once before any is repeated."""
        done = {key for key, one in self.scores.items() if one.status != Status.UNANSWERED and self._counts(one)}
        every = ((item, repeat) for repeat in range(self.plan.repeats) for item in self.plan.items)
        wanted = ((item, repeat) for item, repeat in every if (item.id, repeat) not in done)
        return [Task(place, item, repeat) for place, (item, repeat) in enumerate(wanted)]

    def _counts(self, score: ScoreRecord) -> bool:
        """Whether a score stays: not where only answers of the endpoint that answers now are wanted, and another gave it."""
        if self.plan.options.reuse != "same" or score.item not in self.plan.inputs:
            return True
        return score.work == self.plan.work_key(score.item, score.repeat)

    async def run(self, told: OnScore = lambda _: None) -> None:
        """Have all answers that are left, tell each score once it is kept, and end; early where `stopped_by` says why.

        Cancelling ends the runs in flight; what is finished is kept. Raises `StoreFailure`.
        """
        tasks, seconds = iter(self.left()), self.plan.limits.seconds
        loop = asyncio.get_running_loop()
        late = None if seconds is None else loop.call_later(seconds, self._time_is_over, seconds)
        # A few more than calls may be made at the same time: while one is kept and scored, another can be asked.
        count = self.plan.concurrency + self.plan.concurrency // 4
        workers = [asyncio.ensure_future(self._work(tasks, told)) for _ in range(count)]
        stop = asyncio.ensure_future(self._stop.wait())
        pending: set[asyncio.Future[Any]] = {stop, *workers}
        try:
            while not stop.done() and len(pending) > 1:
                ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for worker in ended - {stop}:
                    worker.result()
        finally:
            if late is not None:
                late.cancel()
            for one in pending:
                one.cancel()
            await asyncio.gather(stop, *workers, return_exceptions=True)  # where one fails, others may have, too

    async def _work(self, tasks: Iterator[Task], told: OnScore) -> None:
        for task in tasks:
            record, fatal = await self._answered(task)
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

    def _end(self, why: str) -> None:
        self.stopped_by = self.stopped_by or why
        self._stop.set()

    def _time_is_over(self, seconds: float) -> None:
        self._end(f"The budget of {seconds:g} seconds is over; resume it with a higher one (--budget-seconds).")

    async def _answered(self, task: Task) -> tuple[ScoreRecord, Fatal | None]:
        """The score of a task: as it is known, of an answer that is known, or of a run. And whether no other can be had now."""
        plan, item = self.plan, task.item
        work = plan.work_key(item.id, task.repeat)
        scored = score_key(work, item, plan.metric)
        if not plan.options.fresh:
            for known in self._user.evaluations.known(work):
                record = await self._known(task, known, scored)
                if record is not None:
                    return record, None
        name = run_name(self.id, item.id, task.repeat)
        result = await self._run(name, task)
        ending = ending_of(result, self._outputs)
        outcome, used = ending.scored, NOTHING
        if ending.status is None:
            outcome, used = await self._scored(task, ending.output)
        output = output_text(ending.output) if ending.status is None else None
        record = ScoreRecord(
            item.id, task.repeat, *outcome, result.usage + used, result.seconds, name, work, scored, output
        )
        return record, ending.fatal

    async def _known(self, task: Task, known: ScoreRecord, scored: bytes) -> ScoreRecord | None:
        """A score made of an earlier one for the same work, which costs nothing now; None where nothing of it can be used."""
        same = known.scored == scored and known.status in (Status.RIGHT, Status.WRONG)
        outcome, used = Outcome(Status(known.status), known.value, known.read, known.reason), NOTHING
        if not same and known.status != Status.FAILED:
            if known.output is None:
                return None
            outcome, used = await self._scored(task, output_of(known.output))
        return ScoreRecord(
            task.item.id, task.repeat, *outcome, used, known.seconds, known.run, known.work, scored, known.output
        )

    async def _run(self, name: str, task: Task) -> RunResult:
        """The run that answers a task, begun or gone on with, at its end."""
        status = self._own.status(name) if self._is_resumed else None
        if status == "finished" and ((task.item.id, task.repeat) in self.scores or self._went_without(name)):
            # It went on without an answer that an endpoint owed it, or another endpoint answered; what this one answered is in
            # the cache.
            self._own.delete(name)
            status = None
        if status is None:
            options = replace(self._options, repeat=task.repeat)
            inputs = self.plan.inputs[task.item.id]
            return await finish(
                start(
                    self.plan.workflow, inputs, options=options, endpoint=self._endpoint, store=self._own, run_id=name
                )
            )
        return await finish(resume(name, options=self._options, endpoint=self._endpoint, store=self._own))

    def _went_without(self, run: str) -> bool:
        """Whether a finished run, whose process died before its score was kept, went on without an answer of an endpoint."""
        nodes = (one for one in self._own.told(run) if isinstance(one, NodeRecord))
        return any(one.failed is not None and one.failed.code == EndpointFailure.code for one in nodes)

    async def _scored(self, task: Task, output: Any) -> tuple[Outcome, Usage]:
        """What the metric says of an answer, and what it used for that."""
        scoring = Scoring(run_name(self.id, task.item.id, task.repeat), [])
        SCORING.set(scoring)
        return await self._judged(task.item, output), sum(scoring.used, NOTHING)

    async def _judged(self, item: Item, output: Any) -> Outcome:
        """What the metric says of an answer. Whatever goes wrong in there makes the item invalid, with the reason."""
        metric = self.plan.metric
        try:
            async with asyncio.timeout(METRIC_SECONDS):
                score = await metric.score(item, output)
        except InvalidItemError as problem:
            return Outcome(Status.INVALID, None, "", str(problem))
        except (EndpointFailure, BudgetFailure) as failure:  # of a metric that asks a model
            return Outcome(Status.UNANSWERED, None, "", failure.sentence)
        except TimeoutError:
            return Outcome(Status.INVALID, None, "", f"The metric {metric.name} took more than {METRIC_SECONDS:g} s.")
        except Exception as problem:  # noqa: BLE001 (a metric may be a user's own)
            reason = f"The metric {metric.name} failed: {type(problem).__name__}: {problem}"
            return Outcome(Status.INVALID, None, "", reason)
        if not 0 <= score.value <= 1:
            reason = f"The metric {metric.name} gave {score.value}, which is not from 0 to 1."
            return Outcome(Status.INVALID, None, score.read, reason)
        return Outcome(Status.RIGHT if score.value == 1 else Status.WRONG, float(score.value), score.read, score.reason)


def _within(plan: Plan, spent: Usage) -> Endpoint:
    """The endpoint of a plan, within its budget."""
    limits = plan.limits
    if limits.usd is None and limits.tokens is None:
        return plan.chosen.endpoint
    return BudgetedEndpoint(plan.chosen.endpoint, Budget(limits.usd, limits.tokens, spent=spent))
