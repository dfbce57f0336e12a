"""A dry run: what a run would do and ask, with placeholders for what is not known yet. Nothing is called."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from merrow_analysis.definitions.types import Type
from merrow_analysis.graph.conditions import ALWAYS
from merrow_analysis.graph.decisions import KIND
from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.ports import INPUT_OUTPUT
from merrow_runtime.frontier import Chose, Frontier, Gave, Inputs, Outcome, Start
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.prices import Price, price_at
from merrow_runtime.models.tokens import estimate_call, prompt_tokens
from merrow_runtime.operators.base import Given, Remembered, Task
from merrow_runtime.operators.memory import remembered, summary_of, summary_question
from merrow_runtime.operators.questions import Planned
from merrow_runtime.operators.registry import operator_for
from merrow_runtime.operators.shapes import placeholder, shape_of
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Step, make_steps, meanings_of
from merrow_runtime.program.inputs import read_inputs, type_of_input
from merrow_runtime.program.loading import load
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.resources import Chosen, choose
from merrow_runtime.usage import Usage
from merrow_runtime.values import VALUE, Value
from merrow_runtime.workflow import Workflow

_MOST_COMBINATIONS = 2_000
"""Combinations of cases that are looked at one by one; for more the bounds are wider, but still hold."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most; ``most`` is None where it isn't known."""

    least: float
    most: float | None

    def to_json(self) -> dict[str, float | None]:
        return {"least": self.least, "most": self.most}


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node in the order of the run. ``runs`` is False for one that only some cases of Decisions reach.

    ``questions`` are all that it asks or may ask, as they would be sent; ``samples`` is how often it does.
    """

    node: str
    operator: str
    model: str | None
    runs: bool
    questions: tuple[Planned, ...] = ()
    samples: int = 1

    def to_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "operator": self.operator,
            "model": self.model,
            "runs": "always" if self.runs else "by choice",
            "samples": self.samples,
            "questions": [
                {
                    "step": question.step,
                    "messages": [{"role": one.role, "content": one.content} for one in question.messages],
                    "least": question.least,
                    "most": question.most,
                }
                for question in self.questions
            ],
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run would do. ``calls``, ``tokens`` and ``cost_usd`` are bounds over all choices of Decisions and all
    repair loops; a question whose answer can't be used may be asked up to twice more, which they don't count. Tokens and
    cost are estimates, for what is not known yet has no length; the cost's most is None where a price is unknown.
    """

    workflow: str
    endpoint: str
    nodes: tuple[PlannedNode, ...]
    calls: Bounds
    tokens: Bounds
    cost_usd: Bounds

    def to_json(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "endpoint": self.endpoint,
            "order": [node.node for node in self.nodes],
            "nodes": [node.to_json() for node in self.nodes],
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json(),
            "cost_usd": self.cost_usd.to_json(),
        }


def dry_run(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
) -> Forecast:
    """Say what a run would do, without calling anything. Inputs that are not given are placeholders.

    Raises `UsageFailure` as a run would.
    """
    options = RunOptions() if options is None else options
    workflow = source if isinstance(source, Workflow) else load(source)
    chosen = Chosen(endpoint) if endpoint is not None else choose(options, options.base_url, workflow.machine)
    endpoint = chosen.endpoint
    steps = make_steps(workflow, options, chosen.model)
    nodes = tuple(_Forecaster(workflow, steps, dict(inputs or {})).nodes())
    return Forecast(workflow.name, endpoint.origin, nodes, *_bounds(workflow.graph, steps, nodes, endpoint))


