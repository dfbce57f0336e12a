"""Searches for repairs end by what they read, and not by the clock."""

from __future__ import annotations

import pytest
from tests.time_to_repair import give_time


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    give_time(monkeypatch)
