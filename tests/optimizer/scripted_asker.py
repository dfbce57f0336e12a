"""Askers in this process whose answers come from a function: with no endpoint, no prices and no limits."""

from __future__ import annotations

from collections.abc import Callable

from merrow_runtime.asking.asker import Asker, Rows
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import Key
from merrow_runtime.calls.calling import Listener
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint, NoEndpoint
from merrow_runtime.store.cache import Cache
from merrow_runtime.store.memory import MemoryStore

KEY = Key(lambda asked: [asked.origin, asked.purpose, asked.attempt, asked.request.to_json()])


class ScriptedPurse(Purse):
    """Pays with nothing."""

    def __init__(self, answer: Callable[[ModelRequest], ModelReply | str], origin: str = "http://fake.test") -> None:
        super().__init__(ChosenEndpoint(NoEndpoint()), "")
        self.origin = origin
        self.asked: list[ModelRequest] = []
        self._answer = answer

    async def ask(self, request: ModelRequest, listener: Listener) -> ModelReply:
        del listener
        self.asked.append(request)
        reply = self._answer(request)
        return ModelReply(reply) if isinstance(reply, str) else reply


def asker(
    answer: Callable[[ModelRequest], ModelReply | str],
    key: Key = KEY,
    cache: Cache | None = None,
    rows: Rows | None = None,
    *,
    fresh: bool = False,
) -> Asker:
    """An asker for one event loop; what it is told is forgotten with it, unless there is a ``cache``."""
    known = MemoryStore().cache if cache is None else cache
    return Asker(ScriptedPurse(answer), known, key, rows, fresh=fresh)