class _Forecaster:
    """Runs the workflow without calls: with placeholders for values, and Decisions that leave all their cases open."""

    def __init__(self, workflow: Workflow, steps: Mapping[int, Step], inputs: dict[str, Value]) -> None:
        self.graph = workflow.graph
        self.steps = steps
        self._frontier = Frontier(self.graph)
        self._inputs = read_inputs(self.graph, self._with_placeholders(inputs))
        self._questions: dict[int, tuple[Planned, ...]] = {}

    def nodes(self) -> list[PlannedNode]:
        """All nodes, in the order of the run."""
        pending = deque(self._frontier.begin())
        while pending:
            one = pending.popleft()
            if isinstance(one, Start):
                pending.extend(self._frontier.tell(self._outcome(one)))
        return [self._planned(self.graph.node(handle)) for handle in self.graph.order]

    def _planned(self, node: TypedNode) -> PlannedNode:
        runs = self.graph.combinations.runs(node) == ALWAYS
        step = self.steps.get(node.index)
        if step is None:
            return PlannedNode(node.id, node.operator or "", None, runs)
        definition, questions = step.definition, self._questions.get(node.index, ())
        return PlannedNode(node.id, definition.operator, definition.model, runs, questions, step.samples or 1)

    def _outcome(self, start: Start) -> Outcome:
        node, visit = start.node, start.visit
        many = {port.name for port in node.input_ports if port.many}
        # Of edges that Decisions keep apart one brings the value, whichever it is.
        inputs = {port: values if port in many else values[:1] for port, values in start.inputs.items()}
        step = self.steps.get(node.index)
        if step is not None:
            self._questions[node.index] = tuple(self._asked(node, step, inputs))
            if node.asks:
                return Chose(visit, None)
            outputs = {port: placeholder(shape, f"{node.id}.{port}") for port, shape in step.shapes.items()}
            if step.samples is not None:
                outputs = {port: [value] * step.samples for port, value in outputs.items()}
            return Gave(visit, outputs)
        if node.kind == "decision":
            return Chose(visit, None, self._carried(node, inputs.get("value", ())[:1]))
        if node.kind == "input":
            return Gave(visit, {INPUT_OUTPUT: self._inputs[node.id]})
        return Gave(visit, {"result": next((values[0].value for values in inputs.values()), None)})

    def _carried(self, node: TypedNode, value: Sequence[Given]) -> Sequence[Given]:
        """The value of a Decision; of a union, a placeholder of each kind, since the cases are all left open."""
        kinds = [kind for _, kind in node.placement.signature.kinds]
        return [
            Given(one.node, one.output, one.type, {KIND: kind, VALUE: self._placeholder(kind, one.node)}, one.title)
            for one in value
            for kind in kinds
        ] or value

    def _with_placeholders(self, inputs: dict[str, Value]) -> dict[str, Value]:
        given = {name.casefold() for name in inputs}
        for node in self.graph.inputs:
            default = node.resolution.parameters.get("default")
            if node.id.casefold() not in given and (default is None or default.value is None):
                inputs[node.id] = self._placeholder(type_of_input(node), node.id)
        return inputs

    def _placeholder(self, type_: Type, origin: str) -> Value:
        return placeholder(shape_of(type_, *meanings_of([type_], self.graph.types)), origin)

    def _asked(self, node: TypedNode, step: Step, inputs: Inputs) -> Iterator[Planned]:
        memory: list[Remembered] = []
        if step.memory.kind != "none":
            # What a Decision keeps away by one of its cases isn't among the inputs then, and what it skips isn't remembered:
            # whether there is anything to sum up is open.
            is_open = step.memory.kind == "summary" and bool(self.graph.decisions)
            entries = self._frontier.remembered(node, {} if is_open else inputs)
            memory = remembered(step.memory.kind, step.memory.amount, entries)
            if memory and step.memory.kind == "summary":
                yield summary_question(memory).planned(least=0 if is_open else 1)
                memory = [summary_of(f"<summary for {node.id}>")]
        yield from operator_for(step.definition).plan(Task(step.definition, inputs, memory))


def _bounds(
    graph: TypedGraph, steps: Mapping[int, Step], nodes: Sequence[PlannedNode], endpoint: Endpoint
) -> tuple[Bounds, Bounds, Bounds]:
    """Bounds of calls, tokens and cost."""
    costs = {node.node: _cost(node, steps, graph, endpoint) for node in nodes if node.questions}
    ways = list(_ways(graph, nodes))
    least = [min(sum(costs[name].least[i] for name in way if name in costs) for way, _ in ways) for i in range(3)]
    most = [max(sum(costs[name].most[i] for name in way if name in costs) for _, way in ways) for i in range(3)]
    priced = all(cost.priced for cost in costs.values())
    return (
        Bounds(least[0], most[0]),
        Bounds(least[1], most[1]),
        Bounds(least[2], most[2] if priced else None),
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """Calls, tokens and US dollars of a node, the least and the most."""

    least: tuple[float, float, float]
    most: tuple[float, float, float]
    priced: bool


def _cost(node: PlannedNode, steps: Mapping[int, Step], graph: TypedGraph, endpoint: Endpoint) -> _Cost:
    step = steps[graph.by_id[node.node].index]
    definition = step.definition
    price: Price | None = price_at(endpoint, definition.model)
    least = [0.0, 0.0, 0.0]
    most = [0.0, 0.0, 0.0]
    for question in node.questions:
        times = node.samples if question.step != "memory" else 1
        request = ModelRequest(
            definition.model, question.messages, definition.temperature, definition.max_tokens, schema=question.schema
        )
        longest = estimate_call(request, price)
        prompt = prompt_tokens(request)
        shortest_cost = 0.0 if price is None else price.cost(Usage(prompt, 0, 1))
        for sums, count, tokens, cost in (
            (least, question.least, prompt, shortest_cost),
            (most, question.most, longest.tokens, longest.cost_usd or 0.0),
        ):
            sums[0] += count * times
            sums[1] += count * times * tokens
            sums[2] += count * times * cost
    return _Cost((least[0], least[1], least[2]), (most[0], most[1], most[2]), price is not None)


def _ways(graph: TypedGraph, nodes: Sequence[PlannedNode]) -> Iterator[tuple[list[str], list[str]]]:
    """For each way through the Decisions the nodes that run, twice; or once those of all ways, and those of any."""
    decisions = [node for node in graph.decisions if node.cases is not None]
    if prod(len(node.cases.keys) for node in decisions if node.cases is not None) > _MOST_COMBINATIONS:
        yield [node.node for node in nodes if node.runs], [node.node for node in nodes]
        return
    ranges = [range(len(node.cases.keys)) for node in decisions if node.cases is not None]
    for choice in product(*ranges):
        chosen = {node.id: case for node, case in zip(decisions, choice, strict=True)}
        state = live_state(graph, chosen)
        running = [node.node for node in nodes if state.runs(graph.by_id[node.node])]
        yield running, running
