"""The public protocol `Tools` with answers written beforehand, as the contract tells it: asked again twice, then failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from merrow_runtime.errors import AnswerFailure, NodeFailure
from merrow_runtime.operators.base import Given, NodeDefinition, Remembered, Task
from merrow_runtime.operators.outputs import check_outputs
from merrow_runtime.operators.questions import PlannedQuestion
from merrow_runtime.operators.registry import operator_for
from merrow_runtime.requests import AnswerSchema, Message, PersonAnswer, PersonQuestion
from merrow_runtime.sandbox import Sandbox, SandboxResult, TestResult
from merrow_runtime.values import Outputs, Value

T = TypeVar("T")

OUTPUTS: dict[str, dict[str, str]] = {
    "Custom": {"response": "Text"},
    "AnswerGenerate": {"answer": "Answer", "thought": "Text"},
    "CustomCodeGenerate": {"response": "Code"},
    "Programmer": {"output": "Answer", "code": "Code"},
    "ScEnsemble": {"response": "Text"},
    "MdEnsemble": {"response": "Text"},
    "Test": {"solution": "Code", "result": "Bool", "feedback": "Feedback"},
    "Review": {"feedback": "Feedback", "result": "Bool"},
    "Revise": {"solution": "Text"},
    "Format": {"solution": "Answer"},
    "Assemble": {"result": "Text"},
    "Pass": {"value": "Text"},
    "Select": {"selected": "list[Number]", "best": "Number", "score": "Number"},
    "Call": {},
    "Human": {"answer": "Text", "note": "Text"},
    "Environment": {"observation": "Text", "done": "Bool", "reward": "Number"},
    "Retrieve": {"documents": "list[Json]"},
    "Remember": {"text": "Text"},
}


@dataclass
class Asked:
    """One question as it was sent."""

    step: str
    messages: tuple[Message, ...]
    schema: AnswerSchema | None

    @property
    def system(self) -> str:
        return "".join(message.content for message in self.messages if message.role == "system")

    @property
    def user(self) -> str:
        return "".join(message.content for message in self.messages if message.role == "user")


@dataclass
class ScriptedTools:
    """Answers by step, or in order for any step; sandbox results in order, or those of a real sandbox."""

    answers: Sequence[str] | Mapping[str, Sequence[str]] = ()
    runs: Sequence[SandboxResult] = ()
    tests: Sequence[TestResult] = ()
    seed: int = 0
    box: Sandbox | None = None
    asked: list[Asked] = field(default_factory=list)
    sandbox: list[tuple[Any, ...]] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    stored: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self._taken: dict[str, int] = defaultdict(int)

    async def retrieve(
        self, step: str, store: str, query: str, wanted: int, *, by_embedding: bool = False
    ) -> list[Value]:
        assert not by_embedding
        self.stored.append((step, store, query, wanted))
        return [{"text": "found"}]

    async def remember(self, step: str, store: str, text: str) -> None:
        self.stored.append((step, store, text))

    def no_call(self, why: str) -> None:
        self.reasons.append(why)

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,  # noqa: ARG002 (of the protocol)
    ) -> T:
        for _ in range(3):
            self.asked.append(Asked(step, tuple(messages), schema))
            try:
                return read(self._next(step))
            except AnswerFailure as failure:
                self.remedies.append(failure.advice)
                last = failure
        raise NodeFailure(str(last))

    def _next(self, step: str) -> str:
        key, answers = (step, self.answers[step]) if isinstance(self.answers, Mapping) else ("", self.answers)
        number = self._taken[key]
        self._taken[key] += 1
        assert number < len(answers), f"no answer left for {step}"
        return answers[number]

    async def person(self, step: str, question: PersonQuestion, seconds: float | None = None) -> PersonAnswer:
        del question, seconds
        return PersonAnswer("accept", {"answer": self._next(step)}, "ann")

    async def run_file(self, inputs: Mapping[str, Value]) -> Outputs:
        assert inputs
        return {}

    async def evaluate(self, step: str, code: str, call: str = "solve") -> SandboxResult:
        self.sandbox.append((step, code, call))
        if self.box is not None:
            return await self.box.evaluate(code, call)
        return self.runs[sum(1 for entry in self.sandbox if entry[0].startswith("run")) - 1]

    async def test(self, step: str, solution: str, tests: Sequence[str], entry_point: str) -> TestResult:
        self.sandbox.append((step, solution, list(tests), entry_point))
        if self.box is not None:
            return await self.box.test(solution, tests, entry_point)
        return self.tests[sum(1 for entry in self.sandbox if entry[0].startswith("test")) - 1]

    def output(self, text: str) -> None:
        self.shown.append(text)


def node(operator: str, **said: Any) -> NodeDefinition:
    """A definition with the operator's own outputs where none are said."""
    values: dict[str, Any] = {
        "id": "N",
        "operator": operator,
        "title": operator,
        "prompt": None,
        "model": "m",
        "temperature": 0.0,
        "max_tokens": None,
        "seed": None,
        "outputs": OUTPUTS.get(operator, {}),
        "parameters": {"store": "notes"} if operator in ("Retrieve", "Remember") else {},
        **said,
    }
    return NodeDefinition(**values)


def given(*values: Value, type_: str = "Text") -> list[Given]:
    """Values of one port, each from a node of its own."""
    return [Given(f"FROM_{number}", None, type_, value, f"source {number}") for number, value in enumerate(values, 1)]


async def outputs_of(
    definition: NodeDefinition,
    inputs: Mapping[str, Sequence[Given]],
    tools: ScriptedTools,
    memory: Sequence[Remembered] = (),
) -> Outputs:
    """Run a node's operator; its outputs are checked as the engine checks them."""
    outputs = await operator_for(definition).run(Task(definition, inputs, memory), tools)
    check_outputs(definition, outputs)
    return outputs


def ok(value: str | None) -> SandboxResult:
    return SandboxResult("ok", value)


def error(sentence: str) -> SandboxResult:
    return SandboxResult("error", None, "", "", sentence, f"Traceback\n{sentence}")


def preview(
    definition: NodeDefinition, inputs: Mapping[str, Sequence[Given]], memory: Sequence[Remembered] = ()
) -> Sequence[PlannedQuestion]:
    """Every question that a node asks or may ask, as a dry run gets them."""
    return operator_for(definition).plan(Task(definition, inputs, memory))
