"""What a run of the tests did not try, said in its last lines.

`make test` names a file in ``MERROW_NOT_RUN``, too: it prints what all of its parts did not run when they are done.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from tests import sizes
from tests.shared import missing_texts

FILE = os.environ.pop("MERROW_NOT_RUN", None)
"""Taken out of the environment: runs of pytest that a test starts do not write to it."""
LEFT_OUT = pytest.StashKey[Counter[str]]()
_MOST_REASONS = 6


def said(reporter: pytest.TerminalReporter, config: pytest.Config, *, real_model: bool) -> list[str]:
    """One sentence for each kind of what did not run."""
    lines = [sizes.in_words(config.stash.get(LEFT_OUT, Counter()))]
    if not real_model:
        lines.append("The tests with a real model did not run: `make real-model` runs them.")
    if missing := missing_texts():
        lines.append(f"What reads ../shared did not run: {len(missing)} of its texts are not beside the repository.")
    reasons = Counter(_reason(report) for report in reporter.stats.get("skipped", []))
    common = reasons.most_common(_MOST_REASONS)
    lines += [f"Skipped {count:,}: {reason}." for reason, count in common]
    if rest := reasons.total() - sum(count for _, count in common):
        lines.append(f"Skipped {rest:,} for other reasons; the list of the tests names them.")
    return [line for line in lines if line]


def _reason(report: pytest.TestReport) -> str:
    text = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    return " ".join(text.removeprefix("Skipped: ").split()).rstrip(".")


def keep(lines: list[str]) -> None:
    """Write the lines for `make test`; those of the second try of what failed say less, and are not kept."""
    if FILE is not None and not Path(FILE).exists():
        Path(FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
