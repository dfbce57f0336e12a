"""Journals of older versions are carried over: every run is there, can be shown, resumed and run on from.

``fixtures/format2.sql`` to ``format5.sql`` were dumped from journals that Merrow with those formats wrote: of
one workflow a finished run, a failed one, one whose process was killed while node C was asked, a cancelled one, and one
``--from`` the first with another C. ``format7.sql`` to ``format16.sql`` are those before them, carried over by the Merrow of
these formats; the last eight have a person's verdict on an answer, too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import call, run
from tests.server.program import in_process

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import StoreFailure
from merrow_runtime.provenance import UNKNOWN_ORIGIN, ForeignResults, Provenance
from merrow_runtime.store import opening
from merrow_runtime.store.database import Store
from merrow_runtime.store.lease import Holder
from merrow_runtime.store.schema import HOLDERS, STEPS, VERSION, statements
from merrow_runtime.workflow import restore

pytestmark = pytest.mark.thinned(8, "older journals")

FIXTURES = Path(__file__).parent / "fixtures"
ORIGIN = "http://models.test"
FORMATS = sorted(STEPS)
with_leases = pytest.mark.parametrize("path", [number for number in FORMATS if number < HOLDERS], indirect=True)
"""Journals of which an older process that works on a run keeps them as they are."""
STATUSES = {"answer": "finished", "fail": "failed", "kill": "failed", "cancel": "cancelled"}

posix = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((FIXTURES / f"format{request.param}.sql").read_text(encoding="utf-8"))
        database.execute("PRAGMA journal_mode = WAL")
        assert database.execute("PRAGMA user_version").fetchone() == (request.param,)
    return path


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store.open(path)) as store:
        yield store


def of(store: Store, what: str) -> str:
    """The id of the run that was made so."""
    return next(run.id for run in store.runs() if what in run.snapshot["inputs"]["PROBLEM"] and run.parent is None)


def rows(path: Path) -> dict[str, list[Any]]:
    """All that the tables of an older journal had."""
    with closing(sqlite3.connect(path)) as database:
        renamed = {"leases": "holders"} if database.execute("PRAGMA user_version").fetchone()[0] >= HOLDERS else {}
    old = sqlite3.connect(":memory:")
    old.executescript((FIXTURES / "format2.sql").read_text(encoding="utf-8"))
    tables = [row[0] for row in old.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%'")]
    columns = {table: [row[1] for row in old.execute(f"PRAGMA table_info({table})")] for table in tables}
    with closing(sqlite3.connect(path)) as database:
        return {
            table: database.execute(f"SELECT {', '.join(names)} FROM {renamed.get(table, table)} ORDER BY 1").fetchall()  # noqa: S608
            for table, names in columns.items()
        }


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        found: int = database.execute("PRAGMA user_version").fetchone()[0]
        return found


def apart(work: Callable[[], object]) -> int:
    """Do something in a process of its own; its exit code."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def test_every_run_is_there_as_it_was(path: Path) -> None:
    before = rows(path)
    with closing(Store.open(path)) as store:
        assert len(store.runs()) == 5
        for what, status in STATUSES.items():
            run = store.run(of(store, what))
            assert (run.status, run.workflow) == (status, "/work/flows/solve.mmd")
            finished = {node.node: node.outputs for node in store.nodes(run.id) if node.status == "finished"}
            assert finished["B"] == {"response": f"second <- first <- What is 6 times 7, {what}?"}
            assert [call.key.visit.name for call in store.calls(run.id)][:2] == ["A", "B"]
            definition = next(node.definition for node in store.nodes(run.id) if node.node == "B")
            assert (definition or {})["prompt"] == "second"
        assert store.lost(of(store, "cancel")) == [("C", "answer", "cancelled")]
        assert store.run(of(store, "cancel")).usage.calls == 3
        assert 0.5 < store.run(of(store, "cancel")).seconds < 5
        assert store.dialects.get(ORIGIN, "m-1") == {"max_tokens": "max_completion_tokens"}
    assert version(path) == VERSION
    assert rows(path) == before


def test_a_verdict_of_a_person_is_there_and_may_have_a_note_now(path: Path) -> None:
    before = version(path)
    with closing(Store.open(path)) as store:
        rated = store.labels.edition
        assert rated == (before >= 9)
        store.labels.put("item", "answer", "bad", note="why")
        assert store.labels.label("item", "answer") == ("bad", "why")
        assert store.labels.edition == rated + 1
    with closing(sqlite3.connect(path)) as database:
        kept = database.execute("SELECT verdict, note FROM labels ORDER BY number").fetchall()
    assert kept == [("good", "")] * rated + [("bad", "why")]


def test_who_answered_is_said_to_be_unknown_where_it_was_not_noted(path: Path) -> None:
    noted = version(path) > 2
    source = Provenance(ORIGIN, "m-1") if noted else Provenance(UNKNOWN_ORIGIN, "")
    with closing(Store.open(path)) as store:
        for run in store.runs():
            assert run.sources == (source,)
            assert {call.source for call in store.calls(run.id)} == {source}
            assert {node.node: node.sources for node in store.nodes(run.id) if node.status != "failed"} == {
                node.node: (source,) if node.node in "ABC" else ()
                for node in store.nodes(run.id)
                if node.status != "failed"
            }


