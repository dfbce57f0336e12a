"""``python -m benchmarks.revising``: what it costs that the graph of a run may change, beside the same run without."""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from merrow_analysis.definitions.settings import Refine
from merrow_optimizer.revising.making import GraphChanges
from merrow_optimizer.revising.model import question
from merrow_optimizer.revising.revision_answers import RevisionAnswer, RevisionChange
from merrow_runtime import RunOptions, Store, start
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.revising.reviser import ProposedChanges, RevisionAsker
from merrow_runtime.revising.view import view_of
from merrow_runtime.running.run import Run
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow, check_workflow, restore


class Endpoint:
    """Answers after some seconds; from question ``hold`` on not at all, until it is let go."""

    origin = "http://benchmark.test"

    def __init__(self, seconds: float = 0.0, hold: int | None = None) -> None:
        self.seconds, self.hold, self.asked = seconds, hold, 0
        self.held = asyncio.Event()
        self.go = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        self.asked += 1
        if self.hold is not None and self.asked > self.hold:
            self.held.set()
            await self.go.wait()
        await asyncio.sleep(self.seconds)
        return ModelReply(request.messages[0].content.split("\n")[0][:40])

    async def close(self) -> None:
        """Nothing to close."""


class Scripted:
    """A reviser that thinks for some seconds and then wants one thing."""

    def __init__(self, change: RevisionChange | None, seconds: float = 0.0) -> None:
        self.change, self.seconds = change, seconds

    async def revise(
        self, view: Mapping[str, Any], workflow: Workflow, refine: Refine, asker: RevisionAsker
    ) -> ProposedChanges:
        """See `merrow_runtime.revising.reviser.Reviser`."""
        del view, workflow, refine, asker
        await asyncio.sleep(self.seconds)
        return GraphChanges(RevisionAnswer("", () if self.change is None else (self.change,)))


def layered(count: int, width: int = 10) -> Workflow:
    """A workflow of layers, each node reading two of the layer before."""
    lines = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface"]
    links: list[str] = []
    for number in range(count):
        lines.append(f'N{number}["Custom (prompt: work {number})"]:::CustomOp')
        layer, place = divmod(number, width)
        before = [(layer - 1) * width + place, (layer - 1) * width + (place + 1) % width] if layer else []
        links += [f"N{one} -->|input| N{number}" for one in before] or [f"PROBLEM -->|input| N{number}"]
    lines.append('END["Assemble"]:::AssembleOp')
    links += [f"N{number} --> END" for number in range(count - width, count)]
    links += ["PROBLEM -->|problem| END", "END --> RETURN"]
    return check_workflow("flowchart TD\n" + "".join(f"    {line}\n" for line in [*lines, *links]))


async def ran(workflow: Workflow, endpoint: Endpoint, store: Store, **options: Any) -> tuple[float, float]:
    """The seconds of CPU and of the clock that a run takes."""
    reviser = options.pop("reviser", None)
    cpu, wall = time.process_time(), time.perf_counter()
    run = start(
        workflow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(**options), reviser=reviser
    )
    result = await run.result()
    if result.status != "finished":
        raise RuntimeError(result.error)
    return time.process_time() - cpu, time.perf_counter() - wall


def never_triggered(rounds: int, folder: Path) -> dict[str, float]:
    """Microseconds of CPU for a node, without refinement and with one that never looks."""
    workflow = layered(200)
    found: dict[str, list[float]] = {"off": [], "on": []}
    for number in range(rounds + 1):
        for name, refine in (("off", None), ("on", {"every": 0, "on": []})):
            with closing(Store.open(folder / f"{name}{number}.sqlite")) as store:
                options: dict[str, Any] = {"fresh": True, "refine": refine, "reviser": Scripted(None)}
                cpu, _ = asyncio.run(ran(workflow, Endpoint(), store, **options))
            if number:
                found[name].append(cpu / 201 * 1e6)
    return {name: min(times) for name, times in found.items()}


