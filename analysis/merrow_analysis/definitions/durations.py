"""Lengths of time as people write them: ``90m``, ``2d``, or a number of seconds."""

from __future__ import annotations

import math
import re

DURATION = r"[1-9][0-9]{0,4}[ \t]*[smhdw]"
"""A number and its unit: seconds, minutes, hours, days or weeks."""

LONGEST_SECONDS = 100 * 366 * 86_400
"""The longest length of time in seconds: some hundred years."""

_DURATION = re.compile(DURATION)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration(value: object) -> float | None:
    """The seconds that a value means, a number or a text such as ``2d``; None where it is not a length of time, as 0 is not."""
    if isinstance(value, str):
        text = value.strip()
        if _DURATION.fullmatch(text):
            return min(float(text[:-1].strip()) * _SECONDS[text[-1]], float(LONGEST_SECONDS))
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_SECONDS:
        return None
    return float(value) if math.isfinite(value) else None
