"""The disk of the database's write-ahead log fills, and PostgreSQL shuts down: what was finished is there once it has room."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, server
from tests.server.program import merrow
from tests.server.workers.cluster import OWN, Place, begun, newest, waited
from tests.server.workers.test_database_away import LINES, SHORTER, alone, shorter_limits
from tests.server.workers.test_kills import asked, came_to_the_same
from tests.small_disk import fill, small_disk

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a disk that is mounted"),
    pytest.mark.slow,
]
__all__ = ["alone", "shorter_limits"]
SIZE = 24
FULL = "is full; make room there"
WAITS = "; waiting for the journal for "
SETTINGS = "-c max_wal_size=8MB -c min_wal_size=2MB"
"""Megabytes of the disk with the log."""


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    """One whose log has files of a megabyte on a small disk of its own, which is the server's folder ``log-disk``."""
    with server("--wal-segsize=1") as own, small_disk(own.folder / "log-disk", SIZE) as disk:
        own.stop("fast")
        log = own.folder / "data" / "pg_wal"
        shutil.move(log, disk / "pg_wal")
        log.symlink_to(disk / "pg_wal")
        for path in (disk, *disk.rglob("*")):
            shutil.chown(path, "postgres", "postgres")
        own.start(SETTINGS)
        yield own
        if (own.folder / "data" / "postmaster.pid").exists():
            own.stop()


def test_an_evaluation_waits_for_it_or_says_that_the_disk_is_full(alone: Place, database: PostgresServer) -> None:
    process = begun("evaluate", "flow.mmd", *OWN)
    asked(alone, random.Random(0), most=0.3)
    filler = fill(database.folder / "log-disk")
    assert process.stderr is not None
    told = "".join(
        waited_for := list(islice((line for line in process.stderr if WAITS in line or FULL in line), LINES))
    )
    assert len(waited_for) == LINES or FULL in told
    has_room_again(database, filler)
    _, err = process.communicate()
    # PostgreSQL may report the full disk to one of its clients before it shuts down.
    if process.returncode:
        assert FULL in told + err
        assert merrow("resume", newest()).code == 0
    came_to_the_same(alone, newest(), 4 if process.returncode else 0)


def test_one_that_gave_up_is_resumed(alone: Place, database: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "site" / "sitecustomize.py").write_text(f"{SHORTER}sql.AWAY = 5.0\n")
    process = begun("evaluate", "flow.mmd", *OWN)
    asked(alone, random.Random(0), most=0.3)
    filler = fill(database.folder / "log-disk")
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert "Traceback" not in err
    evaluation = err.partition("merrow resume ")[2].split()[0].rstrip(".")
    has_room_again(database, filler)
    done = merrow("resume", evaluation)
    assert done.code == 0, done.err
    came_to_the_same(alone, evaluation, 4)


def has_room_again(database: PostgresServer, filler: Path) -> None:
    """Make room, and start the server, which has shut down by itself."""
    waited(lambda: not (database.folder / "data" / "postmaster.pid").exists())
    filler.unlink()
    database.start(SETTINGS)
