"""Garbage collection held off while a text is read cold."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Hold off Python's cycle collector.

    Reading a text cold makes many objects and drops almost none, so the collector would walk through all of them several
    times and find nothing: a third of the time at 1,000 nodes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
