"""What runs of one workflow have in common is in the journal once, as long as one of them is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import node, run
from tests.runtime.store.test_damage import BROKEN

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import EndpointFailure, StoreFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

FLOWS = [
    workflow(f'A@{{op: Custom, prompt: "{prompt}"}}', "PROBLEM --> A --> RETURN") for prompt in ("one", "two", "three")
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "runs.sqlite")) as store:
        yield store


def bodies(store: Store) -> list[str]:
    with closing(sqlite3.connect(store.path or "")) as database:
        return [body for (body,) in database.execute("SELECT body FROM bodies ORDER BY number")]


async def made(store: Store, number: int) -> str:
    result = await merrow_runtime.run(FLOWS[number], {"problem": "x"}, endpoint=FakeEndpoint(), store=store)
    assert result.status == "finished", result.error
    return result.run


async def test_runs_of_one_workflow_share_its_text_and_its_definitions(store: Store) -> None:
    runs = [await made(store, 0) for _ in range(3)]
    assert len(bodies(store)) == 2
    other = await made(store, 1)
    assert len(bodies(store)) == 4
    for first in runs:
        assert store.run(first).snapshot["workflow"] == FLOWS[0].snapshot()
        assert [(one.definition or {})["prompt"] for one in store.nodes(first) if one.node == "A"] == ["one"]
    assert store.run(other).snapshot["workflow"] == FLOWS[1].snapshot()
    for number, each in enumerate([*runs, other], 1):
        store.delete(each)
        assert len(bodies(store)) == (4 if number < 3 else 2 if number == 3 else 0)


async def test_what_is_pruned_takes_what_only_it_used(store: Store) -> None:
    old = await made(store, 0)
    new = [await made(store, 1), await made(store, 0)]
    with closing(sqlite3.connect(store.path or "")) as database:
        database.execute("UPDATE runs SET started = 0, ended = 1 WHERE id IN (?, ?)", (old, new[0]))
        database.commit()
    store.tidy(3600, None)
    assert [run.id for run in store.runs()] == [new[1]]
    assert len(bodies(store)) == 2
    assert store.run(new[1]).snapshot["workflow"] == FLOWS[0].snapshot()


async def test_a_resumed_run_and_one_of_another_version_have_the_definitions_they_ran_with(store: Store) -> None:
    def answer(request: ModelRequest) -> str | Exception:
        return EndpointFailure("out of order")

    failed = await merrow_runtime.run(FLOWS[0], {"problem": "x"}, endpoint=FakeEndpoint(answer), store=store)
    assert failed.status == "failed"
    before = bodies(store)
    await merrow_runtime.resume(failed.run, endpoint=FakeEndpoint(), store=store).result()
    assert bodies(store) == before
    # A resume that shows them otherwise, as another version may, leaves nothing behind that nobody uses.
    _, journal = store.take(failed.run)
    await journal.record_definitions('{"A": {"operator": "Other"}}')
    await journal.record_told([node("A")])
    await journal.close()
    assert [one.definition for one in store.nodes(failed.run) if one.node == "A"] == [{"operator": "Other"}]
    assert len(bodies(store)) == 2


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12))
def test_whatever_comes_and_goes_each_run_has_its_own_and_nothing_else_is_left(steps: list[tuple[int, bool]]) -> None:
    store = MemoryStore()
    there: dict[str, int] = {}
    for number, (which, comes) in enumerate(steps):
        if comes or not there:
            name = f"run-{number}"
            store.begin(run(name, snapshot={"workflow": {"text": f"text {which}"}, "inputs": {}}, status="finished"))
            store._database.execute("UPDATE holders SET holder = NULL")
            there[name] = which
        else:
            name = sorted(there)[which % len(there)]
            store.delete(name)
            del there[name]
        for name, kept in there.items():
            assert store.run(name).snapshot == {"workflow": {"text": f"text {kept}"}, "inputs": {}}
        assert store._database.execute("SELECT count(*) FROM bodies").fetchone() == (len(set(there.values())),)


@pytest.mark.parametrize("value", BROKEN, ids=range(len(BROKEN)))
async def test_a_damaged_one_hides_the_runs_that_use_it_and_no_other(store: Store, value: str | bytes) -> None:
    sound, hurt = await made(store, 0), await made(store, 1)
    whole = store.nodes(sound), store.calls(sound), store.run(sound)
    with closing(sqlite3.connect(store.path or "")) as database:
        database.execute("PRAGMA foreign_keys = ON")
        cast = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
        database.execute(
            f"UPDATE bodies SET body = {cast} WHERE number IN"  # noqa: S608
            " (SELECT body FROM uses WHERE run = (SELECT number FROM runs WHERE id = ?))",
            (value, hurt),
        )
        database.commit()
    told: list[str] = []
    assert [run.id for run in store.runs(report=told.append)] == [sound]
    assert told == [
        f"The record of run {hurt} is damaged in the journal. To remove the run, use: merrow runs --delete {hurt}"
    ]
    for begin in (
        lambda: merrow_runtime.resume(hurt, endpoint=FakeEndpoint(), store=store),
        lambda: merrow_runtime.start(FLOWS[1], store=store, options=RunOptions(from_run=hurt, base_url="offline")),
    ):
        with pytest.raises(StoreFailure) as failure:
            begin()
        assert str(failure.value) == told[0]
    store.nodes(hurt, told.append)
    assert told[1:] == [
        f"The definitions of the nodes of run {hurt} are damaged in the journal."
        f" To remove the run, use: merrow runs --delete {hurt}"
    ]
    store.delete(hurt)
    assert (store.nodes(sound), store.calls(sound), store.run(sound)) == whole
