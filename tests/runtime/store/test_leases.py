"""Who holds a run: a process that is gone holds nothing, and one that lost its run writes nothing more."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.store.making import PAID, call, node, run

from merrow_runtime.errors import StoreFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store import journal as journals
from merrow_runtime.store.database import Store

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the birth of a process is read from /proc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


async def test_a_process_that_lost_its_run_writes_nothing_of_any_kind(path: Path) -> None:
    store, other = Store.open(path), Store.open(path)
    journal = store.begin(run())
    await journal.recall(call().key, "x")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET beat = 0")
    _, taken = other.take("run-1")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(StoreFailure, match="taken over"):  # noqa: PT012
            while True:
                await journal.record_call(call(number=7))
                await asyncio.sleep(0.05)
    before = other.calls("run-1"), other.lost("run-1"), other.run("run-1")
    for write in (
        journal.record_call(call(number=9)),
        journal.record_lost(CallKey("SOLVE", 0, "answer"), "hash", PAID, "cancelled"),
        journal.record_told([node()]),
        journal.finish("finished", {}, PAID, None),
    ):
        with pytest.raises(StoreFailure, match="taken over"):
            await write
    await journal.close()
    assert (other.calls("run-1"), other.lost("run-1"), other.run("run-1")) == before
    assert other.nodes("run-1") == []
    assert other.run("run-1").status == "running", "the lease is still the other's"
    await taken.close()
    store.close()
    other.close()


@pytest.mark.parametrize("does", ["begins a call", "has an answer"])
async def test_a_process_that_was_frozen_looks_whether_it_has_its_run_before_anything_else(
    path: Path, does: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeat would tell, and comes too late: another process may have made the next call."""
    store, other = Store.open(path), Store.open(path)
    frozen = store.begin(run())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET beat = 0")
    _, taken = other.take("run-1")
    clocks = journals._clocks
    monkeypatch.setattr(journals, "_clocks", lambda: tuple(seconds + 60 for seconds in clocks()))
    with pytest.raises(StoreFailure, match="taken over"):
        await (frozen.recall(call().key, "x") if does == "begins a call" else frozen.record_call(call()))
    assert other.calls("run-1") == []
    await taken.record_call(call())
    assert len(other.calls("run-1")) == 1
    await frozen.close()
    await taken.close()
    store.close()
    other.close()


@LINUX
@pytest.mark.parametrize("own", [False, True], ids=["another's number", "this one's number"])
@pytest.mark.parametrize(("born", "held"), [(None, True), ("", True), ("1", False)])
async def test_another_process_with_the_number_of_the_holder_does_not_hold_its_run(
    path: Path, born: str | None, held: bool, own: bool
) -> None:
    """The number of a process that died is given to a later one, which was born at another time."""
    store = Store.open(path)
    journal = store.begin(run())
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    number = os.getpid() if own else sleeper.pid
    if born is None:
        born = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET pid = ?, born = ?", (number, born))
    assert store.run("run-1").status == ("running" if held else "failed")
    assert store.request_cancel("run-1") is held
    await journal.close()
    sleeper.communicate(b"\n")
    store.close()


@LINUX
@pytest.mark.parametrize("born", ["its own", "1", ""])
async def test_a_process_of_another_user_is_told_by_its_birth_too(
    path: Path, born: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_allowed(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    store = Store.open(path)
    journal = store.begin(run())
    parent = os.getppid()
    told = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19] if born == "its own" else born
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET pid = ?, born = ?", (parent, told))
    monkeypatch.setattr(os, "kill", not_allowed)
    assert store.run("run-1").status == ("failed" if born == "1" else "running")
    monkeypatch.undo()
    await journal.close()
    store.close()


@LINUX
async def test_a_zombie_holds_nothing(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout is not None
    ended.stdout.read()  # closed with the process, which nobody has waited for
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET pid = ?, born = ''", (ended.pid,))
    # Without a time of birth only the number tells, and the number is still taken.
    assert store.run("run-1").status == "running"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET born = '12345'")
    assert store.run("run-1").status == "failed"
    await journal.close()
    ended.wait()
    store.close()


@pytest.mark.parametrize(("age", "held"), [(29.0, True), (31.0, False)])
async def test_a_holder_elsewhere_is_known_by_its_heartbeat_alone(
    path: Path, age: float, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE holders SET host = 'elsewhere', pid = 2147483646, beat = ?", (1_000_000.0 - age,))
    monkeypatch.setattr(type(store._database), "now", lambda _: 1_000_000.0)
    assert (store.run("run-1").status == "running") is held
    await journal.close()
    store.close()
