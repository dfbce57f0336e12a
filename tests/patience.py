"""How long tests wait for what must come."""

from __future__ import annotations

import itertools

import pytest

from merrow_optimizer.repair import remedies, search

PATIENCE = 120.0
"""Seconds after which what has not come never will: a machine may stand still for a third of them, and be slow besides.

A test that passes waits for none of them. What must *not* come is never waited for: a test waits for what comes later.
"""


def give_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches for repairs in this process end by what they read, and not by the clock: so they do on every idle machine."""
    for module in (search, remedies):
        monkeypatch.setattr(module, "monotonic", (tick * 1e-9 for tick in itertools.count()).__next__)
