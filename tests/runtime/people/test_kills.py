"""Kills between any two commits of runs that ask people; see `tests.runtime.people.kills` for more of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.postgres import PostgresServer
from tests.runtime.people.kills import tried
from tests.sizes import sized

RUNS = sized(2, 4)
MOST = sized(50, 12)
"""Commits before a kill, at most."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")


@pytest.mark.parametrize("seed", range(RUNS))
def test_kills_lose_nothing_and_nobody_is_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    assert tried(tmp_path, seed, MOST) > 0


@pytest.mark.slow
def test_nor_do_they_in_the_journal_of_a_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_JOURNAL", postgres.url())
    assert tried(tmp_path, 3) > 0
