"""What a dry run says of Loops and Maps: one turn, one item, and bounds that hold whatever is chosen."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest
from tests.examples import examples
from tests.runtime.composites.loops import box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.frontier.nested_workflows import nested_workflow

import merrow_runtime
from merrow_runtime import RunOptions, UsageFailure, check_workflow, dry_run
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

SEEDS = examples(48)


def test_calls_are_bounded_by_products_of_turns_and_items() -> None:
    workflow = flow(
        box(
            "TRIALS",
            "Loop (max: 3)",
            'PLAN["Custom (prompt: PLAN, returns: list[Text])"]:::CustomOp',
            *box("PARTS", "Map (max: 6, min: 2)", custom("PART")),
            *box("ONCE", "Loop ()", custom("JOIN")),
        ),
        "PROBLEM -->|input| PLAN",
        "PLAN -->|each:input| PART",
        "PART -->|input| JOIN",
        "JOIN -.->|again:input| PLAN",
        "JOIN --> RETURN",
    )
    forecast = dry_run(workflow, endpoint=FakeEndpoint())
    times = {node.node: node.times and (node.times.least, node.times.most) for node in forecast.nodes}
    assert times == {"PROBLEM": None, "PLAN": (1, 3), "PART": (2, 18), "JOIN": (1, 3), "RETURN": None}
    assert (forecast.calls.least, forecast.calls.most) == (4, 24)
    shown = forecast.to_json()
    assert [node.get("times") for node in shown["nodes"]][1:3] == [{"least": 1, "most": 3}, {"least": 2, "most": 18}]
    (asked,) = next(node.questions for node in forecast.nodes if node.node == "PART")
    assert asked.messages[-1].content == "<Text from PLAN.response>"


def _value(schema: dict[str, Any], chance: Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: _value(part, chance) for name, part in schema["properties"].items()}
        case "array":
            return [_value(schema["items"], chance) for _ in range(chance.choice([0, 1, 2, 2, 3]))]
        case "boolean":
            return chance.random() < 0.5
        case "number" | "integer":
            return chance.randrange(9)
    return f"text {chance.randrange(1000)}"


@pytest.mark.parametrize("part", range(4))
def test_no_run_makes_more_calls_or_fewer(part: int) -> None:
    """And none of these workflows, run by its real operators, meets a value that is missing."""
    ran = 0
    for seed in range(part, SEEDS * 2, 4):
        try:
            # At a temperature above 0 equal questions are asked one by one.
            text = nested_workflow(seed).replace("model: m", "model: m\n  temperature: 0.5")
            workflow = check_workflow(text)
        except UsageFailure:
            continue
        forecast = dry_run(workflow, endpoint=FakeEndpoint())
        chance = Random(seed)

        def answer(request: ModelRequest, chance: Random = chance) -> str:
            if request.schema is not None:
                return json.dumps(_value(dict(request.schema.schema), chance))
            return f"text {chance.randrange(1000)}"

        result = asyncio.run(
            merrow_runtime.run(
                workflow,
                {"problem": "x"},
                endpoint=FakeEndpoint(answer),
                store=MemoryStore(),
                options=RunOptions(fresh=True),
            )
        )
        made = result.usage.calls
        assert forecast.calls.most is not None
        assert made <= forecast.calls.most, text
        if result.status == "finished":
            ran += 1
            assert forecast.calls.least <= made, text
            continue
        assert result.error is not None
        assert not any(word in result.error for word in ("arrived at", "internal", "must be")), (
            result.error,
            text,
        )
    assert ran
