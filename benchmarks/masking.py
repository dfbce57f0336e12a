"""``python -m benchmarks.masking``: how often a plan succeeds whose results get lost, in real runs with a simulated model, beside
the probability in closed form.

The model does a task well exactly where all that it is given is good, and the reviser has each result made again that was
lost, up to some times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from merrow_analysis.definitions.settings import Refine
from merrow_optimizer.evaluation.statistics.intervals import wilson
from merrow_optimizer.revising.making import GraphChanges
from merrow_optimizer.revising.revision_answers import RevisionAnswer, RevisionChange
from merrow_runtime import RunOptions, start
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.revising.reviser import ProposedChanges, RevisionAsker
from merrow_runtime.running.masking import NOTHING_SAID, expected_success
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow, check_workflow

GOOD, BAD = "good", "bad"


class Tasks:
    """An endpoint that does well what stands on good results only."""

    origin = "http://simulated.invalid"

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        given = request.messages[-1].content
        return ModelReply(BAD if BAD in given or NOTHING_SAID in given else GOOD)

    async def close(self) -> None:
        """Nothing to close."""


class MakesAgain:
    """A reviser that has lost results made again, each up to ``times``."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.redone: Counter[str] = Counter()

    async def revise(
        self, view: Mapping[str, Any], workflow: Workflow, refine: Refine, asker: RevisionAsker
    ) -> ProposedChanges:
        """See `merrow_runtime.revising.reviser.Reviser`."""
        del workflow, refine, asker
        lost = [node["id"] for node in view["nodes"] if node.get("result") == NOTHING_SAID]
        again = [name for name in lost if self.redone[name] < self.times]
        self.redone.update(again)
        return GraphChanges(RevisionAnswer("lost", tuple(RevisionChange("redo", name) for name in again)))


def plan_of(count: int) -> Workflow:
    """A plan of some tasks, each of which needs the two before it, put together without a call."""
    lines = [
        "PROBLEM([Problem]):::Interface",
        "RETURN([Result]):::Interface",
        'END["Assemble (how: concat)"]:::AssembleOp',
    ]
    lines += [f'T{number}["Custom (prompt: task {number})"]:::CustomOp' for number in range(count)]
    for number in range(count):
        lines += [f"T{one} -->|input| T{number}" for one in range(max(0, number - 2), number)] or [
            "PROBLEM -->|input| T0"
        ]
    lines += [f"T{number} --> END" for number in range(count)]
    lines += ["PROBLEM -->|problem| END", "END --> RETURN"]
    return check_workflow("flowchart TD\n" + "".join(f"    {line}\n" for line in lines))


async def succeeds(workflow: Workflow, count: int, rate: float, times: int, seed: int) -> bool:
    """Whether one run ends well."""
    options = RunOptions(
        seed=seed,
        fresh=True,
        mask=rate,
        mask_only=[f"T{number}" for number in range(count)],
        mask_every=True,
        refine={"every": 1, "on": [], "max": 4 * count} if times else None,
    )
    run = start(
        workflow, {"problem": "x"}, options=options, endpoint=Tasks(), store=MemoryStore(), reviser=MakesAgain(times)
    )
    result = await run.result()
    if result.status != "finished":
        raise RuntimeError(result.error)
    said = str(result.outputs["RETURN"])
    return BAD not in said and NOTHING_SAID not in said


def measured(count: int, rate: float, times: int, runs: int) -> dict[str, Any]:
    """The share of runs that end well, its interval of 99.9 %, and the closed form."""
    workflow = plan_of(count)

    async def all_of_them() -> int:
        return sum([await succeeds(workflow, count, rate, times, seed) for seed in range(runs)])

    well = asyncio.run(all_of_them())
    interval = wilson(well, runs, 0.999)
    return {
        "tasks": count,
        "rate": rate,
        "redone": times,
        "runs": runs,
        "share": well / runs,
        "interval": [interval.lower, interval.upper],
        "closed form": expected_success(rate, count, times),
    }


def main() -> None:
    """Measure, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    found = [measured(count, rate, times, runs) for count in (3, 6) for rate in (0.1, 0.3) for times in (0, 1, 2)]
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
