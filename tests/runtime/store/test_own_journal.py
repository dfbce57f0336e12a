"""A journal in a file of its own, for an evaluation or a search: its runs are there, its answers in the user's store."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import call, run

import merrow_runtime
from merrow_runtime import RunOptions, Store
from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.usage import NOTHING

FLOW = workflow('A@{op: Custom, prompt: "first"}', 'B@{op: Custom, prompt: "second"}', "PROBLEM --> A --> B --> RETURN")
posix = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    with closing(Store.open()) as store:
        yield store


def count(path: Path | None, table: str) -> int:
    with closing(sqlite3.connect(path or "")) as database:
        found: int = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        return found


async def test_runs_are_in_the_file_and_answers_in_the_users_store(tmp_path: Path, user: Store) -> None:
    endpoint = FakeEndpoint()
    with closing(Store.open(str(tmp_path / "a.sqlite"), answers=user)) as first:
        result = await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=endpoint, store=first, run_id="item-1")
        first.dialects.put("http://a.test", "m", {"x": 1})
        assert (result.run, result.status, len(endpoint.seen)) == ("item-1", "finished", 2)
        assert [made.origin for made in first.calls("item-1")] == ["endpoint", "endpoint"]
    assert user.runs() == []
    assert user.dialects.get("http://a.test", "m") == {"x": 1}
    assert [count(user.path, table) for table in ("runs", "calls", "nodes", "bodies", "answers")] == [0, 0, 0, 0, 2]
    # A finished run in a journal of its own is packed.
    assert [count(tmp_path / "a.sqlite", table) for table in ("runs", "packs", "answers", "dialects")] == [1, 1, 0, 0]

    with closing(Store.open(tmp_path / "b.sqlite", answers=user)) as second:
        await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=endpoint, store=second, run_id="item-1")
        assert [made.origin for made in second.calls("item-1")] == ["cache", "cache"]
    await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=endpoint, store=user)
    assert len(endpoint.seen) == 2


async def test_a_process_that_has_it_alone_needs_no_lease_of_its_runs(tmp_path: Path, user: Store) -> None:
    path = tmp_path / "a.sqlite"
    with closing(Store.open(path, answers=user, alone=True)) as own:
        begun = [own.begin(run(name)) for name in ("one", "two", "three")]
        await begun[0].record_call(call())
        with closing(Store.open(path, spare=False)) as looking:
            assert {one.id: one.status for one in looking.runs()} == dict.fromkeys(("one", "two", "three"), "running")
            with pytest.raises(StoreFailure, match="still going on"):
                looking.delete("two")
        with pytest.raises(UsageFailure, match="There is a run two already"):
            own.begin(run("two"))
        await begun[0].finish("finished", {"A": "x"}, NOTHING, None)
        await begun[1].close()
        own.delete("two")
    assert count(path, "holders") == 0
    with closing(Store.open(path, answers=user, alone=True)) as own:
        assert {one.id: one.status for one in own.runs()} == {"one": "finished", "three": "running"}
        _, again = own.take("three")
        own.begin(run("four"))
        await again.record_call(call("B"))
        await again.finish("finished", {"A": "y"}, NOTHING, None)
    with closing(Store.open(path, spare=False)) as looking:
        assert {one.id: one.status for one in looking.runs()} == {
            "one": "finished",
            "three": "finished",
            "four": "failed",
        }
        assert [len(looking.calls(name)) for name in ("one", "three", "four")] == [1, 1, 0]
        assert "resume" in (looking.run("four").error or "")


async def test_what_is_read_of_a_run_unpacks_no_other(
    tmp_path: Path, user: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[bytes] = []
    decompress = zlib.decompress
    monkeypatch.setattr(zlib, "decompress", lambda body: unpacked.append(body) or decompress(body))
    path = tmp_path / "a.sqlite"
    with closing(Store.open(path, answers=user, alone=True)) as own:
        for number in range(8):
            await merrow_runtime.run(
                FLOW, {"problem": "x"}, endpoint=FakeEndpoint(), store=own, run_id=f"item-{number}"
            )
        left = own.begin(run("left"))
        await left.record_call(call())
        await left.close()
        unpacked.clear()
        assert (len(own.calls("left")), len(own.times("left")), own.nodes("left"), own.lost("left")) == (1, 1, [], [])
        assert own.answered_by_others("left", "http://other.test")
        assert own.run("left").id == "left"
        own.take("left")
        assert unpacked == []
        assert len(own.calls("item-3")) == 2
        assert 0 < len(set(unpacked)) <= 1


async def test_nothing_in_it_is_pruned_when_runs_begin(tmp_path: Path, user: Store) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("[journal]\nkeep_days = 1\nmax_mb = 0.1\n")
    with closing(Store.open(tmp_path / "a.sqlite", answers=user)) as store:
        for number in range(5):
            journal = store.begin(run(f"old-{number}", started=0.0, ended=1.0, status="finished"))
            await journal.record_call(call(text="x" * 100_000))
            await journal.close()
        await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=FakeEndpoint(), store=store)
        # Nor by a run of the user's own, which begins beside it.
        await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=FakeEndpoint())
        assert len(store.runs()) == 6


@posix
async def test_nothing_in_it_is_pruned_by_anybody_while_it_is_open(tmp_path: Path, user: Store) -> None:
    path = tmp_path / "a.sqlite"
    own, again = Store.open(path, answers=user), Store.open(path, answers=user)
    await own.begin(run("old", started=0.0, ended=1.0, status="finished")).close()

    def prune() -> None:
        with closing(Store.open(path)) as other:
            other.tidy(60.0, 1)
            assert [one.id for one in other.runs()] == ["old"]
            with pytest.raises(StoreFailure) as failure:
                other.prune(60.0, None)
            assert f"open for the runs of process {os.getppid()} on " in str(failure.value)

    for closed in (own, again):
        process = multiprocessing.get_context("fork").Process(target=prune)
        process.start()
        process.join(60)
        assert process.exitcode == 0
        closed.close()
    with closing(Store.open(path)) as other:
        assert other.prune(60.0, None).runs == 1


@posix
def test_a_process_that_was_killed_keeps_nothing_from_being_pruned(tmp_path: Path, user: Store) -> None:
    path = tmp_path / "a.sqlite"

    def opened() -> None:
        store = Store.open(path, answers=Store.open())
        store.begin(run("old", started=0.0, ended=1.0, status="finished"))
        os.kill(os.getpid(), 9)

    process = multiprocessing.get_context("fork").Process(target=opened)
    process.start()
    process.join(60)
    assert process.exitcode == -9
    with closing(Store.open(path)) as store:
        assert count(path, "openings") == 1
        assert store.prune(60.0, None).runs == 1
    Store.open(path, answers=user).close()
    assert count(path, "openings") == 0


async def test_where_the_answers_cannot_be_kept_the_result_is_not_used(tmp_path: Path, user: Store) -> None:
    with closing(Store.open(tmp_path / "a.sqlite", answers=user)) as store:
        journal = store.begin(run())
        with closing(sqlite3.connect(user.path or "")) as other:
            other.execute("DROP TABLE answers")
        with pytest.raises(StoreFailure):
            await journal.record_call(call(), b"key")
        await journal.record_call(call(number=1))
        await journal.close()


def _work(path: Path, name: str, log: Path, endpoint_of: Callable[[Path], FakeEndpoint]) -> None:
    async def work() -> None:
        with closing(Store.open()) as user, closing(Store.open(path, answers=user)) as store:
            for number in range(6):
                inputs, options = {"problem": str(number)}, RunOptions()
                result = await merrow_runtime.run(
                    FLOW, inputs, endpoint=endpoint_of(log), store=store, options=options, run_id=f"{name}-{number}"
                )
                assert result.status == "finished", result.error

    asyncio.run(work())


def _logging(log: Path, dies: int | None = None) -> FakeEndpoint:
    def answer(request: ModelRequest) -> str:
        with log.open("a") as file:
            file.write(json.dumps([message.content for message in request.messages]) + "\n")
        if dies is not None and len(log.read_text().splitlines()) == dies:
            os.kill(os.getpid(), 9)
        return "!" + request.messages[-1].content

    return FakeEndpoint(answer)


@posix
def test_two_processes_work_on_one_file_and_a_third_pays_nothing_again(tmp_path: Path, user: Store) -> None:
    forks = multiprocessing.get_context("fork")
    path, logs = tmp_path / "a.sqlite", [tmp_path / f"{number}.log" for number in range(3)]
    both = [forks.Process(target=_work, args=(path, f"p{n}", logs[n], _logging)) for n in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    with closing(Store.open(path, answers=user)) as store:
        assert {one.id for one in store.runs()} == {f"p{n}-{number}" for n in range(2) for number in range(6)}
        assert {one.status for one in store.runs()} == {"finished"}
    third = forks.Process(target=_work, args=(tmp_path / "b.sqlite", "p3", logs[2], _logging))
    third.start()
    third.join(60)
    assert third.exitcode == 0
    assert not logs[2].exists()


@pytest.mark.slow
@posix
@pytest.mark.parametrize("dies", [1, 4, 9])
def test_what_a_killed_process_finished_is_paid_by_nobody_again(tmp_path: Path, dies: int, user: Store) -> None:
    forks = multiprocessing.get_context("fork")
    path, log = tmp_path / "a.sqlite", tmp_path / "log"
    process = forks.Process(target=_work, args=(path, "p", log, lambda log: _logging(log, dies)))
    process.start()
    process.join(60)
    assert process.exitcode == -9
    finished = log.read_text().splitlines()[:-1]  # it died of the last question
    with closing(Store.open(path, answers=user)) as store:
        dead = next(one.id for one in store.runs() if one.status == "failed")
        assert "resume" in (store.run(dead).error or "")
        again = tmp_path / "again"

        async def resumed() -> None:
            result = await merrow_runtime.resume(dead, endpoint=_logging(again), store=store).result()
            assert result.status == "finished", result.error

        asyncio.run(resumed())
    other = forks.Process(target=_work, args=(tmp_path / "b.sqlite", "p", again, _logging))
    other.start()
    other.join(60)
    assert other.exitcode == 0
    made = again.read_text().splitlines()
    assert not set(made) & set(finished)
    assert len(set(made)) == len(made) == 12 - len(finished)
