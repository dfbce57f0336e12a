"""The database crashes or freezes while an evaluation runs, and comes back: nothing that was finished is lost."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, crashes, freezes, server
from tests.runtime.openai_server import serving
from tests.server.program import merrow, write
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


def waits_shown(process: subprocess.Popen[str], least: int) -> list[int]:
    """The seconds of waiting that lines of progress tell, up to the first that are so many; nothing where there are none."""
    assert process.stderr is not None
    shown = []
    for line in islice(process.stderr, 2000):
        if found := re.search(r"; waiting for the journal for (\d+) s$", line):
            shown.append(int(found[1]))
            if shown[-1] >= least:
                return shown
    return []


@pytest.mark.parametrize("goes_away", [crashes, freezes])
def test_the_coordinator_shows_how_long_it_waits_and_goes_on(
    place: Shared,
    database: PostgresServer,
    goes_away: Callable[[PostgresServer], Callable[[], None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MERROW_PROGRESS_SECONDS", "0.2")
    process = evaluating(place)
    asked(place, random.Random(0), most=0.3)
    comes_back = goes_away(database)
    shown = waits_shown(process, 12)
    comes_back()
    _, err = process.communicate()
    assert process.returncode == 0, err
    # Its event loop waits for nothing meanwhile: lines come all the time.
    assert len(set(shown)) >= 5, shown
    came_to_the_same(place, newest(), 0)


@pytest.mark.parametrize("goes_away", [crashes, freezes])
def test_the_first_ctrl_c_ends_a_coordinator_that_waits(
    place: Shared,
    database: PostgresServer,
    goes_away: Callable[[PostgresServer], Callable[[], None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MERROW_PROGRESS_SECONDS", "0.2")
    process = evaluating(place)
    asked(place, random.Random(0), most=0.3)
    comes_back = goes_away(database)
    assert waits_shown(process, 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    evaluation = err.partition("continue with: merrow resume ")[2].split()[0]
    comes_back()
    done = merrow("resume", evaluation, "--engine", "dask", "--scheduler", place.cluster.address)
    assert done.code == 0, done.err
    came_to_the_same(place, evaluation, 4)


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


@pytest.mark.parametrize("goes_away", [crashes, freezes])
def test_a_terminal_shows_how_long_one_process_waits_and_that_it_stops(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    database: PostgresServer,
    goes_away: Callable[[PostgresServer], Callable[[], None]],
) -> None:
    monkeypatch.chdir(tmp_path)
    write("flow.mmd", FLOW)
    data(ITEMS)
    screen, terminal = os.openpty()
    with serving(slowly) as endpoint:
        for name, value in (
            ("OPENAI_BASE_URL", endpoint.base_url),
            ("OPENAI_API_KEY", KEY),
            ("MERROW_STATE_DIR", str(tmp_path / "state")),
            ("MERROW_CONCURRENCY", "8"),
            ("MERROW_JOURNAL", database.url()),
            ("TERM", "xterm-256color"),
            ("COLUMNS", "300"),
        ):
            monkeypatch.setenv(name, value)
        at = Shared(tmp_path, endpoint, None, {})  # type: ignore[arg-type]
        command = [sys.executable, "-m", "merrow_server", "evaluate", "flow.mmd", *OWN]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as process:
            os.close(terminal)
            asked(at, random.Random(0), most=0.3)
            comes_back = goes_away(database)
            shown = b""
            while b"waiting for the journal for 8 s" not in shown:
                shown += os.read(screen, 1 << 16)
            process.send_signal(signal.SIGINT)
            while b"stopping" not in shown:
                shown += os.read(screen, 1 << 16)
            comes_back()
            with suppress(OSError):  # Linux tells so that nobody has the terminal open any more
                while os.read(screen, 1 << 16):
                    pass
        os.close(screen)
        assert process.returncode == 130
        done = merrow("resume", newest())
        assert done.code == 0, done.err
        came_to_the_same(at, newest(), 4)
