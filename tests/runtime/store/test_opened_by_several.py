"""Several processes that begin in a new state folder at the same moment all get their files, and several connections of one
process keep their locks.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.spending.ledger import Ledger
from merrow_runtime.store.database import Store


def opens_the_journal(path: Path) -> None:
    with closing(Store.open(path)) as store:
        assert store.runs() == []


def opens_the_ledger(path: Path) -> None:
    assert Ledger(path).refill("http://endpoint", MinuteLimits(3, None), 10) == 0.0


@pytest.mark.parametrize("opening", [opens_the_journal, opens_the_ledger])
def test_a_new_file_that_another_process_is_writing_is_waited_for(
    tmp_path: Path, opening: Callable[[Path], None]
) -> None:
    path = tmp_path / "new.sqlite"
    failures: list[StoreFailure] = []

    def open_it() -> None:
        try:
            opening(path)
        except StoreFailure as failure:
            failures.append(failure)

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        # As another process that is about to turn on WAL: SQLite refuses a second one without waiting.
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=open_it)
        thread.start()
        thread.join(0.3)
        other.execute("COMMIT")
        thread.join()
    assert failures == []


LOCKED = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # the bytes that SQLite's readers share
"""


def is_held(path: Path) -> bool:
    """Whether SQLite keeps other processes from taking a database away."""
    tried = subprocess.run([sys.executable, "-c", LOCKED, str(path)], capture_output=True, text=True, check=False)
    assert tried.returncode == 0 or "BlockingIOError" in tried.stderr, tried.stderr
    return tried.returncode != 0


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
@pytest.mark.parametrize("opening", [Store.open, Ledger])
def test_a_connection_keeps_its_locks_when_its_process_opens_the_file_again(
    tmp_path: Path, opening: Callable[[Path], object]
) -> None:
    path = tmp_path / "new.sqlite"
    first = opening(path)
    assert is_held(path)
    second = opening(path)
    assert is_held(path), "else what is written over it is lost once another process closes the file"
    del second
    assert is_held(path)
    del first
