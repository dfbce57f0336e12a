"""What a run of the tests did not try, said in its last line.

`make test` names a file in ``MERROW_NOT_RUN``, too: its own last line says what all of its parts did not run.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from tests import sizes
from tests.shared import NOT_HERE

FILE = os.environ.pop("MERROW_NOT_RUN", None)
"""Taken out of the environment: runs of pytest that a test starts do not write to it."""
LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many tests have a mark that leaves them out, by that mark; `SHARED` of those that run read ``../shared``."""
SHARED = "shared"
_MOST_REASONS = 6


def parts(reporter: pytest.TerminalReporter, config: pytest.Config, *, real_model: bool) -> list[str]:
    """Each kind of what did not run, in a few words."""
    found = [sizes.in_words(config.stash.get(LEFT_OUT, Counter()))]
    if not real_model:
        found.append("the tests with a real model (`make real-model`)")
    reasons = Counter(_reason(report) for report in reporter.stats.get("skipped", []))
    if missing := reasons.pop(NOT_HERE, 0):
        found.append(f"{missing:,} tests that read ../shared, which is not beside the repository")
    common = reasons.most_common(_MOST_REASONS)
    found += [f"{count:,} skipped ({reason})" for reason, count in common]
    if rest := reasons.total() - sum(count for _, count in common):
        found.append(f"{rest:,} skipped for other reasons, which the list of the tests names")
    return [part for part in found if part]


def _reason(report: pytest.TestReport) -> str:
    text = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    return " ".join(text.removeprefix("Skipped: ").split()).rstrip(".")


def tell(reporter: pytest.TerminalReporter, config: pytest.Config, *, real_model: bool) -> None:
    """Write the last lines of a run, and the parts for `make test`; a second try of what failed keeps none, as it has less."""
    found = parts(reporter, config, real_model=real_model)
    if reading := config.stash.get(LEFT_OUT, Counter())[SHARED]:
        reporter.write_line(f"Tests that read texts of ../shared: {reading:,}.")
    if found:
        reporter.write_line(f"Did not run: {'; '.join(found)}.")
    if FILE is not None and not Path(FILE).exists():
        Path(FILE).write_text("".join(f"{part}\n" for part in found), encoding="utf-8")
