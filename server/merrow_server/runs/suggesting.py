"""Suggestions of a model, in the thread of the runs: made ready, asked for, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.mutations.base import Difference
from merrow_optimizer.suggestions.session import Outcome, price_of
from merrow_runtime.store.database import Store
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import Workflow
from merrow_server.runs.orders import SuggestionOrder, WorkflowText
from merrow_server.runs.preparations import Preparations
from merrow_server.suggestions.preparing import Asked, Choosing, Prepared, prepare
from merrow_server.suggestions.report import report
from merrow_server.suggestions.words import cost_sentence, usage_sentence

Json = dict[str, Any]
Check = Callable[[WorkflowText], Workflow]
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A session, with its outcome where every answer is known."""

    prepared: Prepared
    known: Outcome | None

    async def close(self) -> None:
        await self.prepared.close()


class Suggestions:
    """Sessions that are ready or under way, by their tickets. All of it belongs to the thread of the runs."""

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        self._store, self._choosing, self._check = store, choosing, check
        self._orders: Preparations[_Ready] = Preparations("suggestions")

    async def prepare(self, order: SuggestionOrder, told: Told) -> Json:
        """Make a session ready, to be carried out or dropped: what it may cost. No model is asked. Raises `RunFailure`."""
        ready = await self._orders.make_ready(order.ticket, self._prepared(order, told))
        prepared, known = ready.prepared, ready.known
        models, endpoint = prepared.session.models, prepared.chosen.endpoint.origin
        forecast = prepared.forecast.to_json()
        sentence = cost_sentence(forecast, models.optimizer, models.judge, endpoint)
        if known is not None:
            sentence = "All answers are known already; no call is made."
        may_cost = known is None and prepared.may_cost
        return {**forecast, "endpoint": endpoint, "text": sentence, "mayCost": may_cost, "notices": [*prepared.notices]}

    async def _prepared(self, order: SuggestionOrder, told: Told) -> _Ready:
        limits = Limits(*(order.budget.get(name) for name in ("usd", "tokens", "seconds")))
        prepared = await prepare(
            self._check(order.workflow),
            Asked(**order.asked, limits=limits),
            self._store,
            choosing=self._choosing,
            operators=order.operators,
            told=told,
        )
        return _Ready(prepared, await prepared.known())

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        await self._orders.drop(ticket)

    async def carry_out(self, ticket: int) -> tuple[Json, list[Difference]]:
        """Ask the models: the report, whose suggestions have the diagram's text and edits of it, and how each graph differs.

        Raises `RunFailure`, also where it was cancelled.
        """
        spent: list[Usage] = []

        def said() -> str:
            return usage_sentence(spent[-1].to_json()) if spent and spent[-1].calls else ""

        return await self._orders.carry_out(ticket, lambda ready: self._done(ready, spent), said)

    async def _done(self, ready: _Ready, spent: list[Usage]) -> tuple[Json, list[Difference]]:
        """What came of it; at the end of ``spent`` is what it used."""
        prepared = ready.prepared
        outcome = await prepared.run(spent.append) if ready.known is None else ready.known
        usage = spent[-1] if spent else NOTHING
        ground = prepared.session.ground
        now = price_of(ground, ground.text, prepared.chosen.endpoint)
        shown = [{**one.to_json(), "diagramText": one.text, "edits": one.edits} for one in outcome.suggestions]
        return report(prepared, outcome, usage, now, shown), [one.difference for one in outcome.suggestions]

    def cancel(self, ticket: int) -> bool:
        """Cancel the session with this number, begun or not; whether there is one."""
        return self._orders.cancel(ticket)

    async def close(self) -> None:
        """Cancel what is under way."""
        await self._orders.close()
