"""Plans of a task, in the thread of the runs: made ready, asked for, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from merrow_runtime.store.database import Store
from merrow_server.plans.preparing import Asked, Choosing, Outcome, Prepared, prepare
from merrow_server.plans.report import report
from merrow_server.plans.words import cost_sentence
from merrow_server.runs.orders import PlanOrder
from merrow_server.runs.preparations import Preparations

Json = dict[str, Any]
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """Plans to ask for, with their outcome where every answer is known."""

    prepared: Prepared
    known: Outcome | None
    told: Told

    async def close(self) -> None:
        await self.prepared.close()


class Plans:
    """Plans that are ready to be asked for or under way, by their tickets. All of it belongs to the thread of the runs."""

    def __init__(self, store: Store, choosing: Choosing) -> None:
        self._store, self._choosing = store, choosing
        self._orders: Preparations[_Ready] = Preparations("plans")

    async def prepare(self, order: PlanOrder, told: Told) -> Json:
        """Make plans ready, to be asked for or dropped: what they may cost. No model is asked. Raises `RunFailure`."""
        ready = await self._orders.make_ready(order.ticket, self._prepared(order, told))
        prepared, known = ready.prepared, ready.known
        sentence = cost_sentence(prepared) if known is None else "All answers are known already; no call is made."
        return {
            **prepared.forecast.to_json(),
            "endpoint": prepared.chosen.endpoint.origin,
            "model": prepared.wanted.model,
            "text": sentence,
            "mayCost": known is None and prepared.may_cost,
            "notices": list(prepared.notices),
        }

    async def _prepared(self, order: PlanOrder, told: Told) -> _Ready:
        prepared = prepare(Asked(**order.asked), self._store, choosing=self._choosing)
        return _Ready(prepared, await prepared.known(), told)

    async def drop(self, ticket: int) -> None:
        """Nobody wants them."""
        await self._orders.drop(ticket)

    async def carry_out(self, ticket: int) -> Json:
        """Ask the models: the report. Raises `RunFailure`, also where it was cancelled."""
        return await self._orders.carry_out(ticket, self._done)

    async def _done(self, ready: _Ready) -> Json:
        outcome = ready.known if ready.known is not None else await ready.prepared.run(ready.told)
        return report(ready.prepared, outcome)

    def cancel(self, ticket: int) -> bool:
        """Cancel the plans with this number, begun or not; whether there are any."""
        return self._orders.cancel(ticket)

    async def close(self) -> None:
        """Cancel what is under way."""
        await self._orders.close()
