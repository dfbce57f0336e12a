"""Finished runs of an evaluation take less room, and read as they were."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime import RunOptions, Store
from merrow_runtime.store import packing

FLOW = workflow(
    'A@{op: Custom, prompt: "first"}',
    'B@{op: Custom, prompt: "second"}',
    'C@{op: Custom, prompt: "third"}',
    "PROBLEM --> A --> B --> C --> RETURN",
)
WORDS = Path("docs/language.md").read_text(encoding="utf-8").split()


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    with closing(Store.open()) as store:
        yield store


def told(store: Store, run: str) -> tuple[Any, ...]:
    """All that readers are told of a run."""
    return (
        store.run(run),
        store.calls(run),
        store.calls(run, "B"),
        store.told(run),
        store.nodes(run),
        store.times(run),
    )


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as database:
        found: int = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        return found


async def test_a_packed_run_reads_as_it_was(tmp_path: Path, user: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = FakeEndpoint(lambda request: f"\ud800 é \x00 {request.messages[-1].content}")
    before: list[tuple[Any, ...]] = []
    make = packing.pack

    def noted(database: sqlite3.Connection, run: int) -> Any:
        before.append(told(store, "item"))
        return make(database, run)

    monkeypatch.setattr("merrow_runtime.store.journal.pack", noted)
    with closing(Store.open(tmp_path / "own.sqlite", answers=user)) as store:
        await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=endpoint, store=store, run_id="item")
        assert told(store, "item") == before[0]
    with closing(Store.open(tmp_path / "own.sqlite")) as store:
        assert told(store, "item") == before[0]
        again = await merrow_runtime.resume("item", endpoint=endpoint, store=store).result()
        assert (again.status, len(endpoint.seen)) == ("finished", 3)
        options = RunOptions(from_run="item")
        from_it = await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
        assert (from_it.status, len(endpoint.seen)) == ("finished", 3)
        store.delete("item")
    assert count(tmp_path / "own.sqlite", "packs") == 0


async def test_runs_of_the_user_and_those_that_failed_stay_rows(tmp_path: Path, user: Store) -> None:
    async def broken(store: Store) -> None:
        bad = FakeEndpoint(lambda request: ValueError("no") if "second" in request.messages[0].content else "fine")
        await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=bad, store=store)

    with closing(Store.open(tmp_path / "own.sqlite", answers=user)) as store:
        await broken(store)
    await merrow_runtime.run(FLOW, {"problem": "x"}, endpoint=FakeEndpoint(), store=user)
    assert count(tmp_path / "own.sqlite", "packs") == 0
    assert user.path is not None
    assert [count(user.path, table) for table in ("packs", "calls")] == [0, 3]


@pytest.mark.slow
async def test_an_item_of_three_calls_takes_at_most_six_kilobytes(tmp_path: Path, user: Store) -> None:
    chance, items = random.Random(7), 60

    def answer(_: Any) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(400))[:1200]

    path, sizes = tmp_path / "own.sqlite", []
    for _ in range(2):
        with closing(Store.open(path, answers=user)) as store:
            for number in range(items):
                await merrow_runtime.run(FLOW, {"problem": f"p {number}"}, endpoint=FakeEndpoint(answer), store=store)
        sizes.append(path.stat().st_size)
    assert (sizes[1] - sizes[0]) / items <= 6_000


async def test_a_damaged_pack_is_reported_and_hides_no_other(tmp_path: Path, user: Store) -> None:
    path = tmp_path / "own.sqlite"
    with closing(Store.open(path, answers=user)) as store:
        for name in ("one", "two"):
            await merrow_runtime.run(FLOW, {"problem": name}, endpoint=FakeEndpoint(), store=store, run_id=name)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE packs SET body = x'00' WHERE run = (SELECT number FROM runs WHERE id = 'one')")
        database.commit()
    with closing(Store.open(path)) as store:
        said: list[str] = []
        assert store.calls("one", report=said.append) == []
        assert store.nodes("one", report=said.append) == []
        assert [run.id for run in store.runs(report=said.append)] == ["two"]
        assert len(said) == 3
        assert all("damaged" in sentence for sentence in said)
        assert len(store.calls("two")) == 3
