"""A newer Merrow changes the tables while an evaluation runs: it ends or stops with a sentence. Nothing is lost or paid twice."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer
from tests.server.program import write
from tests.server.workers.cluster import FLOW, Shared, begun, data, newest, shared, slowly
from tests.server.workers.test_kills import ITEMS, ROUNDS, asked, came_to_the_same, evaluating

from merrow_runtime.store.address import read_address
from merrow_runtime.store.schema import VERSION

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a cluster of processes"),
    pytest.mark.slow,
]
NEWER = """
import merrow_runtime.store.postgres.opening as opening
opening.VERSION += 1
opening.STEPS[opening.VERSION - 1] = (
    "ALTER TABLE every_run ADD COLUMN added TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE scores ADD COLUMN added TEXT",
    "ALTER TABLE calls ADD COLUMN added TEXT",
    "SELECT pg_sleep(2)",
    "CREATE INDEX calls_by_what_was_added ON calls (added)",
    "CREATE TABLE added (number BIGINT)",
)
"""
"""A Merrow whose tables are others: it changes those that the workers write, which wait for it meanwhile."""
KILLED = NEWER + 'opening.STEPS[opening.VERSION - 1] += ("SELECT pg_terminate_backend(pg_backend_pid())",)\n'

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer) -> Iterator[Shared]:
    with shared(tmp_path / "place", slowly, postgres.url()) as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(made.folder)
        write("flow.mmd", FLOW)
        data(ITEMS)
        yield made


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Has another version do a command: its exit code, and what it says on standard error."""

    def run(version: str, *command: str) -> tuple[int, str]:
        site = tmp_path / "site"
        site.mkdir(exist_ok=True)
        (site / "sitecustomize.py").write_text(version)
        with monkeypatch.context() as given:
            given.setenv("PYTHONPATH", str(site))
            process = begun(*command)
        _, err = process.communicate()
        return process.returncode, err

    return run


def version_of(place: Shared, postgres: PostgresServer, becomes: int | None = None) -> int:
    schema = read_address(place.variables["MERROW_JOURNAL"]).schema
    if becomes is not None:
        postgres.sql(f"UPDATE {schema}.merrow SET version = {becomes}")  # noqa: S608 (names of the test)
    return int(postgres.sql(f"SELECT version FROM {schema}.merrow"))  # noqa: S608 (names of the test)


@pytest.mark.parametrize("replaced", [False, True], ids=["workers stay", "a worker is replaced"])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_tables_are_changed_while_workers_work(
    place: Shared, postgres: PostgresServer, another: Run, replaced: bool, seed: int
) -> None:
    chance = random.Random(seed)
    process = evaluating(place)
    asked(place, chance, most=0.5)
    evaluation = newest()
    assert another(NEWER, "journal", "check") == (0, "")
    assert version_of(place, postgres) == VERSION + 1
    if replaced:
        place.cluster.parts[1].end()
        place.cluster.worker(waits=False)
    _, err = process.communicate()
    assert "Traceback" not in err
    if process.returncode:
        assert "was written by a newer Merrow" in err
        assert f"merrow resume {evaluation}" in err
        for worker in place.cluster.parts[1:]:
            worker.end()
        code, err = another(NEWER, "resume", evaluation)
        assert code == 0, err
    # What was added is nothing to this version, which looks at the result.
    version_of(place, postgres, becomes=VERSION)
    came_to_the_same(place, evaluation, 4 if process.returncode else 2 * replaced)


def test_a_change_of_the_tables_that_is_killed_leaves_them_as_they_were(
    place: Shared, postgres: PostgresServer, another: Run
) -> None:
    process = evaluating(place)
    asked(place, random.Random(0), most=0.5)
    code, err = another(KILLED, "journal", "check")
    assert code != 0
    assert "Traceback" not in err
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert version_of(place, postgres) == VERSION
    came_to_the_same(place, newest(), 0)
