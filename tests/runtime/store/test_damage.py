"""A damaged record hides only itself: every other run, node and call is still there, and a sentence says what to do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import call
from tests.runtime.store.making import run as run_record

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import RunFailure, StoreFailure, UsageFailure
from merrow_runtime.jobs.life import delete
from merrow_runtime.provenance import ForeignResults
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.usage import Usage

CHAIN = (*(f'{name}@{{op: Custom, prompt: "{name}"}}' for name in "ABC"), "PROBLEM --> A --> B --> C --> RETURN")
BROKEN = ["", "{", "null", "5", "[]", "[[1]]", '"x"', "[1,2,3,4,5,6,7,8,9,10,11,12,13]", "[" * 50_000, b"\xff\xfe{}"]
COLUMNS = {
    "runs": ("snapshot", "outputs", "usage", "sources"),
    "calls": ("request", "result", "usage"),
    "lost": ("usage",),
    "nodes": ("several",),
    "answers": ("reply",),
    "dialects": ("learned",),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "runs.sqlite")
    yield store
    store.close()


def said(request: ModelRequest) -> str:
    return request.messages[0].content + "!"


async def made(store: Store, endpoint: FakeEndpoint) -> str:
    options = RunOptions(fresh=True)
    result = await merrow_runtime.run(
        workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store, options=options
    )
    assert result.status == "finished", result.error
    return result.run


def damage(store: Store, table: str, column: str, value: str | bytes, run: str | None = None) -> None:
    """Put something else into a column: of the rows of one run, or of all. Of what runs share, the nodes' definitions."""
    number = "(SELECT number FROM runs WHERE id = ?)"
    shared = f"number = (SELECT body FROM uses WHERE run = {number} AND part = 'definitions')"  # noqa: S608
    which = {"runs": "id = ?", "answers": "1", "dialects": "1", "bodies": shared}.get(table, f"run = {number}")
    cast = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    parameters = (value,) if which == "1" else (value, run)
    store._database.transaction(
        lambda database: database.execute(f"UPDATE {table} SET {column} = {cast} WHERE {which}", parameters),  # noqa: S608
    )


@pytest.mark.parametrize("value", BROKEN, ids=range(len(BROKEN)))
async def test_whatever_is_damaged_in_one_run_another_one_is_whole(store: Store, value: str | bytes) -> None:
    """Each column of each table with each kind of damage; a reader gets its answer or one sentence, and never a fault."""
    endpoint = FakeEndpoint(said)
    sound, hurt = await made(store, endpoint), await made(store, endpoint)
    whole = store.nodes(sound), store.calls(sound), store.run(sound)
    store.dialects.put("https://a.test", "m", {"x": 1})
    for table, columns in COLUMNS.items():
        for column in columns:
            damage(store, table, column, value, hurt)
    assert (store.nodes(sound), store.calls(sound), store.run(sound)) == whole
    told: list[str] = []
    assert [run.id for run in store.runs(report=told.append)][-1] == sound
    assert all(hurt in sentence and f"merrow runs --delete {hurt}" in sentence for sentence in told)
    refused: list[RunFailure] = []
    for read in (store.run, store.nodes, store.calls, store.lost):
        try:
            read(hurt)  # type: ignore[operator]
        except StoreFailure as failure:
            refused.append(failure)
    assert await store.cache.get(b"unknown") is None
    assert store.dialects.get("https://a.test", "m") in (None, {})
    for begin in (
        lambda: merrow_runtime.resume(hurt, endpoint=endpoint, store=store),
        lambda: merrow_runtime.start(
            workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(from_run=hurt)
        ),
    ):
        try:
            result = await begin().result()
            assert "internal" not in (result.error or "")
        except RunFailure as failure:
            refused.append(failure)
    assert refused
    assert all(f"merrow runs --delete {hurt}" in str(failure) for failure in refused)
    store.delete(hurt)
    assert hurt not in [run.id for run in store.runs()]


@pytest.mark.parametrize("column", COLUMNS["runs"])
async def test_a_damaged_run_is_left_out_of_the_list_with_a_sentence(store: Store, column: str) -> None:
    runs = [await made(store, FakeEndpoint(said)) for _ in range(3)]
    damage(store, "runs", column, "{", runs[1])
    told: list[str] = []
    assert {run.id for run in store.runs(report=told.append)} == {runs[0], runs[2]}
    sentence = (
        f"The record of run {runs[1]} is damaged in the journal. To remove the run, use: merrow runs --delete {runs[1]}"
    )
    assert told == [sentence]
    with pytest.raises(StoreFailure) as failure:
        store.run(runs[1])
    assert str(failure.value) == sentence


