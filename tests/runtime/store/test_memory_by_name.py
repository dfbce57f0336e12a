"""A row of the journal names the visits whose results a node remembers, and readers get their texts, in either database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint, by_schema, flowchart, workflow
from tests.runtime.store.making import node, run
from tests.server.program import in_process

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.program.loading import load
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.copying import copy
from merrow_runtime.store.database import Store
from merrow_runtime.store.rows import told_text
from merrow_runtime.visit import Visit
from merrow_server.reports.run_report import run_report

OLDER = Path(__file__).parent / "fixtures" / "memory14.sql"
"""A journal of version 14, with the texts of memories: a Loop that finished, and one whose process was killed."""


@pytest.fixture
def store(configured: str) -> Iterator[Store]:
    with closing(Store.open()) as opened:
        yield opened


class Answers:
    """Answers that are all different; where ``dies`` is in the prompt, none."""

    def __init__(self, dies: str | None = None) -> None:
        self.number, self.dies = count(1), dies

    def __call__(self, request: ModelRequest) -> str | Exception:
        prompt = request.messages[0].content.split("\n")[0]
        text = f"answer <{next(self.number)}> of {prompt}"
        if self.dies is not None and self.dies in prompt:
            return EndpointFailure("down")
        return text if request.schema is None else json.dumps(by_schema(request.schema.schema, text, True))


async def ran(store: Store, made: Workflow, answers: Answers | None = None, **options: Any) -> RunResult:
    endpoint = FakeEndpoint(answers or Answers())
    given = RunOptions(fresh=True, **options)
    return await merrow_runtime.run(made, {"problem": "what?"}, endpoint=endpoint, store=store, options=given)


def memories(nodes: Mapping[str, NodeRecord]) -> dict[str, list[Any]]:
    return {one.visit.name: [dict(entry) for entry in one.memory] for one in nodes.values() if one.memory}


def kept(store: Store, identity: str) -> dict[str, list[Any]]:
    """What nodes remember as the journal has it, where nothing is damaged."""
    damaged: list[str] = []
    found = memories({one.visit.name: one for one in store.nodes(identity, damaged.append)})
    assert damaged == []
    return found


def written(store: Store, identity: str) -> list[list[Any]]:
    """The rows of a run's nodes as they are in the database."""
    store._writer.flush()
    sql = "SELECT several FROM nodes WHERE run = (SELECT number FROM runs WHERE id = ?) ORDER BY number"
    return [values for (row,) in store._database.execute(sql, (identity,)).fetchall() for values in json.loads(row)]


def texts(store: Store, identity: str) -> dict[str, list[str]]:
    """The texts in the memories of a run's rows, by node."""
    found: dict[str, list[str]] = {}
    for values in written(store, identity):
        own = [entry["text"] for entry in values[10] if isinstance(entry, dict)] if values[0] is not None else []
        if own:
            found.setdefault(values[0], []).extend(own)
    return found


def looping(most: int, memory: str = "{last: 4}") -> Workflow:
    return flow(
        box("PLAY", f"Loop (max: {most})", custom("ACT", f"memory: {memory}"), custom("WORLD")),
        "PROBLEM -->|first:input| ACT",
        "ACT -->|input| WORLD",
        "WORLD -.->|again:input| ACT",
        "WORLD --> RETURN",
    )


def files(folder: Path) -> Workflow:
    """A Loop around a Call, with memory on both sides of the border."""
    inner = flowchart(
        *(custom(name, "memory: all") for name in "XYZ"), "PROBLEM --> X --> Y --> Z --> RETURN", "PROBLEM@{type: Text}"
    )
    outer = flowchart(
        *box("L", "Loop (max: 2)", custom("A", "memory: all"), 'C@{op: Call, workflow: "f.mmd"}', custom("B", "memory: all")),
        "PROBLEM -->|first:input| A", "A --> C --> B", "B -.->|again:input| A", "B --> RETURN",
    )  # fmt: skip
    (folder / "merrow.toml").touch()
    for name, text in {"main.mmd": outer, "f.mmd": inner}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return load(folder / "main.mmd")


