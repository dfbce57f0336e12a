"""Processes killed at random points of a run: no finished call is lost, none is made again on resume."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import sys
from collections.abc import Callable
from itertools import count
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.sizes import sized

import merrow_runtime
from merrow_runtime import RunResult
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store

KILLS = sized(8, 24)
LENGTH = 30

NODES = [f'{name}{n}@{{op: Custom, prompt: "{name}{n}"}}' for n in range(LENGTH) for name in "AB"]
EDGES = [" --> ".join(["PROBLEM", *(f"{name}{n}" for n in range(LENGTH)), "END"]) for name in "AB"]
FLOW = (*NODES, *EDGES, 'END@{op: Custom, prompt: "END"}', "END --> RETURN")


def _logging(log: Path, told: Callable[[int], None] = lambda _: None) -> FakeEndpoint:
    """An endpoint that writes down what it is asked before it answers, and tells how often it was."""

    number = count(1)

    def answer(request: ModelRequest) -> str:
        prompt = request.messages[0].content.split("\n")[0]
        with log.open("a") as file:
            file.write(prompt + "\n")
        told(next(number))
        return f"{prompt}!"

    return FakeEndpoint(answer)


def _work(path: Path, log: Path, calls: int, reached: Event) -> None:
    """Run the workflow, and say when so many calls were made."""

    def told(number: int) -> None:
        if number == calls:
            reached.set()

    async def work() -> None:
        store = Store.open(path)
        await merrow_runtime.run(workflow(*FLOW), {"problem": "x"}, endpoint=_logging(log, told), store=store)
        store.close()

    asyncio.run(work())


def _resumed(path: Path, endpoint: FakeEndpoint) -> tuple[set[str], RunResult]:
    """The calls that the journal had, and how the run ended when it was gone on with."""

    async def work() -> tuple[set[str], RunResult]:
        store = Store.open(path)
        run = store.runs()[0]
        finished = {call.key.node for call in store.calls(run.id)}
        result = await merrow_runtime.resume(run.id, endpoint=endpoint, store=store).result()
        store.close()
        return finished, result

    return asyncio.run(work())


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_a_run_that_is_killed_at_any_point_goes_on_where_it_was(tmp_path: Path) -> None:
    forks = multiprocessing.get_context("fork")
    chance = random.Random(7)
    points: set[int] = set()
    for number in range(KILLS):
        path, log = tmp_path / f"{number}.sqlite", tmp_path / f"{number}.log"
        reached = forks.Event()
        process = forks.Process(target=_work, args=(path, log, chance.randint(1, 2 * LENGTH), reached))
        process.start()
        assert reached.wait(PATIENCE)
        process.join(chance.uniform(0.0, 0.003))
        process.kill()
        process.join()
        asked = log.read_text().split()
        again = tmp_path / f"{number}.again.log"
        finished, result = _resumed(path, _logging(again))
        points.add(len(finished))
        # Whatever a later call was made of is in the journal: of each branch at most the last call is missing.
        for name in "AB":
            branch = [prompt for prompt in asked if prompt.startswith(name)]
            assert set(branch[:-1]) <= finished
        assert result.status == "finished", result.error
        made = again.read_text().split() if again.exists() else []
        assert finished.isdisjoint(made)
        assert len(made) == len(set(made))
        assert finished | set(made) == {f"{name}{n}" for n in range(LENGTH) for name in "AB"} | {"END"}
        assert result.outputs == {"RETURN": "END!"}
    assert len(points) > 1, "all were killed at the same point"
