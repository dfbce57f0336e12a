"""How many examples a property test draws: the number it names, times ``MERROW_TIMES`` (1 unless set; 20 each night).

`make test` (``MERROW_PUSH``) draws a fourth, unless ``MERROW_TIMES`` says how many. In CI (``CI``) they are the same in every
run: there they only find what the change under test breaks. Developers and the nightly run draw new ones.
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("MERROW_TIMES", "1"))
SAME = bool(os.environ.get("CI")) and TIMES == 1
"""Whether tests draw the same examples each time: in CI, but not every night."""
FEWER = 4 if os.environ.get("MERROW_PUSH") and TIMES == 1 else 1
"""How many times fewer examples, and fewer cases of tests that are alike, where all tests together have to be quick."""


def examples(count: int, least: int = 1) -> int:
    """``count`` times `TIMES`, divided by `FEWER`, and never fewer than ``least``."""
    return max(least, round(count * TIMES / FEWER))
