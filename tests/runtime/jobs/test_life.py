"""The life of a job: one process works on it, its time counts whatever becomes of the process, and who lost it keeps nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from merrow_runtime.errors import StoreFailure
from merrow_runtime.jobs import life
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.jobs.life import carry_out, is_open, state_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.lease import STALE


@dataclass
class Job:
    stopped_by: str | None = None


async def hang(_: Job) -> None:
    await asyncio.Event().wait()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


@pytest.fixture
async def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(life, "BEAT", 0.0)
    monkeypatch.setattr(life, "_LOOK", 0.01)
    with closing(Store.open(tmp_path / "runs.sqlite")) as store:
        record = ExtractionRecord("x1", "/c.jsonl", "running", time.time(), "d", "all", "exact", "m", "g", 0, {})
        store.extractions.begin(record)
        yield store


def at_work(user: Store) -> asyncio.Task[Job]:
    return asyncio.ensure_future(carry_out(user, user.extractions, "x1", lambda _: Job(), hang))


def seconds(user: Store) -> float:
    return user.extractions.get("x1").seconds


def change_opening(user: Store, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(user.journal_path("x1"), timeout=PATIENCE)) as other, other:
        assert other.execute(sql, values).rowcount == 1


async def test_the_time_is_kept_while_it_works_and_counted_once(user: Store) -> None:
    began = time.monotonic()
    work = at_work(user)
    await until(lambda: seconds(user) > 0.3)  # what a process that is killed now leaves behind
    user.extractions.update("x1", "cancelled")  # as any process may write
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(work, PATIENCE)
    assert state_of(user, user.extractions.get("x1")) == "cancelled"
    assert 0.3 < seconds(user) <= time.monotonic() - began
    clock = Clock(seconds(user) + 1000, seconds(user))
    assert 990 < (clock.left or 0) <= 1000
    assert Clock(seconds(user), seconds(user)).left == 0


async def test_who_lost_it_ends_and_writes_nothing_down(user: Store) -> None:
    work = at_work(user)
    await until(lambda: is_open(user, "x1"))
    change_opening(user, "DELETE FROM openings")  # as another process does that saw no sign of life
    with pytest.raises(StoreFailure, match="taken over by another process"):
        await asyncio.wait_for(work, PATIENCE)
    assert user.extractions.status("x1") == "running"  # it is the other one's
    assert state_of(user, user.extractions.get("x1")) == "interrupted"


async def test_a_process_of_another_machine_is_alive_as_long_as_it_gives_signs_of_life(
    user: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "BEAT", 1e9)
    work = at_work(user)
    await until(lambda: is_open(user, "x1"))
    for silent, state in ((STALE + 5, "interrupted"), (0.0, "running")):
        change_opening(user, "UPDATE openings SET host = 'elsewhere', at = ?", time.time() - silent)
        assert state_of(user, user.extractions.get("x1")) == state
    with pytest.raises(StoreFailure, match="can't continue"):
        await at_work(user)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