FLOWS = {
    "a Loop": looping(5),
    "a Map": flow(
        custom("LIST", "returns: list[Text]"),
        box("M", "Map ()", custom("ONE"), custom("TWO", "memory: all"), custom("THREE", "memory: all")),
        custom("MID"), custom("END", "memory: all"), "PROBLEM -->|input| LIST", "LIST -->|each:input| ONE", "ONE -->|input| TWO",
        "TWO -->|input| THREE", "THREE -->|input| MID", "MID -->|input| END", "END --> RETURN",
    ),
    "samples, a record and one by one": workflow(
        'A@{op: Custom, prompt: "a", samples: 3, temperature: 1}', 'B@{op: Custom, prompt: "b", returns: Fact}',
        *(f'{name}@{{op: Custom, prompt: "{name}", memory: all}}' for name in "CDE"),
        "PROBLEM --> A --> B --> C --> D --> E --> RETURN", front="{types: {Fact: {what: Text, sure: Bool}}}",
    ),
    "a default": workflow(
        'A@{op: Custom, prompt: "dies", on_error: default, default: "by default"}', 'B@{op: Custom, prompt: "b"}',
        *(f'{name}@{{op: Custom, prompt: "{name}", memory: all}}' for name in "CD"), "PROBLEM --> A --> B --> C --> D --> RETURN",
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", [*FLOWS, "files", "masked"])
async def test_all_that_nodes_remember_is_named_and_read_back(store: Store, tmp_path: Path, which: str) -> None:
    made = files(tmp_path) if which == "files" else FLOWS.get(which, FLOWS["a Loop"])
    masked = {"mask": 0.5, "mask_key": "k"} if which == "masked" else {}
    result = await ran(store, made, Answers("dies"), **masked)
    assert result.status == "finished", result.error
    remembered = memories(result.nodes)
    assert kept(store, result.run) == remembered
    assert max(map(len, remembered.values())) > 2
    assert texts(store, result.run) == {}
    shown = {one["node"]: one["memory"] for one in run_report(store, result.run)["nodes"] if one["memory"]}
    assert shown == remembered


async def test_a_row_is_as_long_whatever_the_texts_that_it_remembers(store: Store) -> None:
    made, sizes = looping(40, "{last: 20}"), []
    for length in (20, 2000):
        endpoint = FakeEndpoint(lambda _, length=length: "x" * length)  # type: ignore[misc]
        options = RunOptions(fresh=True)
        result = await merrow_runtime.run(made, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
        rows = [values for values in written(store, result.run) if values[0] == "ACT"]
        assert len(rows) == 40
        sizes.append(max(len(json.dumps(values[10])) for values in rows))
        assert sum(
            len(one["memory"][-1]["text"]) for one in run_report(store, result.run)["nodes"][-6:] if one["memory"]
        )
    assert sizes[0] == sizes[1] < 1000


async def test_what_no_row_has_is_kept_as_text(store: Store) -> None:
    """A summary, and what an earlier run gave a node that is run alone."""
    names = "".join(f'{name}@{{op: Custom, prompt: "{name}"}}\n' for name in "AB")
    made = workflow(
        *names.split("\n"), 'C@{op: Custom, prompt: "c", memory: summary}', "PROBLEM --> A --> B --> C --> RETURN"
    )
    first = await ran(store, made)
    assert kept(store, first.run) == memories(first.nodes)
    assert texts(store, first.run) == {"C": [first.nodes["C"].memory[0]["text"]]}
    again = await ran(store, made, from_run=first.run, from_node="RETURN")
    assert again.nodes["C"].status == "reused"
    assert kept(store, again.run) == memories(again.nodes) == memories(first.nodes)
    whole = await ran(store, looping(3))
    alone = await ran(store, looping(3), from_run=whole.run, only="PLAY[3]/ACT")
    assert alone.nodes["PLAY[3]/ACT"].memory == whole.nodes["PLAY[3]/ACT"].memory
    assert kept(store, alone.run) == memories(alone.nodes)
    assert texts(store, alone.run) == {"ACT": [entry["text"] for entry in alone.nodes["PLAY[3]/ACT"].memory]}


async def test_a_run_from_another_one_names_its_own_rows_and_survives_the_other(store: Store) -> None:
    first = await ran(store, looping(4))
    second = await ran(store, looping(4), from_run=first.run, from_node="RETURN")
    assert second.nodes["PLAY[4]/ACT"].status == "reused"
    store.delete(first.run)
    assert kept(store, second.run) == memories(second.nodes) == memories(first.nodes)
    assert texts(store, second.run) == {}


async def test_a_run_that_failed_is_resumed_and_remembers_the_same(store: Store) -> None:
    made = looping(5)
    with_five = Answers()

    def fails(request: ModelRequest) -> str | Exception:
        return EndpointFailure("down") if next(calls) == 7 else with_five(request)

    calls = count(1)
    begun = merrow_runtime.start(
        made,
        {"problem": "what?"},
        endpoint=FakeEndpoint(fails),
        store=store,
        options=RunOptions(fresh=True, retry="none"),
    )
    assert (await begun.result()).status == "failed"
    before = kept(store, begun.id)
    result = await merrow_runtime.resume(begun.id, endpoint=FakeEndpoint(fails), store=store).result()
    assert result.status == "finished", result.error
    assert kept(store, begun.id) == memories(result.nodes)
    assert before.items() <= memories(result.nodes).items()
    assert texts(store, begun.id) == {}


async def test_a_result_that_moved_and_whose_name_another_node_has_by_now(store: Store) -> None:
    """V takes over what Y made, which remembered X; until then X has become another node with another result."""

    def made(step: str, middle: str, last: str, *more: str) -> Workflow:
        return workflow(
            f'{step}["step"]@{{op: Custom, prompt: "step"}}', f'M["mid"]@{{op: Custom, prompt: "{middle}"}}',
            f'{last}["last"]@{{op: Custom, prompt: "last", memory: all}}', 'Z@{op: Custom, prompt: "z"}',
            f"PROBLEM --> {step} --> M --> {last} --> Z --> RETURN", *more,
        )  # fmt: skip

    other = 'X["new"]@{op: Custom, prompt: "new"}', "PROBLEM --> X --> Z"
    may: dict[str, asyncio.Event] = {prompt: asyncio.Event() for prompt in ("z", "middle again")}
    asked: dict[str, asyncio.Event] = {prompt: asyncio.Event() for prompt in ("z", "middle again")}
    said = {"step": "the first step", "new": "something else", "middle again": "middle", "z": "z"}

    async def answer(request: ModelRequest) -> str:
        prompt = request.messages[0].content.split("\n")[0]
        if prompt in may:
            asked[prompt].set()
            await may[prompt].wait()
        return said.get(prompt, prompt)

    begun = merrow_runtime.start(
        made("X", "middle", "Y"),
        {"problem": "x"},
        endpoint=FakeEndpoint(answer),
        store=store,
        options=RunOptions(fresh=True),
    )
    async with asyncio.timeout(PATIENCE):
        await asked["z"].wait()
        revised = await begun.revise(made("W", "middle again", "V", *other))
        assert revised.state == "applied", revised.reason
        await asked["middle again"].wait()
        while begun.nodes["X"].outputs != {"response": "something else"}:
            await asyncio.sleep(0.001)
    for waits in may.values():
        waits.set()
    result = await begun.result()
    assert result.status == "finished", result.error
    assert result.nodes["V"].taken == "Y"
    assert [entry["text"] for entry in result.nodes["V"].memory] == ["x", "the first step"]
    assert kept(store, begun.id) == memories(result.nodes)


async def test_a_visit_that_gave_twice_is_read_as_it_was_then(store: Store) -> None:
    journal = store.begin(run())
    entry = {"node": "A", "title": "a", "text": "first"}
    visits = [Visit("A")]
    await journal.record_told([
        node("A", memory=(), outputs={"response": "first"}, number=1),
        node("B", memory=[entry], remembers=visits, number=2),
        node("A", memory=(), outputs={"response": "second"}, number=3),
        node("C", memory=[{**entry, "text": "second"}], remembers=visits, number=4),
    ])  # fmt: skip
    await journal.close()
    told = [one for one in store.told("run-1") if isinstance(one, NodeRecord)]
    assert {one.node: [entry["text"] for entry in one.memory] for one in told if one.memory} == {
        "B": ["first"],
        "C": ["second"],
    }


def lose(store: Store, identity: str, visit: str, *, whole: bool) -> None:
    """A row goes, or what it says of one visit."""
    number = store._database.execute("SELECT number FROM runs WHERE id = ?", (identity,)).fetchone()[0]
    rows = store._database.execute(
        "SELECT number, several FROM nodes WHERE run = ? ORDER BY number", (number,)
    ).fetchall()
    for row, several in rows:
        left = [one for one in json.loads(several) if one[0] is None or Visit(one[0], one[13], one[14]).name != visit]
        if len(left) < len(json.loads(several)):
            values = ("{" if whole else json.dumps(left), row)
            store._database.transaction(
                lambda database, values=values: database.execute(
                    "UPDATE nodes SET several = ? WHERE number = ?", values
                )
            )


async def test_what_is_missing_is_said_and_nothing_takes_its_place(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    made = looping(4)
    result = await ran(store, made)
    lose(store, result.run, "PLAY[1]/WORLD", whole=False)
    sentence = (
        f"Nodes of run {result.run} remember results that are missing in the journal: PLAY[1]/WORLD."
        f" To remove the run, use: merrow runs --delete {result.run}"
    )
    checked = in_process(capsys, "journal", "check")
    assert (checked.code, checked.out) == (1, f"{sentence}\n1 record can't be read.\n")
    report = run_report(store, result.run)
    assert report["damaged"] == [sentence]
    last = next(one for one in report["nodes"] if one["node"] == "PLAY[4]/ACT")
    whole = [dict(entry) for entry in result.nodes["PLAY[4]/ACT"].memory]
    missing = [entry["title"] for entry in last["memory"] if entry["text"] is None]
    assert missing == ["Custom, turn 1"]
    assert [entry for entry in last["memory"] if entry["text"] is not None] == [
        entry for entry in whole if entry["title"] not in missing
    ]
    shown = in_process(capsys, "show", result.run, "--node", "PLAY[4]/ACT")
    assert shown.code == 0
    assert "memory of WORLD\nmissing in the journal\n" in shown.out
    assert sentence in shown.err + shown.out
    with pytest.raises(UsageFailure, match="What node ACT remembers of WORLD is missing in the journal"):
        await ran(store, made, from_run=result.run, only="PLAY[4]/ACT")
    lose(store, result.run, "PLAY[2]/ACT", whole=False)
    lose(store, result.run, "PLAY[3]/ACT", whole=False)
    damaged: list[str] = []
    store.told(result.run, damaged.append)
    assert len(damaged) == 1
    assert ": PLAY[1]/WORLD and 2 more. To remove" in damaged[0]


async def test_a_damaged_row_is_said_beside_what_it_takes_away(store: Store) -> None:
    journal = store.begin(run())
    remembers = node("B", memory=[{"node": "A", "title": "a", "text": "42"}], remembers=[Visit("A")])
    await journal.record_told([node("A", memory=())])
    await journal.record_told([remembers])
    await journal.close()
    lose(store, "run-1", "A", whole=True)
    damaged: list[str] = []
    (left,) = store.nodes("run-1", damaged.append)
    assert [entry["text"] for entry in left.memory] == [None]
    assert [sentence.partition(" of ")[0] for sentence in damaged] == ["Results", "Nodes"]
    (whole,) = json.loads(told_text([node("B", memory=())]))
    for broken in ([["a"]], [["a", 7, "x", 0]], [["a", "A", [], 0]], [["a", "A", "", 0, 1]], ["ab"], [5], 5):
        row = json.dumps([[*whole[:10], broken, *whole[11:]]])
        store._database.transaction(
            lambda database, row=row: database.execute("UPDATE nodes SET several = ?", (row,))  # type: ignore[misc]
        )
        damaged.clear()
        store.nodes("run-1", damaged.append)
        assert damaged, broken


async def test_packed_and_copied_rows_read_as_they_were(store: Store, tmp_path: Path) -> None:
    endpoint = FakeEndpoint(Answers())
    with closing(store.of_job("ev1")) as own:
        result = await merrow_runtime.run(looping(4), {"problem": "x"}, endpoint=endpoint, store=own, run_id="ev1/one")
        remembered = memories(result.nodes)
        assert kept(own, "ev1/one") == remembered
    result = await ran(store, looping(4))
    with closing(Store.open(tmp_path / "copy.sqlite")) as target:
        copy(store, target)
        assert kept(target, result.run) == memories(result.nodes)
        assert texts(target, result.run) == {}


@pytest.fixture
def older(store: Store, tmp_path: Path) -> Store:
    """The journal with the runs of one that version 14 wrote."""
    path = tmp_path / "older.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(OLDER.read_text(encoding="utf-8"))
    with closing(Store.open(path)) as source:
        copy(source, store)
    return store


def of(store: Store, problem: str) -> str:
    return next(one.id for one in store.runs() if one.snapshot["inputs"]["PROBLEM"] == problem)


def test_a_journal_with_texts_is_read_as_it_was(older: Store) -> None:
    finished = of(older, "finish")
    assert [len(entries) for entries in kept(older, finished).values()] == [1, 3, 3, 3, 9]
    report = {one["node"]: one["memory"] for one in run_report(older, finished)["nodes"]}
    assert report["PLAY[3]/ACT"] == [
        {"node": "ACT", "title": "Custom, turn 1", "text": "answer 2 in some words"},
        {"node": "ENV", "title": "Custom, turn 1", "text": "answer 3 in some words"},
        {"node": "ACT", "title": "Custom, turn 2", "text": "answer 4 in some words"},
    ]
    assert {name: len(entries) for name, entries in texts(older, finished).items()} == {"ACT": 10, "SUM": 9}


async def test_a_run_that_an_older_merrow_left_goes_on_with_names(older: Store) -> None:
    killed, finished = of(older, "kill"), of(older, "finish")
    numbers = count(6)
    endpoint = FakeEndpoint(lambda _: f"answer {next(numbers)} in some words", origin="http://models.test")
    result = await merrow_runtime.resume(killed, endpoint=endpoint, store=older).result()
    assert result.status == "finished", result.error
    assert len(endpoint.seen) == 5
    assert kept(older, killed) == memories(result.nodes)
    whole = kept(older, finished)
    assert {name: entries[1:] for name, entries in kept(older, killed).items()} == {
        name: entries[1:] for name, entries in whole.items()
    }
