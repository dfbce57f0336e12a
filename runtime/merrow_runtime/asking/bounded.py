"""The money and tokens that a job may use, over all of its runs and questions."""

from __future__ import annotations

from typing import Any, NamedTuple

from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.endpoint import Endpoint, OnText
from merrow_runtime.models.prices import Price, price_at
from merrow_runtime.models.tokens import estimate_call, sent_of
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage


class OverallBudget(BudgetFailure):
    """The budget of the whole job, not that of one run, is used up."""


class Most(NamedTuple):
    """The most that something has used, of money (US dollars) and of tokens."""

    usd: float = 0.0
    tokens: float = 0.0

    def or_of(self, usage: Usage, calls: int = 1) -> Most:
        """With this usage in it, that of so many calls."""
        return Most(max(self.usd, (usage.cost_usd or 0.0) / calls), max(self.tokens, usage.tokens / calls))


class BudgetedEndpoint:
    """An endpoint whose calls share one budget, whatever run they belong to. All else is that of the endpoint itself.

    ``dearest`` has the most money and tokens that one call has used, ``may_use`` the most that one was taken to use.
    """

    def __init__(self, endpoint: Endpoint, budget: Budget) -> None:
        self._endpoint = endpoint
        self._budget = budget
        self.dearest = self.may_use = Most()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    @property
    def origin(self) -> str:
        """See `Endpoint`."""
        return self._endpoint.origin

    def price(self, model: str) -> Price | None:
        """The price of a model at the endpoint."""
        return price_at(self._endpoint, model)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer, within the budget. Raises `OverallBudget`, `EndpointFailure`."""
        price = self.price(request.model)
        estimate = estimate_call(request, self._endpoint, price)
        reservation = self._budget.reserve(estimate, sent_of(estimate, price))
        self.may_use = self.may_use.or_of(reservation.estimate)
        try:
            await reservation.__aenter__()
        except BudgetFailure as failure:
            raise OverallBudget(str(failure)) from None
        try:
            reply = await self._endpoint.complete(request, on_text)
            reservation.settle(reply.usage)
            self.dearest = self.dearest.or_of(reply.usage)
        except EndpointFailure as failure:
            if failure.usage is not None or failure.paid:
                reservation.settle(failure.usage or reservation.estimate)
            await reservation.__aexit__(type(failure), failure, None)
            raise
        except BaseException as failure:
            await reservation.__aexit__(type(failure), failure, None)
            raise
        else:
            await reservation.__aexit__(None, None, None)
            return reply

    async def close(self) -> None:
        """See `Endpoint`."""
        await self._endpoint.close()


def bounded(endpoint: Endpoint, budget: Budget) -> Endpoint:
    """An endpoint within a budget; itself where that bounds neither money nor tokens."""
    return BudgetedEndpoint(endpoint, budget) if budget.bounds_calls else endpoint
