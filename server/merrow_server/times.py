"""Times for people."""

from __future__ import annotations

import time

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def ago(moment: float) -> str:
    """How long ago, in the largest unit that fits."""
    return duration(max(0.0, time.time() - moment)) + " ago"


def duration(seconds: float) -> str:
    """A time for people: in the largest unit that fits."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    unit, name = next((unit, name) for unit, name in _UNITS if seconds >= unit)
    return f"{seconds / unit:.0f} {name}"
