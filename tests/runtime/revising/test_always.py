"""Real runs that are revised, and killed, at random: they come out as the last workflow run from scratch, and pay nothing twice.

The workflows have Decisions, samples of memory, Loops and Maps in one another; the revisions are what people do line by
line, valid and not, with nodes renamed and asked for again. A run is killed by what its journal has at some commit:
nothing later is left of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.frontier.nested_revisions import revision, valid_graph
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.sizes import sized

from merrow_analysis.graph.boxes.composites import loop_settings, map_settings
from merrow_runtime import RunOptions, resume, start
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.revising.revision_requests import snapshot_at
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.writer import Writer
from merrow_runtime.workflow import Workflow, check_workflow, restore

FIRST = 7_000
PARTS = 6
COUNT = sized(75, 200)
"""Seeds. From two in five of them comes a workflow that can be run."""
FOUND = (7_272, 7_559, 7_707, 7_941, 11_926, 12_207, 12_570, 15_398, 16_630)
"""Runs with which more examples once found something."""
LIVE: list[Trial] = []
"""The run that is tried now: commits of its journal are told to it."""


def said(schema: Any, draw: Random) -> Any:
    """A value of a JSON Schema."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return said(schema["anyOf"][0], draw)
    kind = schema.get("type")
    if kind == "object":
        return {name: said(part, draw) for name, part in schema["properties"].items()}
    if kind == "array":
        return [said(schema["items"], draw) for _ in range(draw.randint(1, 3))]
    return {"boolean": draw.random() < 0.5, "number": draw.randint(0, 5), "integer": draw.randint(1, 5)}.get(
        str(kind), f"t{draw.randrange(6)}"
    )


def answer(request: ModelRequest) -> str:
    """What the question alone decides; there are few different texts, so that results often come out as they were."""
    draw = Random(request.hash)
    if request.schema is None:
        return f"t{draw.randrange(6)}"
    return json.dumps(said(request.schema.schema, draw))


def renamed(text: str, random: Random) -> str:
    names = re.findall(r"^\s*([CVE]\d+)\[", text, re.MULTILINE)
    if not names:
        return text
    old, new = random.choice(names), f"C{random.randrange(500, 600)}"
    if random.random() < 0.4 and len(names) > 1:
        other = random.choice([name for name in names if name != old])
        swapped = re.sub(rf"\b{old}\b", "\0", text)
        return re.sub(rf"\b{other}\b", old, swapped).replace("\0", other)
    return re.sub(rf"\b{old}\b", new, text)


def redone(text: str, random: Random) -> str:
    names = re.findall(r"^\s*([CVE]\d+)\[", text, re.MULTILINE)
    bare = re.sub(r"^  redo:.*\n", "", text, flags=re.MULTILINE)
    if not names or random.random() < 0.3:
        return bare
    return bare.replace("workflow:\n", f"workflow:\n  redo: {{{random.choice(names)}: {random.randint(1, 2)}}}\n", 1)


def remembering(text: str, random: Random) -> str:
    return re.sub(r"prompt: (Do it|Go on)\.", lambda one: f"{one[0]}{random.choice(['', '', ', memory: all'])}", text)


