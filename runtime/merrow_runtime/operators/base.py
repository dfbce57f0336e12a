"""What an operator is when it runs: a small class that turns its node's inputs into its outputs by asking its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.records import record
from merrow_runtime.requests import (
    AnswerSchema,
    Conversation,
    EnvironmentAction,
    Message,
    ModelReply,
    OfferedTool,
    PersonAnswer,
    PersonQuestion,
    StepKind,
    ToolCall,
    ToolResult,
)
from merrow_runtime.values import Outputs, Value
from merrow_runtime.visit import Visit

if TYPE_CHECKING:
    from merrow_runtime.sandbox import SandboxResult, TestResult

T = TypeVar("T")


@record(frozen=True, slots=True)
class Given:
    """One value that an edge brought: who gave it (node id, output port, and the node's role or operator for people)
    and what it is. ``path`` is that of the frame in which the node gave it; None for what was made of more than one
    visit, or of a part of what one gave: a list of what items gave, an item of a list; and for what an earlier run gave.
    """

    node: str
    output: str | None
    type: str
    value: Value
    title: str = ""
    path: str | None = ""


@record(frozen=True, slots=True)
class NodeDefinition:
    """A node as it runs, everything resolved: nothing about it has to be looked up any more.

    ``prompt`` is the text its role, ``prompt:`` or operator gave; ``parameters`` the operator's own (Programmer's
    ``analysis``, Test's ``tests``, ``format``, ...) with their values; ``outputs`` its output ports with their types,
    default first, as one execution gives them (``samples`` makes no lists of them here). ``kinds`` has for each named
    type in them the built-in type that it is a kind of (``{"Draft": "Text"}``), ``words`` for each enumeration what it
    may say, ``records`` for each record its fields with their types, ``unions`` for each union its kinds; types that these
    name are among them.
    """

    id: str
    operator: str
    title: str
    prompt: str | None
    model: str
    temperature: float
    max_tokens: int | None
    seed: int | None
    outputs: Mapping[str, str]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    spec: Mapping[str, Any] | None = None
    """Of a user operator, its declaration (inputs and outputs with types, prompt); None for a built-in one."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@record(frozen=True, slots=True)
class Remembered:
    """One entry of a node's memory: the default output of an ancestor, or the summary of all of them. ``visit`` is the one that
    gave it; None of a summary, and of what an earlier run gave.
    """

    node: str
    title: str
    text: str
    visit: Visit | None = None


Wants = Callable[[Remembered], bool]
"""Whether an entry belongs to a memory. It is asked from the newest on, and not again once it has said no."""


class Memories(Protocol):
    """Gives what all ancestors of a node gave, oldest first; with ``wants`` the newest of that, as long as it wants them."""

    def __call__(self, *, wants: Wants | None = None) -> Sequence[Remembered]: ...


@record(frozen=True, slots=True)
class Task:
    """What one execution of a node is about. ``inputs`` has for each port what its live edges brought, in prompt
    order; a port that nothing feeds is absent.
    """

    node: NodeDefinition
    inputs: Mapping[str, Sequence[Given]]
    memory: Sequence[Remembered] = ()
    sample: int = 0


class Tools(Protocol):
    """What a run lends an operator. Every call through it is journalled, counted, cached and can be replayed."""

    random: Random
    """Seeded by run, node and sample: the same shuffle again when a run is resumed or replayed."""

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
        model: str | None = None,
    ) -> T:
        """Ask the node's model, or another one by its name, and give back what ``read`` makes of the answer's text.

        Where ``read`` raises `AnswerFailure`, or the answer was cut or refused, the model is asked again with the
        failure's advice (at most twice), then `NodeFailure` is raised. ``temperature`` other than the node's where given.
        """
        ...

    async def converse(
        self,
        step: str,
        talk: Conversation,
        read: Callable[[ModelReply], T],
        *,
        offered: Sequence[OfferedTool] = (),
        schema: AnswerSchema | None = None,
    ) -> T:
        """As `ask`, in a conversation that goes on; ``offered`` are the tools that the model may ask for."""
        ...

    def step(self, step: str, kind: StepKind, title: str, error: str | None = None) -> None:
        """Tell what an agent did in a step (an event, nothing more); ``error`` is why it failed, as a sentence."""
        ...

    async def evaluate(self, step: str, code: str, call: str = "solve") -> SandboxResult:
        """Run generated code in the sandbox and call one of its functions."""
        ...

    async def test(self, step: str, solution: str, tests: Sequence[str], entry_point: str) -> TestResult:
        """Run tests against a solution, each in a process of its own."""
        ...

    async def person(self, step: str, question: PersonQuestion, seconds: float | None = None) -> PersonAnswer:
        """Ask a person, and wait for the answer for so many seconds at most (None: as long as it takes), across the end of this
        process if need be. An answer is kept, and never asked for again.
        """
        ...

    @property
    def told(self) -> str | None:
        """What the node is told whenever it asks a person, where that was said before the run."""
        ...

    async def use(self, step: str, call: ToolCall) -> ToolResult:
        """Have a server call one of its tools. A call that may not be repeated is made once, whatever happens: where it was begun
        and nobody knows what came of it, a person is asked.
        """
        ...

    async def act(self, action: EnvironmentAction) -> EnvironmentStep:
        """Act in an environment, in the episode that the node is in. What was done is done again in a new session only to come
        back to where it was.
        """
        ...

    async def retrieve(
        self, step: str, store: str, query: str, wanted: int, *, by_embedding: bool = False
    ) -> list[Value]:
        """The documents of a store that the words of a query tell apart best, or those that are nearest to it by their vectors,
        the best first, as records.
        """
        ...

    async def remember(self, step: str, store: str, text: str) -> None:
        """Add a text to a store, once for this visit, whatever happens."""
        ...

    async def use_asked(self, step: str, call: ToolCall) -> ToolResult:
        """As `use`, of a call that a model asked for: where the user's settings don't allow it, a person is asked. What is
        refused or fails is a result that says so.
        """
        ...

    async def each(self, calls: Sequence[ToolCall] | None, work: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """What comes of each ``work``: one after the other, or at the same time where the ``calls`` in it, which a model asked
        for, are allowed and may all be repeated. None stands for work that must keep its order.
        """
        ...

    async def run_file(self, inputs: Mapping[str, Value]) -> Outputs:
        """Run the workflow of a Call, the file that it names or the one that it is brought, with a value for each of its ports
        that is fed; its outputs.
        """
        ...

    def no_call(self, why: str) -> None:
        """Say why the node asks nothing this time, in a sentence for the user."""
        ...

    def output(self, text: str) -> None:
        """Show text of this node as it comes into being (an event, nothing more)."""
        ...


class Operator(Protocol):
    """An operator. ``version`` is part of a node's key: it grows when the same inputs would be asked otherwise.

    An operator that doesn't ask exactly one question has a ``calls: ClassVar[tuple[int, int]]`` beside these: the
    least and the most questions of one execution, which a dry run adds up.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    async def run(self, task: Task, tools: Tools) -> Outputs:
        """Turn inputs into outputs: a value for every output port of the node. Raises `NodeFailure`."""
        ...
