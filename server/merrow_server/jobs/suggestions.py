"""Suggestions of a model: made ready, asked for."""

from __future__ import annotations

from collections.abc import Callable

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.mutations.base import Difference
from merrow_optimizer.suggestions.session import SuggestionOutcome, price_of
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.jobs.desk import Json, Kind, ReadyJob
from merrow_server.jobs.orders import SuggestionOrder
from merrow_server.jobs.recorded import Check
from merrow_server.suggestions.preparing import Choosing, PreparedSuggestions, SuggestionRequest, prepare
from merrow_server.suggestions.report import report
from merrow_server.suggestions.words import cost_sentence, usage_sentence

Told = Callable[[str, int, int], None]
Suggested = tuple[Json, list[Difference]]
"""The report, whose suggestions have the diagram's text and edits of it, and how each graph differs."""


class SuggestionJobs(Kind[SuggestionOrder, Told, Suggested]):
    """Suggestions that a server asks models for."""

    cancelled = "The suggestions were cancelled; answers that came are kept and not paid again."

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        self._store, self._choosing, self._check = store, choosing, check

    async def prepare(self, order: SuggestionOrder, told: Told) -> ReadyJob[Suggested]:
        """No model is asked. Raises `RunFailure`."""
        prepared = await prepare(
            self._check(order.workflow),
            SuggestionRequest(**order.asked, limits=Limits(**order.budget)),
            self._store,
            choosing=self._choosing,
            operators=order.operators,
            told=told,
        )
        try:
            return _ReadySuggestions(prepared, await prepared.known())
        except BaseException:
            await prepared.close()
            raise


class _ReadySuggestions(ReadyJob[Suggested]):
    """A session of suggestions, with its outcome where every answer is known."""

    def __init__(self, prepared: PreparedSuggestions, known: SuggestionOutcome | None) -> None:
        self._prepared, self._outcome = prepared, known
        self._spent: Usage = NOTHING
        models, endpoint = prepared.session.models, prepared.chosen.endpoint.origin
        forecast = prepared.forecast.to_json()
        sentence = cost_sentence(forecast, models.optimizer, models.judge, endpoint)
        if known is not None:
            sentence = "All answers are known already; no call is made."
        may_cost = known is None and prepared.may_cost
        said = {"endpoint": endpoint, "text": sentence, "mayCost": may_cost, "notices": [*prepared.notices]}
        self.forecast = forecast | said
        self.consent = sentence if may_cost else None

    async def run(self) -> None:
        if self._outcome is None:
            self._outcome = await self._prepared.run(self._used)

    def _used(self, usage: Usage) -> None:
        self._spent = usage

    def ended(self) -> Suggested:
        """Raises `UsageFailure` where it was cancelled."""
        prepared, outcome, spent = self._prepared, self._outcome, self._spent
        if outcome is None:
            used = f" {usage_sentence(spent.to_json())}" if spent.calls else ""
            raise UsageFailure(f"{SuggestionJobs.cancelled}{used}")
        ground = prepared.session.ground
        now = price_of(ground, ground.text, prepared.chosen.endpoint)
        shown = [{**one.to_json(), "diagramText": one.text, "edits": one.edits} for one in outcome.suggestions]
        return report(prepared, outcome, spent, now, shown), [one.difference for one in outcome.suggestions]

    async def close(self) -> None:
        await self._prepared.close()
