"""A program at work: its nodes carried out by the runtime's scheduler, with nothing kept but what is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.settings import Agent, Memory
from merrow_analysis.definitions.templates import Template
from merrow_analysis.definitions.types import ANY
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.compiling.plain import PlainNode
from merrow_runtime.compiling.tracing import MISSING, Lines
from merrow_runtime.errors import NodeFailure, RunFailure, UsageFailure
from merrow_runtime.frontier import Frontier, Start
from merrow_runtime.operators.ask_decision import CASE, CHOICE, case_words
from merrow_runtime.operators.base import NodeDefinition, Remembered, Task
from merrow_runtime.operators.formats.shapes import shape_of
from merrow_runtime.operators.prompts.memory import recall
from merrow_runtime.operators.questions import ModelOperator
from merrow_runtime.program.definitions import Meanings, Step, Steps, digest_of, meanings_of
from merrow_runtime.program.fallbacks import fallback_of
from merrow_runtime.program.inputs import read_inputs
from merrow_runtime.program.node_prompts import told_by
from merrow_runtime.requests import CallKey, Message
from merrow_runtime.running.doing import Finished
from merrow_runtime.running.nodes_at_work import NodesAtWork, seed_of
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.usage import Usage
from merrow_runtime.values import Outputs, Value
from merrow_runtime.visit import Visit

if TYPE_CHECKING:
    from merrow_runtime.compiling.validated import Validating

OPERATORS: dict[str, ModelOperator] = {}
"""The operators of a program by name: those that its table names."""

VALIDATING: list[Validating] = []
"""What judges results, in a program that has validators."""

_MODEL = "gpt-4o-mini"


class Unkept:
    """A journal that keeps nothing."""

    resumed = False
    run = ""

    async def recall(self, key: CallKey, request_hash: str, endpoint: str | None = None, since: float = 0.0) -> None:
        """Nothing is known before."""

    async def record_call(self, call: CallRecord, answer: bytes | None = None, *, alone: bool = False) -> None:
        """Nothing is kept. Others that are ready continue first, as they do while a journal is written."""
        del call, answer, alone
        await asyncio.sleep(0)

    async def record_unusable(self, call: CallRecord, answer: bytes | None) -> None:
        """Nothing is kept."""

    async def record_lost(self, key: CallKey, request_hash: str, usage: Usage, why: str) -> None:
        """Nothing is kept."""


class Untold:
    """Events that nobody reads."""

    def retrying(self, visit: Visit, sample: int | None, step: str, reason: str, wait: float) -> None:
        """A node tries again."""

    def queued(self, visit: Visit, sample: int | None, step: str, *, waits: bool) -> None:
        """A call of a node waits for a place."""

    def output(self, visit: Visit, sample: int | None, text: str, step: str | None = None) -> None:
        """Text of a node comes into being."""


class Unwatched:
    """A watcher of visits that looks at none, but for which node's failure ends the run."""

    def __init__(self) -> None:
        self._ended_by: dict[int, tuple[RunFailure, RunFailure]] = {}

    def located(self, failure: RunFailure) -> RunFailure:
        """What ended the run, with the node that met it, where it was one."""
        known = self._ended_by.get(id(failure))
        return failure if known is None else known[1]

    def started(self, node: Any, visit: Visit, clone: int | None) -> None: ...

    def finished(
        self, node: Any, visit: Visit, inputs: Any, done: Finished, started: float, case: int | None
    ) -> None: ...

    def skipped(self, node: Any, visit: Visit, reason: str) -> None: ...

    def failed(self, node: Any, visit: Visit, inputs: Any, failure: RunFailure, started: float, goes_on: str) -> None:
        """A node failed."""
        del node, inputs, started
        if goes_on == "fail":
            self._ended_by.setdefault(id(failure), (failure, failure.at(visit.node, visit.path)))

    def opened(self, one: Any) -> None: ...

    def closed(self, one: Any) -> None: ...

    def took(self, one: Any) -> None: ...


def step_of(node: PlainNode, flow: Lines, model: str | None) -> Step:
    """A node made ready to run, by what the table says of it. ``model`` answers in place of the workflow's."""
    said, types = node.said, flow.graph.types
    if node.kind == "output":
        said = {"operator": VALIDATING[0].output.name, "outputs": {VALIDATING[0].output.port: ANY}, **said}
    outputs: dict[str, str] = dict(said.get("outputs", {}))
    meanings = meanings_of(outputs.values(), types)
    if node.asks:
        outputs, meanings = {CHOICE: CASE}, Meanings({}, {CASE: case_words(node)}, {}, {})  # type: ignore[arg-type]
    spec = said.get("spec")
    if spec is not None and said.get("spec_template"):
        spec = {**spec, "prompt": Template(spec["prompt"])}
    own = said.get("prompt")
    agent = None if "agent" not in said else Agent(said["agent"], **flow.agents[said["agent"]])
    definition = NodeDefinition(
        id=node.id,
        operator=said["operator"],
        title=node.title,
        prompt=told_by(agent, Template(own) if said.get("template") else own),
        model=said.get("model") or model or flow.model or _MODEL,
        temperature=said.get("temperature", 0.0),
        max_tokens=said.get("max_tokens"),
        seed=said.get("seed"),
        outputs=outputs,
        parameters=said.get("parameters", {}),
        spec=spec,
        **meanings._asdict(),
    )
    operator: Any = (
        VALIDATING[0].output if node.kind == "output" else OPERATORS[said["operator"] if spec is None else "*"]
    )
    shapes = {name: shape_of(type_, *meanings) for name, type_ in outputs.items()}
    memory = said.get("memory", "none")
    kind: Any = memory if isinstance(memory, str) else memory[0]
    amount = None if isinstance(memory, str) else memory[1]
    samples, on_error = said.get("samples"), said.get("on_error", "fail")
    validation = VALIDATING[0].read(said, flow.validators) if "validate" in said else None
    values = {"default": said["default"]} if "default" in said else {}
    by_default = on_error == "default" and not node.asks
    return Step(
        node,  # type: ignore[arg-type]
        definition,
        operator,
        shapes,
        Memory(kind, amount),
        digest_of(definition, operator, samples),
        said.get("timeout"),
        said.get("retries"),
        on_error,
        fallback_of(node, values, shapes) if by_default else None,  # type: ignore[arg-type]
        samples,
        None,
        agent,
        said.get("aims"),
        validation,
    )


