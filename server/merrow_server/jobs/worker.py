"""A thread with an event loop of its own, so that work in it holds up nobody's keystrokes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_SWITCH = 0.0005
"""Seconds after which a thread that computes makes way for one that waits; Python's default of 0.005 can be felt when typing."""


class JobThread:
    """The thread, begun by what is first submitted. It ends with the process, whatever it does."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    def submit(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> Future[_T]:
        """Have the coroutine that ``work`` gives run in the thread. Cancelling the future cancels it."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name=self._name, daemon=True)
            sys.setswitchinterval(min(_SWITCH, sys.getswitchinterval()))
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(_called(work), self._loop)

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have a function called in the thread; nothing where there is none."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function, *arguments)

    def stop(self, patience: float) -> None:
        """End the thread, after ``patience`` seconds at the latest."""
        if self._loop is None or self._thread is None:
            return
        self.call(self._loop.stop)
        self._thread.join(patience)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()


async def _called(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    return await work()
