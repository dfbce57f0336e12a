"""Suggestions of a model, in the thread of the runs: made ready, asked for, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.mutations.base import Difference
from merrow_optimizer.suggestions.session import Outcome, price_of
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import Workflow
from merrow_server.runs.orders import SuggestionOrder, WorkflowText
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.tickets import Json, Tickets
from merrow_server.suggestions.preparing import Asked, Choosing, Prepared, prepare
from merrow_server.suggestions.report import report
from merrow_server.suggestions.words import cost_sentence, usage_sentence

Check = Callable[[WorkflowText], Workflow]
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A session, with its outcome where every answer is known."""

    prepared: Prepared
    known: Outcome | None

    async def close(self) -> None:
        await self.prepared.close()


class Suggestions(Tickets[_Ready]):
    """Sessions that are ready or under way, by their tickets. All of it belongs to the thread of the runs."""

    cancelled = "The suggestions were cancelled; answers that came are kept and not paid again."

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        super().__init__()
        self._store, self._choosing, self._check = store, choosing, check

    async def prepare(self, order: SuggestionOrder, told: Told) -> Json:
        """Make a session ready, to be carried out or dropped: what it may cost. No model is asked. Raises `RunFailure`."""
        return await self._make_ready(order.ticket, self._prepared(order, told))

    async def _prepared(self, order: SuggestionOrder, told: Told) -> tuple[_Ready, Json]:
        prepared = await prepare(
            self._check(order.workflow),
            Asked(**order.asked, limits=Limits(**order.budget)),
            self._store,
            choosing=self._choosing,
            operators=order.operators,
            told=told,
        )
        known = await prepared.known()
        models, endpoint = prepared.session.models, prepared.chosen.endpoint.origin
        forecast = prepared.forecast.to_json()
        sentence = cost_sentence(forecast, models.optimizer, models.judge, endpoint)
        if known is not None:
            sentence = "All answers are known already; no call is made."
        may_cost = known is None and prepared.may_cost
        said = {"endpoint": endpoint, "text": sentence, "mayCost": may_cost, "notices": [*prepared.notices]}
        return _Ready(prepared, known), forecast | said

    async def carry_out(self, ticket: Ticket) -> tuple[Json, list[Difference]]:
        """Ask the models: the report, whose suggestions have the diagram's text and edits of it, and how each graph differs.

        Raises `RunFailure`, also where it was cancelled.
        """
        spent: list[Usage] = []
        async with self._taken(ticket) as ready:
            done = await self._finish(ticket, self._done(ready, spent))
            if done is None:
                used = f" {usage_sentence(spent[-1].to_json())}" if spent and spent[-1].calls else ""
                raise UsageFailure(f"{self.cancelled}{used}")
            return done

    async def _done(self, ready: _Ready, spent: list[Usage]) -> tuple[Json, list[Difference]]:
        """What came of it; at the end of ``spent`` is what it used."""
        prepared = ready.prepared
        outcome = await prepared.run(spent.append) if ready.known is None else ready.known
        usage = spent[-1] if spent else NOTHING
        ground = prepared.session.ground
        now = price_of(ground, ground.text, prepared.chosen.endpoint)
        shown = [{**one.to_json(), "diagramText": one.text, "edits": one.edits} for one in outcome.suggestions]
        return report(prepared, outcome, usage, now, shown), [one.difference for one in outcome.suggestions]
