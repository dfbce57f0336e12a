"""Garbage collection out of the way of keystrokes: full collections happen while nobody types.

Graphs refer to themselves, so the garbage of an edit is found by the collector alone; but a full collection looks at everything
that is known about all open documents.
"""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _NEVER = 20_000, 50, 1_000_000


def quiet_collections() -> None:
    """Leave full collections to `collect`; what is there now is never looked at again."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
    gc.enable()


def collect() -> None:
    """A full collection; what survives is left out of those on the way of a keystroke."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
