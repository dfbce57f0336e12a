"""What Dask calls in a worker: text in, text out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from merrow_server.workers.terms import ChunkAllowance, ChunkEnd, ChunkTerms, items_of
from merrow_server.workers.worker_session import RefusedError, WorkerSession

T = TypeVar("T")
Key = tuple[str, ChunkTerms]
"""An evaluation, and what is the same for all of its chunks."""

_LOOK = 0.2
"""Seconds between two looks at whether a chunk is still wanted."""
_IDLE = 10.0
"""Seconds for which what was opened for an evaluation is kept without a chunk."""


def answer(evaluation: str, items: str, terms: str) -> str:
    """Have the items of a chunk answered, with `ChunkTerms`; how it ended, as `ChunkEnd`. It ends early where Dask doesn't want
    its result any more: it was cancelled, or the coordinator is gone.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        return state is not None and state.state != "cancelled"

    return _waited(_SESSIONS.answer(evaluation, items, ChunkTerms.of_text(terms)), is_wanted).to_text()


async def check(evaluation: str, terms: str) -> str:
    """Why this worker can't work on an evaluation, "" where it can; what it needs is opened, and ready for the first chunk."""
    return await asyncio.wrap_future(_submit(_SESSIONS.check(evaluation, ChunkTerms.of_text(terms))))


class _Sessions:
    """The evaluations that this process works on. All of it happens in one event loop, in a thread of its own: that of Dask must
    be free to show that the worker is alive.
    """

    def __init__(self) -> None:
        self._sessions: dict[Key, WorkerSession] = {}
        self._opening = asyncio.Lock()
        self._closing: dict[Key, asyncio.TimerHandle] = {}

    async def check(self, evaluation: str, terms: ChunkTerms) -> str:
        try:
            await self._opened(evaluation, terms)
        except RefusedError as problem:
            return str(problem)
        return ""

    async def answer(self, evaluation: str, items: str, terms: ChunkTerms) -> ChunkEnd:
        try:
            session = await self._opened(evaluation, terms)
        except RefusedError as problem:
            return ChunkEnd(refused=str(problem))
        try:
            return await session.answer(items_of(items), terms.allowance)
        finally:
            self._close_later((evaluation, replace(terms, allowance=ChunkAllowance())))

    async def _opened(self, evaluation: str, terms: ChunkTerms) -> WorkerSession:
        key = (evaluation, replace(terms, allowance=ChunkAllowance()))
        async with self._opening:
            session = self._sessions.get(key)
            if session is None:
                session = self._sessions[key] = await WorkerSession.open(evaluation, terms)
        self._close_later(key)
        return session

    def _close_later(self, key: Key) -> None:
        closing = self._closing.pop(key, None)
        if closing is not None:
            closing.cancel()
        loop = asyncio.get_running_loop()
        self._closing[key] = loop.call_later(_IDLE, lambda: loop.create_task(self._close(key)))

    async def _close(self, key: Key) -> None:
        session = self._sessions[key]
        if session.at_work:
            self._close_later(key)
        else:
            del self._sessions[key], self._closing[key]
            await session.close()


_SESSIONS = _Sessions()
_LOCK = threading.Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []


def _submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    with _LOCK:
        if not _LOOPS:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="merrow", daemon=True).start()
            _LOOPS.append(loop)
    return asyncio.run_coroutine_threadsafe(work, _LOOPS[0])


def _waited(work: Coroutine[Any, Any, T], is_wanted: Callable[[], bool]) -> T:
    """What ``work`` gives; it is cancelled where that is not wanted any more."""
    future = _submit(work)
    while True:
        with suppress(TimeoutError):
            return future.result(_LOOK)
        if not is_wanted():
            future.cancel()
