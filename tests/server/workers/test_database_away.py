"""The database crashes or freezes while something runs, and comes back: nothing that was finished is lost, nothing is paid twice,
and meanwhile a display says how long it waits, and the first Ctrl-C ends it.

All processes have shorter limits than users', by a file that Python reads first.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, crashes, freezes, server
from tests.runtime.openai_server import Received, serving
from tests.server.program import merrow, write
from tests.server.workers.cluster import FLOW, KEY, OWN, Place, Shared, begun, data, newest, shared, slowly, waited
from tests.server.workers.test_kills import IN_FLIGHT, ITEMS, ROUNDS, asked, came_to_the_same, evaluating

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
    pytest.mark.slow,
]
SHORTER = """
from merrow_runtime.store import sql
sql.PATIENCE = 2.0
from merrow_runtime.store import lease
lease.BEAT, lease.STALE = 0.4, 6.0
from merrow_runtime.store.postgres import connection
connection._SILENCE, connection._PROBE = 1.0, 2
"""
"""A fifth of all limits but `sql.AWAY`."""
SECONDS = 12
"""Longer than each of them."""
LINES = 10
"""Of progress, which tell that the journal is waited for."""
GoesAway = Callable[[PostgresServer], Callable[[], None]]


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    with server() as own:
        yield own


@pytest.fixture(autouse=True)
def shorter_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SHORTER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("MERROW_PROGRESS_SECONDS", "0.2")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: PostgresServer) -> Iterator[Shared]:
    with shared(tmp_path / "place", slowly, database.url()) as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(made.folder)
        write("flow.mmd", FLOW)
        data(ITEMS)
        yield made


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: PostgresServer) -> Iterator[Place]:
    """Without workers."""
    monkeypatch.chdir(tmp_path)
    write("flow.mmd", FLOW)
    data(ITEMS)
    with serving(slowly) as endpoint:
        for name, value in (
            ("OPENAI_BASE_URL", endpoint.base_url),
            ("OPENAI_API_KEY", KEY),
            ("MERROW_STATE_DIR", str(tmp_path / "state")),
            ("MERROW_CONFIG_DIR", str(tmp_path / "config")),
            ("MERROW_CONCURRENCY", "8"),
            ("MERROW_JOURNAL", database.url()),
        ):
            monkeypatch.setenv(name, value)
        yield Place(tmp_path, endpoint)


def waits_shown(process: subprocess.Popen[str]) -> int:
    """How many of the next `LINES` lines of progress have come that tell that the journal is waited for."""
    assert process.stderr is not None
    told = (line for line in process.stderr if re.search(r"; waiting for the journal for \d+ s$", line))
    return sum(1 for _ in islice(told, LINES))


def away_and_back(process: subprocess.Popen[str], comes_back: Callable[[], None]) -> None:
    """Longer than all limits; the process shows meanwhile how long it waits, since its event loop waits for nothing."""
    until = time.monotonic() + SECONDS
    assert waits_shown(process) == LINES
    time.sleep(max(0, until - time.monotonic()))
    comes_back()


@pytest.mark.parametrize("goes_away", [crashes, freezes])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_it_is_away_while_workers_work(place: Shared, database: PostgresServer, goes_away: GoesAway, seed: int) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance)
    away_and_back(process, goes_away(database))
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(place, newest(), 0)


@pytest.mark.parametrize("goes_away", [crashes, freezes])
def test_the_first_ctrl_c_ends_a_coordinator_that_waits(
    place: Shared, database: PostgresServer, goes_away: GoesAway
) -> None:
    process = evaluating(place)
    asked(place, random.Random(0), most=0.3)
    comes_back = goes_away(database)
    assert waits_shown(process) == LINES
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    evaluation = err.partition("continue with: merrow resume ")[2].split()[0]
    comes_back()
    done = merrow("resume", evaluation, "--engine", "dask", "--scheduler", place.cluster.address)
    assert done.code == 0, done.err
    came_to_the_same(place, evaluation, 4)


@pytest.mark.parametrize("goes_away", [crashes, freezes])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_it_is_away_while_one_process_works(
    alone: Place, database: PostgresServer, goes_away: GoesAway, seed: int
) -> None:
    chance = random.Random(seed)
    process = begun("evaluate", "flow.mmd", *OWN)
    asked(alone, chance)
    away_and_back(process, goes_away(database))
    _, err = process.communicate()
    assert process.returncode == 0, err
    came_to_the_same(alone, newest(), 0)


COMMANDS = {
    "run": ("run", "flow.mmd", "--input", "PROBLEM=What is twice 5?"),
    "batch": ("batch", "flow.mmd", "--dataset", "own.jsonl", "--output", "out.jsonl"),
    "evaluate": ("evaluate", "flow.mmd", *OWN),
    "optimize": ("optimize", "flow.mmd", *OWN, "--budget-evaluations", "260"),
}


IN_THE_MIDDLE = {"run": (1, 1), "batch": (30, 8), "evaluate": (30, 8), "optimize": (30, 1)}
"""How many calls are answered when the journal goes away, and how many are on their way at least."""


def waits_in_its_middle(
    command: str, at: Place, database: PostgresServer, goes_away: GoesAway
) -> tuple[Callable[[], None], subprocess.Popen[str]]:
    """A command whose journal is away, and whose calls in flight are answered since."""
    answered, in_flight = IN_THE_MIDDLE[command]
    data(100)
    with at.server.holding(answered):
        process = begun(*COMMANDS[command])
        waited(lambda: len(at.server.requests) >= answered + in_flight)
        comes_back = goes_away(database)
    assert waits_shown(process) == LINES
    return comes_back, process


def made_again(requests: list[Received]) -> int:
    """No two answers of them need the same request."""
    return len(requests) - len(Counter(json.dumps(request.body, sort_keys=True) for request in requests))


PAIRS = [("run", crashes), ("batch", freezes), ("evaluate", crashes), ("evaluate", freezes), ("optimize", freezes)]


@pytest.mark.parametrize(("command", "goes_away"), [("run", freezes), ("batch", crashes), ("optimize", crashes)])
def test_one_process_shows_how_long_it_waits_and_its_calls_go_on(
    command: str, alone: Place, database: PostgresServer, goes_away: GoesAway
) -> None:
    comes_back, process = waits_in_its_middle(command, alone, database, goes_away)
    comes_back()
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert made_again(alone.server.requests) == 0


@pytest.mark.parametrize(("command", "goes_away"), PAIRS)
def test_the_first_ctrl_c_ends_one_process_that_waits(
    command: str, alone: Place, database: PostgresServer, goes_away: GoesAway
) -> None:
    comes_back, process = waits_in_its_middle(command, alone, database, goes_away)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    identity = err.partition("merrow resume ")[2].split()[0]
    comes_back()
    done = merrow("resume", identity)
    assert done.code == 0, done.err
    # Those on their way and those that waited for their places; a crash forgets the last moments, too.
    assert made_again(alone.server.requests) <= 4 * IN_FLIGHT


@pytest.mark.parametrize(("command", "goes_away"), PAIRS)
def test_one_process_gives_up_a_database_that_stays_away(
    command: str, alone: Place, database: PostgresServer, goes_away: GoesAway, tmp_path: Path
) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text(f"{SHORTER}sql.AWAY = 5.0\n")
    comes_back, process = waits_in_its_middle(command, alone, database, goes_away)
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert "Traceback" not in err
    identity = err.partition("merrow resume ")[2].split()[0].rstrip(".")
    comes_back()
    done = merrow("resume", identity)
    assert done.code == 0, done.err
    assert made_again(alone.server.requests) <= 4 * IN_FLIGHT


@pytest.mark.parametrize("goes_away", [freezes])
def test_a_terminal_shows_how_long_one_process_waits_and_that_it_stops(
    alone: Place, monkeypatch: pytest.MonkeyPatch, database: PostgresServer, goes_away: GoesAway
) -> None:
    screen, terminal = os.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "300")
    command = [sys.executable, "-m", "merrow_server", "evaluate", "flow.mmd", *OWN]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as process:
        os.close(terminal)
        asked(alone, random.Random(0), most=0.3)
        comes_back = goes_away(database)
        shown = b""
        while not re.search(rb"waiting for the journal for (?:[4-9]|\d\d) s", shown):
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
    came_to_the_same(alone, newest(), 4)
