"""What a metric asks of a model: answered within the evaluation's budget and concurrency, and counted for the item."""

from __future__ import annotations

from contextvars import ContextVar

from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.gate import gate_of
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.requests import AnswerSchema, Message, ModelRequest
from merrow_runtime.usage import Usage

USED: ContextVar[list[Usage]] = ContextVar("used by a metric")
"""What the metric that scores an answer in this context has used."""


class Asking:
    """Asks the model of a name for a metric, once the evaluation has begun."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._calling: Calling | None = None

    def begin(self, endpoint: Endpoint, concurrency: int) -> None:
        """From here on this endpoint is asked, beside what the runs ask of it."""
        self._calling = Calling(endpoint, gate_of(endpoint).semaphore(concurrency))

    async def ask(self, messages: tuple[Message, ...], schema: AnswerSchema) -> str:
        """The text of the answer. Raises `EndpointFailure`, `BudgetFailure`."""
        assert self._calling is not None  # noqa: S101 (answers are scored by an evaluation that has begun)
        reply = await self._calling.call(ModelRequest(self.model, messages, schema=schema), None, self)
        USED.get().append(reply.usage)
        return reply.text

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        USED.get().append(usage)
