"""Plans and suggestions that a server asks models for: made ready, asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.mutations.base import WorkflowDifference
from merrow_optimizer.suggestions.session import SuggestionOutcome
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_server.asking_jobs import Asking, AskingKind, Choosing, EndedJob, Told, job_object
from merrow_server.asking_words import ALL_KNOWN, usage_sentence
from merrow_server.continuing import changed_by
from merrow_server.jobs.desk import Json, Kind, ReadyJob
from merrow_server.jobs.orders import PlanOrder, SuggestionOrder
from merrow_server.jobs.recorded import Check, ListedJobs
from merrow_server.plans import prepared_plan as plans
from merrow_server.plans.plan_words import report_lines
from merrow_server.suggestions import prepared_suggestions as suggestions

Suggested = tuple[Json, list[WorkflowDifference]]
"""The report, whose suggestions have the diagram's text and edits of it, and how each graph differs."""

_Outcome = TypeVar("_Outcome")
_Done = TypeVar("_Done")
_Order = TypeVar("_Order", PlanOrder, SuggestionOrder)


class AskingJobs(Kind[_Order, Told, _Done], ListedJobs[JobRecord], Generic[_Order, _Outcome, _Done]):
    """Those of one kind that a server has models asked for."""

    kind: ClassVar[AskingKind]

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, store.jobs[self.kind], here)
        self._choosing, self._check = choosing, check

    async def prepare(self, order: _Order, told: Told) -> ReadyJob[_Done]:
        """No model is asked. Raises `RunFailure`."""
        record = None if order.resume is None else self._idle(order.resume)
        if record is not None and record.status == "finished":
            raise UsageFailure(f"{self.what} {record.id} has ended, so nothing is left to continue.")
        asking = await self._asking(order, record)
        try:
            return _ReadyAsking(self, asking, record, await asking.known() if record is None else None, told)
        except BaseException:
            await asking.close()
            raise

    async def _asking(self, order: _Order, record: JobRecord | None) -> Asking[_Outcome]:
        """What asks the models; ``record`` is that of one that continues."""
        raise NotImplementedError

    def _read(self, record: JobRecord) -> Json:
        return job_object(self._store, record)

    def done(self, outcome: _Outcome, report: Json) -> _Done:
        """What came of one, for who ordered it."""
        raise NotImplementedError


class PlanJobs(AskingJobs[PlanOrder, Any, Json]):
    """Plans that a server has models make."""

    kind, what = "plan", "Plan"
    cancelled: ClassVar[str] = "The plans were cancelled; answers that came are kept and not paid again."

    async def _asking(self, order: PlanOrder, record: JobRecord | None) -> Asking[Any]:
        if record is not None:
            changes = changed_by({}, order.budget)
            return plans.prepare_plans_again(record, self._store, changes, self._choosing)
        asked = plans.PlanRequest(**order.asked, limits=EvaluationLimits(**order.budget))
        return plans.prepare(asked, self._store, choosing=self._choosing)

    def report(self, plan: str) -> Json:
        """One with its plans in ``report``, null where there are none yet, and in words in ``text``."""
        shown = self.object(self._kept.get(plan))
        report = shown["report"]
        text = shown["error"] or "It has not ended." if report is None else "\n".join(report_lines(report))
        return {**shown, "text": text}

    def done(self, outcome: Any, report: Json) -> Json:
        """The report."""
        del outcome
        return report


class SuggestionJobs(AskingJobs[SuggestionOrder, SuggestionOutcome, Suggested]):
    """Suggestions that a server asks models for."""

    kind, what = "suggestion", "Suggestion"
    cancelled: ClassVar[str] = "The suggestions were cancelled; answers that came are kept and not paid again."

    async def _asking(self, order: SuggestionOrder, record: JobRecord | None) -> Asking[SuggestionOutcome]:
        del record  # a suggestion is of a text as it is now: asked again, it finds its answers
        return await suggestions.prepare(
            self._check(order.workflow),
            suggestions.SuggestionRequest(**order.asked, limits=EvaluationLimits(**order.budget)),
            self._store,
            choosing=self._choosing,
            operators=order.operators,
        )

    def done(self, outcome: SuggestionOutcome, report: Json) -> Suggested:
        """See `Suggested`."""
        shown = [
            {**suggestion.to_json(), "diagramText": suggestion.text, "edits": suggestion.edits}
            for suggestion in outcome.suggestions
        ]
        return {**report, "suggestions": shown}, [suggestion.difference for suggestion in outcome.suggestions]


class _ReadyAsking(ReadyJob[_Done], Generic[_Outcome, _Done]):
    """One to ask for; ``known`` is what came of it where every answer is known."""

    def __init__(
        self,
        jobs: AskingJobs[Any, _Outcome, _Done],
        asking: Asking[_Outcome],
        record: JobRecord | None,
        known: EndedJob[_Outcome] | None,
        told: Told,
    ) -> None:
        self._jobs, self._asking, self._record, self._ended, self._told = jobs, asking, record, known, told
        sentence = asking.sentence() if known is None else ALL_KNOWN
        self.forecast = {
            **asking.forecast(),
            "endpoint": asking.chosen.endpoint.origin,
            "text": sentence,
            "mayCost": known is None and asking.may_cost,
            "notices": list(asking.notices),
        }
        self.consent = sentence if self.forecast["mayCost"] else None

    def begin(self) -> str | None:
        if self._ended is None and self._record is None:
            self._record = self._asking.begin()
        return None if self._record is None else self._record.id

    async def run(self) -> None:
        if self._record is not None:
            self._ended = await self._asking.work(self._record, self._told)

    def ended(self) -> _Done:
        """Raises `UsageFailure` where it was cancelled, and what left nothing of it."""
        ended, used = self._ended, self._asking.used
        if ended is None:
            paid = f" {usage_sentence(used.to_json())}" if used.calls else ""
            raise UsageFailure(f"{self._jobs.cancelled}{paid}")
        if ended.outcome is None or ended.report is None:
            assert ended.failure is not None  # noqa: S101 (something left nothing of it)
            raise ended.failure
        identity: Json = {self._asking.kind: ended.identity}
        return self._jobs.done(ended.outcome, identity | ended.report)

    async def close(self) -> None:
        await self._asking.close()
