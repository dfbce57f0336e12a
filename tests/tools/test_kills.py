"""Runs that call tools are killed; see `tests.tools.kills` for more of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.tools.kills import tried


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("agent", [False, True])
def test_no_mail_is_sent_twice_and_no_server_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: bool
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    tried(tmp_path, 0, agent=agent)
