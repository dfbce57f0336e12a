"""Settings of all tests: property tests have no deadline, and in CI they draw the same examples every time.

Run without CI they draw new ones; a failure is printed with what reproduces it. ``MERROW_EXAMPLES`` raises the number of examples
of the dearest ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("new examples", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("the same examples", parent=settings.get_profile("new examples"), derandomize=True)
settings.load_profile("the same examples" if os.environ.get("CI") else "new examples")