@dataclass
class Trial:
    """One run of a workflow, in as many processes as it takes."""

    folder: Path
    random: Random
    texts: list[str]
    kills: int = 0
    dead: bool = False
    commits_left: int | None = None
    seen: Counter[str] = field(default_factory=Counter)

    def path(self) -> Path:
        return self.folder / f"{self.kills}.sqlite"

    def endpoint(self) -> FakeEndpoint:
        async def answered(request: ModelRequest) -> str:
            for _ in range(self.random.randrange(60)):
                await asyncio.sleep(0)
            if self.dead:
                await asyncio.Event().wait()
            return answer(request)

        return FakeEndpoint(answered, "http://fake.test")

    def committed(self, database: sqlite3.Connection) -> None:
        """A commit was made: perhaps the last one."""
        if self.dead or self.commits_left is None:
            return
        self.commits_left -= 1
        if self.commits_left <= 0:
            self.dead = True
            self.kills += 1
            with closing(sqlite3.connect(self.path())) as copy:
                database.backup(copy)
                copy.execute("UPDATE holders SET holder = NULL")
                copy.commit()
                copy.execute("PRAGMA journal_mode = WAL")

    def next_text(self) -> str:
        """Another text, mostly one without errors."""
        random, text = self.random, self.texts[-1]
        if random.random() < 0.2:
            return random.choice(self.texts)
        for _ in range(20):
            change = random.choice(["lines", "lines", "lines", "rename", "rename", "redo"])
            if change == "lines":
                new = revision(text, random)[0]
            else:
                new = (renamed if change == "rename" else redone)(text, random)
            if new != text and valid_graph(new) is not None:
                return new
        return text

    async def process(self, first: bool) -> RunResult | None:
        """One process: to the end of the run, or to its own."""
        self.dead = False
        self.commits_left = self.random.randint(2, 30) if self.random.random() < 0.7 and self.kills < 4 else None
        endpoint = self.endpoint()
        with closing(Store.open(self.path())) as store:
            options = RunOptions(concurrency=self.random.choice([1, 2, 8]))
            if first:
                run = start(
                    check_workflow(self.texts[0]),
                    {"problem": "x"},
                    endpoint=endpoint,
                    store=store,
                    run_id="r",
                    options=options,
                )
            else:
                run = resume("r", endpoint=endpoint, store=store, options=options)
            revising = asyncio.create_task(self.revise(run))
            waiting = asyncio.create_task(run.result())
            while not waiting.done() and not self.dead:
                await asyncio.sleep(0)
            if not self.dead:
                revising.cancel()
                await asyncio.gather(revising, return_exceptions=True)
                return await waiting
            revising.cancel()
            waiting.cancel()
            run.cancel()
            await asyncio.gather(revising, waiting, return_exceptions=True)
            await run.result()
            return None

    async def revise(self, run: Run) -> None:
        for _ in range(self.random.randint(0, 4)):
            for _ in range(self.random.randrange(80)):
                await asyncio.sleep(0)
            text = self.next_text()
            try:
                state = (await run.revise(check_workflow(text))).state
            except (UsageFailure, RunFailure):
                return
            self.seen[state] += 1
            if state == "applied":
                self.texts.append(text)


def from_scratch(workflow: Workflow) -> RunResult:
    async def whole() -> RunResult:
        return await start(
            workflow, {"problem": "x"}, endpoint=FakeEndpoint(answer), options=RunOptions(no_store=True)
        ).result()

    return asyncio.run(whole())


def tried(seed: int, folder: Path) -> Counter[str]:
    random = Random(seed)
    text = remembering(nested_workflow(seed), random)
    if valid_graph(text) is None:
        return Counter()
    trial = Trial(folder, random, [text])
    LIVE.append(trial)
    result: RunResult | None = None
    first = True
    while result is None:
        result = asyncio.run(trial.process(first))
        with closing(Store.open(trial.path())) as store:
            first = not store.has_runs
    LIVE.clear()
    with closing(Store.open(trial.path())) as store:
        check(store, result, trial)
    trial.seen["kills"] += trial.kills
    return trial.seen


def check(store: Store, result: RunResult, trial: Trial) -> None:
    workflow = restore(json.loads(snapshot_at(store, "r")))
    alone = from_scratch(workflow)
    assert result.status == alone.status, (result.error, alone.error)
    shuffled = {"ScEnsemble", "MdEnsemble"}
    nodes = {one.visit.name: one for one in store.nodes("r")}
    moved = [one for one in nodes.values() if one.taken and (one.definition or {}).get("operator") in shuffled]
    if alone.status == "finished" and not moved:
        assert result.outputs == alone.outputs
        for name, node in alone.nodes.items():
            if (
                node.status == "finished"
                and node.visit.name == name
                and (name in nodes or not may_fail_before(workflow, node.path))
            ):
                assert nodes[name].outputs == node.outputs, name
                assert nodes[name].visit.redo == workflow.analysis.settings.redo.get(node.node, 0), name
    given_away = {one.taken for one in store.executions("r") if one.taken}
    made = Counter((call.key, call.request_hash) for call in store.calls("r") if call.origin == "endpoint")
    twice = [key for (key, _), count in made.items() if count > 1 and key.visit.name not in given_away]
    assert not twice, f"asked again: {twice}"
    kept_is_kept(store)
    no_result_serves_two(store, result)
    memory_reads_back(store, result)
    trial.seen["remembered"] += sum(len(one.memory) for one in result.nodes.values())
    what_is_untouched_goes_on(store)
    trial.seen["taken over"] += sum(1 for one in store.executions("r") if one.taken and one.taken != one.visit.name)
    trial.seen["finished"] += result.status == "finished"


def may_fail_before(workflow: Workflow, path: str) -> bool:
    """Whether a frame may end with a failure that the run survives: which of its nodes run by then, nobody says."""
    boxes = workflow.graph.composites
    around = [boxes.boxes[part.partition("[")[0]] for part in path.split("/") if path]
    return any((loop_settings if box.kind == "loop" else map_settings)(box).on_error != "fail" for box in around)


