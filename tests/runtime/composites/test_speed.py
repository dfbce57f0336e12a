"""What turns and items cost beside their calls: no more than as many nodes do, and twice as much for twice as many."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.growth.steps import steps
from tests.runtime.composites.loops import box, custom, flow

import merrow_runtime
from merrow_runtime import RunOptions, Workflow
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore

MANY = 800


class AtOnce:
    """Answers at once; LIST with so many items."""

    origin = "http://fake.test"

    def __init__(self, items: int) -> None:
        self.items = [f"item {number}" for number in range(items)]
        self.asked = 0

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del on_text
        self.asked += 1
        return ModelReply("ok" if request.schema is None else json.dumps({"response": self.items}))

    async def close(self) -> None:
        """Nothing to do."""


def plain(count: int) -> Workflow:
    return flow(
        *(custom(f"W{number}") for number in range(count)),
        *(f"PROBLEM -->|input| W{number}" for number in range(count)),
        *(f"W{number} -->|input| ALL" for number in range(count)),
        custom("ALL"),
        "ALL --> RETURN",
    )


def items(count: int) -> Workflow:
    return flow(
        'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp',
        box("M", f"Map (max: {count})", custom("WORK")),
        custom("ALL"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| WORK",
        "WORK -->|input| ALL",
        "ALL --> RETURN",
    )


def turns(count: int) -> Workflow:
    return flow(
        box("L", f"Loop (max: {count})", custom("WORK")),
        "PROBLEM -->|first:input| WORK",
        "WORK -.->|again:input| WORK",
        "WORK --> RETURN",
    )


def counted(workflow: Workflow, count: int) -> int:
    """The steps of a run, which are the same on each machine."""
    endpoint = AtOnce(count)

    def whole() -> None:
        options = RunOptions(fresh=True)
        running = merrow_runtime.run(
            workflow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=options
        )
        result = asyncio.run(running)
        assert result.status == "finished", result.error

    found = steps(whole)
    assert endpoint.asked >= count
    return found


@pytest.mark.slow
def test_items_and_turns_cost_no_more_than_nodes() -> None:
    nodes = counted(plain(MANY), MANY)
    assert counted(items(MANY), MANY) < nodes
    assert counted(turns(MANY), MANY) < nodes


@pytest.mark.slow
def test_four_times_as_many_items_and_turns_take_four_times_as_long() -> None:
    for made in (items, turns):
        assert counted(made(MANY), MANY) < 4 * 1.1 * counted(made(MANY // 4), MANY // 4)
