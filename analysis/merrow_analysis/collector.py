"""Garbage collection held off while a text, or what is known of a run, is read cold."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Hold off Python's cycle collector.

    Reading cold makes many objects and drops almost none, so the collector would walk through all of them several times and
    find nothing: a third of the time for a text of 1,000 nodes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
