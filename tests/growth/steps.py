"""Counts the steps of a call: the calls of Merrow's functions, and what those call in C. The same call takes the same number.

What a single call in C does (a slice, a search, a comparison of lists) is one step: what is quadratic in there isn't seen.
What libraries do between themselves, such as an event loop that waits, does not count.
"""

from __future__ import annotations

import cProfile
import functools
import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from merrow_analysis.syntax import parser

TraceFunction = Callable[[FrameType, str, Any], Any]


def steps(call: Callable[[], object]) -> int:
    """The calls of Merrow's functions in ``call``, and of functions in C by them."""
    profile = cProfile.Profile(builtins=True)
    gc.disable()
    try:
        profile.enable()
        call()
        profile.disable()
    finally:
        gc.enable()
    found = 0
    for entry in profile.getstats():
        if isinstance(entry.code, str) or "/merrow_" not in entry.code.co_filename:
            continue
        found += entry.callcount
        found += sum(inner.callcount for inner in entry.calls or () if isinstance(inner.code, str))
    return found


def lines(call: Callable[[], object]) -> int:
    """The lines of Merrow's code that ``call`` runs, each turn of a loop included: slow, but sees loops that call nothing."""
    found = 0

    def local(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal found
        found += event == "line"
        return local

    def entered(frame: FrameType, _event: str, _argument: object) -> TraceFunction | None:
        return local if "/merrow_" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


def forget() -> None:
    """Empty every memory that outlives a document, so that a call does not depend on those before it."""
    for memory in _memories(len(sys.modules)):
        memory.cache_clear()
    parser.READ_BEFORE.clear()


@functools.lru_cache(maxsize=1)
def _memories(modules: int) -> list[functools._lru_cache_wrapper[object]]:
    """The caches of all modules of Merrow that are imported; ``modules`` says how many there are of any kind."""
    ours = [module for name, module in sorted(sys.modules.items()) if name.startswith("merrow_")]
    values = [value for module in ours for value in list(vars(module).values())]
    # By its class: some modules hold objects that import others when they are looked at.
    return [value for value in values if type(value) is functools._lru_cache_wrapper]