async def applied(count: int, store: Store) -> float:
    """Milliseconds of CPU in which a revision is checked, compared and applied, half of the nodes finished."""
    workflow = layered(count)
    endpoint = Endpoint(hold=count // 2)
    run = start(
        workflow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(fresh=True, concurrency=10)
    )
    await endpoint.held.wait()
    await asyncio.sleep(0.2)
    text = workflow.text.replace(f"work {count - 1})", "better)")
    cpu = time.process_time()
    record = await run.revise(check_workflow(text))
    spent = time.process_time() - cpu
    if record.state != "applied":
        raise RuntimeError(record.reason)
    await _end(run)
    return spent * 1e3


async def _end(run: Run) -> None:
    run.cancel()
    await run.result()


def strategies(store: Store) -> dict[str, float]:
    """Seconds of a run of 40 nodes, 100 ms each, with a reviser that thinks for half a second, by its strategy."""
    found: dict[str, float] = {}
    workflow = layered(40, 4)
    for name in ("none", "overlap", "wait"):
        refine = None if name == "none" else {"every": 8, "max": 1, "strategy": name}
        options: dict[str, Any] = {"fresh": True, "refine": refine, "reviser": Scripted(None, 0.5)}
        found[name] = asyncio.run(ran(workflow, Endpoint(0.1), store, **options))[1]
    return found


def asked() -> dict[str, float]:
    """The question at 200 nodes with results of 100 kB: its tokens, and the milliseconds of CPU that it takes."""
    workflow = layered(200)
    nodes = [node.id for node in workflow.graph.nodes if node.kind == "operator"]
    records = {name: NodeRecord(name, "finished", "k", {"response": "word \n" * 17_000}) for name in nodes}
    standing = dict.fromkeys(nodes, "finished")
    times: list[float] = []
    text = ""
    for _ in range(5):
        cpu = time.process_time()
        view = view_of(workflow, {"PROBLEM": "x" * 10_000}, standing, records, nodes[:5], "every", 8000)
        text = question(json.loads(json.dumps(view, ensure_ascii=False)))[1].content
        times.append(time.process_time() - cpu)
    return {"tokens": estimate_tokens(text), "ms": min(times) * 1e3}


def plans() -> dict[str, Workflow]:
    """Ten plans of up to 24 tasks: chains, layers, trees, and some drawn at random, by what each one is."""
    found = {
        "chain of 6": [(one - 1, one) for one in range(1, 6)],
        "chain of 12": [(one - 1, one) for one in range(1, 12)],
        "6 side by side, then 1": [(one, 6) for one in range(6)],
        "1, then 6, then 1": [(0, one) for one in range(1, 7)] + [(one, 7) for one in range(1, 7)],
        "tree of 15, leaves first": [(2 * one + more, one) for one in range(7) for more in (1, 2)],
        "3 chains of 4, joined": [(4 * one + at - 1, 4 * one + at) for one in range(3) for at in (1, 2, 3)]
        + [(4 * one + 3, 12) for one in range(3)],
        "6 layers of 4": [
            (4 * layer + at, 4 * layer + 4 + (at + more) % 4)
            for layer in range(5)
            for at in range(4)
            for more in (0, 1)
        ],
    }
    for seed in (1, 2, 3):
        draw = Random(seed)  # noqa: S311 (plans to measure with)
        count = 8 + 4 * seed
        found[f"{count} at random"] = [
            (before, one)
            for one in range(1, count)
            for before in sorted(draw.sample(range(one), min(one, draw.randint(1, 2))))
        ]
    return {name: _plan(links) for name, links in found.items()}


def _plan(links: list[tuple[int, int]]) -> Workflow:
    count = 1 + max(max(link) for link in links)
    sources = set(range(count)) - {after for _, after in links}
    sinks = set(range(count)) - {before for before, _ in links}
    lines = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", 'END["Assemble"]:::AssembleOp']
    lines += [f'N{one}["Custom (prompt: work {one}.)"]:::CustomOp' for one in range(count)]
    lines += [f"N{before} -->|input| N{after}" for before, after in links]
    lines += [f"PROBLEM -->|input| N{one}" for one in sorted(sources)] + [f"N{one} --> END" for one in sorted(sinks)]
    lines += ["PROBLEM -->|problem| END", "END --> RETURN"]
    return check_workflow("flowchart TD\n" + "".join(f"    {line}\n" for line in lines))


def _depths(workflow: Workflow) -> dict[str, int]:
    """How many tasks lie on the longest way to each, by id; 1 for those that come first."""
    depths: dict[str, int] = {}
    for node in (workflow.graph.node(handle) for handle in workflow.graph.order):
        if node.kind == "operator" and node.id != "END":
            depths[node.id] = 1 + max((depths.get(edge.source.id, 0) for edge in node.incoming), default=0)
    return depths


def _behind(workflow: Workflow, name: str) -> set[str]:
    """A node and all that follow from it."""
    found, waiting = {name}, [name]
    for one in waiting:
        for edge in workflow.graph.by_id[one].outgoing:
            if edge.target.kind == "operator" and edge.target.id not in found:
                found.add(edge.target.id)
                waiting.append(edge.target.id)
    return found


class Answers:
    """Does each task; what it gives is the same as before where the edit was only of words, else another text."""

    origin = "http://benchmark.test"

    def __init__(self) -> None:
        self.answered = 0
        self.revised = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        if not request.messages[0].content.startswith(("work ", "better ")):
            await self.revised.wait()  # What puts all together is not finished by then.
        else:
            self.answered += 1
        told = request.messages[0].content.split("\n")[0].replace(" Briefly.", "")
        given = hashlib.sha256(request.messages[-1].content.encode()).hexdigest()[:8]
        return ModelReply(f"{told} {given}")

    async def close(self) -> None:
        """Nothing to close."""


async def _made_again(workflow: Workflow, edited: Workflow) -> int:
    """How many calls a run makes that continues as another workflow once all tasks are done."""
    endpoint, store = Answers(), MemoryStore()
    run = start(workflow, {"problem": "x"}, endpoint=endpoint, store=store, options=RunOptions(fresh=True), run_id="r")
    tasks = len(_depths(workflow))
    done = 0
    async for event in run.events():
        done += event.event == "node_finished" and event.node not in ("PROBLEM", "END", "RETURN")
        if done == tasks and not endpoint.revised.is_set():
            state = (await run.revise(edited)).state
            if state != "applied":
                raise RuntimeError(state)
            endpoint.revised.set()
    await run.result()
    return endpoint.answered - tasks + 1


def saved() -> list[dict[str, Any]]:
    """For an edit of one task at each depth of ten plans, made once all tasks are done: how many calls are made again by Merrow,
    where the task's result becomes another one (``other``) and where it comes out as it was (``same``), by resetting all that
    follows, and by starting over. Means over the depths; the last call, which puts all together, counts in each.
    """
    rows: list[dict[str, Any]] = []
    for name, workflow in plans().items():
        first: dict[int, str] = {}
        for task, depth in _depths(workflow).items():
            first.setdefault(depth, task)
        again: dict[str, list[int]] = {"other": [], "same": [], "reset": [], "over": []}
        for task in first.values():
            number = task.removeprefix("N")
            for kind, words in (("other", f"better {number}."), ("same", f"work {number}. Briefly.")):
                text = workflow.text.replace(f"work {number}.", words)
                edited = restore({**workflow.snapshot(), "text": text})
                again[kind].append(asyncio.run(_made_again(workflow, edited)))
            again["reset"].append(len(_behind(workflow, task)))
            again["over"].append(len(_depths(workflow)) + 1)
        means = {kind: round(sum(counts) / len(counts), 1) for kind, counts in again.items()}
        rows.append({"plan": name, "tasks": len(_depths(workflow)), "depths": len(first), **means})
    return rows


def main() -> None:
    """Measure all of it, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    gc.set_threshold(200_000, 20, 100)  # as the commands do
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: dict[str, Any] = {"never triggered, microseconds for a node": never_triggered(rounds, folder)}
        for count in (200, 1000):
            times: list[float] = []
            for number in range(rounds):
                with closing(Store.open(folder / f"a{count}{number}.sqlite")) as store:
                    times.append(asyncio.run(applied(count, store)))
            figures[f"applied at {count} nodes, ms of CPU"] = {"quickest": min(times), "middle": median(times)}
        with closing(Store.open(folder / "s.sqlite")) as store:
            figures["strategies, seconds"] = strategies(store)
        figures["question"] = asked()
        figures["calls made again"] = saved()
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
