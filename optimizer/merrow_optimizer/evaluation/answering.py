"""Answers one item: with what is known by its keys, else by a run; scored, and with what that used."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_optimizer.evaluation.endings import RETURN, Fatal, ItemOutcome, all_outputs, ending_of
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.metrics.reward import with_episode
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import FieldScore, InvalidItemError, PartlyScoredError, Status
from merrow_optimizer.evaluation.unattended import unattended, with_answers
from merrow_runtime.asking.asker import ACCOUNT, PurposeAccount
from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.options import RunOptions
from merrow_runtime.running.api import begin, finish, resume
from merrow_runtime.running.run import RunResult
from merrow_runtime.spending.meter import MonthSpent
from merrow_runtime.store.contract import NodeRecord, RunStatus
from merrow_runtime.store.database import RunExists, Store
from merrow_runtime.store.evaluations import ScoreRecord, output_of, output_text
from merrow_runtime.store.lease import BEAT, STALE, HeldElsewhere
from merrow_runtime.usage import NOTHING, Usage

METRIC_SECONDS = 300.0
"""Seconds after which a metric that has not scored an answer makes its item invalid."""

_LOOK = 0.5
"""Seconds between two looks at whether another process is done with an item."""

_OWN_NAME = re.compile(r"[\w.@+=-]{1,80}")
_DIGEST = re.compile(r"x[0-9a-f]{24}")


def run_name(beginning: str, item: str, repeat: int) -> str:
    """The id of the run that answers an item: begins with the id of the evaluation (of a search, with the candidate's number
    after it), and has the item's where a name can have it.
    """
    name = item
    if _OWN_NAME.fullmatch(item) is None or _DIGEST.fullmatch(item):
        name = "x" + hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{beginning}/{name}" + (f"/{repeat}" if repeat else "")


def ignore_failure(written: asyncio.Future[Any]) -> None:
    """For a write at the end that nobody waits for: that it failed is told by the next one."""
    if not written.cancelled():
        written.exception()


class Answering:
    """Answers the items of a plan by an endpoint. ``user`` is the user's store, with answers and scores; ``own`` the journal of
    the runs, whose names begin with ``beginning``. ``is_resumed`` says that there may be runs already,
    ``is_shared`` that other processes may be at the same item: what they are answering is waited for, and not asked twice.
    """

    def __init__(
        self,
        beginning: str,
        plan: Plan,
        endpoint: Endpoint,
        user: Store,
        own: Store,
        *,
        is_resumed: bool,
        is_shared: bool = False,
    ) -> None:
        self.plan = plan
        self._beginning = beginning
        self._endpoint = endpoint
        self._user = user
        self._own = own
        self._is_resumed = is_resumed
        self._is_shared = is_shared
        self._outputs = [node.id for node in plan.workflow.graph.outputs]
        options = unattended(plan.workflow, plan.options)
        self._options = replace(options, concurrency=plan.chosen.concurrency)
        self._by_repeat: dict[int, RunOptions] = {}
        self._looked_up: dict[str, RunStatus | None] = {}

    async def look_up(self, tasks: Sequence[tuple[Item, int]]) -> None:
        """Read at once what the journal has of runs that answered items and repeats which follow now: a shared one takes as long
        for one as for all. What has begun since is noticed when it is begun. Raises `StoreFailure`.
        """
        names = [run_name(self._beginning, item.id, repeat) for item, repeat in tasks]
        found = await self._own.off_loop(lambda own: own.statuses(names))
        self._looked_up.update((name, found.get(name)) for name in names)

    async def answer(self, item: Item, repeat: int, *, again: bool) -> tuple[ScoreRecord, Fatal | None]:
        """The score of an item: as it is known, of an answer that is known, or of a run. And whether no other can be had now.
        ``again`` says that an earlier score of it does not stay. Raises `StoreFailure`.
        """
        plan = self.plan
        work = plan.work_key(item.id, repeat)
        scored = score_key(work, item, plan.metric)
        if not plan.options.fresh:
            for known in await self._user.evaluations.off_loop(lambda kept: kept.known(work)):
                earlier = await self._known(item, repeat, known, scored)
                if earlier is not None:
                    return earlier
        name = run_name(self._beginning, item.id, repeat)
        paid = await self._cleared(name, again=again)
        try:
            result = await self._run_when_free(name, item, repeat)
        except MonthSpent as failure:  # before it began
            outcome = ItemOutcome(Status.UNANSWERED, None, "", failure.sentence)
            return _record(item, repeat, outcome, paid, 0.0, "", work, scored), Fatal.BUDGET
        ending = ending_of(result, self._outputs)
        if ending.status is None and plan.metric.of_episode:
            ending = ending._replace(output=with_episode(result, ending.output))
        outcome, used, fatal = self._with_fields(item, ending.scored), NOTHING, ending.fatal
        if ending.status is None:
            outcome, used, fatal = await self._scored(item, repeat, ending.output, ending.others)
        output = output_text(ending.output) if ending.status is None else None
        others = None if ending.others is None else output_text(ending.others)
        usage = paid + result.usage + used
        seconds, stopped = result.seconds, len(result.exhausted)
        return _record(item, repeat, outcome, usage, seconds, name, work, scored, output, stopped, others), fatal

    def unfinished(self, item: Item, repeat: int) -> ScoreRecord | None:
        """After `answer` was cancelled, what it has paid so far, as an item without an answer; None where it paid nothing, and
        where the run has its end, so that a resume needs no more than read it.

        To be called by the task that called `answer`. Raises `StoreFailure`.
        """
        name = run_name(self._beginning, item.id, repeat)
        scoring = ACCOUNT.get()
        usage = scoring.used if scoring is not None and scoring.name == name else NOTHING
        status = self._own.status(name)
        if status == "finished" and not usage.calls:
            return None
        run = self._own.run(name) if status is not None else None
        if run is not None:
            usage += run.usage
        if not usage.calls:
            return None
        work = self.plan.work_key(item.id, repeat)
        outcome = ItemOutcome(Status.UNANSWERED, None, "", "It was stopped before there was an answer.")
        seconds = 0.0 if run is None else run.seconds or 0.0
        return _record(item, repeat, outcome, usage, seconds, name, work, score_key(work, item, self.plan.metric))

    async def _known(
        self, item: Item, repeat: int, known: ScoreRecord, scored: bytes
    ) -> tuple[ScoreRecord, Fatal | None] | None:
        """A score made of an earlier one for the same work, whose answer costs nothing now, and whether no other can be had; None
        where nothing of it can be used.
        """
        same = known.scored == scored and known.status in (Status.RIGHT, Status.WRONG)
        outcome = ItemOutcome(Status(known.status), known.value, known.read, known.reason, known.fields)
        used, fatal = NOTHING, None
        if known.status == Status.FAILED:
            outcome = self._with_fields(item, outcome)
        elif not same:
            if known.output is None or self._lacks_outputs(known):
                return None
            others = None if known.others is None else output_of(known.others)
            outcome, used, fatal = await self._scored(item, repeat, output_of(known.output), others)
        seconds, run, output, stopped = known.seconds, known.run, known.output, known.exhausted
        return _record(
            item, repeat, outcome, used, seconds, run, known.work, scored, output, stopped, known.others
        ), fatal

    def _lacks_outputs(self, known: ScoreRecord) -> bool:
        """Whether an answer is without those outputs that are scored, as an older Merrow kept it."""
        return (
            self.plan.metric.reads_all and RETURN in self._outputs and len(self._outputs) > 1 and known.others is None
        )

    def _with_fields(self, item: Item, outcome: ItemOutcome) -> ItemOutcome:
        """Of an item that failed, with what that means for the fields."""
        fields = self.plan.metric.failed(item, outcome.reason) if outcome.status is Status.FAILED else None
        return outcome._replace(fields=_plain(fields))

    async def _status(self, name: str) -> RunStatus | None:
        """How a run of this name ended, as far as recorded; None where there is none. What was looked up counts once."""
        if name in self._looked_up:
            return self._looked_up.pop(name)
        return await self._own.off_loop(lambda own: own.status(name)) if self._is_resumed else None

    async def _cleared(self, name: str, *, again: bool) -> Usage:
        """Take an earlier run of this name out that finished without an answer that counts; what it had paid."""
        status = await self._status(name)
        if self._is_resumed:
            self._looked_up[name] = status  # for the run that follows
        if status != "finished":
            return NOTHING
        paid = await self._own.off_loop(lambda own: _taken_out(own, name, whatever=again))
        if paid is None:
            return NOTHING
        self._looked_up[name] = None
        return paid

    async def _run_when_free(self, name: str, item: Item, repeat: int) -> RunResult:
        """See `_run`; where another process is at it, wait until that has ended or died, and read what it has."""
        clock = Clock(STALE + BEAT)
        while True:
            try:
                return await self._run(name, item, repeat)
            except RunExists:
                if not self._is_shared:
                    raise
            except HeldElsewhere:
                # A worker that is left, and couldn't write its end on a full disk, has it until its signs of life are old.
                if not self._is_shared and not clock.left:
                    raise
            await asyncio.sleep(_LOOK)

    async def _run(self, name: str, item: Item, repeat: int) -> RunResult:
        """The run that answers a task, begun or gone on with, at its end. Raises `MonthSpent` where none may begin."""
        status = await self._status(name)
        if status is None:
            options = self._by_repeat.get(repeat)
            if options is None:
                options = self._by_repeat[repeat] = replace(self._options, repeat=repeat)
            if options.mask is not None:
                options = replace(options, mask_key=item.id)
            if answers := self.plan.answers.get(item.id):
                options = with_answers(self.plan.workflow, options, answers)
            begun = await begin(
                self.plan.workflow,
                self.plan.inputs[item.id],
                options=options,
                endpoint=self._endpoint,
                store=self._own,
                run_id=name,
                reviser=self.plan.reviser,
                limits=self.plan.chosen.limits,
                tools=self.plan.tools,
            )
            return await finish(begun)
        await self._own.until_there()
        return await finish(
            resume(
                name,
                options=self._options,
                endpoint=self._endpoint,
                store=self._own,
                reviser=self.plan.reviser,
                limits=self.plan.chosen.limits,
                tools=self.plan.tools,
            )
        )

    async def _scored(
        self, item: Item, repeat: int, output: Any, others: Mapping[str, Any] | None
    ) -> tuple[ItemOutcome, Usage, Fatal | None]:
        """What the metric says of an answer, what it used for that, and whether no other answer can be had now."""
        scoring = PurposeAccount(run_name(self._beginning, item.id, repeat))
        ACCOUNT.set(scoring)
        fatal: Fatal | None = None
        fields: Mapping[str, FieldScore] | None = None
        try:
            try:
                outcome = await self._judged(
                    item, all_outputs(output, others) if self.plan.metric.reads_all else output
                )
            except PartlyScoredError as partly:
                fields = partly.fields
                raise partly.cause from None
        except InvalidItemError as problem:
            outcome = ItemOutcome(Status.INVALID, None, "", str(problem), _plain(fields))
        except (EndpointFailure, BudgetFailure) as failure:  # of a metric that asks a model
            outcome = ItemOutcome(Status.UNANSWERED, None, "", failure.sentence, _plain(fields))
            if isinstance(failure, BudgetFailure):
                fatal = Fatal.BUDGET
            elif failure.fatal:
                fatal = Fatal.ENDPOINT
        return outcome, scoring.used, fatal

    async def _judged(self, item: Item, output: Any) -> ItemOutcome:
        """What the metric says of an answer. Whatever goes wrong in there makes the item invalid, with the reason; what the
        metric raises on purpose is raised.
        """
        metric = self.plan.metric
        try:
            async with asyncio.timeout(METRIC_SECONDS):
                score = await metric.score(item, output)
        except (InvalidItemError, PartlyScoredError, EndpointFailure, BudgetFailure):
            raise
        except TimeoutError:
            return ItemOutcome(
                Status.INVALID, None, "", f"The metric {metric.name} took more than {METRIC_SECONDS:g} s."
            )
        except Exception as problem:  # noqa: BLE001 (a metric may be a user's own)
            reason = f"The metric {metric.name} failed: {type(problem).__name__}: {problem}"
            return ItemOutcome(Status.INVALID, None, "", reason)
        if not 0 <= score.value <= 1:
            reason = f"The metric {metric.name} gave {score.value}, which is not from 0 to 1."
            return ItemOutcome(Status.INVALID, None, score.read, reason)
        status = Status.RIGHT if score.value == 1 else Status.WRONG
        return ItemOutcome(status, float(score.value), score.read, score.reason, _plain(score.fields))


def _taken_out(own: Store, run: str, *, whatever: bool) -> Usage | None:
    """What a finished run had paid that was taken out; None where it stays: it did not go on without an answer that an endpoint
    owed it, and not ``whatever`` it has is to be had again. What an endpoint answered is in the cache.
    """
    if not whatever and not _went_without(own, run):
        return None
    paid = own.run(run).usage
    own.delete(run)
    return paid


def _went_without(own: Store, run: str) -> bool:
    """Whether a finished run, whose process died before its score was kept, went on without an answer of an endpoint."""
    nodes = (record for record in own.told(run) if isinstance(record, NodeRecord))
    return any(record.failed is not None and record.failed.code == EndpointFailure.code for record in nodes)


def _plain(fields: Mapping[str, FieldScore] | None) -> dict[str, dict[str, Any]] | None:
    return None if fields is None else {name: field.to_json() for name, field in fields.items()}


def _record(
    item: Item,
    repeat: int,
    outcome: ItemOutcome,
    usage: Usage,
    seconds: float,
    run: str,
    work: bytes,
    scored: bytes,
    output: str | None = None,
    exhausted: int = 0,
    others: str | None = None,
) -> ScoreRecord:
    return ScoreRecord(
        item.id,
        repeat,
        outcome.status,
        outcome.value,
        outcome.read,
        outcome.reason,
        usage,
        seconds,
        run,
        work,
        scored,
        output,
        exhausted,
        outcome.fields,
        others,
    )
