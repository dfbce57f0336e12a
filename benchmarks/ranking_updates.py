"""``python -m benchmarks.ranking_updates``: what the rules for several answers of a reviser come to, in real runs with a model
whose changes are drawn at random: calls, results made again, and the shape of the workflow at the end.

Each run begins with eight tasks, each after one or two earlier ones, and is updated at most three times, after every two
finished nodes. The answers that can't be used are sent back and drawn again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from random import Random
from statistics import fmean
from typing import Any

from merrow_analysis.graph.measures.measures import measure
from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, start
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.revising.difference import is_task
from merrow_runtime.revising.revision_requests import snapshot_at
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow, check_workflow, restore

TASKS = 8
WAYS: Mapping[str, Mapping[str, Any]] = {
    "one answer": {"candidates": 1},
    "kept, three answers": {"candidates": 3, "rank": "kept"},
    "paper, three answers": {"candidates": 3, "rank": "paper"},
}


class DrawnAnswers:
    """An endpoint that does each task, counting them, and draws the changes of each question to the reviser."""

    origin = "http://simulated.invalid"

    def __init__(self, random: Random) -> None:
        self.random, self.calls, self.new = random, 0, 0

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        if request.schema is None or request.schema.name != "merrow_revision":
            self.calls += 1
            return ModelReply(f"result {self.calls}")
        return ModelReply(json.dumps({"reason": "drawn", "changes": [self._change() for _ in range(2)]}))

    def _change(self) -> dict[str, Any]:
        draw = self.random
        one, other = (f"T{number}" for number in sorted(draw.sample(range(TASKS), 2)))
        self.new += 1
        parts = [{"id": f"N{self.new}_{part}", "objective": f"part {part} of {self.new}"} for part in range(2)]
        return draw.choice(
            [
                {"do": "edit", "id": other, "objective": f"do it as {self.new}"},
                {"do": "add", "id": f"N{self.new}", "objective": f"new {self.new}", "after": [one], "before": [other]},
                {"do": "split", "id": other, "into": parts},
                {"do": "link", "from": one, "to": other},
                {"do": "remove", "id": other},
            ]
        )

    async def close(self) -> None:
        """Nothing to close."""


def drawn_workflow(random: Random) -> Workflow:
    """Eight tasks, each after one or two earlier ones, put together without a call."""
    lines = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface"]
    lines += ['END["Assemble (how: concat)"]:::AssembleOp', "PROBLEM -->|problem| END", "END --> RETURN"]
    for number in range(TASKS):
        lines.append(f'T{number}["Custom (prompt: task {number})"]:::CustomOp')
        before = random.sample(range(number), min(number, random.randint(1, 2)))
        lines += [f"T{one} -->|input| T{number}" for one in sorted(before)] or [f"PROBLEM -->|input| T{number}"]
        lines.append(f"T{number} --> END")
    return check_workflow("flowchart TD\n" + "".join(f"    {line}\n" for line in lines))


async def one_run(way: Mapping[str, Any], seed: int) -> dict[str, float]:
    """The figures of one run."""
    random = Random(seed)  # noqa: S311 (a simulation)
    workflow, endpoint, store = drawn_workflow(random), DrawnAnswers(random), MemoryStore()
    refine = {"every": 2, "max": 3, "on": [], **way}
    run = start(
        workflow, {"problem": "x"}, options=RunOptions(refine=refine, fresh=True), endpoint=endpoint,
        store=store, run_id="r", reviser=ModelReviser(),
    )  # fmt: skip
    result = await run.result()
    if result.status != "finished":
        raise RuntimeError(result.error)
    graph = restore(json.loads(snapshot_at(store, "r"))).graph
    tasks = [node.id for node in graph.nodes if is_task(node)]
    edges = [(edge.record.source, name) for name in tasks for edge in graph.by_id[name].incoming]
    shape = measure(tasks, [edge for edge in edges if edge[0] in tasks])
    return {
        "applied": sum(one.state == "applied" for one in store.revisions("r")),
        "task calls": endpoint.calls,
        "made again or dropped": endpoint.calls - len(tasks),
        "tasks": len(tasks),
        "steps": shape.depth or 0,
        "parallelism": shape.p_avg or 0,
        "complexity": shape.c_dependency or 0,
    }


async def measured(runs: int) -> dict[str, dict[str, float]]:
    """The mean of each figure over the same seeds, by rule."""
    found: dict[str, dict[str, float]] = {}
    for name, way in WAYS.items():
        each = [await one_run(way, seed) for seed in range(runs)]
        found[name] = {key: round(fmean(one[key] for one in each), 2) for key in each[0]}
    return found


def main() -> None:
    """Measure, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    print(json.dumps(asyncio.run(measured(parser.parse_args().runs)), indent=2))


if __name__ == "__main__":
    main()
