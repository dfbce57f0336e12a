"""Events of runs: told after the commit, numbered without gaps, the durable ones told to every reader exactly once."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import random
import sqlite3
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.test_writes_that_fail import size_limit

import merrow_runtime
from merrow_runtime import Event, Run, RunOptions, RunResult, telling
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running import node_recorder
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow

DURABLE = {"node_finished", "node_reused", "node_skipped", "node_failed"}
FEW = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Made:
    """A workflow with Custom nodes ``N0``..., those that fail, and how many turns of the loop each answer takes."""

    lines: tuple[str, ...]
    failing: frozenset[str]
    turns: tuple[int, ...]
    samples: dict[str, int]

    @property
    def flow(self) -> Workflow:
        return workflow(*self.lines)

    def endpoint(self) -> FakeEndpoint:
        async def answer(request: ModelRequest) -> str | Exception:
            name = request.messages[0].content.split("\n")[0]
            for _ in range(self.turns[hash(name) % len(self.turns)]):
                await asyncio.sleep(0)
            return EndpointFailure(f"{name} is out of order.") if name in self.failing else f"{name}!"

        return FakeEndpoint(answer)


@st.composite
def made(draw: st.DrawFn) -> Made:
    count = draw(st.integers(1, 9))
    lines: list[str] = []
    samples: dict[str, int] = {}
    sinks = ["PROBLEM"]
    for number in range(count):
        name = f"N{number}"
        on_error = draw(st.sampled_from(["", ", on_error: skip", ", on_error: default, default: none"]))
        several = draw(st.integers(2, 3)) if not on_error and draw(st.booleans()) else 0
        if several:
            samples[name] = several
        more = f", samples: {several}" if several else ""
        lines.append(f'{name}@{{op: Custom, prompt: "{name}"{on_error}{more}}}')
        sources = draw(st.sets(st.sampled_from(["PROBLEM", *(f"N{n}" for n in range(number))]), min_size=1, max_size=3))
        lines.append(f"{' & '.join(sorted(sources))} --> {name}")
        sinks = [sink for sink in sinks if sink not in sources] + [name]
    failing = draw(st.sets(st.sampled_from([f"N{n}" for n in range(count)]), max_size=2))
    lines += ['END@{op: Custom, prompt: "END"}', f"{' & '.join(sinks)} --> END --> RETURN"]
    turns = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    return Made(tuple(lines), frozenset(failing), tuple(turns), samples)


def begin(given: Made, store: Store) -> Run:
    options = RunOptions(retry=RetryPolicy(first_wait=0.0, jitter=0.0, retries=1), stream=True)
    return merrow_runtime.start(given.flow, {"problem": "x"}, endpoint=given.endpoint(), store=store, options=options)


async def told(run: Run, pause: int = 0) -> list[Event]:
    """The events of a run, to a reader that takes ``pause`` turns of the loop for each."""
    events: list[Event] = []
    async for event in run.events():
        events.append(event)
        for _ in range(pause):
            await asyncio.sleep(0)
    return events


def shown(events: Sequence[Event]) -> list[dict[str, object]]:
    return [event.to_json() for event in events]


def ends(events: Sequence[Event]) -> list[dict[str, object]]:
    return [event.to_json() for event in events if event.event in DURABLE]


def in_store(work: Callable[[Store, Path], Coroutine[None, None, None]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        with closing(Store.open(path)) as store:
            asyncio.run(work(store, path))


@FEW
@given(made())
def test_a_node_that_is_told_to_have_ended_has_its_calls_in_the_journal_for_every_process(given: Made) -> None:
    async def work(store: Store, path: Path) -> None:
        run = begin(given, store)
        with closing(sqlite3.connect(path)) as other:
            async for event in run.events():
                if event.event == "node_finished" and event.node not in (None, "PROBLEM", "RETURN", *given.failing):
                    (count,) = other.execute("SELECT count(*) FROM calls WHERE node = ?", (event.node,)).fetchone()
                    assert count == given.samples.get(event.node or "", 1)
                elif event.event in ("run_finished", "run_failed"):
                    (status,) = other.execute("SELECT status FROM runs").fetchone()
                    assert f"run_{status}" == event.event

    in_store(work)


@FEW
@given(made(), st.integers(0, 3), st.integers(0, 60), st.none() | st.floats(0, 0.01))
def test_readers_are_told_the_same_in_numbers_without_gaps(
    given: Made, pause: int, late: int, cancelled: float | None
) -> None:
    async def work(store: Store, _: Path) -> None:
        run = begin(given, store)
        if cancelled is not None:
            asyncio.get_running_loop().call_later(cancelled, run.cancel)
        readers = [asyncio.create_task(told(run, wait)) for wait in (0, pause)]
        for _ in range(late):
            await asyncio.sleep(0)
        readers.append(asyncio.create_task(told(run)))
        result = await run.result()
        first, *others = [await reader for reader in readers]
        assert [event.number for event in first] == list(range(1, len(first) + 1))
        assert all(shown(other) == shown(first) for other in [*others, await told(run)])
        check_ends(first, result)

    in_store(work)


@FEW
@given(
    made(), st.integers(1, 3), st.integers(1, 12), st.integers(1, 4), st.integers(0, 60), st.none() | st.floats(0, 0.01)
)
def test_a_reader_that_is_behind_is_told_every_end_of_a_node_once_and_in_order(
    given: Made, pause: int, kept: int, batch: int, late: int, cancelled: float | None
) -> None:
    """``kept`` events are kept, and ``batch`` records are written together; one reader is slow, one comes late, one last."""

    async def work(store: Store, _: Path) -> None:
        run = begin(given, store)
        if cancelled is not None:
            asyncio.get_running_loop().call_later(cancelled, run.cancel)
        readers = [asyncio.create_task(told(run, wait)) for wait in (0, pause)]
        for _ in range(late):
            await asyncio.sleep(0)
        readers.append(asyncio.create_task(told(run, pause)))
        result = await run.result()
        events = [await reader for reader in readers] + [await told(run)]
        for one in events:
            numbers = [event.number for event in one]
            assert numbers == sorted(set(numbers))
            assert ends(one) == ends(events[0])
            assert one[0].to_json() == events[0][0].to_json()
            assert (one[0].event, one[0].number, one[-1].event) == ("run_started", 1, f"run_{result.status}")
            check_ends(one, result)
        if result.status == "finished":
            again = await told(merrow_runtime.resume(run.id, endpoint=given.endpoint(), store=store))
            assert ends(again) == ends(events[0])
            assert [again[0].number, again[-1].number] == [1, events[0][-1].number]

    with patch.object(telling, "KEPT", kept), patch.object(node_recorder, "BATCH", batch):
        in_store(work)


def check_ends(events: Sequence[Event], result: RunResult) -> None:
    """Each node that ended is told once, as it ended; before the default of one that failed its failure is told."""
    told_ends = [(event.node, event.event) for event in events if event.event in DURABLE]
    expected = {(name, f"node_{node.status}") for name, node in result.nodes.items()}
    expected |= {
        (name, "node_failed") for name, node in result.nodes.items() if node.status == "finished" and node.error
    }
    assert sorted(told_ends) == sorted(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are of POSIX")
@FEW
@given(made(), st.integers(0, 60_000))
def test_on_a_full_disk_nothing_is_told_that_the_journal_does_not_have(given: Made, room: int) -> None:
    async def work(store: Store, path: Path) -> None:
        run = begin(given, store)
        path.with_name(path.name + ".ballast").unlink()
        with size_limit(path.with_name(path.name + "-wal").stat().st_size + room):
            events = await told(run)
            result = await run.result()
            with closing(sqlite3.connect(path)) as other:
                for event in events:
                    if event.event == "node_finished" and event.node in {f"N{n}" for n in range(9)} - given.failing:
                        (count,) = other.execute("SELECT count(*) FROM calls WHERE node = ?", (event.node,)).fetchone()
                        assert count == given.samples.get(event.node or "", 1)
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        if result.failure is not None and result.failure.code == "journal":
            assert events[-1].data["code"] == "journal"
            assert "full" in events[-1].data["error"]

    in_store(work)


def _tell(path: Path, out: Connection) -> None:
    """Run the workflow, and send its events on as they come."""

    async def work() -> None:
        names = [f"N{number}" for number in range(20)]
        nodes = [f'{name}@{{op: Custom, prompt: "{name}"}}' for name in names]
        flow = workflow(*nodes, " --> ".join(["PROBLEM", *names, "RETURN"]))
        run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=FakeEndpoint(), store=Store.open(path))
        async for event in run.events():
            out.send((event.number, event.event, event.node))

    asyncio.run(work())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_what_a_killed_process_told_is_in_the_journal_and_a_resumed_run_is_told_from_number_one(tmp_path: Path) -> None:
    forks = multiprocessing.get_context("fork")
    for turn in range(4):
        path = tmp_path / f"{turn}.sqlite"
        seen, out = forks.Pipe(duplex=False)
        process = forks.Process(target=_tell, args=(path, out))
        process.start()
        out.close()
        events = [seen.recv() for _ in range(random.randint(2, 40))]
        process.kill()
        process.join()
        with closing(Store.open(path)) as store:
            (run,) = store.runs()
            called = {call.key.node for call in store.calls(run.id)}
            assert {node for _, name, node in events if name == "node_finished"} <= called | {"PROBLEM", "RETURN"}
            if run.status == "failed":
                assert run.failure is not None
                assert run.failure.code == "interrupted"

            async def resumed(store: Store = store, run: str = run.id) -> list[Event]:
                return await told(merrow_runtime.resume(run, endpoint=FakeEndpoint(), store=store))

            again = asyncio.run(resumed())
        if run.status == "failed":
            assert [event.number for event in again] == list(range(1, len(again) + 1))
        assert len([event for event in again if event.event == "node_finished"]) == 22


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
async def test_a_long_run_that_nobody_reads_keeps_few_events_and_tells_all_ends_later(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "KEPT", 100)
    count = 1_000
    names = [f"N{number}" for number in range(count)]
    nodes = [f'{name}@{{op: Custom, prompt: "p"}}' for name in names]
    flow = workflow(*nodes, " --> ".join(["PROBLEM", *names, "RETURN"]))
    store = Store.open(tmp_path / "runs.sqlite") if kept else None
    options = RunOptions(no_store=not kept)
    run = merrow_runtime.start(
        flow, {"problem": "x"}, endpoint=FakeEndpoint(lambda _: "x"), store=store, options=options
    )
    unread = run.events()
    assert (await anext(unread)).event == "run_started"
    result = await run.result()
    assert result.status == "finished"
    gc.collect()
    assert (
        sum(isinstance(thing, Event) and thing.run == run.id for thing in gc.get_objects()) <= 1.25 * telling.KEPT + 1
    )
    for reader in (unread, run.events()):
        finished = [event.node async for event in reader if event.event == "node_finished"]
        assert finished == ["PROBLEM", *names, "RETURN"]
    if store is not None:
        store.close()


async def test_a_reader_that_is_behind_needs_nothing_but_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path))
    names = [f"N{number}" for number in range(40)]
    nodes = [f'{name}@{{op: Custom, prompt: "p"}}' for name in names]
    flow = workflow(*nodes, " --> ".join(["PROBLEM", *names, "RETURN"]))
    with patch.object(telling, "KEPT", 4), patch.object(node_recorder, "BATCH", 2):
        run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=FakeEndpoint())
        events = run.events()
        assert (await anext(events)).event == "run_started"
        assert (await run.result()).status == "finished"
        del run
        await asyncio.sleep(0)
        gc.collect()
        assert [event.node async for event in events if event.event == "node_finished"] == ["PROBLEM", *names, "RETURN"]


async def test_a_failure_before_a_resume_is_not_told_again_when_the_run_has_finished() -> None:
    flow = workflow('A@{op: Custom, prompt: "p", retries: 0}', "PROBLEM --> A --> RETURN")
    store, answers = MemoryStore(), [EndpointFailure("out of order"), "fine"]
    endpoint = FakeEndpoint(lambda _: answers.pop(0))
    options = RunOptions(only="A", set_values={"A.input": "x"}, stream=True)
    run = merrow_runtime.start(flow, {}, endpoint=endpoint, store=store, options=options)
    assert (await run.result()).status == "failed"
    events = await told(merrow_runtime.resume(run.id, endpoint=endpoint, store=store, options=RunOptions(stream=True)))
    assert [event.event for event in events][-2:] == ["node_finished", "run_finished"]
    assert ends(await told(merrow_runtime.resume(run.id, endpoint=endpoint, store=store))) == ends(events)


async def test_a_finished_run_is_told_again_as_it_was_where_nodes_failed_and_went_on() -> None:
    nodes = [f'{name}@{{op: Custom, prompt: "p", retries: 0, on_error: default, default: none}}' for name in "AB"]
    flow = workflow(*nodes, "PROBLEM --> A --> B --> RETURN")
    store, answers = MemoryStore(), [EndpointFailure("out of order"), "fine"]
    endpoint = FakeEndpoint(lambda _: answers.pop(0))
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    first, result = ends(await told(run)), await run.result()
    assert [(one["event"], one["node"]) for one in first][1:3] == [("node_failed", "A"), ("node_finished", "A")]
    again = merrow_runtime.resume(run.id, endpoint=endpoint, store=store)
    assert ends(await told(again)) == first
    nodes_again = (await again.result()).nodes
    assert {name: (one.status, one.outputs) for name, one in nodes_again.items()} == {
        name: (one.status, one.outputs) for name, one in result.nodes.items()
    }


async def test_what_failed_and_went_on_before_a_resume_is_told_again_as_the_resume_told_it() -> None:
    risky = 'A@{op: Custom, prompt: "p", retries: 0, on_error: default, default: none}'
    flow = workflow(risky, 'B@{op: Custom, prompt: "p", retries: 0}', "PROBLEM --> A --> B --> RETURN")
    store, out_of_order = MemoryStore(), EndpointFailure("out of order")
    answers = [out_of_order, out_of_order, "fine", "fine"]
    endpoint = FakeEndpoint(lambda _: answers.pop(0))
    run = merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=store)
    assert (await run.result()).status == "failed"
    second = ends(await told(merrow_runtime.resume(run.id, endpoint=endpoint, store=store)))
    assert [(one["event"], one["node"]) for one in second if one["node"] == "B"] == [("node_finished", "B")]
    assert ends(await told(merrow_runtime.resume(run.id, endpoint=endpoint, store=store))) == second
