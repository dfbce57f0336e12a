"""Which visit of a node a call, a result or a recorded answer belongs to, and that what was written before visits stays valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import call, node, run

from merrow_runtime import RunOptions
from merrow_runtime.calls.account import RunAccount
from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.gate import gate_of
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.errors import ReplayMiss
from merrow_runtime.operators.base import Given
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.requests import CallKey, Message
from merrow_runtime.running.nodes_at_work import seed_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.recording import Recorder, Replay
from merrow_runtime.telling import Telling
from merrow_runtime.visit import Visit
from merrow_server.reports.run_report import run_report

REPLAYS = Path(__file__).parents[3] / "examples" / "replays"
PLAIN = [path for path in sorted(REPLAYS.glob("*.jsonl")) if '"path": ' not in path.read_text(encoding="utf-8")]
"""Recordings of workflows without Loops, Maps and Calls."""
FLOW = workflow('PART@{op: Custom, prompt: "part", temperature: 1.0}', "PROBLEM --> PART --> RETURN")

visits = st.builds(
    Visit,
    st.sampled_from(["A", "B"]),
    st.sampled_from(["", "T[1]", "T[2]", "T[2]/P#1"]),
    st.integers(0, 2),
)


@asynccontextmanager
async def calling(endpoint: FakeEndpoint, store: Store, name: str = "run-1") -> AsyncIterator[Effects]:
    journal = store.begin(run(name))
    gate = gate_of(endpoint)
    line = Calling(endpoint, gate.places(4))
    yield Effects(RunOptions(), journal, line, gate, Telling(name, journal.pages), RunAccount(), store.cache)
    await journal.close()


def tools(effects: Effects, visit: Visit, seed: str = "") -> NodeTools:
    (step,) = make_steps(FLOW, RunOptions()).values()
    return NodeTools(effects, step, effects.account.of(visit), 0, seed or visit.node)


async def asked(tools: NodeTools, temperature: float = 1.0) -> str:
    return await tools.ask("answer", [Message("user", "x")], str, temperature=temperature)


@settings(max_examples=10, deadline=None)
@given(st.lists(visits, min_size=1, max_size=6, unique=True))
def test_what_is_written_of_a_visit_is_read_as_of_that_visit(several: list[Visit]) -> None:
    async def main() -> None:
        store = MemoryStore()
        journal = store.begin(run())
        calls = [call(one.node, path=one.path, redo=one.redo, text=str(one)) for one in several]
        nodes = [node(one.node, path=one.path, redo=one.redo, ended=float(n)) for n, one in enumerate(several)]
        for made in calls:
            await journal.record_call(made)
        await journal.record_told(nodes)
        await journal.close()
        assert store.calls("run-1") == calls
        assert store.nodes("run-1") == nodes
        _, journal = store.take("run-1")
        for one, made in zip(several, calls, strict=True):
            assert store.calls("run-1", one.name) == [made]
            assert await journal.recall(made.key, made.request_hash) == made
        missing = CallKey("A", 0, "answer 0", 0, "T[3]", 0)
        assert await journal.recall(missing, calls[0].request_hash) is None
        await journal.close()
        report = run_report(store, "run-1")
        assert [one["node"] for one in report["nodes"]] == [one.name for one in several]
        assert [[made["result"]["text"] for made in one["calls"]] for one in report["nodes"]] == [
            [str(one)] for one in several
        ]

    asyncio.run(main())


def test_an_input_is_shown_with_the_value_of_its_own_frame() -> None:
    async def main() -> None:
        store = MemoryStore()
        journal = store.begin(run())
        for path in ("", "T[1]", "T[2]"):
            given = {"input": [{"node": "A", "output": "response", "type": "Text"}]}
            await journal.record_told(
                [node("A", path=path, outputs={"response": f"of {path}"}), node("B", path=path, inputs=given)]
            )
        await journal.close()
        for path in ("", "T[1]", "T[2]"):
            (shown,) = run_report(store, "run-1", Visit("B", path).name)["nodes"]
            assert shown["inputs"]["input"][0]["value"] == f"of {path}"

    asyncio.run(main())


async def test_each_visit_makes_its_own_calls_and_counts_its_own_usage() -> None:
    store, endpoint = MemoryStore(), FakeEndpoint()
    several = [Visit("PART"), Visit("PART", "T[1]"), Visit("PART", "T[2]"), Visit("PART", "", 1)]
    async with calling(endpoint, store) as effects:
        for visit in several:
            await asked(tools(effects, visit))
        # Above temperature 0 none has the answer of another.
        assert len(endpoint.seen) == 4
        assert [made.key.visit for made in store.calls("run-1")] == several
        assert [effects.account.of(visit).used.calls for visit in several] == [1, 1, 1, 1]
        assert {visit for visit, one in effects.account.nodes.items() if one.sources} == set(several)
    async with calling(endpoint, store, "run-2") as effects:
        for visit in several:  # the same work again: each has its answer from the cache
            await asked(tools(effects, visit))
        assert len(endpoint.seen) == 4
        await asked(tools(effects, Visit("PART", "T[3]")))
        assert len(endpoint.seen) == 5
        for visit in several:  # at temperature 0 one answer is that of all
            await asked(tools(effects, visit), temperature=0.0)
        assert len(endpoint.seen) == 6


async def test_within_a_frame_shuffles_depend_on_the_work_and_not_on_its_place() -> None:
    """For a node of the whole workflow they are what recordings from before visits were made with."""
    store, endpoint = MemoryStore(), FakeEndpoint()

    async def drawn(where: list[tuple[str, str]]) -> dict[str, float]:
        """What is drawn by the visit of each path that is given a value; the ordinal says which of equal values it is."""
        found: dict[str, float] = {}
        seen: list[str] = []
        async with calling(endpoint, store, f"run {len(store.runs())}") as effects:
            for path, value in where:
                ordinal = f"{seen.count(value)}."
                seen += [value] if path else []
                step = next(iter(make_steps(FLOW, RunOptions()).values()))
                key = step.key({"input": [Given("PROBLEM", "value", "Text", value, "PROBLEM")]}, [])
                visit = Visit("PART", path)
                found[path] = tools(effects, visit, seed_of(visit, key, ordinal)).random.random()
        return found

    first = await drawn([("", "x"), ("T[1]", "x"), ("T[2]", "y"), ("T[3]", "x")])
    assert len(set(first.values())) == 4
    # An item put before the others moves them; each is shuffled as it was.
    moved = await drawn([("T[1]", "new"), ("T[2]", "x"), ("T[3]", "y"), ("T[4]", "x")])
    assert [moved[path] for path in ("T[2]", "T[3]", "T[4]")] == [first[path] for path in ("T[1]", "T[2]", "T[3]")]

    assert first[""] == Random("0:PART:0").random()


@pytest.mark.parametrize("visit", [Visit("A"), Visit("A", "T[2]"), Visit("A", "", 1), Visit("A", "T[1]/P#0", 3)])
async def test_a_recording_says_which_visit_where_that_says_something(tmp_path: Path, visit: Visit) -> None:
    file = tmp_path / "r.jsonl"
    recorder = Recorder(file)
    made = call(visit.node, path=visit.path, redo=visit.redo)
    await recorder.record(made)
    recorder.close()
    line = json.loads(file.read_text().splitlines()[1])
    assert {name: line[name] for name in ("path", "redo") if name in line} == {
        **({"path": visit.path} if visit.path else {}),
        **({"redo": visit.redo} if visit.redo else {}),
    }
    replay = Replay.read(file)
    assert replay.recall(made.key, made.request_hash).key == made.key
    with pytest.raises(ReplayMiss, match=r"no answer at node T\[9\]/A, step 'answer 0'"):
        replay.recall(replace(made.key, path="T[9]", redo=0), made.request_hash)


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_recordings_from_before_visits_are_read_as_they_are(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert lines
    replay = Replay.read(path)
    for line in lines:
        assert not {"path", "redo"} & line.keys()
        key = CallKey(line["node"], line["sample"], line["step"], line["attempt"])
        assert replay.recall(key, line["request_hash"]).result == line["result"]
