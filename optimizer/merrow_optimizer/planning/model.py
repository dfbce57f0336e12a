"""The models that plan and judge: each answer is kept before it is used, so that planning again asks only the rest."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from typing import Protocol

from merrow_optimizer.suggestions.asking import UnknownAnswerError
from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.purse import Purse
from merrow_runtime.store.cache import Cache, kept
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import canonical

_KEY_BYTES = 16


class Asks(Protocol):
    """What answers questions about plans, such as a `Model`."""

    async def ask(self, request: ModelRequest, which: str) -> ModelReply: ...


@dataclass(eq=False, slots=True)
class Model:
    """Asks the endpoint at ``origin`` within the user's limits. ``used`` is what this process has paid for, ``known`` how many
    answers were there already.

    With ``fresh`` no answer is taken that was kept before. Without ``purse`` nobody is asked: only what is kept is answered.
    """

    purse: Purse | None
    origin: str
    cache: Cache
    fresh: bool = False
    used: Usage = NOTHING
    known: int = 0
    _listener: _Lost = field(init=False)

    def __post_init__(self) -> None:
        self._listener = _Lost(self)

    async def ask(self, request: ModelRequest, which: str) -> ModelReply:
        """The reply; ``which`` tells apart questions that are the same. Raises `EndpointFailure`, `BudgetFailure`,
        `StoreFailure`; `UnknownAnswerError` where nobody may be asked.
        """
        said = ["plan", self.origin, which, request.to_json()]
        key = hashlib.sha256(canonical(said).encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
        found = None if self.fresh else await self.cache.get(key)
        if found is not None:
            self.known += 1
            return ModelReply.from_json(found)
        if self.purse is None:
            raise UnknownAnswerError
        reply = await self.purse.ask(request, self._listener)
        self.used += reply.usage
        await self.cache.writer.write(kept(key, replace(reply, usage=NOTHING).json_text(), time.time()))
        return reply


class _Lost:
    """Counts what calls without a reply have used."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        self._model.used += usage
