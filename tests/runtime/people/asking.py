"""Short ways to write workflows that ask people, and to go on with their runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.runtime.composites.loops import asks, box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow
from merrow_runtime.people.answering import answer, open_questions
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store

MOOD = "{types: {Mood: [good, bad]}}"


def person(name: str, more: str = "") -> str:
    """A Human whose question is its own name."""
    return f'{name}@{{op: Human, ask: "{name}?"{", " + more if more else ""}}}'


def by_name(request: ModelRequest) -> str:
    """Answers with the name of the node and what it was given."""
    return f"{asks(request)}({request.messages[-1].content})"


class Asking:
    """A run of a workflow that people are asked in, in one part after another. ``told`` are all events."""

    def __init__(self, store: Store, workflow: Workflow | Path, endpoint: FakeEndpoint | None = None) -> None:
        self.store, self.workflow = store, workflow
        self.endpoint = FakeEndpoint(by_name) if endpoint is None else endpoint
        self.told: list[merrow_runtime.Event] = []
        self.run = ""

    async def begin(self, **options: Any) -> RunResult:
        begun = merrow_runtime.start(
            self.workflow, {"problem": "x"}, endpoint=self.endpoint, store=self.store, options=RunOptions(**options)
        )
        return await self._followed(begun)

    async def go_on(self, **options: Any) -> RunResult:
        return await self._followed(
            merrow_runtime.resume(self.run, endpoint=self.endpoint, store=self.store, options=RunOptions(**options))
        )

    async def _followed(self, begun: merrow_runtime.Run) -> RunResult:
        self.run = begun.id
        self.told += [event async for event in begun.events()]
        return await begun.result()

    def answer(self, node: str, given: str | Mapping[str, Any] | None = "yes", by: str = "ann") -> None:
        answer(self.store, self.run, node, given, by)

    @property
    def open(self) -> list[str]:
        return [ask.visit.name for ask in open_questions(self.store, self.run)]

    @property
    def asked(self) -> list[str]:
        """What the endpoint was asked, by the names of the nodes."""
        return [asks(request) for request in self.endpoint.seen]

    def events(self, name: str) -> list[merrow_runtime.Event]:
        return [event for event in self.told if event.event == name]


def reviewed(title: str = "Loop (max: 4)") -> Workflow:
    """A draft that a person looks at in each turn."""
    return flow(
        box("L", title, custom("WRITE"), person("LOOK", "returns: Mood"), "D{which?}:::DecisionOp"),
        "PROBLEM -->|input| WRITE",
        "WRITE -->|input| LOOK",
        "LOOK -->|when| D",
        "WRITE -->|value| D",
        "D -->|bad:again:input| WRITE",
        "D -->|good| RETURN",
        "WRITE -->|over| RETURN",
        front=MOOD,
    )


def three() -> Workflow:
    """Three questions at once, beside a branch that goes on."""
    return flow(
        *(person(name) for name in ("ONE", "TWO", "THREE")),
        custom("BESIDE"),
        custom("AFTER"),
        custom("END"),
        "PROBLEM --> ONE & TWO & THREE & BESIDE",
        "BESIDE --> AFTER",
        "ONE & TWO & THREE & AFTER --> END --> RETURN",
    )
