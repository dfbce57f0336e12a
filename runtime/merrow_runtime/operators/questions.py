"""What all operators have in common: their questions can be told beforehand, and counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from merrow_analysis.definitions.types import Type, item_of
from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import NodeDefinition, Task, Tools
from merrow_runtime.operators.formats.shapes import ValueShape, shape_of
from merrow_runtime.records import record
from merrow_runtime.requests import AnswerSchema, Message, OfferedTool
from merrow_runtime.values import Outputs, Value, as_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question that an operator will ask, or may: between ``least`` and ``most`` times (asking again after an unusable
    answer not counted). Where the prompt holds what an earlier step gave, a placeholder stands for it.
    """

    step: str
    messages: tuple[Message, ...]
    schema: AnswerSchema | None = None
    least: int = 1
    most: int = 1
    judges: bool = False
    """Whether a validator asks it, which the node's `max_tokens` does not limit."""
    model: str | None = None
    """Which model it is asked, where that is not the node's."""
    tools: tuple[OfferedTool, ...] = ()
    """The tools that it may ask for."""


@record(frozen=True, slots=True)
class Question(Generic[T]):
    """One question: what is sent, and how the answer is read."""

    step: str
    messages: tuple[Message, ...]
    read: Callable[[str], T]
    schema: AnswerSchema | None = None

    async def ask(self, tools: Tools) -> T:
        return await tools.ask(self.step, self.messages, self.read, schema=self.schema)

    def planned(self, least: int = 1, most: int = 1) -> PlannedQuestion:
        return PlannedQuestion(self.step, self.messages, self.schema, least, most)


class ModelOperator(ABC):
    """An operator that may ask a model."""

    name: ClassVar[str]
    version: ClassVar[int]
    calls: ClassVar[tuple[int, int]] = (1, 1)
    """The least and the most questions of one execution; asking again after an unusable answer is not counted."""

    @abstractmethod
    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """Every question that this execution asks or may ask, in order. Nothing is called."""

    @abstractmethod
    async def run(self, task: Task, tools: Tools) -> Outputs:
        """Turn inputs into outputs: a value for every output port of the node. Raises `NodeFailure`."""


class Computation(ModelOperator):
    """An operator that asks nothing."""

    calls: ClassVar[tuple[int, int]] = (0, 0)

    @abstractmethod
    def compute(self, task: Task) -> Outputs:
        """Turn inputs into outputs. Raises `NodeFailure`."""

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        del tools
        return self.compute(task)


class OneQuestion(ModelOperator):
    """An operator whose result is the answer to one question."""

    @abstractmethod
    def question(self, task: Task) -> Question[Outputs]:
        """The question; what its ``read`` gives are the node's outputs."""

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        return (self.question(task).planned(),)

    async def run(self, task: Task, tools: Tools) -> Outputs:
        asked = self.question(task)
        return await tools.ask(asked.step, asked.messages, asked.read, schema=asked.schema)


def default_port(definition: NodeDefinition) -> str:
    """The name of the node's first output port."""
    return next(iter(definition.outputs))


def output_shape(definition: NodeDefinition, port: str) -> ValueShape:
    """The shape of what an output port must give."""
    return shape_of(definition.outputs[port], definition.kinds, definition.words, definition.records, definition.unions)


def value_at(task: Task, port: str) -> Value:
    """The value of a port that takes one. Raises `NodeFailure` where nothing arrived."""
    given = task.inputs.get(port)
    if not given:
        raise NodeFailure.of(task.node.id, f"nothing arrived at its port `{port}`.")
    return given[0].value


def value_of_type(task: Task, port: str, type_: Type) -> Value:
    """The value of a port that takes a ``type_``: of a list, what all its edges brought. Raises `NodeFailure`."""
    if item_of(type_) is None:
        return value_at(task, port)
    items: list[Value] = []
    for given in task.inputs.get(port, ()):
        # What arrived is all of the list, or but one item of a list of lists.
        is_whole = isinstance(given.value, list) and _depth(given.type) >= _depth(type_)
        items += given.value if is_whole and isinstance(given.value, list) else [given.value]
    return items


def _depth(type_: Type) -> int:
    depth = 0
    while (item := item_of(type_)) is not None:
        type_, depth = item, depth + 1
    return depth


def text_at(task: Task, port: str) -> str:
    """The same as text."""
    return as_text(value_at(task, port))