OTHER = "The run was made by another version of Merrow; run the workflow again."


@pytest.mark.parametrize(
    ("snapshot", "says"),
    [
        ({}, None),
        ({"workflow": 3}, None),
        ({"workflow": {"format": 1}}, None),
        ({"workflow": None}, None),
        ({"options": []}, None),
        ({"inputs": ...}, None),
        ({"workflow": {}}, OTHER),
        ({"workflow": {"format": 99}}, OTHER),
    ],
    ids=str,
)
async def test_a_run_whose_beginning_lacks_something_can_not_be_resumed(
    store: Store, snapshot: dict[str, object], says: str | None
) -> None:
    """Its record is JSON all the same, as one of another version may be."""
    endpoint = FakeEndpoint(lambda _: RunFailure("no"))
    run = merrow_runtime.start(workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store)
    assert (await run.result()).status == "failed"
    whole = store.run(run.id).snapshot
    kept = {key: value for key, value in {**whole, **snapshot}.items() if value is not ...} if snapshot else {}
    damage(store, "runs", "snapshot", json.dumps(kept), run.id)
    asked = len(endpoint.seen)
    with pytest.raises(RunFailure) as failure:
        await merrow_runtime.resume(run.id, endpoint=endpoint, store=store).result()
    damaged = (
        f"The record of run {run.id} is damaged in the journal. To remove the run, use: merrow runs --delete {run.id}"
    )
    assert str(failure.value) == (damaged if says is None else says)
    assert len(endpoint.seen) == asked


async def test_a_finished_run_that_is_told_again_says_what_is_damaged(store: Store) -> None:
    run = await made(store, FakeEndpoint(said))
    told = [event.data async for event in merrow_runtime.resume(run, endpoint=FakeEndpoint(said), store=store).events()]
    assert "notices" not in told[0]
    damage(store, "nodes", "several", "{", run)
    again = merrow_runtime.resume(run, endpoint=FakeEndpoint(said), store=store)
    first, last = [event async for event in again.events()]
    assert (first.number, last.number) == (1, 2)
    begun, ended = first.data, last.data
    (notice,) = begun["notices"]
    assert "damaged in the journal" in notice
    assert ended["outputs"] == told[-1]["outputs"] == {"RETURN": "C!"}


async def test_a_damaged_call_is_made_again_and_what_it_cost_is_unknown(store: Store) -> None:
    def fails_at_c(request: ModelRequest) -> str | Exception:
        return RunFailure("no") if request.messages[0].content == "C" else said(request)

    run = merrow_runtime.start(workflow(*CHAIN), {"problem": "x"}, endpoint=FakeEndpoint(fails_at_c), store=store)
    assert (await run.result()).status == "failed"
    with sqlite3.connect(store.path or "") as database:
        database.execute("UPDATE calls SET result = '{', usage = '!' WHERE node = 'B'")
        database.execute("DELETE FROM answers")
        database.execute("DELETE FROM nodes")  # Where it is known how B ended, nobody looks at its calls.
    endpoint = FakeEndpoint(said)
    again = merrow_runtime.resume(run.id, endpoint=endpoint, store=store)
    result = await again.result()
    assert (result.status, result.outputs) == ("finished", {"RETURN": "C!"})
    assert [request.messages[0].content for request in endpoint.seen] == ["B", "C"]
    assert (result.usage.calls, result.usage.cost_usd) == (4, None)
    (notices,) = [event.data["notices"] async for event in again.events() if event.event == "run_started"]
    assert notices[0].startswith(f"A call of node B in run {run.id} is damaged in the journal.")


async def test_damaged_answers_of_the_cache_are_asked_for_again_and_replaced(store: Store) -> None:
    flow, endpoint = workflow(*CHAIN), FakeEndpoint(said)
    for reply in ("{", '{"text": 5}', "[]"):
        await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
        damage(store, "answers", "reply", reply)
        endpoint.seen.clear()
        result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
        assert (result.status, len(endpoint.seen)) == ("finished", 3)
        again = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store)
        assert (again.status, len(endpoint.seen)) == ("finished", 3)


async def test_of_a_paid_call_with_damaged_usage_the_cost_is_unknown_and_never_nothing(store: Store) -> None:
    journal = store.begin(run_record())
    for number in range(2):
        await journal.record_call(call(number=number))
    await journal.close()
    damage(store, "calls", "usage", "[1]", "run-1")
    _, journal = store.take("run-1")
    assert journal.spent() == store.run("run-1").usage == Usage(calls=2, cost_usd=None, estimated=True)
    await journal.close()


