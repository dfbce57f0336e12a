"""What a metric asks of a model: answered within the evaluation's budget and concurrency, and counted for the item."""

from __future__ import annotations

import hashlib
import json
import time
from contextvars import ContextVar
from typing import NamedTuple

from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import AnswerSchema, Message, ModelRequest
from merrow_runtime.running.purse import Purse
from merrow_runtime.running.resources import Chosen
from merrow_runtime.store.cache import Cache, kept
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical

_KEY_BYTES = 16


class Scoring(NamedTuple):
    """``run`` is the name of the answer that is scored; ``used`` what the metric has used for that."""

    run: str
    used: list[Usage]


SCORING: ContextVar[Scoring] = ContextVar("what a metric scores")
"""What is scored in this context."""


class Asking:
    """Asks the model of a name for a metric, once the evaluation has begun."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._chosen: Chosen | None = None
        self._purse: Purse | None = None
        self._workflow = ""
        self._kept: Cache | None = None

    def begin(self, chosen: Chosen, workflow: str, kept: Cache) -> None:
        """From here on this endpoint is asked, beside what the runs ask of it, and paid for ``workflow`` (a whole path). Answers
        are ``kept``, so that none is asked for again where the process dies before the score is.
        """
        self._kept = kept
        self._chosen, self._workflow = chosen, workflow

    def close(self) -> None:
        """No more is asked; what was paid is written down."""
        purse, self._purse = self._purse, None
        if purse is not None:
            purse.close()

    async def ask(self, messages: tuple[Message, ...], schema: AnswerSchema) -> str:
        """The text of the answer. Raises `EndpointFailure`, `BudgetFailure`."""
        assert self._chosen is not None  # noqa: S101 (answers are scored by an evaluation that has begun)
        assert self._kept is not None  # noqa: S101
        scoring = SCORING.get()
        request = ModelRequest(self.model, messages, schema=schema)
        said = [scoring.run, self._chosen.endpoint.origin, request.to_json()]
        key = hashlib.sha256(canonical(said).encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
        known = await self._kept.get(key)
        if known is not None:
            scoring.used.append(Usage.from_json(known["usage"]))
            return str(known["text"])
        if self._purse is None:  # made for the first call, so that what is known is had where nothing may be spent
            self._purse = Purse(self._chosen, self._workflow)
        reply = await self._purse.ask(request, self)
        scoring.used.append(reply.usage)
        answer = json.dumps({"text": reply.text, "usage": reply.usage.to_json()})
        await self._kept.writer.write(kept(key, answer, time.time()))
        return reply.text

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        SCORING.get().used.append(usage)
