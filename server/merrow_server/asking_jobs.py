"""Jobs that ask models and do nothing else, as plans and suggestions are: forecast, begun, worked on, continued, reported.

A kind says what is asked and what is told of the outcome; what is paid, kept, stopped and continued is the same for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_runtime.asking.asker import Asker, UnknownAnswerError
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import Key
from merrow_runtime.asking.rows import JobRows, paid_in
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, RunFailure
from merrow_runtime.jobs.life import carry_out, state_of
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import ASK_ABOVE_USD, UserSettings
from merrow_runtime.options import RunOptions
from merrow_runtime.running.resources import ChosenEndpoint, without_user
from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord, Jobs
from merrow_runtime.store.names import new_id
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.continuing import ResumeChanges, answered_by_another, refuse_same
from merrow_server.errors import InputError

Json = dict[str, Any]
AskingKind = Literal["plan", "suggestion"]
Told = Callable[[str, int, int], None]
"""Hears what goes on in words, and how many of how many steps are done."""
Choosing = Callable[[RunOptions, str | None, Sequence[WorkspaceValue], DialectStore | None], ChosenEndpoint]
"""Chooses the endpoint, as `choose` does."""
_END = "end"
"""The key in the journal of how one ended: its report, or why there is none."""

O_co = TypeVar("O_co", covariant=True)
O = TypeVar("O")  # noqa: E741 (the outcome)


def silent(_what: str, _done: int, _most: int) -> None:
    """Hears nothing."""


@dataclass(frozen=True, slots=True)
class EndedJob(Generic[O_co]):
    """What came of one: its outcome and its report, None where there is none. ``failure`` says why, or why some answers are
    missing. ``identity`` is its id, None where all was known and nothing had to be asked.
    """

    outcome: O_co | None
    report: Json | None
    failure: RunFailure | None = None
    identity: str | None = None
    can_continue: bool = False


@dataclass(slots=True, kw_only=True)
class Asking(Generic[O]):
    """A job that asks models and does nothing else, ready to begin. Close it in the end.

    ``file`` is the whole path of what it is of, ``booked`` what the ledger of spending calls that; ``again`` what a resume needs,
    and ``shown`` what lists say of it, as plain data. ``used`` is what it has used, once it has worked.
    """

    kind: ClassVar[AskingKind]
    key: ClassVar[Key]

    user: Store
    chosen: ChosenEndpoint
    file: str
    booked: str
    again: Json
    shown: Json
    notices: tuple[str, ...]
    limits: EvaluationLimits
    ask_above_usd: float
    fresh: bool
    used: Usage = NOTHING

    async def ask(self, asker: Asker, told: Told) -> O:
        """Ask all that is to be asked; what came of it. Raises `RunFailure`, `UnknownAnswerError`."""
        raise NotImplementedError

    def report(self, outcome: O, used: Usage, known: int) -> Json:
        """The outcome as plain data, with what was used for it and how many answers were ``known`` before."""
        raise NotImplementedError

    def forecast(self) -> Json:
        """What it may use, as plain data."""
        raise NotImplementedError

    def sentence(self) -> str:
        """What it may cost, to be read before the first call."""
        raise NotImplementedError

    def most_usd(self) -> float | None:
        """The most that it may cost in US dollars; None where that is not known."""
        raise NotImplementedError

    def check_budget(self) -> None:
        """Raise `UsageFailure` where the budget allows no call."""

    @property
    def kept(self) -> Jobs:
        """Where the journal has those of this kind."""
        return self.user.jobs[self.kind]

    @property
    def may_cost(self) -> bool:
        """Whether it may cost more than the user wants to spend unasked."""
        most, limit = self.most_usd(), self.limits.usd
        bounded = most if limit is None or most is None else min(most, limit)
        return bounded is None or bounded > self.ask_above_usd

    async def known(self) -> EndedJob[O] | None:
        """What comes of it, where every answer is known already; None where a model has to be asked."""
        if self.fresh:
            return None
        asker = Asker(Purse(self.chosen, self.booked), self.user.cache, self.key, only_known=True)
        try:
            outcome = await self.ask(asker, silent)
        except (UnknownAnswerError, RunFailure):
            return None
        return EndedJob(outcome, self.report(outcome, NOTHING, asker.known))

    def begin(self, identity: str | None = None) -> JobRecord:
        """Put it into the journal; ``identity`` is its id, None for one of its own. Raises `UsageFailure`, `StoreFailure`."""
        self.check_budget()
        origin, limits = self.chosen.endpoint.origin, asdict(self.limits)
        plan = {**self.again, "shown": self.shown, "origin": origin, "limits": limits, "fresh": self.fresh}
        record = JobRecord(identity or new_id(), self.kind, self.file, "running", time.time(), plan)
        self.kept.begin(record)
        return record

    async def work(self, record: JobRecord, told: Told = silent) -> EndedJob[O]:
        """Ask the models for what the journal does not have of it, and keep what came of it. Cancelling ends that: answers that
        came are kept. Raises `StoreFailure` where another process works on it.
        """
        job = await carry_out(
            self.user, self.kept, record.id, lambda _: _Work(self, record), lambda job: job.run(told), has_runs=False
        )
        return EndedJob(job.outcome, job.report, job.failure, record.id, job.stopped_by is not None)

    def continues(self, record: JobRecord, changed: ResumeChanges) -> None:
        """Check that this, which was made of a record, can go on from there. Raises `InputError`."""
        refuse_same(changed, self.kept, record.id)
        origin, before = self.chosen.endpoint.origin, record.plan["origin"]
        if origin != before:
            if changed.reuse is None:
                raise InputError(answered_by_another(self.kept, record.id, before, origin))
            self.kept.replan(record.id, {**record.plan, "origin": origin})
        if changed.concurrency is not None:
            self.chosen = replace(self.chosen, concurrency=changed.concurrency)

    async def close(self) -> None:
        """Let the endpoint go."""
        await self.chosen.endpoint.close()


class _Work(Generic[O]):
    """One at work; `EndedJob` says what ``failure`` is."""

    def __init__(self, asking: Asking[O], record: JobRecord) -> None:
        self.stopped_by: str | None = None
        self.failure: RunFailure | None = None
        self.outcome: O | None = None
        self.report: Json | None = None
        self._asking, self._record = asking, record

    async def run(self, told: Told) -> None:
        """Go on from what the journal has to the end."""
        asking, record = self._asking, self._record
        known = asking.kept.kept(record.id)
        before, limits = paid_in(known), asking.limits
        budget = Budget(limits.usd, limits.tokens, limits.seconds, before, record.seconds, strict=True)
        bounded = None if limits == EvaluationLimits() else budget
        rows = JobRows(record.id, asking.kept, known)
        asker = Asker(
            Purse(asking.chosen, asking.booked, bounded), asking.user.cache, asking.key, rows, fresh=asking.fresh
        )
        try:
            self.outcome = await asking.ask(asker, told)
        except (BudgetFailure, EndpointFailure) as failure:
            self.failure, self.stopped_by = failure, str(failure)
        except AnswerFailure as failure:  # continued, it would have the same answers
            self.failure = failure
            await asking.kept.keep(record.id, _END, {"failure": str(failure)})
        finally:
            asker.close()
            asking.used = before + asker.used
        if self.outcome is not None:
            self.report = asking.report(self.outcome, asking.used, asker.known)
            await asking.kept.keep(record.id, _END, {"report": self.report})
            self.failure, self.stopped_by = asker.missed, None if asker.missed is None else str(asker.missed)


def allowed_usd(settings: UserSettings, asked: float | None) -> float:
    """What may be spent unasked, in US dollars: the least of what is said."""
    return min((usd for usd in (settings.suggest_ask_above_usd, asked) if usd is not None), default=ASK_ABOVE_USD)


def address_kept(base_url: str | None) -> str | None:
    """An address as the journal keeps it."""
    return None if base_url is None else without_user(base_url)


def job_object(user: Store, record: JobRecord) -> Json:
    """One of the journal as plain data; ``report`` is null where there is none."""
    kept = user.jobs[record.kind].kept(record.id)
    end: Mapping[str, Any] = kept.get(_END, {})
    report = end.get("report")
    return {
        record.kind: record.id,
        "status": state_of(user, record),
        "started": record.started,
        "seconds": record.seconds,
        "file": record.file,
        **record.plan["shown"],
        "error": end.get("failure", record.error),
        "usage": paid_in(kept).to_json() if report is None else report["usage"],
        "report": report,
    }
