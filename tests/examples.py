"""How many examples a property test draws: the number it names, times ``MERROW_TIMES`` (1 unless set; 20 each night).

In CI (``CI`` is set, ``MERROW_TIMES`` is not) a test draws the same examples in every run, and half as many: there they only find
what the change under test breaks. Developers and the nightly run draw new ones.
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("MERROW_TIMES", "1"))
SAME = bool(os.environ.get("CI")) and TIMES == 1
"""Whether tests draw the same examples each time: in CI, but not every night."""


def examples(count: int, least: int = 1) -> int:
    """``count`` times `TIMES`, half of it in CI, and never fewer than ``least``."""
    return max(least, round(count * TIMES / (2 if SAME else 1)))
