"""Signals that ask the program to end while it works on something."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator


def ending_signals() -> list[signal.Signals]:
    """The signals that ask a process to end. SIGHUP is left alone where it is ignored: `nohup` asks for that."""
    signals = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Within this, such a signal cancels the task that is at work."""
    loop, own = asyncio.get_running_loop(), asyncio.current_task()
    assert own is not None  # noqa: S101 (this is a coroutine of a task)
    for number in ending_signals():
        with contextlib.suppress(NotImplementedError, ValueError):  # Windows has no handlers in event loops.
            loop.add_signal_handler(number, own.cancel)
    try:
        yield
    finally:
        for number in ending_signals():
            with contextlib.suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(number)
