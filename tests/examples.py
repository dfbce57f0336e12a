"""How many examples a property test draws: the number it names, times ``MERROW_TIMES`` (1 unless set; 20 each night).

`make test` (``MERROW_PUSH``) draws a fourth, unless ``MERROW_TIMES`` says how many, and has dear tests take turns. In CI
(``CI``) the examples are the same in every run: there they only find what the change under test breaks. Developers and the
nightly run draw new ones.
"""

from __future__ import annotations

import os
import time

TIMES = float(os.environ.get("MERROW_TIMES", "1"))
SAME = bool(os.environ.get("CI")) and TIMES == 1
"""Whether tests draw the same examples each time: in CI, but not every night."""
PUSH = bool(os.environ.get("MERROW_PUSH")) and TIMES == 1
"""Whether all tests together have to be quick."""
FEWER = 4 if PUSH else 1
"""How many times fewer examples then."""
DAYS = 8 if PUSH else 1
"""In how many days the slow tests, and the cases of tests that are alike, have all had their turn then."""
SEED = int(os.environ.setdefault("MERROW_SEED", str(int(time.time() // 86_400))))
"""Says what takes its turn, by default the number of the day; the workers inherit it, so that all choose the same."""
FOURTH = slice(SEED // 8 % 4, None, 4) if SAME else slice(None)
"""Of thousands of texts, what one test walks through; in CI a fourth. The test itself may have its turn each eighth day only."""


def examples(count: int, least: int = 1) -> int:
    """``count`` times `TIMES`, divided by `FEWER`, and never fewer than ``least``."""
    return max(least, round(count * TIMES / FEWER))
