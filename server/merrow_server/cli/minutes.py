"""How far a long command is, in a line a minute on standard error, where no terminal shows it."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from merrow_runtime.calls.gate import Traffic, traffic
from merrow_server.cli.waiting import waiting_text
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo
from merrow_server.reports.run_report import cost_text
from merrow_server.times import Pace, duration

VARIABLE = "MERROW_PROGRESS_SECONDS"
"""How often, in seconds; 0 for never."""
_SECONDS = 60.0


def _tell(line: str) -> None:
    echo(line, err=True)


@contextmanager
def minutes(told: Callable[[], str], write: Callable[[str], None] = _tell) -> Iterator[None]:
    """For code in an event loop: as long as it lasts, ``write`` once a minute how long it has lasted, what ``told`` says, how the
    calls to endpoints stand, and whether the journal is waited for. On a terminal, which has a display of its own, nothing is
    written.
    """
    seconds = _interval()
    if not seconds or sys.stderr.isatty():
        yield
        return
    loop, started = asyncio.get_running_loop(), time.monotonic()
    before = traffic()
    due: asyncio.TimerHandle | None = None

    def tick() -> None:
        nonlocal due
        due = loop.call_later(seconds, tick)
        parts = (visible(told()), calls_text(before, traffic()), waiting_text())
        write(f"After {duration(time.monotonic() - started)}: {'; '.join(filter(None, parts))}")

    due = loop.call_later(seconds, tick)
    try:
        yield
    finally:
        due.cancel()


class ProgressSteps:
    """What goes on, how much of it is done, and of how much."""

    def __init__(self) -> None:
        self._what, self._done, self._of = "", 0, 0
        self._pace = Pace()

    def tell(self, what: str, done: int, of: int) -> None:
        """That is it now."""
        if what != self._what or of != self._of or done < self._done:
            self._pace = Pace(done)
        self._what, self._done, self._of = what, done, of

    def text(self) -> str:
        """In one line; "" before it was told anything."""
        if not self._what:
            return ""
        many = f"{self._what} ({self._done:,} of {self._of:,})" if self._of > 1 else self._what
        return ", ".join(filter(None, (many, self._pace.left(self._done, self._of))))


@contextmanager
def step_minutes() -> Iterator[Callable[[str, int, int], None]]:
    """Something to call with what goes on, how much of it is done, and of how much: the lines a minute say it."""
    steps = ProgressSteps()
    with minutes(steps.text):
        yield steps.tell


def calls_text(before: Traffic, now: Traffic) -> str:
    """What was answered and used since ``before``, how many calls are on their way, and how many wait for a place; "" without
    any.
    """
    parts = []
    if now.answers > before.answers:
        money = cost_text(now.used.to_json())
        parts.append(f"{counted(now.answers - before.answers, 'answer')}, {now.used.tokens:,} tokens, {money}")
    if now.sent:
        parts.append(f"{counted(now.sent, 'call')} on {'its' if now.sent == 1 else 'their'} way")
    if now.waiting:
        parts.append(f"{now.waiting:,} queued")
    return ", ".join(parts)


def _interval() -> float:
    """The seconds between two lines; what is no number counts as not set."""
    try:
        seconds = float(os.environ[VARIABLE])
    except (KeyError, ValueError):
        return _SECONDS
    return seconds if math.isfinite(seconds) and seconds >= 0 else _SECONDS
