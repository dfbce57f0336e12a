"""Workflows with validators, and a model that answers in order and judges as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.runtime.engine.fakes import FakeEndpoint, Said, workflow

import merrow_runtime
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import Workflow

ADD = "def add(a, b):\n    return a + b"


def verdict(passed: bool, *reasons: str, feedback: str = "") -> str:
    """A judge's answer."""
    return json.dumps({"pass": passed, "reasons": list(reasons), "feedback": feedback})


def judged(
    check: Any, keys: str = "", *more: str, of_return: str = "", prompt: str = "Say.", validators: Any = None
) -> Workflow:
    """PROBLEM --> A --> RETURN, where A is judged by the validator ``v``; ``keys`` are further ones of A, each with a comma."""
    front = json.dumps({"model": "m", "validators": {"v": check, **(validators or {})}}, ensure_ascii=False)
    lines = [f'A@{{op: Custom, prompt: "{prompt}", validate: v{keys}}}', "PROBLEM --> A --> RETURN", *more]
    return workflow(*lines, *([f"RETURN@{{{of_return}}}"] if of_return else []), front=front)


class Model(FakeEndpoint):
    """Gives ``answers`` one after another, the last again and again; ``verdicts`` and ``tests`` where it is asked for them."""

    def __init__(self, answers: Iterable[Said], verdicts: Iterable[Said] = (), tests: Iterable[Said] = ()) -> None:
        super().__init__(self._said)
        self._left = {"": list(answers), "merrow_verdict": list(verdicts), "merrow_tests": list(tests)}

    def _said(self, request: ModelRequest) -> Said:
        left = self._left[self.kind(request)]
        return left.pop(0) if len(left) > 1 else left[0]

    @staticmethod
    def kind(request: ModelRequest) -> str:
        """The schema that is asked for; empty for an answer of a node."""
        return "" if request.schema is None else request.schema.name

    def questions(self, kind: str = "") -> list[ModelRequest]:
        """What it was asked of a kind."""
        return [one for one in self.seen if self.kind(one) == kind]


async def run(flow: Workflow, model: FakeEndpoint, **more: Any) -> RunResult:
    """How a run ends."""
    store = more.pop("store", None)
    given = {"problem": "x"}
    return await merrow_runtime.run(
        flow, given, endpoint=model, store=MemoryStore() if store is None else store, **more
    )


def began(flow: Workflow, model: FakeEndpoint) -> Run:
    """A run in progress."""
    return merrow_runtime.start(flow, {"problem": "x"}, endpoint=model, store=MemoryStore())


def validation(result: RunResult, node: str = "A") -> tuple[int, bool, list[list[str]]] | None:
    """Of a node the attempt that counts, whether it is valid, and the reasons of each."""
    found: Mapping[str, Any] | None = result.nodes[node].validation
    return None if found is None else (found["attempt"], found["valid"], [one["reasons"] for one in found["attempts"]])
