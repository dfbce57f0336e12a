"""How many examples a property test draws: the number it names, times ``MERROW_TIMES`` (1 unless set; 20 each night).

`make test` (``MERROW_PUSH``) and CI (``CI``) draw half as many, unless ``MERROW_TIMES`` says how many. In CI they are the same
in every run: there they only find what the change under test breaks. Developers and the nightly run draw new ones.
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("MERROW_TIMES", "1"))
SAME = bool(os.environ.get("CI")) and TIMES == 1
"""Whether tests draw the same examples each time: in CI, but not every night."""
PUSH = SAME or (bool(os.environ.get("MERROW_PUSH")) and TIMES == 1)
"""Whether all tests together have to be quick: in CI and in `make test`."""


def examples(count: int, least: int = 1) -> int:
    """``count`` times `TIMES`, half of it where tests have to be quick, and never fewer than ``least``."""
    return max(least, round(count * TIMES / (2 if PUSH else 1)))
