"""How many examples a property test draws: the number it names, times ``MERROW_TIMES`` (1 unless set; 20 each night)."""

from __future__ import annotations

import os

TIMES = float(os.environ.get("MERROW_TIMES", "1"))


def examples(count: int, least: int = 1) -> int:
    """``count`` times `TIMES`, and never fewer than ``least``."""
    return max(least, round(count * TIMES))
