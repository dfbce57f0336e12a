"""Episodes whose process is killed; see `tests.environments.kills` for more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.environments.kills import tried
from tests.sizes import sized


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_an_episode_goes_on_as_if_nothing_had_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    tried(tmp_path, seed, 3)
