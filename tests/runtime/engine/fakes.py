"""A program's own endpoint, and short ways to write and run workflows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.patience import PATIENCE

from merrow_runtime.models.endpoint import OnText
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.run import Run
from merrow_runtime.workflow import Workflow, check_workflow

Said = str | ModelReply | Exception
Answer = Callable[[ModelRequest], "Said | Awaitable[Said]"]


def last_line(request: ModelRequest) -> str:
    """Answers with what it was told and given."""
    return " <- ".join(message.content for message in request.messages)


class FakeEndpoint:
    """Answers from a function, which may wait; ``seen`` has what it was asked. ``gate``, where set, holds back every answer."""

    def __init__(self, answer: Answer = last_line, origin: str = "http://fake.test") -> None:
        self.origin = origin
        self.seen: list[ModelRequest] = []
        self.finished = 0
        self.in_flight = 0
        self.most_flying = 0
        self.closed = False
        self.gate: asyncio.Event | None = None
        self.asked = asyncio.Condition()
        self._answer = answer

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        gate = self.gate
        self.seen.append(request)
        self.in_flight += 1
        self.most_flying = max(self.most_flying, self.in_flight)
        async with self.asked:
            self.asked.notify_all()
        try:
            if gate is not None:
                await gate.wait()
            else:
                await asyncio.sleep(0)
            said = self._answer(request)
            answer = await said if isinstance(said, Awaitable) else said
            if isinstance(answer, Exception):
                raise answer
            if on_text is not None:
                on_text(answer if isinstance(answer, str) else answer.text)
            self.finished += 1
            return ModelReply(answer) if isinstance(answer, str) else answer
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        self.closed = True

    async def until_asked(self, count: int) -> None:
        """Wait until so many questions have come in."""
        async with self.asked:
            await asyncio.wait_for(self.asked.wait_for(lambda: len(self.seen) >= count), PATIENCE)

    @property
    def prompts(self) -> list[str]:
        return [request.messages[0].content for request in self.seen]


def flowchart(*lines: str, front: str = "") -> str:
    """A workflow's text with PROBLEM and RETURN; ``front`` is its ``workflow:`` block in one line."""
    head = f"---\nworkflow: {front}\n---\n" if front else ""
    body = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", *lines]
    return head + "flowchart TD\n" + "".join(f"    {line}\n" for line in body)


def workflow(*lines: str, front: str = "") -> Workflow:
    return check_workflow(flowchart(*lines, front=front), name="test.mmd")


async def names_of(run: Run) -> list[tuple[str, str | None]]:
    """The events of a run, each with its node."""
    return [(event.event, event.node) async for event in run.events()]


def by_schema(schema: Mapping[str, Any], text: str, verdict: bool) -> Any:
    """A value of a JSON Schema: the first word of a choice, ``text`` and ``verdict`` where they are asked for."""
    if "enum" in schema:
        return text if text in schema["enum"] else schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: by_schema(part, text, verdict) for name, part in schema["properties"].items()}
    if kind == "array":
        return [by_schema(schema["items"], text, verdict)]
    return {"boolean": verdict, "number": 1, "integer": 1}.get(str(kind), text)


def answered(request: ModelRequest, text: str = "fine", verdict: bool = True) -> str:
    """An answer of the shape that is asked for."""
    if request.schema is None:
        return text
    return json.dumps(by_schema(request.schema.schema, text, verdict))
