"""While many runs write, a commit has the writes of some milliseconds; each of them is still kept before it counts."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import call, run

from merrow_runtime import RunOptions, start
from merrow_runtime.store.database import Store


async def _commits(store: Store, count: int) -> int:
    """Record calls one after another, each awaited; how many commits that took."""
    journal, seen = store.begin(run()), list[str]()
    store._database.set_trace_callback(seen.append)
    for number in range(count):
        await journal.record_call(call(number=number))
        with closing(sqlite3.connect(store.path or "")) as other:
            assert other.execute("SELECT count(*) FROM calls").fetchone() == (number + 1,)
    store._database.set_trace_callback(None)
    await journal.close()
    return seen.count("COMMIT")


async def test_commits_are_five_milliseconds_apart(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "runs.sqlite")) as store, store.gathering():
        began = time.monotonic()
        journals = [store.begin(run(f"run-{number}")) for number in range(10)]
        seen: list[str] = []
        store._database.set_trace_callback(seen.append)

        async def record(each: int) -> None:
            for number in range(20):
                await asyncio.sleep(0.0001 * each)
                await journals[each].record_call(call(number=number))

        await asyncio.gather(*(record(each) for each in range(10)))
        commits = seen.count("COMMIT")
        assert commits <= (time.monotonic() - began) / 0.005 + 2
        assert [len(store.calls(f"run-{number}")) for number in range(10)] == [20] * 10
        for journal in journals:
            await journal.close()


async def test_nodes_of_a_run_that_are_busy_together_share_commits_and_looks_at_the_cache(tmp_path: Path) -> None:
    nodes = [f"N{number}" for number in range(40)]
    flow = workflow(
        *(f'{name}@{{op: Custom, prompt: "{name}"}}' for name in nodes), "ALL@{op: Assemble, how: concat}",
        *(f"PROBLEM --> {name} --> ALL" for name in nodes), "ALL --> RETURN",
    )  # fmt: skip
    endpoint = FakeEndpoint(lambda _: "done")
    gate = endpoint.gate = asyncio.Event()
    with closing(Store.open(tmp_path / "runs.sqlite")) as store:
        seen: list[list[str]] = []
        for _ in range(2):
            seen.append([])
            store._database.set_trace_callback(seen[-1].append)
            under_way = start(
                flow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(concurrency=40)
            )
            await endpoint.until_asked(40)
            gate.set()
            assert (await under_way.result()).status == "finished"
            store._database.set_trace_callback(None)
            assert len(store.calls(under_way.id)) == 40
    assert endpoint.finished == 40, "the second run has it all from the cache"
    assert [said.count("COMMIT") < 20 for said in seen] == [True, True]
    assert max(_looks(seen[1])) == 40


def _looks(seen: Sequence[str]) -> Iterator[int]:
    """How many answers were looked for in each transaction that only reads."""
    looked = None
    for said in seen:
        if said.startswith("BEGIN"):
            looked = 0 if said == "BEGIN" else None
        elif looked is not None and said == "COMMIT":
            yield looked
            looked = None
        elif looked is not None and said.startswith("SELECT reply"):
            looked += 1


async def test_a_call_is_kept_before_its_record_returns(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "runs.sqlite")) as store, store.gathering():
        assert await _commits(store, 10) == 10


async def test_otherwise_nothing_is_held_back(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "runs.sqlite")) as store:
        with store.gathering(), store.gathering():
            pass
        loop = asyncio.get_running_loop()
        journal = store.begin(run())
        for number in range(5):
            recorded = asyncio.ensure_future(journal.record_call(call(number=number)))
            turns = 0
            while not recorded.done():
                turns += 1
                loop.call_soon(lambda: None)  # the loop waits for nothing
                await asyncio.sleep(0)
            assert turns < 10
        await journal.close()


async def test_an_answer_is_kept_before_the_call_that_gave_it_wherever_commits_are_held_back(tmp_path: Path) -> None:
    """What dies in between may call again, but does not pay again."""
    with (
        closing(Store.open(tmp_path / "runs.sqlite")) as user,
        closing(Store.open(tmp_path / "own.sqlite", answers=user)) as own,
        user.gathering(),
        own.gathering(),
    ):
        seen: list[str] = []
        journal, another = own.begin(run("run-1")), user.begin(run("run-2"))
        for number in range(3):
            await another.record_call(call(number=number))
            await asyncio.sleep(0.001 * number)
            user._database.set_trace_callback(lambda said: seen.append(f"user: {said}"))
            own._database.set_trace_callback(lambda said: seen.append(f"own: {said}"))
            await journal.record_call(call(number=number), b"%d" % number)
            user._database.set_trace_callback(None)
            own._database.set_trace_callback(None)
        await journal.close()
        await another.close()
    assert [said for said in seen if said.endswith("COMMIT")] == ["user: COMMIT", "own: COMMIT"] * 3
