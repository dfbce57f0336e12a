"""What tests of the journal share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.postgres import PostgresServer

KINDS = ("sqlite", "postgres")


@pytest.fixture(params=KINDS)
def configured(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The user's journal is of this kind, and empty."""
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("MERROW_JOURNAL", server.url())
    else:
        monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    return str(request.param)
