"""A write that fails: what may pass is kept and written later; what can't is told, once, and given up."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.store.making import call, run

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import journal as journals
from merrow_runtime.store import writer
from merrow_runtime.store.connection import execute_patiently, opened
from merrow_runtime.store.database import Store
from merrow_runtime.store.sql import Absence


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are of POSIX")
async def test_what_a_full_disk_refused_is_written_once_there_is_room(path: Path) -> None:
    """A limit of the file's size, which anybody can set: SQLite meets it as it meets a full disk."""
    store = Store.open(path)
    journal = store.begin(run())
    await journal.record_call(call(number=0))
    path.with_name(path.name + ".ballast").unlink()
    with size_limit(path.with_name(path.name + "-wal").stat().st_size):
        with pytest.raises(StoreFailure, match="disk with the journal of runs is full"):
            await journal.record_call(call(number=1, text="x" * 100_000))
        with pytest.raises(StoreFailure, match="full"):
            await journal.record_call(call(number=2))
    await journal.record_call(call(number=3))
    assert [made.key.step for made in store.calls("run-1")] == [f"answer {number}" for number in range(4)]
    await journal.close()
    store.close()


async def test_what_a_busy_journal_refused_is_written_when_it_is_free(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0.1)
    store = Store.open(path)
    journal = store.begin(run())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailure, match="locked by another program"):
        await asyncio.wait_for(journal.record_call(call(number=0)), PATIENCE)
    other.execute("ROLLBACK")
    await journal.record_call(call(number=1))
    assert [made.key.step for made in store.calls("run-1")] == ["answer 0", "answer 1"]
    await journal.close()
    store.close()
    other.close()


async def test_a_busy_journal_is_known_to_be_waited_for_until_it_is_free(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    for wait in (
        lambda: journal.record_call(call()),
        lambda: asyncio.to_thread(_begin_and_roll_back, path),  # whatever is done at once
    ):
        assert Absence.seconds() is None
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(wait())
        async with asyncio.timeout(PATIENCE):
            while (Absence.seconds() or 0.0) < 0.1:
                await asyncio.sleep(0.01)
        other.execute("ROLLBACK")
        other.close()
        await waiting
    assert Absence.seconds() is None
    await journal.close()
    store.close()


async def test_a_journal_that_was_given_up_is_waited_for_from_the_beginning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits next goes on from there; while nobody waits, nobody is told."""
    monkeypatch.setattr(writer, "PATIENCE", 0.3)
    store = Store.open(path)
    journal = store.begin(run())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailure, match="locked by another program"):
        await journal.record_call(call())
    assert Absence.seconds() is None
    waiting = asyncio.ensure_future(journal.record_call(call(number=1)))
    async with asyncio.timeout(PATIENCE):
        while (seconds := Absence.seconds()) is None:
            await asyncio.sleep(0)
    assert seconds >= 0.3
    other.execute("ROLLBACK")
    other.close()
    await waiting
    await journal.close()
    store.close()


def _begin_and_roll_back(path: Path) -> None:
    with contextlib.closing(opened(str(path), timeout=0.0, isolation_level=None)) as database:
        execute_patiently(database, "BEGIN IMMEDIATE", PATIENCE)
        database.execute("ROLLBACK")


async def test_what_can_never_be_written_is_given_up_and_holds_nothing_else_up(path: Path) -> None:
    store = Store.open(path)
    gone, other = store.begin(run("gone")), store.begin(run("other"))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("DELETE FROM runs WHERE id = 'gone'")
    with pytest.raises(StoreFailure, match="deleted from the journal"):
        await gone.record_call(call(number=0))
    for number in range(3):
        await other.record_call(call(number=number))
    assert len(store.calls("other")) == 3
    await gone.close()
    await other.close()
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="modes of folders are of POSIX")
def test_a_state_folder_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path) -> None:
    """In a process without root's rights, which no mode of a folder stops."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o555)
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from merrow_runtime.errors import StoreFailure\nfrom merrow_runtime.store.database import Store\n"
        "if os.geteuid() == 0:\n    os.setuid(65534)\n"
        "try:\n    Store.open(Path(sys.argv[1]))\nexcept StoreFailure as failure:\n    print(failure)\n"
    )
    for parent in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(OSError):
            parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "runs.sqlite")], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert "can't be opened (Permission denied); set MERROW_STATE_DIR" in done.stdout
    assert "--no-store" in done.stdout


@contextlib.contextmanager
def size_limit(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes."""
    import resource  # only POSIX has it

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


async def test_a_call_that_is_refused_as_its_run_is_cancelled_leaves_no_failure_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "_TURN", -1.0)
    unread: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unread.append(context))
    store = Store.open(path)
    gone = store.begin(run("gone"))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("DELETE FROM runs WHERE id = 'gone'")
    task = asyncio.create_task(gone.record_call(call(number=0), alone=True))
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.wait([task])
    del task
    gc.collect()
    assert not unread
    await gone.close()
    store.close()
