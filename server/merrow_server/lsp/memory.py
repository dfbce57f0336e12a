"""Garbage collection out of the way of keystrokes: full collections happen while nobody types.

Graphs refer to themselves, so the garbage of an edit is found by the collector alone; but a full collection looks at everything
that is known about all open documents. What a request such as a menu leaves is collected after its answer, lest the next
one take memory that is still full of it.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable

IDLE = 2.0
"""Seconds without a message after which nobody is taken to be typing."""
LONGEST_WITHOUT = 120.0
"""Seconds after which there is a collection although somebody is."""
# A version of a graph has few objects and long lists, and is garbage after an edit or two: looked for seldom, versions add up.
_YOUNG, _MIDDLE, _NEVER = 2_000, 5, 1_000_000
_GROWN = 1.1
"""How many times the memory blocks of the last collection there are when what came since is worth looking at."""


def quiet_collections() -> None:
    """Leave full collections to `collect`; what is there now is never looked at again."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
    gc.enable()


class IdleCollector:
    """Collects when nothing has happened for a while, and at times also under steady work, lest memory grow forever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = False
        self._last_activity = 0.0
        self._last_collection = loop.time()
        self._blocks = sys.getallocatedblocks()

    def active(self) -> None:
        """Something happened: messages were handled."""
        self._last_activity = self._loop.time()
        if sys.getallocatedblocks() > _GROWN * self._blocks:
            # Only what is new since the last full collection, and only after it grew by a part of all: seldom, and short.
            gc.collect()
            self._blocks = sys.getallocatedblocks()
        if not self._due:
            self._due = True
            self._loop.call_later(IDLE, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if now - self._last_activity >= IDLE or now - self._last_collection >= LONGEST_WITHOUT:
            self._due = False
            collect()
            give_back()
            self._blocks = sys.getallocatedblocks()
            self._last_collection = self._loop.time()
        else:
            self._loop.call_later(self._last_activity + IDLE - now, self._look)


def collect() -> None:
    """A full collection; what survives is left out of those on the way of a keystroke."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _trimmer() -> Callable[[int], int] | None:
    """How glibc gives free memory inside its heap back to the system; other libraries do so by themselves or can't."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim


_trim = _trimmer()


def give_back() -> None:
    """Give memory that is free to the system, where that is possible."""
    if _trim is not None:
        _trim(0)
