"""The schedulers that take turns at running the same graphs, with a model that is simulated in the process."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import merrow_runtime
from benchmarks.peer_process import PeerProcess, langgraph_installed
from benchmarks.runtime_floors import Before, Work, run_by_levels, run_eagerly
from benchmarks.runtime_shapes import Shape
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow, check_workflow

_USAGE = Usage(20, 10, 1, 0.0)


@dataclass(frozen=True)
class Time:
    """What one run took: seconds of CPU, and seconds by the clock."""

    cpu: float
    wall: float


class Scheduler(Protocol):
    """One that runs graphs. Loading and checking a graph is not part of the time."""

    name: str

    def run(self, shape: Shape, seconds: float) -> Time: ...

    def close(self) -> None: ...


class SimulatedModel:
    """An endpoint in this process: it waits, and answers another short text to each question, in any ``run``."""

    origin = "http://simulated.invalid"

    def __init__(self, seconds: float, run: int) -> None:
        self.calls = 0
        self._seconds = seconds
        self._run = run

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del request, on_text
        if self._seconds:
            await asyncio.sleep(self._seconds)
        self.calls += 1
        return ModelReply(f"This is answer {self.calls} in run {self._run}.", usage=_USAGE, model="simulated")

    async def close(self) -> None:
        return


async def timed(work: Callable[[], Awaitable[object]]) -> Time:
    """The time of some work; what was made before it is set aside from the garbage collector."""
    gc.collect()
    gc.freeze()
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    taken = Time(time.process_time() - cpu, time.perf_counter() - wall)
    gc.unfreeze()
    return taken


@dataclass
class Floor:
    """One of the schedulers of `benchmarks.runtime_floors`."""

    name: str
    runner: Callable[[Before, Work], Awaitable[dict[str, str]]]

    def run(self, shape: Shape, seconds: float) -> Time:
        async def work(name: str, given: list[str]) -> str:
            del given
            if seconds:
                await asyncio.sleep(seconds)
            return name

        return asyncio.run(timed(lambda: self.runner(shape.before, work)))

    def close(self) -> None:
        return


@dataclass
class Merrow:
    """Merrow with its journal in a file, every run with an input of its own: nothing comes from the cache."""

    folder: Path
    name: str = "merrow"
    loading: dict[str, float] = field(default_factory=dict)
    """Milliseconds of CPU for reading and checking each graph's text, by its name."""
    _workflows: dict[str, Workflow] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def run(self, shape: Shape, seconds: float) -> Time:
        workflow = self._workflow(shape)
        return asyncio.run(self._run(workflow, shape, seconds))

    def _workflow(self, shape: Shape) -> Workflow:
        if shape.name not in self._workflows:
            text, start = shape.text(), time.process_time()
            self._workflows[shape.name] = check_workflow(text, name=shape.name)
            self.loading[shape.name] = (time.process_time() - start) * 1000
        return self._workflows[shape.name]

    async def _run(self, workflow: Workflow, shape: Shape, seconds: float) -> Time:
        number = next(self._numbers)
        model = SimulatedModel(seconds, number)
        store = Store.open(self.folder / "runs.sqlite")
        options = merrow_runtime.RunOptions(concurrency=1000)
        results: list[merrow_runtime.RunResult] = []

        async def work() -> None:
            inputs = {"problem": f"Problem {number}"}
            results.append(await merrow_runtime.run(workflow, inputs, options=options, endpoint=model, store=store))

        try:
            taken = await timed(work)
        finally:
            store.close()
        if results[0].status != "finished" or model.calls != shape.nodes:
            raise SystemExit(f"{shape.name}: {results[0].status}, {model.calls} calls, {results[0].error}")
        return taken

    def close(self) -> None:
        return


class LangGraph:
    """LangGraph, with or without its SQLite checkpointer."""

    def __init__(self, checkpointer: bool) -> None:
        self.name = "langgraph, sqlite" if checkpointer else "langgraph"
        self._checkpointer = checkpointer
        self._process = PeerProcess("langgraph_peer.py")
        self.version = self._process.version

    def run(self, shape: Shape, seconds: float) -> Time:
        asked = {"before": shape.before, "seconds": seconds, "checkpointer": self._checkpointer}
        return Time(**self._process.ask(asked))

    def close(self) -> None:
        self._process.close()


def schedulers(folder: Path) -> list[Scheduler]:
    """All of them; those of LangGraph only where it is installed."""
    found: list[Scheduler] = [Floor("asyncio", run_eagerly), Floor("by levels", run_by_levels), Merrow(folder)]
    if langgraph_installed():
        found += [LangGraph(checkpointer=False), LangGraph(checkpointer=True)]
    return found
