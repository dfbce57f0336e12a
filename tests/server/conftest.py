"""Every test of the program runs in an empty folder of its own, with a journal and settings in it, without a key, an endpoint or
colours asked for by the environment, and not against the clock: what a menu or a page has within its time does not depend on how
busy the machine is.
"""

from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.time_to_repair import give_time

from merrow_server.features.commands import mutation_lists
from merrow_server.lsp.offers import repairs


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    give_time(monkeypatch)
    monkeypatch.setattr(repairs, "TIME_LIMIT", PATIENCE)
    monkeypatch.setattr(mutation_lists, "_SECONDS_OF_A_PAGE", PATIENCE)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("FORCE_COLOR", "NO_COLOR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where the journal is."""
    return tmp_path / "state"