@pytest.mark.parametrize("path", [2], indirect=True)
def test_a_node_that_asked_no_model_has_no_unknown_source(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE calls SET kind = 'sandbox' WHERE node = 'B'")
        database.commit()
    with closing(Store.open(path)) as store:
        nodes = {node.node: node for node in store.nodes(of(store, "answer"))}
        assert nodes["A"].sources == (Provenance(UNKNOWN_ORIGIN, ""),)
        assert nodes["B"].sources == ()
        assert [call.source for call in store.calls(of(store, "answer"), "B")] == [Provenance("", "")]


def test_the_command_line_lists_and_shows_them(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = version(path) > 2
    monkeypatch.setenv("MERROW_STATE_DIR", str(path.parent))
    listed = in_process(capsys, "runs")
    lines = [line.split() for line in listed.out.splitlines()]
    assert [status for _, status, *_ in lines] == ["finished", "cancelled", "failed", "failed", "finished"]
    assert listed.out.count("m-1 @ models.test" if noted else "unknown endpoint") == 5
    for identity, *_ in lines:
        shown = in_process(capsys, "show", identity)
        assert shown.code == 0, shown.err
        assert "first <- What is 6 times 7" in shown.out
        node = in_process(capsys, "show", identity[:-2], "--node", "B")
        assert node.code == 0, node.err
        assert "second <- first <- What is 6 times 7" in node.out


@pytest.mark.parametrize("what", ["kill", "cancel", "fail"])
async def test_one_that_did_not_finish_is_resumed_without_a_finished_call(store: Store, what: str) -> None:
    endpoint = FakeEndpoint(origin=ORIGIN)
    run = store.run(of(store, what))
    options = RunOptions()
    if run.sources[0].endpoint == UNKNOWN_ORIGIN:
        with pytest.raises(ForeignResults, match="A and B were answered by an endpoint that an older Merrow did not"):
            merrow_runtime.resume(run.id, endpoint=endpoint, store=store)
        options = RunOptions(reuse="any")
    result = await merrow_runtime.resume(run.id, endpoint=endpoint, store=store, options=options).result()
    assert result.outputs == {"RETURN": f"third <- second <- first <- What is 6 times 7, {what}?"}, result.error
    assert [request.messages[0].content for request in endpoint.seen] == ["third"]
    assert store.run(run.id).usage.calls == run.usage.calls + 1
    assert store.run(run.id).seconds == pytest.approx(run.seconds + result.seconds, abs=1.0)


async def test_a_finished_one_is_only_told_again(path: Path) -> None:
    noted = version(path) > 3
    with closing(Store.open(path)) as store:
        run = store.run(of(store, "answer"))
        endpoint = FakeEndpoint(origin=ORIGIN)
        resumed = merrow_runtime.resume(run.id, endpoint=endpoint, store=store)
        result = await resumed.result()
        assert (result.finished_before, result.outputs, result.sources) == (True, run.outputs, run.sources)
        told = [(event.number, event.event, event.node) async for event in resumed.events()]
        assert (store.run(run.id), endpoint.seen) == (run, [])
    # Where the numbers of events were not noted, they follow each other.
    assert [number for number, *_ in told] == ([1, 2, 4, 6, 8, 9, 10] if noted else [1, 2, 3, 4, 5, 6, 7])
    assert [(event, node) for _, event, node in told] == [
        ("run_started", None),
        *(("node_finished", name) for name in ("PROBLEM", "A", "B", "C", "RETURN")),
        ("run_finished", None),
    ]


async def test_definitions_of_a_resumed_one_are_those_that_it_goes_on_with(store: Store) -> None:
    run = of(store, "kill")
    _, journal = store.take(run)
    await journal.record_definitions('{"B": {"operator": "Custom", "prompt": "of today"}}')
    await journal.close()
    shown = {node.node: node.definition for node in store.nodes(run)}
    assert (shown["B"] or {})["prompt"] == "of today"


async def test_from_a_finished_one_results_are_reused(store: Store) -> None:
    first = of(store, "answer")
    flow = restore(store.run(first).snapshot["workflow"])
    endpoint = FakeEndpoint(origin=ORIGIN)
    options = RunOptions(from_run=first, from_node="C", reuse="any")
    result = await merrow_runtime.run(flow, endpoint=endpoint, store=store, options=options)
    assert {name for name, node in result.nodes.items() if node.status == "reused"} == {"A", "B"}
    assert [request.messages[0].content for request in endpoint.seen] == ["third"]


async def test_what_is_written_from_now_on_is_as_in_a_new_journal(path: Path, tmp_path: Path) -> None:
    flow = workflow('A@{op: Custom, prompt: "new"}', "PROBLEM --> A --> RETURN")
    for place in (path, tmp_path / "fresh.sqlite"):
        with closing(Store.open(place)) as store:
            first = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=FakeEndpoint(), store=store)
            visit = call("PART", path="T[2]", redo=1)
            journal = store.begin(run())
            await journal.record_call(visit)
            await journal.record_lost(visit.key, "h", visit.usage, "cancelled")
            await journal.close()
        with closing(Store.open(place)) as store:
            assert store.run(first.run).snapshot["workflow"] == flow.snapshot()
            assert [node.definition is None for node in store.nodes(first.run)] == [True, False, True]
            assert store.calls("run-1", "T[2]/PART!1") == [visit]
            assert store.lost("run-1") == [("T[2]/PART!1", "answer 0", "cancelled")]
            _, journal = store.take("run-1")
            assert await journal.recall(visit.key, visit.request_hash) == visit
            await journal.close()


def steps_from(number: int) -> int:
    """The statements that carry a journal of this format over."""
    return sum(len(list(statements(STEPS[step]))) for step in range(number, VERSION))


MOMENTS = [
    (number, when)
    for number in FORMATS
    for when in range(steps_from(number) + 1)
    # What a later format passes through the first one does, too.
    if number == FORMATS[0] or when in (0, steps_from(number) // 2, steps_from(number) - 1, steps_from(number))
]


@pytest.mark.thinned(10)
@posix
@pytest.mark.parametrize(("path", "when"), MOMENTS, indirect=["path"])
def test_killed_in_the_middle_it_is_the_old_one_and_is_carried_over_next_time(path: Path, when: int) -> None:
    before, old = rows(path), version(path)

    number = count()

    def killed(script: str) -> Iterator[str]:
        for statement in statements(script):
            if next(number) == when:
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement

    def work() -> None:
        opening.statements = killed  # in this process alone
        Store.open(path)

    steps = steps_from(old)
    assert apart(work) == (-signal.SIGKILL if when < steps else 0)
    assert version(path) == (old if when < steps else VERSION)
    with closing(Store.open(path)) as store:
        assert len(store.runs()) == 5
    assert rows(path) == before


@posix
def test_several_processes_may_open_it_at_once(path: Path) -> None:
    before = rows(path)
    forks = multiprocessing.get_context("fork")
    ready = forks.Barrier(4)

    def work() -> None:
        ready.wait(PATIENCE)
        with closing(Store.open(path)) as store:
            assert len(store.runs()) == 5

    processes = [forks.Process(target=work) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0] * 4
    assert rows(path) == before


@posix
def test_where_the_disk_is_full_the_old_one_stays(path: Path) -> None:
    before, old = rows(path), version(path)

    def work() -> None:
        import resource  # of POSIX

        resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)
        )  # too little for the log of any change
        with pytest.raises(StoreFailure, match="full"):
            Store.open(path)

    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT count(*) FROM runs").fetchone()  # what its readers share is there
        assert apart(work) == 0
    assert (version(path), rows(path)) == (old, before)
    with closing(Store.open(path)) as store:
        assert len(store.runs()) == 5
    assert rows(path) == before


