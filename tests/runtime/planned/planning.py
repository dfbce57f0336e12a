"""Runs of workflows that plan: what a model plans is given, and every other node says its prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.runtime.engine.fakes import Answer, FakeEndpoint, flowchart

import merrow_runtime
from merrow_runtime import RunOptions, RunResult
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow

PLAN = 'PLAN@{op: Custom, prompt: "plan it", returns: Workflow}'
ONCE = flowchart(
    PLAN, "WORK@{op: Call}", "PROBLEM -->|input| PLAN -->|workflow| WORK", "PROBLEM -->|problem| WORK", "WORK -->|result:| RETURN"
)  # fmt: skip
"""Plans, and runs the plan to its end."""

REFINES = flowchart(
    'subgraph REFINE["Loop (max: 6, until: WORK.done)"]', f"    {PLAN}", "    WORK@{op: Call, stop_after: 2}", "end",
    "PROBLEM -->|input| PLAN", "PROBLEM -->|problem| WORK", "PLAN -->|workflow| WORK", "WORK -->|again:state:input| PLAN",
    "WORK -->|result:| RETURN",
)  # fmt: skip
"""Plans, runs two nodes, and plans again with what is known then."""

DIAMOND = """flowchart TD
    PROBLEM([Problem]) --> A["do a"] --> B["do b"] --> J["join"] --> RETURN([Result])
    A --> C["do c"] --> J
    A --> D["do d"] --> J
"""


def planning(plans: Sequence[str], other: Answer | None = None) -> Answer:
    """Answers with the next of the plans where one is asked for, the last one again and again; at other nodes ``other`` does, or
    else each says what it is asked to do.
    """
    left = list(plans)

    def answer(request: ModelRequest) -> Any:
        asked = request.messages[0].content
        if asked.startswith("plan it"):
            return left.pop(0) if len(left) > 1 else left[0]
        return asked.split("\n")[0] + "!" if other is None else other(request)

    return answer


def run(
    text: str, answer: Answer, endpoint: FakeEndpoint | None = None, store: Store | None = None, **options: Any
) -> tuple[RunResult, FakeEndpoint]:
    """Run a workflow to its end; how that was, and what was asked."""
    endpoint = FakeEndpoint(answer) if endpoint is None else endpoint
    kept = MemoryStore() if store is None else store

    async def work() -> RunResult:
        begun = merrow_runtime.start(
            check_workflow(text), {"problem": "the task"}, endpoint=endpoint, store=kept, options=RunOptions(**options)
        )
        return await begun.result()

    return asyncio.run(work()), endpoint


def prompts(endpoint: FakeEndpoint) -> list[str]:
    """The first line of each question."""
    return [prompt.split("\n")[0] for prompt in endpoint.prompts]
