"""``python -m benchmarks.revising_peers``: a plan that is changed while it is carried out, by Merrow, by LangGraph's example of
plan-and-execute, and by the rule of Flow's scheduler, all with the same scripted plan, tasks and change.

LangGraph is run in an environment of its own, where it is installed. Flow's program can't be installed, so its rule is written
here after its description.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from statistics import median
from typing import Any

from benchmarks.peer_process import INSTALL, PeerProcess, langgraph_installed
from benchmarks.revising import Scripted, plans
from merrow_optimizer.revising.revision_answers import RevisionChange
from merrow_runtime import RunOptions, start
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow

TASK, THOUGHT, POLL = 0.05, 0.25, 0.1
"""Seconds of a task and of a look at the plan; seconds between Flow's looks for tasks that can begin."""
PLANS = ("chain of 6", "1, then 6, then 1", "3 chains of 4, joined", "6 layers of 4")
EDITED = "N1"
"""The task whose words the look changes. It has finished by then; made again, its result is the same or another one."""
Parents = Mapping[str, tuple[str, ...]]


class Tasks:
    """Carries a task out in some time, and counts."""

    origin = "http://benchmark.test"

    def __init__(self, *, same: bool) -> None:
        self.calls, self.same = 0, same

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        self.calls += 1
        await asyncio.sleep(TASK)
        told = request.messages[0].content.split("\n")[0]
        return ModelReply(
            told.replace("better", "work") if self.same else f"{told}{hash(request.messages[-1].content)}"
        )

    async def close(self) -> None:
        """Nothing to close."""


def parents_of(workflow: Workflow) -> Parents:
    """The tasks that each task waits for."""
    nodes = [node for node in workflow.graph.nodes if node.kind == "operator"]
    return {
        node.id: tuple(edge.source.id for edge in node.incoming if edge.source.kind == "operator") for node in nodes
    }


def look_after(workflow: Workflow) -> int:
    """The plan is looked at once, after this many tasks have finished: half of them."""
    return len(parents_of(workflow)) // 2


async def merrow(workflow: Workflow, *, same: bool, strategy: str = "wait") -> int:
    """The calls that Merrow makes, the look's one among them."""
    tasks = Tasks(same=same)
    change = RevisionChange("edit", EDITED, objective=f"better {EDITED.removeprefix('N')}.")
    refine = {"every": look_after(workflow), "max": 1, "on": [], "strategy": strategy}
    options = RunOptions(fresh=True, refine=refine)
    run = start(
        workflow, {"problem": "x"}, endpoint=tasks, store=MemoryStore(), options=options,
        reviser=Scripted(change, THOUGHT),
    )  # fmt: skip
    result = await run.result()
    if result.status != "finished":
        raise RuntimeError(result.error)
    return tasks.calls + 1


async def flow(workflow: Workflow, *, same: bool) -> int:
    """Flow's rule: tasks are looked for every 0.1 s; at a look nothing starts and what runs is waited for; what is changed, and
    all that follows from it, is made again, whatever comes out.
    """
    del same
    parents = parents_of(workflow)
    done: set[str] = set()
    running: dict[str, asyncio.Task[None]] = {}
    calls, since, looked = 0, 0, False
    while len(done) < len(parents):
        for name in [name for name, task in running.items() if task.done()]:
            del running[name]
            done.add(name)
            since += 1
        if since >= look_after(workflow) and not looked:
            if not running:
                looked = True
                calls += 1
                await asyncio.sleep(THOUGHT)
                done.discard(EDITED)
                while lost := {name for name in done if not set(parents[name]) <= done}:
                    done -= lost
                continue
        else:
            for name, before in parents.items():
                if name not in done and name not in running and set(before) <= done:
                    calls += 1
                    running[name] = asyncio.create_task(asyncio.sleep(TASK))
        await asyncio.sleep(POLL)
    return calls


def plan_and_execute(peer: PeerProcess, workflow: Workflow) -> tuple[int, float]:
    """LangGraph's example: one task after the other, and a look at the plan after each; what is finished stays, so that the
    changed task comes once more as a step of its own. Its calls, and its seconds.
    """
    told = peer.ask(
        {
            "tasks": [
                workflow.graph.node(each).id
                for each in workflow.graph.order
                if workflow.graph.node(each).kind == "operator"
            ],
            "changed": EDITED,
            "look_after": look_after(workflow),
            "task_s": TASK,
            "thought_s": THOUGHT,
        }
    )
    return int(told["calls"]), told["wall"]


def timed(contender: Callable[..., Coroutine[Any, Any, int]], workflow: Workflow, *, same: bool) -> tuple[int, float]:
    """The calls and the seconds of a contender that runs in this process."""
    began = time.perf_counter()
    calls = asyncio.run(contender(workflow, same=same))
    return calls, time.perf_counter() - began


def measured(
    name: str, workflow: Workflow, *, same: bool, rounds: int, peer: PeerProcess | None
) -> list[dict[str, Any]]:
    """The calls and the seconds of each contender, also as multiples of those of Merrow where it waits for the look."""
    rows: list[dict[str, Any]] = []
    contenders: dict[str, Callable[[], tuple[int, float]]] = {
        "merrow, wait": lambda: timed(merrow, workflow, same=same),
        "merrow, overlap": lambda: timed(partial(merrow, strategy="overlap"), workflow, same=same),
        "flow's rule": lambda: timed(flow, workflow, same=same),
    }
    if peer is not None:
        contenders[f"langgraph {peer.version}, plan and execute"] = lambda: plan_and_execute(peer, workflow)
    for who, contender in contenders.items():
        times: list[float] = []
        calls = 0
        for _ in range(rounds):
            calls, seconds = contender()
            times.append(seconds)
        rows.append({"plan": name, "result": "same" if same else "other", "who": who, "calls": calls})
        rows[-1]["seconds"] = round(median(times), 2)
    for row in rows:
        row["calls, times"] = round(row["calls"] / rows[0]["calls"], 2)
        row["seconds, times"] = round(row["seconds"] / rows[0]["seconds"], 2)
    return rows


def main() -> None:
    """Measure, and print it as JSON, a row a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    known = plans()
    peer = PeerProcess("plan_and_execute_peer.py") if langgraph_installed() else None
    if peer is None:
        print(f"LangGraph is not installed and left out; this installs it: {INSTALL}", file=sys.stderr)
    for name in PLANS:
        for same in (True, False):
            for row in measured(name, known[name], same=same, rounds=rounds, peer=peer):
                print(json.dumps(row), flush=True)
    if peer is not None:
        peer.close()


if __name__ == "__main__":
    main()