def kept_is_kept(store: Store) -> None:
    """What `merrow diff` says is kept is not asked for again, until another revision says otherwise."""
    applied = [one for one in store.revisions("r") if one.state == "applied"]
    for number, one in enumerate(applied):
        end = applied[number + 1].at if number + 1 < len(applied) else float("inf")
        kept = set(one.adopted["kept"])
        again = [
            call.key
            for call in store.calls("r")
            if call.key.node in kept and not call.key.path and one.at < call.started < end
        ]
        assert not again, f"revision {one.number} keeps {sorted(kept)}, and {again} are asked again"


def no_result_serves_two(store: Store, result: RunResult) -> None:
    """Each result was made for one node of the last workflow, equal voters among them."""
    origins: dict[tuple[str, str | None], int] = {}
    for number, one in enumerate(store.executions("r")):
        place = one.visit.name, one.key
        if one.taken is None:
            origins[place] = number
        elif one.taken != one.visit.name:
            origins[place] = origins.get((one.taken, one.key), number)
    ended = {one.visit: one for one in result.nodes.values()}
    now = [origins.get((one.visit.name, one.key)) for one in ended.values() if one.status == "finished"]
    shared = [one for one, times in Counter(now).items() if one is not None and times > 1]
    assert not shared, f"executions {shared} serve several nodes"


def memory_reads_back(store: Store, result: RunResult) -> None:
    """The journal, which names the visits whose results a memory holds, gives back the texts that were remembered."""
    damaged: list[str] = []
    kept = {one.visit.name: one for one in store.nodes("r", damaged.append)}
    assert not damaged
    for one in result.nodes.values():
        assert list(kept[one.visit.name].memory) == list(one.memory), one.visit.name


def what_is_untouched_goes_on(store: Store) -> None:
    """What runs isn't cancelled where a revision changes nothing of it, nor of what it follows from."""
    before = 0
    for one in store.revisions("r"):
        if one.state != "applied":
            continue
        cancelled = {name for name in one.adopted.get("cancelled", ()) if "/" not in name}
        if cancelled:
            old, new = (restore(json.loads(snapshot_at(store, "r", number))) for number in (before, one.number))
            wrong = cancelled & untouched(old, new)
            assert not wrong, f"revision {one.number} cancels {sorted(wrong)}"
        before = one.number


def untouched(old: Workflow, new: Workflow) -> set[str]:
    """The nodes whose own lines, and those of all that they follow from, are the same in both; none where a box differs."""

    def around(text: str) -> str:
        front, _, lines = text.partition("flowchart")
        return front + lines[lines.find("subgraph") : lines.rfind("end\n")]

    def own(workflow: Workflow, name: str) -> list[str]:
        return re.findall(rf"^\s*{name}\W.*:::.*$|^.*> *(?:\|.*\| *)?{name} *$", workflow.text, re.MULTILINE)

    if around(old.text) != around(new.text):
        return set()
    touched = {
        node.id for node in new.graph.nodes if node.id not in old.graph.by_id or own(old, node.id) != own(new, node.id)
    }
    waiting = list(touched)
    while waiting:
        node = new.graph.by_id[waiting.pop()]
        reached = {edge.target.id for edge in node.outgoing} - touched
        touched |= reached
        waiting += reached
    return set(new.graph.by_id) - touched


@pytest.fixture
def told_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that is tried hears of each commit of its journal."""
    commit = Writer._commit

    def committed(self: Writer, statements: Any, patience: float) -> None:
        commit(self, statements, patience)
        if LIVE:
            LIVE[-1].committed(self.database)

    monkeypatch.setattr(Writer, "_commit", committed)


def all_tried(seeds: Iterable[int], folder: Path) -> Counter[str]:
    """What came of runs, in all."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        try:
            seen += tried(seed, own)
        except AssertionError as wrong:
            raise AssertionError(f"run {seed}: {wrong}") from wrong
        finally:
            LIVE.clear()
    return seen


@pytest.mark.slow
@pytest.mark.usefixtures("told_commits")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_revised_run_comes_out_as_its_last_workflow_and_nothing_is_asked_twice(part: int, tmp_path: Path) -> None:
    seen = all_tried(range(FIRST + part, FIRST + COUNT, PARTS), tmp_path)
    assert seen["applied"]
    assert seen["remembered"]


@pytest.mark.slow
@pytest.mark.usefixtures("told_commits")
def test_what_was_found_once_is_not_found_again(tmp_path: Path) -> None:
    assert all_tried(FOUND, tmp_path)["applied"]