@dataclass(slots=True, eq=False)
class ProgramAtWork(NodesAtWork):
    """The work of one function of a program. ``parallel`` is how many items of a Map run at once where it doesn't say;
    ``inputs`` are those of the function.
    """

    flow: Lines
    parallel: int = 64
    inputs: Mapping[str, Value] = field(default_factory=dict)

    def frontier(self, path: str = "", ordinal: str = "") -> Frontier:
        """The frontier of its graph, in the frame with a path."""
        graph: Any = self.flow.graph
        return Frontier(graph, parallel=self.parallel, defaults=self.default, path=path, ordinal=ordinal)

    def takes_over(self, start: Start, entries: Callable[[], list[Remembered]]) -> bool:
        """See `merrow_runtime.running.doing.Work.takes_over`."""
        del start, entries
        return False

    def answered_by_person(self, start: Start) -> None:
        """See `merrow_runtime.running.doing.Work.answered_by_person`."""

    async def run(self, start: Start, entries: Callable[[], list[Remembered]]) -> Finished:
        """See `merrow_runtime.running.doing.Work.run`."""
        visit, inputs = start.visit, start.inputs
        step = self.steps[start.node.index]
        account = self.effects.account.of(visit)
        kind, amount = step.memory.kind, step.memory.amount
        memory = self.steps.memory_of(step, entries)
        seed = seed_of(visit, step.key(inputs, memory) if visit.path else "", start.ordinal)

        async def run_file(values: Mapping[str, Value]) -> Outputs:
            return await self._run_function(start, step, values)

        def tools(
            sample: int, attempt: int = 1, history: tuple[Message, ...] = (), *, judges: bool = False
        ) -> NodeTools:
            return NodeTools(
                self.effects,
                step,
                account,
                sample,
                seed,
                run_file=run_file,
                attempt=attempt,
                history=history,
                judges=judges,
            )

        if kind == "summary":
            memory = await recall(kind, amount, memory, tools(0))

        async def once(sample: int) -> Outputs:
            task = Task(step.definition, inputs, memory, sample)
            if step.validation is None:
                return await self.once(step, task, tools(sample))
            work = partial(self.once, step, task)
            return await VALIDATING[0].judged(step, task, self.inputs, partial(tools, sample), work)

        return Finished(await self.carried_out(step, once))

    async def _run_function(self, start: Start, step: Step, values: Mapping[str, Value]) -> Outputs:
        """Run the function of a called file, in a frame of its own. Raises `RunFailure`."""
        name, visit = step.definition.id, start.visit
        flow = traced(self.flow.functions[name])
        own = self.own_call(step, flow.name)
        inner = work_of(flow, self.effects, self.parallel, place=flow.name)
        try:
            inputs = read_inputs(inner.workflow.graph, {**flow.inputs, **values})
        except UsageFailure as problem:
            raise NodeFailure.of(name, f"{flow.name} can't take what it is given. {problem}") from None
        inner = replace(inner, around=(*self.around, own), clones=self.clones, inputs=inputs)
        scheduler = Scheduler(inner.frontier(str(visit), start.ordinal), inputs, inner, watcher := Unwatched())
        self.effects.busy.append(scheduler)
        try:
            await scheduler.run()
        finally:
            self.effects.busy.remove(scheduler)
        if scheduler.failure is not None:
            raise watcher.located(scheduler.failure)
        results = scheduler.results
        empty = next((port for port in step.shapes if port not in results), None)
        if empty is not None:
            raise NodeFailure.of(name, f"output {empty} of {flow.name} stays empty.")
        return {port: results[port] for port in step.shapes}


def traced(function: Callable[..., Lines]) -> Lines:
    """The workflow of a function whose inputs are given otherwise."""
    wanted = [one for one in signature(function).parameters.values() if one.default is Parameter.empty]
    return function(*[MISSING] * len(wanted))


def work_of(
    flow: Lines, effects: Any, parallel: int, place: str = "", inputs: Mapping[str, Value] = MappingProxyType({})
) -> ProgramAtWork:
    """The work of a workflow. Raises `UsageFailure` where its table says something that can't be."""
    model = effects.options.model
    nodes = [node for node in flow.graph.nodes if node.kind == "operator" or node.asks or "validate" in node.said]
    steps = Steps({node.index: step_of(node, flow, model) for node in nodes})
    workflow: Any = SimpleNamespace(place=place, graph=flow.graph)
    return ProgramAtWork(workflow, steps, effects, flow, parallel, inputs)
