"""Every test of the program runs in an empty folder of its own, without colours asked for by the environment, and not against
the clock: what a menu or a page has within its time does not depend on how busy the machine is.
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
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
