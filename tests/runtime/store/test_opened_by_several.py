"""Several processes that begin in a new state folder at the same moment all get their files."""

from __future__ import annotations

import sqlite3
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
    assert Ledger(path).admit("http://endpoint", MinuteLimits(3, None), 10)[1] == 0.0


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
