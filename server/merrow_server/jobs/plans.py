"""Plans of a task: made ready, asked for."""

from __future__ import annotations

from collections.abc import Callable

from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_server.jobs.desk import Json, Kind, ReadyJob
from merrow_server.jobs.orders import PlanOrder
from merrow_server.plans.preparing import Choosing, PlanOutcome, PlanRequest, PreparedPlan, prepare
from merrow_server.plans.report import report
from merrow_server.plans.words import cost_sentence

Told = Callable[[str, int, int], None]


class PlanJobs(Kind[PlanOrder, Told, Json]):
    """Plans that a server has models make."""

    cancelled = "The plans were cancelled; answers that came are kept and not paid again."

    def __init__(self, store: Store, choosing: Choosing) -> None:
        self._store, self._choosing = store, choosing

    async def prepare(self, order: PlanOrder, told: Told) -> ReadyJob[Json]:
        """No model is asked. Raises `RunFailure`."""
        prepared = prepare(PlanRequest(**order.asked), self._store, choosing=self._choosing)
        try:
            return _ReadyPlan(prepared, await prepared.known(), told)
        except BaseException:
            await prepared.close()
            raise


class _ReadyPlan(ReadyJob[Json]):
    """Plans to ask for, with their outcome where every answer is known."""

    def __init__(self, prepared: PreparedPlan, known: PlanOutcome | None, told: Told) -> None:
        self._prepared, self._outcome, self._told = prepared, known, told
        sentence = cost_sentence(prepared) if known is None else "All answers are known already; no call is made."
        self.forecast = {
            **prepared.forecast.to_json(),
            "endpoint": prepared.chosen.endpoint.origin,
            "model": prepared.wanted.model,
            "text": sentence,
            "mayCost": known is None and prepared.may_cost,
            "notices": list(prepared.notices),
        }
        self.consent = sentence if self.forecast["mayCost"] else None

    async def run(self) -> None:
        if self._outcome is None:
            self._outcome = await self._prepared.run(self._told)

    def ended(self) -> Json:
        """The report. Raises `UsageFailure` where it was cancelled."""
        if self._outcome is None:
            raise UsageFailure(PlanJobs.cancelled)
        return report(self._prepared, self._outcome)

    async def close(self) -> None:
        await self._prepared.close()
