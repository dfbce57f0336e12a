"""Runs whose graph changes while they go on, and what is kept of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_runtime import RunOptions, start
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow


def custom(name: str, more: str = "", says: str | None = None) -> str:
    return f'{name}["Custom (prompt: do {says or name}{", " + more if more else ""})"]:::CustomOp'


def done(request: ModelRequest) -> str:
    return request.messages[0].content.split("\n")[0]


CHAIN = (
    custom("A"),
    custom("B"),
    custom("C"),
    "PROBLEM -->|input| A",
    "A -->|input| B",
    "B -->|input| C",
    "C --> RETURN",
)


def chain(b: str = "", front: str = "", name: str = "B", says: str = "B") -> Workflow:
    lines = [line.replace(custom("B"), custom("B", b, says)) for line in CHAIN]
    renamed = [
        line.replace("B[", f"{name}[").replace("B -->", f"{name} -->").replace("| B", f"| {name}") for line in lines
    ]
    return workflow(*renamed, front=front)


class Revised:
    """A run that is revised at its n-th question, and what came of it."""

    def __init__(self, store: Store | None = None, origin: str = "http://fake.test") -> None:
        self.endpoint = FakeEndpoint(done, origin)
        self.store = MemoryStore() if store is None else store
        self.states: list[str] = []
        self.events: list[Any] = []

    async def go(self, first: Workflow, at: dict[int, Workflow], **options: Any) -> RunResult:
        self.endpoint.gate = asyncio.Event()
        run = start(
            first, {"problem": "x"}, endpoint=self.endpoint, store=self.store, options=RunOptions(**options), run_id="r"
        )
        reading = asyncio.create_task(self.read(run))
        asked = 0
        for number, other in sorted(at.items()):
            await self.endpoint.until_asked(number)
            self.states.append((await run.revise(other)).state)
        self.endpoint.gate.set()
        self.endpoint.gate = None
        result = await run.result()
        await reading
        return result

    async def read(self, run: Run) -> None:
        async for event in run.events():
            self.events.append(event)

    @property
    def asked(self) -> list[str]:
        return [request.messages[0].content.split("\n")[0] for request in self.endpoint.seen]

    def told(self, kind: str) -> list[str | None]:
        return [event.node for event in self.events if event.event == kind]


def revised(first: Workflow, at: dict[int, Workflow], **options: Any) -> tuple[Revised, RunResult]:
    async def whole() -> tuple[Revised, RunResult]:
        trial = Revised()
        return trial, await trial.go(first, at, **options)

    return asyncio.run(whole())


def open_steps(*steps: Callable[[], Any]) -> None:
    for step in steps:
        step()


def test_what_runs_and_is_not_concerned_goes_on() -> None:
    trial, result = revised(chain(), {1: chain(b="temperature: 0.5")})
    assert trial.states == ["applied"]
    assert trial.asked == ["do A", "do B", "do C"]
    assert result.status == "finished"
    assert [event.event for event in trial.events if event.event.startswith("revision")] == [
        "revision_opened",
        "revision_applied",
    ]
    (applied,) = [event for event in trial.events if event.event == "revision_applied"]
    assert applied.data["trigger"] == "person"
    assert applied.data["diff"]["changed"] == ["B"]
    (call,) = [call for call in trial.store.calls("r") if call.key.node == "B"]
    assert call.request["temperature"] == 0.5
    assert [one.state for one in trial.store.revisions("r")] == ["applied"]
