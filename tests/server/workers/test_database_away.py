"""The database crashes or freezes while an evaluation runs, and comes back: nothing that was finished is lost."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, server
from tests.runtime.openai_server import serving
from tests.server.program import write
from tests.server.workers.cluster import FLOW, KEY, OWN, Shared, begun, data, newest, shared, slowly
from tests.server.workers.test_kills import ITEMS, asked, came_to_the_same, evaluating
from tests.sizes import sized

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
    pytest.mark.slow,
]
SECONDS = 60
"""Shorter than `merrow_runtime.store.sql.AWAY`."""


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    with server() as own:
        yield own


def crashes(database: PostgresServer) -> Callable[[], None]:
    database.stop()
    return database.start


def freezes(database: PostgresServer) -> Callable[[], None]:
    database.freeze()
    return database.thaw


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: PostgresServer) -> Iterator[Shared]:
    with shared(tmp_path / "place", slowly, database.url()) as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(made.folder)
        write("flow.mmd", FLOW)
        data(ITEMS)
        yield made


@pytest.mark.parametrize("goes_away", [crashes, freezes])
@pytest.mark.parametrize("seed", range(sized(1, 2)))
def test_it_is_away_while_workers_work(
    place: Shared, database: PostgresServer, goes_away: Callable[[PostgresServer], Callable[[], None]], seed: int
) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    comes_back = goes_away(database)
    time.sleep(SECONDS)
    comes_back()
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 0)


@pytest.mark.parametrize("goes_away", [crashes, freezes])
@pytest.mark.parametrize("seed", range(sized(1, 2)))
def test_it_is_away_while_one_process_works(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    database: PostgresServer,
    goes_away: Callable[[PostgresServer], Callable[[], None]],
    seed: int,
) -> None:
    chance = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    write("flow.mmd", FLOW)
    data(ITEMS)
    with serving(slowly) as endpoint:
        for name, value in (
            ("OPENAI_BASE_URL", endpoint.base_url),
            ("OPENAI_API_KEY", KEY),
            ("MERROW_STATE_DIR", str(tmp_path / "state")),
            ("MERROW_CONCURRENCY", "8"),
            ("MERROW_JOURNAL", database.url()),
        ):
            monkeypatch.setenv(name, value)
        at = Shared(tmp_path, endpoint, None, {})  # type: ignore[arg-type]
        process = begun("evaluate", "flow.mmd", *OWN)
        asked(at, chance)
        comes_back = goes_away(database)
        time.sleep(SECONDS)
        comes_back()
        _, err = process.communicate()
        assert process.returncode == 0, err
        came_to_the_same(at, newest(), 0)
