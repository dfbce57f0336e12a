"""A model that changes a workflow while it runs never has a person asked twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.runtime.composites.loops import box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.people.asking import MOOD, person

import merrow_runtime
from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, Workflow
from merrow_runtime.people.answering import answer
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

ROW = flow(
    custom("A"), custom("BESIDE"), custom("MORE"), person("ASK"), custom("C"),
    "PROBLEM --> A --> ASK --> C --> RETURN", "PROBLEM --> BESIDE --> MORE --> C",
)  # fmt: skip
LOOP = flow(
    box("L", "Loop (max: 4)", custom("WRITE"), person("LOOK", "returns: Mood"), "D{which?}:::DecisionOp", custom("FIX")),
    "PROBLEM -->|input| WRITE",
    "WRITE -->|input| LOOK",
    "LOOK -->|when| D",
    "WRITE -->|value| D",
    "D -->|bad:input| FIX",
    "FIX -->|again:input| WRITE",
    "D -->|good| RETURN",
    "WRITE -->|over| RETURN",
    front=MOOD,
)  # fmt: skip


def edit(name: str, text: str = "do it well") -> dict[str, Any]:
    return {"do": "edit", "id": name, "objective": text}


class Revised:
    """A run that a model revises after each node: it wants ``change`` once, as soon as ``when`` has begun."""

    def __init__(self, workflow: Workflow, when: str, change: Mapping[str, Any]) -> None:
        self.workflow, self.when, self.change = workflow, when, change
        self.store, self.endpoint = MemoryStore(), FakeEndpoint(self.said)
        self.is_begun = self.is_said = False

    def said(self, request: ModelRequest) -> str:
        first = request.messages[0].content
        if not first.startswith("You look after"):
            return first.split("\n")[0]
        view = json.loads(self.store.revisions("r")[-1].view)

        begun = {node["id"] for node in view["nodes"] if "result" in node or node["status"] != "waiting"}
        if self.is_said or self.when not in begun:
            return "{}"
        self.is_said = True
        return json.dumps({"reason": "better so", "changes": [self.change]})

    def go_on(self) -> merrow_runtime.RunResult:
        async def whole() -> merrow_runtime.RunResult:
            given: dict[str, Any] = {"endpoint": self.endpoint, "store": self.store, "reviser": ModelReviser()}
            options = RunOptions(refine={"every": 1, "max": 9, "strategy": "wait"})
            if self.is_begun:
                return await merrow_runtime.resume("r", options=options, **given).result()
            self.is_begun = True
            started = merrow_runtime.start(self.workflow, {"problem": "x"}, options=options, run_id="r", **given)
            return await started.result()

        return asyncio.run(whole())

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(one.state, one.reason) for one in self.store.revisions("r") if one.state != "unchanged"]


AGAIN = "would be asked again, since {} would change before it: only a person has another person asked twice."


@pytest.mark.parametrize(
    ("when", "change", "said"),
    [
        ("ASK", edit("A"), f"ASK has run, or is at work, and {AGAIN.format('A')}"),
        ("ASK", {"do": "redo", "id": "A"}, AGAIN.format("A")),
        ("ASK", {"do": "rename", "id": "A", "to": "FIRST"}, None),
        ("ASK", {"do": "add", "id": "NEW", "objective": "x", "before": ["A"]}, AGAIN.format("A")),
        ("ASK", edit("BESIDE"), None),
        ("ASK", edit("C"), None),
        ("A", edit("A"), None),
    ],
)
def test_what_is_before_a_question_stays_once_it_was_put(
    when: str, change: Mapping[str, Any], said: str | None
) -> None:
    run = Revised(ROW, when, change)
    assert run.go_on().status == "waiting"
    ((state, reason),) = set(run.outcomes)
    assert state == ("applied" if said is None else "refused"), reason
    assert said is None or said in reason
    assert [ask.state for ask in run.store.asks("r")] == ["asked"], "only one question was ever put"
    answer(run.store, "r", "ASK", "yes", "ann")
    assert run.go_on().status == "finished"


@pytest.mark.parametrize(
    ("when", "change", "said"),
    [
        ("LOOK", edit("WRITE"), f"LOOK has run, or is at work, and {AGAIN.format('WRITE')}"),
        ("LOOK", edit("FIX"), None),
        ("FIX", edit("FIX"), AGAIN.format("FIX")),
    ],
)
def test_in_a_loop_what_leads_back_to_a_question_stays_once_it_ran(
    when: str, change: Mapping[str, Any], said: str | None
) -> None:
    run = Revised(LOOP, when, change)
    assert run.go_on().status == "waiting"
    answer(run.store, "r", "LOOK", "bad", "ann")
    assert run.go_on().status == "waiting"
    ((state, reason),) = set(run.outcomes)
    assert state == ("applied" if said is None else "refused"), reason
    assert said is None or said in reason
    assert [(ask.visit.name, ask.state) for ask in run.store.asks("r")] == [
        ("L[1]/LOOK", "answered"),
        ("L[2]/LOOK", "asked"),
    ]
