"""What pays for questions outside of runs: of judges, planners and models that suggest. All of it counts for the user."""

from __future__ import annotations

from merrow_runtime.calls.calling import Calling, Listener
from merrow_runtime.calls.gate import gate_of
from merrow_runtime.models.budget import Budget
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.spending.meter import meter_of


class Purse:
    """Makes calls to the endpoint of ``chosen`` outside of runs, within a ``budget`` (None: that of the endpoint, if it has one),
    the endpoint's concurrency and the user's limits, booked under ``workflow``. Everything that asks a model outside of a run
    has one. It opens with the first call, so that what is known can be had where nothing may be spent. Close it in the end.
    """

    def __init__(self, chosen: ChosenEndpoint, workflow: str, budget: Budget | None = None) -> None:
        self.origin = chosen.endpoint.origin
        self._chosen, self._workflow, self._budget = chosen, workflow, budget
        self._calling: Calling | None = None

    async def ask(self, request: ModelRequest, listener: Listener) -> ModelReply:
        """The reply, after the usual tries; ``listener`` hears what a try without one has used. Raises `EndpointFailure`,
        `BudgetFailure`, and what `meter_of` does.
        """
        if self._calling is None:
            endpoint = self._chosen.endpoint
            meter = meter_of(self.origin, self._chosen.limits, self._workflow)
            self._gate = gate_of(endpoint)  # kept: whoever else asks the endpoint meanwhile shares its places
            places = self._gate.places(self._chosen.concurrency, endpoint)
            self._calling = Calling(endpoint, places, self._budget, meter=meter)
        return await self._calling.call(request, None, listener)

    def close(self) -> None:
        """No more is asked; what was paid is written down."""
        calling, self._calling = self._calling, None
        if calling is not None:
            calling.close()
