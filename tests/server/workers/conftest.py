"""Tests of evaluations whose items workers answer need the extra dask, and processes that can be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.workers.cluster import FLOW, Shared, data, shared, write

JOURNALS = ("file", pytest.param("postgres", marks=pytest.mark.slow))
"""Where the journal is: each test that depends on it runs with both."""


def journal_of(request: pytest.FixtureRequest) -> str | None:
    """The address of the journal of a fixture with these parameters; None for a file in the state folder."""
    url: str | None = request.getfixturevalue("postgres").url() if request.param == "postgres" else None
    return url


@pytest.fixture(scope="session", params=JOURNALS)
def team(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Shared]:
    """A cluster that all tests use which do it no harm."""
    with shared(tmp_path_factory.mktemp("team"), journal=journal_of(request)) as made:
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
