"""The execution of a command, for those that take long: where its progress is to be shown, and whether it is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandExecution:
    """``token`` is the one that the client wants to see the progress under; ``answer`` is cancelled with the request."""

    token: str | int | None = None
    answer: Future[Any] | None = None

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call this when the client cancels the request, or at once if it has."""

        def done(answer: Future[Any]) -> None:
            if answer.cancelled():
                callback()

        if self.answer is not None:
            self.answer.add_done_callback(done)


EXECUTION: ContextVar[CommandExecution] = ContextVar("EXECUTION", default=CommandExecution())  # noqa: B039 - it is frozen
"""The execution that a command's function belongs to."""