async def test_results_whose_definitions_are_damaged_are_asked_about_too(store: Store) -> None:
    first = await made(store, FakeEndpoint(said))
    damage(store, "bodies", "body", "{", first)
    options = RunOptions(from_run=first)
    with pytest.raises(ForeignResults):
        merrow_runtime.start(
            workflow(*CHAIN), endpoint=FakeEndpoint(said, "http://other.test"), store=store, options=options
        )


async def test_a_run_without_an_end_is_counted_from_its_calls(store: Store) -> None:
    """What its process used before it died was paid, whoever asks and whatever has become of the run since."""
    run = await made(store, FakeEndpoint(said))
    before = store.run(run)
    assert before.usage.calls == 3
    with sqlite3.connect(store.path or "") as database:
        database.execute("UPDATE runs SET status = 'running', ended = NULL, usage = '[0,0,0,0.0,0]', sources = '[]'")
        database.execute(
            "INSERT INTO lost (run, node, sample, step, attempt, request_hash, usage, why, at)"
            " VALUES ((SELECT number FROM runs), 'C', 0, 'answer', 1, 'h', '[7,2,1,null,1]', 'x', 0)"
        )
    dead = store.run(run)
    assert (dead.status, dead.sources) == ("failed", before.sources)
    assert dead.usage == before.usage + Usage(7, 2, 1, None, estimated=True)
    assert store.runs()[0].usage == dead.usage
    assert store.request_cancel(run) is False
    assert (store.run(run).status, store.run(run).usage) == ("cancelled", dead.usage)


KINDS = {
    "evaluations": ("evaluation", "evaluate again", "merrow evaluations"),
    "optimizations": ("search", "begin another search", "merrow optimizations"),
    "extractions": ("extraction", "begin another extraction", "merrow runs --kind extraction"),
}


def begin(store: Store, kind: str, identity: str, started: float) -> None:
    """Put one into the store as a process begins it."""
    common: dict[str, Any] = {
        "id": identity, "status": "finished", "started": started, "ended": started, "dataset": "d", "part": "all",
        "metric": "exact", "model": "m", "seed": 0, "plan": {"items": 1},
    }  # fmt: skip
    if kind == "evaluations":
        store.evaluations.begin(EvaluationRecord(workflow="/flow.mmd", repeats=1, **common))
    elif kind == "optimizations":
        search = OptimizationRecord(workflow="/flow.mmd", strategy="s", proposer="p", jobs=1, **common)
        store.optimizations.begin(search, "all", "hash")
    else:
        store.extractions.begin(ExtractionRecord(cases="/flow.mmd", generator="g", **common))


@pytest.mark.parametrize("value", ["", "{", "null", "[]", "[" * 50_000, b"\xff\xfe{}"], ids=range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_evaluation_search_or_extraction_hides_only_itself(
    store: Store, kind: str, value: str | bytes
) -> None:
    word, again, command = KINDS[kind]
    kept = getattr(store, kind)
    for number, identity in enumerate(("aa1", "ab2", "ac3")):
        begin(store, kind, identity, 1000.0 + number)
    cast = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    sql = f"UPDATE {kind} SET plan = {cast} WHERE id = 'ab2'"  # noqa: S608
    store._database.transaction(lambda database: database.execute(sql, (value,)))
    told: list[str] = []
    assert [one.id for one in kept.newest(report=told.append)] == ["ac3", "aa1"]
    assert [one.id for one in kept.newest(workflow="/flow.mmd")] == ["ac3", "aa1"]
    sentence = f"The record of {word} ab2 is damaged in the journal; {again}. To remove it, use: {command} --delete ab2"
    assert told == [sentence]
    with pytest.raises(StoreFailure) as failure:
        kept.get("ab")
    assert str(failure.value) == sentence
    assert sorted(kept.older_than(60)) == ["aa1", "ab2", "ac3"]
    delete(store, kept, "ab")
    assert [kept.identity(one) for one in ("aa", "ab", "ac")] == ["aa1", None, "ac3"]
    with pytest.raises(UsageFailure, match=f"^There is no {word} 'ab'; list them with: {command}$"):
        delete(store, kept, "ab")
    with pytest.raises(UsageFailure, match=f"^Several {KINDS[kind][0]}\\w* begin with 'a'; give more of the id: "):
        delete(store, kept, "a")
