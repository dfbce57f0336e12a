"""Signals that ask the program to end while it works on something."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from merrow_runtime.store.sql import Interruption

_BUSY_S = 1.5
"""Seconds of processor time after which a process that was asked to end, and only computes, is ended."""


def ending_signals() -> list[signal.Signals]:
    """The signals that ask a process to end. SIGHUP is left alone where it is ignored: `nohup` asks for that."""
    signals = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals


@contextlib.contextmanager
def ended_by_signals(end: Callable[[int], object]) -> Iterator[None]:
    """Within this, the first such signal has ``end`` called with its number, in the event loop that runs here. From then on the
    system ends the process at the next one, and without one where the loop doesn't get to ``end`` since something computes
    without end: nothing of Python has to run for either.
    """
    loop = asyncio.get_running_loop()
    Interruption.forget()
    before: dict[signal.Signals, signal.Handlers | Callable[[int, FrameType | None], object] | int | None] = {}

    def first(number: int, frame: FrameType | None) -> None:
        del frame
        for stop_signal in before:
            signal.signal(stop_signal, signal.SIG_DFL)
        Interruption.is_wanted = True
        _end_in(_BUSY_S)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(heard, number)

    def heard(number: int) -> None:
        _end_in(0.0)
        end(number)

    for number in ending_signals():
        with contextlib.suppress(ValueError):  # only the main thread may
            before[number] = signal.signal(number, first)
    try:
        yield
    finally:
        # That the process is to end stays so: what is closed now waits for no database either.
        _end_in(0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_in(seconds: float) -> None:
    """Have the system end this process after so many seconds of processor time; 0 takes that back. A machine that stalls doesn't
    count. Windows has no such clock.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Within this, such a signal cancels the task that is at work; see `ended_by_signals`."""
    own = asyncio.current_task()
    assert own is not None  # noqa: S101 (this is a coroutine of a task)
    with ended_by_signals(lambda _: own.cancel()):
        yield