def held(path: Path) -> None:
    """Let this process seem to be one of an older version that works on a run."""
    here = Holder.here()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "UPDATE leases SET holder = ?, host = ?, pid = ?, born = ?, beat = ? WHERE run ="
            " (SELECT id FROM runs WHERE status = 'running')",
            (here.token, here.host, here.pid, here.born, time.time()),
        )
        database.commit()


@with_leases
def test_while_an_older_process_works_on_a_run_it_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, old = rows(path), version(path)
    held(path)
    monkeypatch.setattr(opening, "PATIENCE", 0.3)
    with pytest.raises(StoreFailure) as failure:
        Store.open(path)
    with closing(sqlite3.connect(path)) as database:
        (run,) = database.execute("SELECT id FROM runs WHERE status = 'running'").fetchone()
    assert f"process {os.getpid()} on " in str(failure.value)
    assert f" still works on run {run} with it; try again when that has ended." in str(failure.value)
    assert version(path) == old
    assert {**rows(path), "leases": []} == {**before, "leases": []}


@with_leases
def test_when_the_older_process_has_ended_it_is_carried_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE", PATIENCE)
    held(path)

    def end() -> None:
        time.sleep(0.4)
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE leases SET holder = NULL")
            database.commit()

    thread = threading.Thread(target=end)
    thread.start()
    with closing(Store.open(path)) as store:
        assert len(store.runs()) == 5
    thread.join()
    assert version(path) == VERSION


@with_leases
def test_an_older_process_that_has_it_open_takes_no_run_any_more(path: Path) -> None:
    """It fails before it asks anything, since it could not write down the answer."""
    with closing(sqlite3.connect(path)) as older:
        older.execute("SELECT count(*) FROM leases").fetchone()
        Store.open(path).close()
        with pytest.raises(sqlite3.OperationalError, match="no such table: leases"):
            older.execute("SELECT holder, host, pid, born, beat FROM leases WHERE run = ?", ("any",))
