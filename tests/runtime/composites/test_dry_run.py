"""What a dry run says of Loops and Maps: one turn, one item, and bounds that hold whatever is chosen."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest
from tests.runtime.composites.loops import box, custom, flow, ran, says
from tests.runtime.composites.test_loops import FIXED, RATE, RATED, refining
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.frontier.nested_workflows import nested_workflow

import merrow_runtime
from merrow_runtime import RunOptions, UsageFailure, Workflow, check_workflow, dry_run
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

SEEDS = 12


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
    assert times == {"PROBLEM": None, "PLAN": (3, 3), "PART": (6, 18), "JOIN": (3, 3), "RETURN": None}
    assert (forecast.calls.least, forecast.calls.most) == (12, 24)
    shown = forecast.to_json()
    assert [node.get("times") for node in shown["nodes"]][1:3] == [{"least": 3, "most": 3}, {"least": 6, "most": 18}]
    (asked,) = next(node.questions for node in forecast.nodes if node.node == "PART")
    assert asked.messages[-1].content == "<Text from PLAN.response>"


@pytest.mark.parametrize(
    ("around", "least"),
    [
        ("Loop (max: 2, on_error: skip)", 1),
        ("Map (on_error: default)", 2),
        ("Map (min: 2, on_error: skip)", 3 + 2 * 4),
        ("Loop (max: 2)", 2 + 4),
    ],
)
def test_a_box_that_lets_a_map_fall_short_need_not_run_to_its_end(around: str, least: int) -> None:
    """Nor does what follows from it."""
    inside = box("PARTS", "Map (min: 2)", custom("PART"))
    items = 'ITEMS["Custom (prompt: ITEMS, returns: list[Text])"]:::CustomOp'
    first, lead = ([items], ["PROBLEM -->|input| ITEMS", "ITEMS -->|each:input| PLAN"]) if "Map" in around else ([], [])
    workflow = flow(
        *first,
        box("BOX", around, 'PLAN["Custom (prompt: PLAN, returns: list[Text])"]:::CustomOp', *inside, custom("JOIN")),
        *(lead or ["PROBLEM -->|input| PLAN"]),
        "PLAN -->|each:input| PART",
        "PART -->|input| JOIN",
        custom("ASIDE"),
        "PROBLEM -->|input| ASIDE",
        "ASIDE -->|input| LAST",
        custom("LAST"),
        "JOIN -->|input| LAST",
        "LAST --> RETURN",
    )
    forecast = dry_run(workflow, endpoint=FakeEndpoint())
    assert forecast.calls.least == least


@pytest.mark.parametrize(
    ("whole", "decision", "least"),
    [("fail", "", 4), ("skip", "", 3), ("skip", ", on_error: fail", 4), ("fail", ", on_error: skip", 3)],
)
def test_a_decision_that_may_be_skipped_may_end_a_loop(whole: str, decision: str, least: int) -> None:
    """Its own `on_error` counts, or else that of the workflow. All other nodes fail the run."""
    stays = "on_error: fail"
    workflow = flow(
        custom("A", f"{stays}, returns: Bool"),
        box("L", "Loop (max: 2)", custom("V", stays)),
        f"D@{{op: Decision{decision}}}",
        custom("W", stays),
        "PROBLEM -->|input| A",
        "A --> D",
        "D -->|yes| W",
        "D -->|no| W",
        "PROBLEM -->|input| V & W",
        "V -.->|again:input| V",
        "V -->|input| W",
        "W --> RETURN",
        front=f"{{on_error: {whole}}}",
    )
    assert dry_run(workflow, endpoint=FakeEndpoint()).calls.least == least


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


BACK = ["B -.->|again:input| A", "B --> RETURN"]
OUT = ["B -->|value| C", "R -->|result:when| C", "C -->|yes| RETURN", "C -->|no:again:input| A", "B -->|over| RETURN"]
ASIDE = [
    "B -->|value| C",
    "R -->|result:when| C",
    "C -->|yes:input| D",
    "C -->|no:input| E",
    "D & E -.->|again:input| A",
    "B --> RETURN",
]


@pytest.mark.parametrize(
    ("title", "more", "edges", "times"),
    [
        ("Loop (max: 4)", "", BACK, (4, 4)),
        ("Loop (max: 4, until: R.result)", "", BACK, (1, 4)),
        ("Loop (max: 4, on_error: skip)", "", BACK, (1, 4)),
        ("Loop (max: 4)", "on_error: skip", BACK, (1, 4)),
        ("Loop (max: 4)", "on_error: default, default: none", BACK, (4, 4)),
        ("Loop (max: 4)", "", OUT, (1, 4)),
        ("Loop (max: 4)", "", ASIDE, (4, 4)),
        ("Loop (max: 4)", "", ["B --> RETURN"], (1, 1)),
    ],
)
def test_a_loop_that_nothing_can_end_takes_all_its_turns(
    title: str, more: str, edges: list[str], times: tuple[int, int]
) -> None:
    aside = [custom("D"), custom("E")] if edges is ASIDE else []
    decides = ["C{Good?}:::DecisionOp", *aside] if edges in (OUT, ASIDE) else []
    workflow = flow(
        box("L", title, custom("A", more), custom("B"), 'R["Review<br/>"]:::ReviewOp', *decides),
        "PROBLEM -->|input| A",
        "PROBLEM -->|problem| R",
        "A -->|input| B",
        "B -->|solution| R",
        *(
            []
            if decides or "until" in title
            else ["R -->|feedback:input| LAST", custom("LAST"), "LAST --> SIDE", "SIDE([S]):::Interface"]
        ),
        *edges,
    )
    found = next(node.times for node in dry_run(workflow, endpoint=FakeEndpoint()).nodes if node.node == "A")
    assert found is not None
    assert (found.least, found.most) == times


@pytest.mark.parametrize(
    ("workflow", "told"),
    [
        (refining("Loop (max: 4)"), (4, True, ["RETURN"], "last")),
        (
            flow(box("L", "Loop (max: 3, until: RATE.response >= 8)", custom("WRITE"), RATE), *RATED),
            (3, True, [], "last"),
        ),
        (
            flow(
                box("L", "Loop (max: 2, until: RATE.response >= 8, best: RATE.response)", custom("WRITE"), RATE), *RATED
            ),
            (2, True, [], "best"),
        ),
        (flow(box("L", "Loop (max: 3)", custom("WRITE")), *FIXED), (3, False, [], "last")),
    ],
    ids=["over", "without over", "best", "nothing else ends it"],
)
async def test_it_says_what_happens_when_turns_run_out(
    workflow: Workflow, told: tuple[int, bool, list[str], str]
) -> None:
    (loop,) = dry_run(workflow, endpoint=FakeEndpoint()).to_json()["loops"]
    assert (loop["turns"], loop["decides"], loop["over"], loop["result"]) == told
    assert ("at RETURN" in loop["text"], "best" in loop["text"]) == (bool(told[2]), told[3] == "best")
    # A run in which nothing ends the Loop does just that.
    done = await ran(workflow, says(JUDGE="bad", RATE=[7, 5], WRITE=["one", "two", "three", "four"]))
    assert (done.result.loops[0].turns, bool(done.result.exhausted)) == told[:2]
    drafts = ["one", "two", "three", "four"][: told[0]]
    assert done.result.outputs == {"RETURN": drafts[0] if told[3] == "best" else drafts[-1]}
