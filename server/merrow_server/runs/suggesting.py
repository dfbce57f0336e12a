"""Suggestions of a model, in the thread of the runs: made ready, asked for, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.mutations.base import Difference
from merrow_optimizer.suggestions.session import Outcome, price_of
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import Workflow
from merrow_server.runs.orders import SuggestionOrder, WorkflowText
from merrow_server.suggestions.preparing import Asked, Choosing, Prepared, prepare
from merrow_server.suggestions.report import report
from merrow_server.suggestions.words import cost_sentence, usage_sentence

Json = dict[str, Any]
Check = Callable[[WorkflowText], Workflow]
Told = Callable[[str, int, int], None]


class Suggestions:
    """Sessions that are ready or under way, by their tickets. All of it belongs to the thread of the runs."""

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        self._store, self._choosing, self._check = store, choosing, check
        self._ready: dict[int, tuple[Prepared, Outcome | None]] = {}
        self._tasks: dict[int, asyncio.Task[Outcome]] = {}
        self._open: set[int] = set()
        self._cancelled: set[int] = set()

    async def prepare(self, order: SuggestionOrder, told: Told) -> Json:
        """Make a session ready, to be carried out or dropped: what it may cost. No model is asked. Raises `RunFailure`."""
        self._open.add(order.ticket)
        try:
            limits = Limits(*(order.budget.get(name) for name in ("usd", "tokens", "seconds")))
            prepared = await prepare(
                self._check(order.workflow),
                Asked(**order.asked, limits=limits),
                self._store,
                choosing=self._choosing,
                operators=order.operators,
                told=told,
            )
        except BaseException:
            self._forget(order.ticket)
            raise
        known = await prepared.known()
        self._ready[order.ticket] = prepared, known
        models, endpoint = prepared.session.models, prepared.chosen.endpoint.origin
        forecast = prepared.forecast.to_json()
        sentence = cost_sentence(forecast, models.optimizer, models.judge, endpoint)
        if known is not None:
            sentence = "All answers are known already; no call is made."
        may_cost = known is None and prepared.may_cost
        return {**forecast, "endpoint": endpoint, "text": sentence, "mayCost": may_cost, "notices": [*prepared.notices]}

    async def drop(self, ticket: int) -> None:
        """Nobody wants it."""
        self._forget(ticket)
        found = self._ready.pop(ticket, None)
        if found is not None:
            await found[0].close()

    async def carry_out(self, ticket: int) -> tuple[Json, list[Difference]]:
        """Ask the models: the report, whose suggestions have the diagram's text and edits of it, and how each graph differs.

        Raises `RunFailure`, also where it was cancelled.
        """
        prepared, known = self._ready.pop(ticket)
        try:
            if ticket in self._cancelled:
                raise _cancelled(NOTHING)
            outcome, usage = (known, NOTHING) if known is not None else await self._asked(ticket, prepared)
            ground = prepared.session.ground
            now = price_of(ground, ground.text, prepared.chosen.endpoint)
            shown = [{**one.to_json(), "diagramText": one.text, "edits": one.edits} for one in outcome.suggestions]
            return report(prepared, outcome, usage, now, shown), [one.difference for one in outcome.suggestions]
        finally:
            self._forget(ticket)
            await prepared.close()

    async def _asked(self, ticket: int, prepared: Prepared) -> tuple[Outcome, Usage]:
        used = NOTHING

        def told(usage: Usage) -> None:
            nonlocal used
            used = usage

        self._tasks[ticket] = task = asyncio.create_task(prepared.run(told))
        try:
            await asyncio.wait([task])
        finally:
            del self._tasks[ticket]
        if task.cancelled():
            raise _cancelled(used)
        return task.result(), used

    def cancel(self, ticket: int) -> bool:
        """Cancel the session with this number, begun or not; whether there is one."""
        if ticket in self._tasks:
            self._tasks[ticket].cancel()
        elif ticket in self._open:
            self._cancelled.add(ticket)
        return ticket in self._open

    async def close(self) -> None:
        """Cancel what goes on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ticket in list(self._ready):
            await self.drop(ticket)

    def _forget(self, ticket: int) -> None:
        self._open.discard(ticket)
        self._cancelled.discard(ticket)


def _cancelled(used: Usage) -> UsageFailure:
    cost = f" {usage_sentence(used.to_json())}" if used.calls else ""
    return UsageFailure(f"The suggestions were cancelled; answers that came are kept and not paid again.{cost}")
