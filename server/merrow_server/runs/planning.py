"""Plans of a task, in the thread of the runs: made ready, asked for, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_server.plans.preparing import Asked, Choosing, Outcome, Prepared, prepare
from merrow_server.plans.report import report
from merrow_server.plans.words import cost_sentence
from merrow_server.runs.orders import PlanOrder
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.tickets import Json, Tickets

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """Plans to ask for, with their outcome where every answer is known."""

    prepared: Prepared
    known: Outcome | None
    told: Told

    async def close(self) -> None:
        await self.prepared.close()


class Plans(Tickets[_Ready]):
    """Plans that are ready to be asked for or under way, by their tickets. All of it belongs to the thread of the runs."""

    cancelled = "The plans were cancelled; answers that came are kept and not paid again."

    def __init__(self, store: Store, choosing: Choosing) -> None:
        super().__init__()
        self._store, self._choosing = store, choosing

    async def prepare(self, order: PlanOrder, told: Told) -> Json:
        """Make plans ready, to be asked for or dropped: what they may cost. No model is asked. Raises `RunFailure`."""
        return await self._make_ready(order.ticket, self._prepared(order, told))

    async def _prepared(self, order: PlanOrder, told: Told) -> tuple[_Ready, Json]:
        prepared = prepare(Asked(**order.asked), self._store, choosing=self._choosing)
        known = await prepared.known()
        sentence = cost_sentence(prepared) if known is None else "All answers are known already; no call is made."
        return _Ready(prepared, known, told), {
            **prepared.forecast.to_json(),
            "endpoint": prepared.chosen.endpoint.origin,
            "model": prepared.wanted.model,
            "text": sentence,
            "mayCost": known is None and prepared.may_cost,
            "notices": list(prepared.notices),
        }

    async def carry_out(self, ticket: Ticket) -> Json:
        """Ask the models: the report. Raises `RunFailure`, also where it was cancelled."""
        async with self._taken(ticket) as ready:
            done = await self._finish(ticket, self._done(ready))
            if done is None:
                raise UsageFailure(self.cancelled)
            return done

    async def _done(self, ready: _Ready) -> Json:
        outcome = ready.known if ready.known is not None else await ready.prepared.run(ready.told)
        return report(ready.prepared, outcome)
