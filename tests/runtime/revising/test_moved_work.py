"""Work on its way whose box is renamed, or whose item moves: it continues, the journal has it under its new name, and after a
kill nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

import pytest
from tests.runtime.composites.loops import asks, box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint, flowchart

from merrow_runtime import RunOptions, Workflow, resume, start
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.program.loading import load
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage

LIST = "returns: 'list[Text]'"
VOTES = "temperature: 1, samples: 4"
ENDS = custom("C"), "PROBLEM -->|input| A", "V -->|input| W", "W -->|input| C", "C --> RETURN"
BOTH = custom("V", VOTES), custom("W")


def loop(name: str, *more: str, asks_for: str = "A") -> Workflow:
    source = custom("A").replace("prompt: A", f"prompt: {asks_for}")
    return flow(source, box(name, "Loop (max: 2)", *BOTH), *ENDS, "A -->|input| V", "W -.->|again:input| V", *more)


def items(name: str, *more: str, asks_for: str = "A") -> Workflow:
    source = custom("A", LIST).replace("prompt: A", f"prompt: {asks_for}")
    return flow(source, box(name, "Map (max: 3)", *BOTH), *ENDS, "A -->|each:input| V", *more)


def nested(outer: str, inner: str, *more: str) -> Workflow:
    turns = box(inner, "Loop (max: 2)", *BOTH)
    again = "W -.->|again:input| V"
    return flow(custom("A", LIST), box(outer, "Map (max: 3)", *turns), *ENDS, "A -->|each:input| V", again, *more)


class World:
    """A run that is revised when only the ``free`` questions of ``holds`` are answered. What a kill would leave then is copied
    to a file of its own, and the run continues.
    """

    def __init__(self, folder: Path, *free: int) -> None:
        self.folder = folder
        self.lists = {"A": ["x", "y"]}
        self.holds = "V"
        self.asked: Counter[str] = Counter()
        self.given = 0
        self.begin_again(*free)

    def begin_again(self, *free: int) -> None:
        self.free: Collection[int] = free
        self.go_on = asyncio.Event()
        self.endpoint = FakeEndpoint(self.answer)
        self.asked.clear()

    async def answer(self, request: ModelRequest) -> str | ModelReply | Exception:
        name = asks(request)
        self.asked[name] += 1
        if name == self.holds and self.asked[name] not in self.free:
            await self.go_on.wait()
        self.given += 1
        return json.dumps(self.lists[name]) if name in self.lists else f"{name} {self.given}"

    async def revised(
        self,
        first: Workflow | None,
        *revisions: Workflow,
        until: Callable[[], bool] = lambda: True,
        ends: str = "finished",
    ) -> RunResult:
        """A run with revisions while V is on its way, copied once ``until`` holds; without ``first`` it resumes the last copy."""
        path, left = (self.folder / name for name in ("runs.sqlite", "killed.sqlite"))
        if first is None:
            left.replace(path)
        with closing(Store.open(path)) as store:
            if first is None:
                run = resume("r", endpoint=self.endpoint, store=store)
            else:
                options = RunOptions(fresh=True)
                run = start(first, {"problem": "x"}, endpoint=self.endpoint, store=store, run_id="r", options=options)
            known = answered(store)
            while self.asked[self.holds] <= len(self.free) or answered(store) < known + len(self.free):
                await asyncio.sleep(0)
            for one in revisions:
                assert (await run.revise(one)).state == "applied"
            while not until():
                await asyncio.sleep(0)
            with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(left)) as copy:
                database.backup(copy)
                copy.execute("UPDATE holders SET holder = NULL")
                copy.commit()
            self.go_on.set()
            result = await run.result()
            assert result.status == ends
            assert {one.visit.name for one in store.nodes("r")} >= {name for name in result.nodes if "/" in name}
            return result

    async def resumed(self) -> RunResult:
        """The last copy resumed to its end; ``asked`` then has what that asked."""
        self.begin_again()
        self.go_on.set()
        with closing(Store.open(self.folder / "killed.sqlite")) as store:
            result = await resume("r", endpoint=self.endpoint, store=store).result()
        assert result.status == "finished"
        return result


def answered(store: Store) -> int:
    """How many answers of V the journal has."""
    return sum(call.key.node == "V" for call in store.calls("r"))


def frames(result: RunResult, node: str) -> set[str]:
    return {record.visit.path for name, record in result.nodes.items() if record.node == node and "/" in name}


BOXES: dict[str, tuple[Callable[..., Workflow], list[str]]] = {
    "a Loop": (loop, ["{}[1]", "{}[2]"]),
    "a Map": (items, ["{}[1]", "{}[2]"]),
    "the outer box": (
        lambda name, *more: nested(name, "IN", *more),
        ["{}[1]/IN[1]", "{}[1]/IN[2]", "{}[2]/IN[1]", "{}[2]/IN[2]"],
    ),
    "the inner box": (
        lambda name, *more: nested("OUT", name, *more),
        ["OUT[1]/{}[1]", "OUT[1]/{}[2]", "OUT[2]/{}[1]", "OUT[2]/{}[2]"],
    ),
}
NAMES = {"renamed, then another revision": "XX", "renamed twice": "XY", "renamed and back": "XB"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
async def test_what_is_on_its_way_in_a_box_that_is_renamed(tmp_path: Path, kind: str, names: str) -> None:
    named, paths = BOXES[kind]
    world, now = World(tmp_path, 1, 2), {path.format(names[-1]) for path in paths}
    result = await world.revised(named("B"), *(named(name, f"%% {number}") for number, name in enumerate(names)))
    assert world.asked["V"] == 4 * len(now)
    assert frames(result, "V") >= now
    assert frames(result, "W") == now

    result = await world.resumed()
    assert frames(result, "W") == now
    assert world.asked["A"] == 0
    assert world.asked["V"] == 4 * len(now) - 2, "two answers were there when the process was killed"


async def test_a_run_that_is_killed_and_revised_again_finds_what_it_asked_under_either_name(tmp_path: Path) -> None:
    world = World(tmp_path, 1, 2)
    await world.revised(loop("B"), loop("X"))
    world.begin_again(1)
    await world.revised(None, loop("Y"))
    await world.resumed()
    assert world.asked["V"] == 2 * 4 - 2 - 1


async def test_what_no_node_waits_for_any_more_is_found_where_it_was_asked(tmp_path: Path) -> None:
    world = World(tmp_path, 1, 2)
    world.lists |= {"A": ["same"], "again": ["same"]}
    await world.revised(loop("B"), loop("X"), loop("X", asks_for="other"))
    world.begin_again()
    world.holds = "other"
    await world.revised(None, loop("B", asks_for="again"))
    assert world.asked["V"] == 8 - 2


@pytest.mark.parametrize("values", [["x", "y"], ["x", "x"]], ids=["different", "equal"])
async def test_items_that_move_take_along_what_was_asked_for_each(tmp_path: Path, values: list[str]) -> None:
    world = World(tmp_path, 1, 2, 5, 6)
    world.lists |= {"A": values, "more": ["new", *values]}
    result = await world.revised(items("B"), items("B", asks_for="more"), until=lambda: world.asked["V"] == 12)
    assert world.asked["V"] == 12
    assert frames(result, "V") == {"B[1]", "B[2]", "B[3]"}

    result = await world.resumed()
    assert world.asked["more"] == 0
    assert world.asked["V"] == 12 - 4
    said = [text for number in (1, 2, 3) for text in (result.nodes[f"B[{number}]/V"].outputs or {})["response"]]
    assert len(set(said)) == len(said) == 12, "none is that of another item"


class Failing(World):
    """V fails."""

    async def answer(self, request: ModelRequest) -> str | Exception:
        name = asks(request)
        self.asked[name] += 1
        if name == self.holds:
            await self.go_on.wait()
        return EndpointFailure("nothing came", transient=False) if name == "V" else name


def risky(name: str, said: str, *more: str) -> Workflow:
    turns = box(name, "Loop (max: 1)", custom("V", said), custom("W"))
    return flow(custom("A"), turns, *ENDS, "A -->|input| V", "A -->|input| C", *more)


async def test_what_fails_in_a_box_that_was_renamed_failed_under_its_new_name(tmp_path: Path) -> None:
    world = Failing(tmp_path)
    failed = await world.revised(risky("B", "on_error: fail"), risky("X", "on_error: fail"), ends="failed")
    assert failed.failure is not None
    assert (failed.failure.node, failed.failure.path) == ("V", "X[1]")
    assert failed.nodes["X[1]/V"].error == failed.nodes["B[1]/V"].error
    assert failed.nodes["X[1]/V"].failed == failed.nodes["B[1]/V"].failed


async def test_what_failed_before_its_box_was_renamed_is_tried_again_where_a_revision_says_so(tmp_path: Path) -> None:
    world = Failing(tmp_path)
    world.holds = "C"
    again = risky("X", "on_error: skip, timeout: 7")
    await world.revised(risky("B", "on_error: skip"), risky("X", "on_error: skip"), again)
    assert world.asked["V"] == 2


class Costly(World):
    """Each answer of V has used 110 tokens, the second one comes when the run continues."""

    async def answer(self, request: ModelRequest) -> ModelReply:
        said = await super().answer(request)
        return ModelReply(str(said), usage=Usage(100, 10, 1))


def bounded(name: str, budget: str) -> Workflow:
    return flow(
        box(name, "Loop (max: 6)", custom("V")),
        *(f"{name}@{{", "  budget:", f"    {budget}", "}"),
        *("PROBLEM -->|input| V", "V -.->|again:input| V", "V -->|over| RETURN"),
    )


@pytest.mark.parametrize("first", ["tokens: 300", "seconds: 1000"])
async def test_a_loop_keeps_to_its_budget_when_it_is_renamed(tmp_path: Path, first: str) -> None:
    world = Costly(tmp_path, 1)
    await world.revised(bounded("B", first), bounded("X", "tokens: 300"))
    assert world.asked["V"] == 3
    await world.resumed()
    assert world.asked["V"] == 3 - 1


async def test_what_a_called_file_had_done_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").touch()
    inner = flowchart(custom("U"), custom("V", VOTES), "PROBLEM -->|input| U", "U -->|input| V", "V --> RETURN")
    (tmp_path / "inner.mmd").write_text(inner)

    def calling(name: str) -> Workflow:
        lines = [*box(name, "Loop (max: 1)", 'CALL@{op: Call, workflow: "./inner.mmd"}'), "PROBLEM --> CALL --> RETURN"]
        (tmp_path / "main.mmd").write_text(flowchart(*lines))
        return load(tmp_path / "main.mmd")

    world = World(tmp_path, 1, 2)
    await world.revised(calling("B"), calling("X"))
    assert world.asked == {"U": 1, "V": 4}
    result = await world.resumed()
    assert world.asked == {"V": 2}
    assert "X[1]/CALL" in result.nodes
