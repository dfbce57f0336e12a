"""Questions to the models that suggest and judge: within a budget, counted, and none of them asked twice."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Protocol

from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.purse import Purse
from merrow_runtime.store.cache import Cache, kept
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import canonical

_KEY_BYTES = 16


class UnknownAnswerError(Exception):
    """An answer is not known, and none may be asked for."""


class Known:
    """Asks nobody: gives the answers of ``chosen``'s endpoint that are kept in ``known``, and raises `UnknownAnswerError`
    elsewhere.
    """

    def __init__(self, origin: str, known: Cache) -> None:
        self._origin, self._known = origin, known
        self.used: Usage = NOTHING

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The answer that is kept."""
        found = await self._known.get(_key(self._origin, request))
        if found is None:
            raise UnknownAnswerError
        return ModelReply.from_json(found)


class Asks(Protocol):
    """What answers questions: an `Asker`, or what is known."""

    used: Usage

    async def ask(self, request: ModelRequest) -> ModelReply: ...


def _key(origin: str, request: ModelRequest) -> bytes:
    said = ["suggestions", origin, request.to_json(), request.max_tokens]
    return hashlib.sha256(canonical(said).encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


class Asker:
    """Asks the endpoint that ``purse`` pays. Answers are kept in ``known``, so that the same question is not paid again; with
    ``fresh`` all are asked for again.
    """

    def __init__(self, purse: Purse, known: Cache, *, fresh: bool = False) -> None:
        self._purse = purse
        self._known, self._fresh = known, fresh
        self.used: Usage = NOTHING
        """What the calls have used; answers that were known used nothing."""

    async def known(self, request: ModelRequest) -> ModelReply | None:
        """The answer, where it is known and costs nothing now. Raises `StoreFailure`."""
        found = None if self._fresh else await self._known.get(_key(self._purse.origin, request))
        return None if found is None else ModelReply.from_json(found)

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The answer. Raises `EndpointFailure`, `BudgetFailure`, `StoreFailure`."""
        known = await self.known(request)
        if known is not None:
            return known
        key = _key(self._purse.origin, request)
        reply = await self._purse.ask(request, self)
        self.used += reply.usage
        await self._known.writer.write(kept(key, json.dumps(reply.to_json()), time.time()))
        return reply

    def close(self) -> None:
        """No more is asked."""
        self._purse.close()

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        self.used += usage
