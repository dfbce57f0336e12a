"""Tests of evaluations whose items workers answer need the extra dask, and processes that can be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.workers.cluster import FLOW, Shared, data, shared, write


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """A cluster that all tests use which do it no harm."""
    with shared(tmp_path_factory.mktemp("team")) as made:
        yield made


@pytest.fixture
def at(team: Shared, monkeypatch: pytest.MonkeyPatch) -> Shared:
    """The same, with the settings of its workers here; what was asked before is forgotten."""
    for name, value in team.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(team.folder)
    team.server.requests.clear()
    write("flow.mmd", FLOW)
    data(40)
    return team
