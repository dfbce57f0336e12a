"""Frames within frames: what is kept of them, what a resume takes over, what nodes in them remember and are shuffled by."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import sqlite3
import sys
import zlib
from itertools import count
from multiprocessing.synchronize import Event
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import asks, box, custom, data, flow, ran, says
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.engine.test_killed import KILLS
from tests.runtime.openai_server import OpenAIServer, Reply

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, UsageFailure, Workflow, telling
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import Message, ModelRequest
from merrow_runtime.running import node_recorder
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore


def trials(turns: int = 3, parallel: int = 2) -> Workflow:
    """Trials, each with a list of parts that are worked on and put together."""
    return flow(
        box(
            "TRIALS",
            f"Loop (max: {turns})",
            'PLAN["Custom (prompt: PLAN, returns: list[Text])"]:::CustomOp',
            *box("PARTS", f"Map (parallel: {parallel})", custom("PART"), custom("CHECKED")),
            custom("JOIN"),
        ),
        "PROBLEM -->|input| PLAN",
        "PLAN -->|each:input| PART",
        "PART -->|input| CHECKED",
        "CHECKED -->|input| JOIN",
        "JOIN -.->|again:input| PLAN",
        "JOIN --> RETURN",
    )


def planned(request: ModelRequest) -> str:
    """PLAN gives two parts; whatever is asked, another question has another answer."""
    said = f"{asks(request)}({zlib.crc32(data(request).encode())})"
    return json.dumps({"response": [f"{name} of {said}" for name in "ab"]}) if asks(request) == "PLAN" else said


VISITS = {
    "PROBLEM",
    "RETURN",
    *(f"TRIALS[{turn}]/{node}" for turn in (1, 2, 3) for node in ("PLAN", "JOIN")),
    *(f"TRIALS[{turn}]/PARTS[{n}]/{node}" for turn in (1, 2, 3) for n in (1, 2) for node in ("PART", "CHECKED")),
}


async def test_each_visit_is_kept_by_its_name() -> None:
    store = MemoryStore()
    done = await ran(trials(), planned, store=store)
    assert done.result.status == "finished", done.result.error
    assert set(done.result.nodes) == VISITS | {"PLAN", "PART", "CHECKED", "JOIN"}
    assert {node.visit.name for node in store.nodes(done.result.run)} == VISITS
    assert {call.key.visit.name for call in store.calls(done.result.run)} == VISITS - {"PROBLEM", "RETURN"}
    assert done.result.nodes["JOIN"] is done.result.nodes["TRIALS[3]/JOIN"]
    assert done.result.outputs["RETURN"] == (done.result.nodes["JOIN"].outputs or {})["response"]


def _logging(log: Path, told: object = None) -> FakeEndpoint:
    number = count(1)

    def answer(request: ModelRequest) -> str:
        with log.open("a") as file:
            file.write(json.dumps([message.content for message in request.messages]) + "\n")
        if callable(told):
            told(next(number))
        return planned(request)

    return FakeEndpoint(answer)


def _work(path: Path, log: Path, calls: int, reached: Event) -> None:
    def told(number: int) -> None:
        if number == calls:
            reached.set()

    async def work() -> None:
        store = Store.open(path)
        await merrow_runtime.run(trials(), {"problem": "x"}, endpoint=_logging(log, told), store=store)
        store.close()

    asyncio.run(work())


def _resumed(path: Path, endpoint: FakeEndpoint) -> tuple[set[str], RunResult]:
    async def work() -> tuple[set[str], RunResult]:
        store = Store.open(path)
        run = store.runs()[0]
        finished = {call.key.visit.name for call in store.calls(run.id)}
        result = await merrow_runtime.resume(run.id, endpoint=endpoint, store=store).result()
        store.close()
        return finished, result

    return asyncio.run(work())


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_a_run_that_is_killed_in_nested_frames_goes_on_where_it_was(tmp_path: Path) -> None:
    forks = multiprocessing.get_context("fork")
    chance = random.Random(7)
    whole = asyncio.run(ran(trials(), planned)).result.outputs
    points: set[int] = set()
    for number in range(KILLS):
        path, log = tmp_path / f"{number}.sqlite", tmp_path / f"{number}.log"
        reached = forks.Event()
        process = forks.Process(target=_work, args=(path, log, chance.randint(1, 18), reached))
        process.start()
        assert reached.wait(PATIENCE)
        process.join(chance.uniform(0.0, 0.003))
        process.kill()
        process.join()
        again = tmp_path / f"{number}.again.log"
        finished, result = _resumed(path, _logging(again))
        points.add(len(finished))
        assert result.status == "finished", result.error
        assert result.outputs == whole
        assert set(result.nodes) >= VISITS
        asked = again.read_text().split("\n")[:-1] if again.exists() else []
        # What was committed is not asked for again, and nothing twice.
        assert len(asked) == 18 - len(finished)
    assert len(points) > 1, "all were killed at the same point"


async def test_a_resumed_run_tells_its_turns_and_items_again(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "j.sqlite")
    left = count(1)

    def failing(request: ModelRequest) -> str | Exception:
        return merrow_runtime.RunFailure("down") if next(left) == 11 else planned(request)

    endpoint = FakeEndpoint(failing)
    first = merrow_runtime.start(trials(parallel=1), {"problem": "x"}, endpoint=endpoint, store=store)
    assert (await first.result()).status == "failed"
    again = FakeEndpoint(planned)
    run = merrow_runtime.resume(first.id, endpoint=again, store=store)
    result = await run.result()
    assert result.status == "finished", result.error
    assert len(again.seen) == 18 - 10
    names = [event.event async for event in run.events()]
    assert (names.count("turn_started"), names.count("turn_finished")) == (3, 3)
    assert (names.count("item_started"), names.count("item_finished")) == (6, 6)
    assert names.count("node_finished") == len(VISITS)
    assert result.usage.calls == 19 - 1
    told = [event async for event in merrow_runtime.resume(first.id, store=store).events()]
    assert told[0].data["nodes"] == 6
    assert {(event.path, event.node) for event in told if event.event.startswith("node")} == {
        (node.path, node.node) for node in result.nodes.values()
    }
    rounds = [event.event for event in told if event.event.startswith(("turn", "item"))]
    assert sorted(rounds) == sorted(name for name in names if name.startswith(("turn", "item")))
    store.close()


async def test_a_reader_that_comes_late_is_told_every_turn_and_item(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "j.sqlite")

    def rounds(events: list[merrow_runtime.Event]) -> list[dict[str, object]]:
        return [event.to_json() for event in events if event.event.startswith(("turn", "item"))]

    def failing(request: ModelRequest) -> str | Exception:
        failed = asks(request) == "CHECKED" and "b of" in data(request) and len(endpoint.seen) > 9
        return EndpointFailure("down") if failed else planned(request)

    for answer in (planned, failing):
        endpoint = FakeEndpoint(answer)
        with patch.object(telling, "KEPT", 5), patch.object(node_recorder, "BATCH", 3):
            run = merrow_runtime.start(trials(), {"problem": "x"}, endpoint=endpoint, store=store)
            at_once = [event async for event in run.events()]
            late = [event async for event in run.events()]
        assert rounds(late) == rounds(at_once)
        assert len(late) < len(at_once)
        assert len(rounds(late)) == (18 if answer is planned else len(rounds(at_once)))
    again = [event async for event in merrow_runtime.resume(store.runs()[-1].id, store=store).events()]
    assert len(rounds(again)) == 18
    store.close()


async def test_finished_visits_are_taken_over_without_a_look_at_their_calls(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "j.sqlite")
    left = count(1)

    def failing(request: ModelRequest) -> str | Exception:
        return merrow_runtime.RunFailure("down") if next(left) == 11 else planned(request)

    first = merrow_runtime.start(trials(parallel=1), {"problem": "x"}, endpoint=FakeEndpoint(failing), store=store)
    assert (await first.result()).status == "failed"
    with sqlite3.connect(tmp_path / "j.sqlite") as database:
        database.execute("UPDATE calls SET result = '{'")
        database.execute("DELETE FROM answers")
    again = FakeEndpoint(planned)
    result = await merrow_runtime.resume(first.id, endpoint=again, store=store).result()
    assert result.status == "finished", result.error
    assert len(again.seen) == 18 - 10
    store.close()


async def test_a_loop_ended_by_its_budget_stays_ended(tmp_path: Path) -> None:
    """Seconds are not a function of calls: that they were used up is in the journal, and in the recording."""
    workflow = flow(
        box("L", "Loop (max: 5)", custom("WRITE")),
        "L@{",
        "  budget:",
        "    seconds: 0.05",
        "}",
        custom("END"),
        "PROBLEM -->|input| WRITE",
        "WRITE -.->|again:input| WRITE",
        "WRITE -->|over:input| END",
        "END --> RETURN",
    )
    store = Store.open(tmp_path / "j.sqlite")
    numbers = count(1)

    async def slowly(request: ModelRequest) -> str | Exception:
        if asks(request) == "END":
            return merrow_runtime.RunFailure("down")
        await asyncio.sleep(0.03)
        return str(next(numbers))

    endpoint = FakeEndpoint(slowly)
    recording = tmp_path / "r.jsonl"
    options = RunOptions(fresh=True, record=recording)
    first = merrow_runtime.start(workflow, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
    assert (await first.result()).status == "failed"
    turns = next(numbers) - 1
    assert turns < 5
    again = FakeEndpoint(says())
    whole = RunOptions(fresh=True, record=recording)
    result = await merrow_runtime.resume(first.id, endpoint=again, store=store, options=whole).result()
    assert result.status == "finished", result.error
    assert [asks(request) for request in again.seen] == ["END"]
    assert [data(request) for request in again.seen] == [str(turns)]
    replayed = await merrow_runtime.run(workflow, {"problem": "x"}, store=store, options=RunOptions(replay=recording))
    assert replayed.outputs == result.outputs, replayed.error
    store.close()


def remembering() -> Workflow:
    return flow(
        box("L", "Loop (max: 3)", custom("WRITE"), custom("LOOK", "memory: all")),
        custom("END", "memory: all"),
        "PROBLEM -->|input| WRITE & END",
        "WRITE -->|input| LOOK",
        "LOOK -.->|again:input| WRITE",
        "LOOK --> SECOND([Second]):::Interface",
        "END --> RETURN",
        "LOOK -->|over:input| END",
    )


async def test_memory_is_that_of_the_unrolled_graph_oldest_turn_first() -> None:
    done = await ran(remembering(), says(WRITE=["w1", "w2", "w3"], LOOK=["l1", "l2", "l3"]))
    memory = {
        name: [(entry["title"], entry["text"]) for entry in node.memory] for name, node in done.result.nodes.items()
    }
    first = ("PROBLEM", "x")
    assert memory["L[1]/LOOK"] == [first]
    assert memory["L[2]/LOOK"] == [first, ("Custom, turn 1", "w1"), ("Custom, turn 1", "l1")]
    assert memory["END"] == [
        *(("Custom, turn 1", text) for text in ("w1", "l1")),
        *(("Custom, turn 2", text) for text in ("w2", "l2")),
        ("Custom, turn 3", "w3"),
    ]
    assert "## Earlier result: Custom, turn 1" in data(done.endpoint.seen[-1])


async def test_what_is_behind_a_map_remembers_all_items_and_an_item_only_itself() -> None:
    workflow = flow(
        'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp',
        box("M", "Map ()", custom("ONE"), custom("TWO", "memory: all"), custom("THREE", "memory: all")),
        custom("BETWEEN"),
        custom("END", "memory: all"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| ONE",
        "ONE -->|input| TWO",
        "TWO -->|input| THREE",
        "THREE -->|input| BETWEEN",
        "BETWEEN -->|input| END",
        "END --> RETURN",
    )
    done = await ran(workflow, says(LIST=[["a", "b"]], ONE=lambda request: data(request) * 2))
    memory = {
        name: [(entry["title"], entry["text"]) for entry in node.memory] for name, node in done.result.nodes.items()
    }
    assert [title for title, _ in memory["M[2]/TWO"]] == ["PROBLEM", "Custom"]
    assert memory["M[2]/THREE"][2:] == [("Custom", "bb")]
    assert memory["END"][2:] == [
        *(("Custom, item 1", text) for text in ("aa", "TWO", "THREE")),
        *(("Custom, item 2", text) for text in ("bb", "TWO", "THREE")),
    ]


async def test_equal_items_are_shuffled_otherwise_and_the_same_wherever_they_stand() -> None:
    """Voters of equal items at the same ordinal ask the same; the second of two equal items does not."""

    def voting() -> Workflow:
        return flow(
            'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp',
            box("M", "Map ()", *(custom(name) for name in "ABCDEF"), 'V["MdEnsemble"]:::MdEnsembleOp'),
            custom("ALL"),
            "PROBLEM -->|input| LIST",
            "LIST -->|each:input| A & B & C & D & E & F",
            "A & B & C & D & E & F --> V",
            "PROBLEM -->|problem| V",
            "V -->|input| ALL",
            "ALL --> RETURN",
        )

    async def votes(items: list[str]) -> dict[str, set[str]]:
        store = MemoryStore()
        done = await ran(
            voting(), says(LIST=[items], **{name: lambda r: asks(r) + data(r) for name in "ABCDEF"}), store=store
        )
        assert done.result.status == "finished", done.result.error
        asked: dict[str, set[str]] = {}
        for call in store.calls(done.result.run):
            if call.key.node == "V":
                asked.setdefault(call.key.path, set()).add(call.request_text)
        return asked

    before = await votes(["x", "y", "x"])
    moved = await votes(["new", "x", "y", "x"])
    assert before["M[1]"] != before["M[3]"]
    assert [moved["M[2]"], moved["M[3]"], moved["M[4]"]] == [before["M[1]"], before["M[2]"], before["M[3]"]]


@pytest.mark.parametrize(
    ("start", "again"),
    [
        ("TRIALS[3]/JOIN", ["JOIN"]),
        ("TRIALS[2]/PARTS[2]/PART", ["PART", "CHECKED", "JOIN"] * 2),
        ("RETURN", []),
    ],
)
async def test_from_names_a_visit(start: str, again: list[str]) -> None:
    store = MemoryStore()
    one = trials(parallel=1)
    first = await ran(one, planned, store=store)
    endpoint = FakeEndpoint(planned)
    options = RunOptions(fresh=True, from_run=first.result.run, from_node=start)
    result = await merrow_runtime.run(one, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
    assert result.status == "finished", result.error
    asked = [asks(request) for request in endpoint.seen]
    if "PARTS" in start:
        # The second item of the second turn, and in the third turn all that follows from that node.
        assert asked == ["PART", "CHECKED", "JOIN", "PART", "CHECKED", "PART", "CHECKED", "JOIN"]
    else:
        assert asked == again
    assert result.outputs == first.result.outputs


async def test_only_names_a_visit() -> None:
    store = MemoryStore()
    first = await ran(trials(), planned, store=store)
    before = first.record("TRIALS[2]/PARTS[2]/CHECKED")
    for name, calls in (("TRIALS[2]/PARTS[2]/CHECKED", 1), ("CHECKED", 1)):
        endpoint = FakeEndpoint(planned)
        options = RunOptions(fresh=True, from_run=first.result.run, only=name)
        result = await merrow_runtime.run(trials(), endpoint=endpoint, store=store, options=options)
        assert result.status == "finished", result.error
        assert len(endpoint.seen) == calls
        if "/" in name:
            assert result.outputs == {"CHECKED": (before.outputs or {})["response"]}
    for wrong in ("TRIALS[2]/CHECKED", "PARTS[1]/CHECKED", "TRIALS/PARTS[1]/CHECKED", "TRIALS[2]/PROBLEM"):
        with pytest.raises(UsageFailure, match="names no visit"):
            await merrow_runtime.run(
                trials(), endpoint=endpoint, store=store, options=RunOptions(from_run=first.result.run, only=wrong)
            )


async def test_only_finds_a_visit_in_the_recording_of_the_whole_run(tmp_path: Path) -> None:
    store, file = MemoryStore(), tmp_path / "recording.jsonl"
    options = RunOptions(record=file)
    first = await merrow_runtime.run(
        trials(), {"problem": "x"}, endpoint=FakeEndpoint(planned), store=store, options=options
    )
    for name in ("TRIALS[2]/PARTS[1]/CHECKED", "TRIALS[1]/PARTS[2]/PART", "JOIN"):
        alone = RunOptions(from_run=first.run, only=name, replay=file)
        result = await merrow_runtime.run(trials(), endpoint=FakeEndpoint(), store=store, options=alone)
        assert result.status == "finished", result.error
        before = first.nodes[name]
        assert result.nodes[before.visit.name].outputs == before.outputs


async def test_nested_frames_over_the_wire() -> None:
    def reply(received: object) -> Reply:
        messages = [Message("user", one["content"]) for one in received.body["messages"]]  # type: ignore[attr-defined]
        return Reply(planned(ModelRequest("m", tuple(messages))))

    async with OpenAIServer() as server:
        server.answer = reply
        options = RunOptions(fresh=True, base_url=server.base_url, no_store=True)
        result = await merrow_runtime.run(trials(), {"problem": "x"}, options=options)
        assert result.status == "finished", result.error
        assert result.outputs == (await ran(trials(), planned)).result.outputs
        assert len(server.requests) == 18
