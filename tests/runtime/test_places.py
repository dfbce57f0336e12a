"""Who waits for one of the places at an endpoint and that the wait is nobody's time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from tests.runtime.engine.fakes import workflow

import merrow_runtime
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.options import RunOptions
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage

VOTERS = ('A@{op: Custom, prompt: "solve", samples: 8, temperature: 0.7}', "PROBLEM --> A --> RETURN")
TWO = (
    'A@{op: Custom, prompt: "first"}',
    'B@{op: Custom, prompt: "second", timeout: 50, retries: 0}',
    "OTHER([Other]):::Interface",
    "PROBLEM --> A --> RETURN",
    "PROBLEM --> B --> OTHER",
)


class Holding:
    """An endpoint of a program's own that answers the prompt ``first`` when it is told to, and others at once."""

    origin = "my:holding"

    def __init__(self) -> None:
        self.holds, self.goes = asyncio.Event(), asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:  # noqa: ARG002
        await asyncio.sleep(0)  # others get to ask, too
        if "first" in str(request.messages):
            self.holds.set()
            await self.goes.wait()
        return ModelReply("42", "stop", Usage(1, 1, 1), request.model, 0.0, "")

    async def close(self) -> None: ...


class Clock:
    """The time, which can be moved on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        for name in ("time", "monotonic", "perf_counter"):
            real = getattr(time, name)
            patch.setattr(time, name, lambda real=real: real() + self.ahead)


def options(**more: Any) -> RunOptions:
    return RunOptions(concurrency=1, **more)


async def held(
    clock: Clock, seconds: float
) -> tuple[dict[str, Mapping[str, Any]], list[tuple[str, str | None]], float]:
    """A run of `TWO` in which B waits for so long until A leaves it the only place: the ends of nodes, the events, and the
    seconds of the run.
    """
    endpoint = Holding()
    run = merrow_runtime.start(
        workflow(*TWO), {"PROBLEM": "x"}, endpoint=endpoint, store=MemoryStore(), options=options()
    )
    told: list[tuple[str, str | None]] = []
    ends: dict[str, Mapping[str, Any]] = {}
    async for event in run.events():
        told.append((event.event, event.node))
        if event.event == "node_queued" and event.data["waits"]:
            await endpoint.holds.wait()
            clock.ahead += seconds
            await asyncio.sleep(0)
            endpoint.goes.set()
        elif event.node is not None and event.event in ("node_finished", "node_failed"):
            ends[event.node] = {"event": event.event, **event.data}
    return ends, told, (await run.result()).seconds


async def test_who_waits_for_a_place_is_queued_and_its_time_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ends, told, whole = await held(Clock(monkeypatch), 100.0)
    assert ends["B"]["event"] == "node_finished", ends["B"]
    assert ends["B"]["seconds"] < 50 < 100 <= ends["A"]["seconds"]
    assert whole >= 100  # the run did something meanwhile
    of_b = [event for event, node in told if node == "B"]
    assert of_b == ["node_started", "node_queued", "node_queued", "node_finished"]
    assert ("node_queued", "A") not in told


async def test_a_run_that_waits_for_others_has_not_taken_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, endpoint = Clock(monkeypatch), Holding()
    one, other = (
        merrow_runtime.start(
            workflow(f'A@{{op: Custom, prompt: "{prompt}"}}', "PROBLEM --> A --> RETURN"),
            {"PROBLEM": "x"},
            endpoint=endpoint,
            store=MemoryStore(),
            options=options(),
        )
        for prompt in ("first", "second")
    )
    async for event in other.events():
        if event.event == "node_queued" and event.data["waits"]:
            clock.ahead += 100
            endpoint.goes.set()
    assert (await other.result()).seconds < 50
    assert (await one.result()).seconds >= 100
    assert [node.ended - node.started < 50 for node in (await other.result()).nodes.values()] == [True] * 3


async def test_a_node_is_not_queued_between_its_own_samples() -> None:
    run = merrow_runtime.start(
        workflow(*VOTERS), {"PROBLEM": "x"}, endpoint=Holding(), store=MemoryStore(), options=options()
    )
    told = Counter([event.event async for event in run.events()])
    assert told["node_queued"] == 0


async def test_a_run_that_is_cancelled_while_it_waits_ends() -> None:
    endpoint = Holding()
    run = merrow_runtime.start(
        workflow(*TWO), {"PROBLEM": "x"}, endpoint=endpoint, store=MemoryStore(), options=options()
    )
    async for event in run.events():
        if event.event == "node_queued":
            run.cancel()
    assert (await run.result()).status == "cancelled"
