"""A dry run: what a run would do and ask, with placeholders for what is not known yet. Nothing is called."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from merrow_analysis.definitions.types import Type
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.boxes.composites import loop_settings, map_settings
from merrow_analysis.graph.decisions import KIND
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_analysis.graph.plain_steps import is_played
from merrow_runtime.frontier import Chose, Frontier, Gave, Inputs, Outcome, Start
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.operators.agents.offers import most_steps, offered_tools
from merrow_runtime.operators.agents.tool_agent import ToolAgent
from merrow_runtime.operators.base import Given, Remembered, Task, Wants
from merrow_runtime.operators.formats.planned import MOST_CALLS
from merrow_runtime.operators.formats.shapes import placeholder, shape_of
from merrow_runtime.operators.human import Human
from merrow_runtime.operators.output import Output
from merrow_runtime.operators.prompts.memory import summary_of, summary_question
from merrow_runtime.operators.prompts.prompting import with_advice
from merrow_runtime.operators.questions import PlannedQuestion
from merrow_runtime.operators.registry import operator_for
from merrow_runtime.operators.retrieve import RetrieveByEmbedding
from merrow_runtime.operators.tool import Tool
from merrow_runtime.options import RunOptions
from merrow_runtime.outside.users_permissions import UsersPermissions
from merrow_runtime.program.definitions import Step, Steps, depth_of, make_steps, meanings_of
from merrow_runtime.program.inputs import read_inputs, type_of_input
from merrow_runtime.program.loading import load
from merrow_runtime.program.tool_parameters import root_of
from merrow_runtime.running.forecast_costs import costs_of, left_out
from merrow_runtime.running.forecast_embedding import EmbeddingForecast
from merrow_runtime.running.forecast_figures import FREE, OPEN, Bounds, Cost, Forecast, PlannedNode, PlannedTool
from merrow_runtime.running.forecast_loops import planned_loops
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.running.set_outputs import SetOutputs
from merrow_runtime.validation.questions import later_attempts, planned_questions
from merrow_runtime.values import VALUE, Value
from merrow_runtime.visit import Visit, segment
from merrow_runtime.workflow import Workflow

Call = tuple[str, str]
"""A node that calls a file, by the place of its own file and its id."""

_PLANNED = f"The workflow that it runs is not planned yet: how many calls it makes isn't known, at most {MOST_CALLS:,} each time."

_MOST_CALLED = 500
"""Calls of files that are unfolded; what more of them use isn't known."""


def times_inside(graph: TypedGraph, unsure: Collection[str], *, may_skip: bool) -> dict[str, Bounds]:
    """How often the nodes in each composite run, by its id: the products of turns and items. ``may_skip`` says that some failure
    may count as skipped, which may end a Loop; ``unsure`` nodes may be left out, see `left_out`.
    """
    loops = {edge.border.scope for edge in graph.again}
    times: dict[str, tuple[int, int]] = {}
    for box in graph.composites:
        least, most = (1, 1) if box.parent is None else times[box.parent]
        if box.kind == "map":
            items = map_settings(box)
            least, most = least * items.least, most * items.most
        elif box.id in loops:
            settings = loop_settings(box)
            most *= settings.most
            members = [graph.by_id[member] for member in graph.composites.members(box.id)]
            if not may_skip and settings.budget is None and graph.combinations.always_goes_on(box.id, members):
                least *= settings.most
        times[box.id] = 0 if any(member in unsure for member in graph.composites.members(box.id)) else least, most
    return {name: Bounds(*both) for name, both in times.items()}


def _may_skip(workflow: Workflow, steps: Mapping[int, Step]) -> bool:
    """Whether a failure in a workflow need not end it."""
    graph = workflow.graph
    boxes = ((loop_settings if box.kind == "loop" else map_settings)(box) for box in graph.composites)
    if any(box.on_error != "fail" for box in boxes) or any(step.on_error == "skip" for step in steps.values()):
        return True
    parameters = (node.resolution.parameters.get("on_error") for node in graph.decisions)
    return "skip" in {
        workflow.analysis.settings.on_error if parameter is None else parameter.value for parameter in parameters
    }


def dry_run(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    embedding: EmbeddingForecast | None = None,
) -> Forecast:
    """Say what a run would do, without calling anything. Inputs that are not given are placeholders. ``embedding`` is what
    earlier forecasts at the same endpoint have counted, so that stores are not read again.

    Raises `UsageFailure` as a run would, and `NodeFailure` where more may arrive at a Decision than it takes.
    """
    options = RunOptions() if options is None else options
    workflow = source if isinstance(source, Workflow) else load(source)
    chosen = ChosenEndpoint(endpoint) if endpoint is not None else choose(options, options.base_url, workflow.machine)
    chosen = with_only_model(chosen, options, workflow.reached())
    endpoint = chosen.endpoint
    steps = make_steps(workflow, options, chosen.model)
    embedding = embedding or EmbeddingForecast(endpoint, root_of(workflow), options)
    unfolding = _Unfolding(options, chosen.model, endpoint, embedding)
    set_outputs = SetOutputs(workflow, options.set_outputs)
    nodes = _Forecaster(workflow, steps, dict(inputs or {}), unfolding, set_outputs=set_outputs).nodes()
    costs = costs_of(workflow.graph, steps, nodes, endpoint, set_outputs) + embedding.once
    return Forecast(
        workflow.name,
        endpoint.origin,
        tuple(_unfolded(nodes)),
        *costs.bounds,
        planned_loops(workflow),
        embedding.once,
    )


def _unfolded(nodes: Iterable[PlannedNode], around: str = "") -> Iterator[PlannedNode]:
    """The nodes, each Call followed by those of its file, which are named by their paths."""
    for node in nodes:
        name = f"{around}{node.node if not around else segment(node.node)}"
        yield replace(node, node=name)
        yield from _unfolded(node.inside, f"{name if around else segment(node.node)}/")


@dataclass(slots=True, eq=False)
class _Unfolding:
    """What is the same for a workflow and all files that it calls. ``known`` are the forecasts of called files, by the
    call, by how often each call is around it, and by what a person set in it.
    """

    options: RunOptions
    default_model: str | None
    endpoint: Endpoint
    embedding: EmbeddingForecast
    permissions: UsersPermissions = field(default_factory=UsersPermissions)
    known: dict[tuple[Call, frozenset[tuple[Call, int]], str], tuple[tuple[PlannedNode, ...], Cost]] = field(
        default_factory=dict
    )


class _Forecaster:
    """Runs the workflow without calls: with placeholders for values, and Decisions that leave all their cases open."""

    def __init__(
        self,
        workflow: Workflow,
        steps: Steps,
        inputs: dict[str, Value],
        unfolding: _Unfolding,
        around: tuple[Call, ...] = (),
        set_outputs: SetOutputs | None = None,
    ) -> None:
        """``set_outputs`` is what a person set in it."""
        self._said = set_outputs
        self.graph, self._place, self._workflow = workflow.graph, workflow.place, workflow
        self.steps = steps
        self._unfolding, self._around = unfolding, around
        self._called: dict[int, tuple[tuple[PlannedNode, ...], Cost]] = {}
        self._frontier = Frontier(self.graph, once=True)
        self._inputs = read_inputs(self.graph, self._with_placeholders(inputs))
        self._questions: dict[int, tuple[PlannedQuestion, ...]] = {}
        self._answered: set[int] = set()
        self._queries: dict[int, Value] = {}
        self._times = times_inside(self.graph, left_out(self.graph), may_skip=_may_skip(workflow, steps))

    def nodes(self) -> list[PlannedNode]:
        """All nodes, in the order of the run."""
        pending = deque(self._frontier.begin())
        while pending:
            consequence = pending.popleft()
            if isinstance(consequence, Start):
                pending.extend(self._frontier.tell(self._outcome(consequence)))
        if self._frontier.failure is not None:
            raise self._frontier.failure
        return [self._planned(self.graph.node(handle)) for handle in self.graph.order]

    def _in_turns(self, node: TypedNode, box: str) -> Bounds:
        """How often a node in a composite runs. What leads only back does not run in the last turn of a Loop without a box."""
        times, turning = self._times[box], self.graph.turning
        loop = self.graph.composites.boxes[box]
        if turning is None or not loop.implied or turning.runs_last(node, box):
            return times
        turns = loop_settings(loop).most
        most = None if times.most is None else times.most * (turns - 1) // turns
        return Bounds(times.least * (turns - 1) // turns, most)

    def _planned(self, node: TypedNode) -> PlannedNode:
        runs = self.graph.combinations.runs(node) == ALWAYS
        box = self.graph.composites.inside.get(node.id)
        times = None if box is None else self._in_turns(node, box)
        step = self.steps.get(node.index)
        if step is None:
            return PlannedNode(node.id, node.operator or "", None, runs, times=times)
        definition, questions = step.definition, self._questions.get(node.index, ())
        if node.index in self._answered:
            return PlannedNode(node.id, definition.operator, None, runs, times=times)
        if step.called is not None:
            inside, costs = self._called.get(node.index, ((), FREE))
            return PlannedNode(
                node.id, definition.operator, None, runs, questions, times=times, inside=inside, costs=costs
            )
        if step.is_planned_call:
            return PlannedNode(
                node.id, definition.operator, None, runs, questions, times=times, costs=OPEN, why_open=_PLANNED
            )
        if isinstance(step.operator, RetrieveByEmbedding):
            planned = PlannedNode(node.id, definition.operator, definition.model, runs, times=times)
            return self._unfolding.embedding.of(planned, self._workflow, step, self._queries.get(node.index))
        asks = None
        if isinstance(step.operator, Human):  # The variables of a template stay: what they stand for is not known.
            text = None if definition.prompt is None else str(definition.prompt)
            asks = step.operator.question(Task(replace(definition, prompt=text), {})).ask
        tool = str(definition.parameters["tool"]) if isinstance(step.operator, Tool) else None
        is_agent = isinstance(step.operator, ToolAgent)
        offered = tuple(name for name, _ in offered_tools(definition)) if is_agent else ()
        return PlannedNode(
            node.id,
            definition.operator,
            definition.model if asks is None and tool is None else None,
            runs,
            questions,
            step.samples or 1,
            times,
            played=is_played(node),
            person=asks,
            tool=tool,
            offered=offered,
            steps=most_steps(definition) if is_agent else 0,
            may=tuple(self._tool(name) for name in ([tool] if tool is not None else offered) if "." in name),
        )

    def _tool(self, name: str) -> PlannedTool:
        """What may be done with a tool, and what its server says of that."""
        outside, permissions = self.graph.core.language.outside, self._unfolding.permissions
        pin = None if outside is None else outside.tools.find(name).pin
        hints = {} if pin is None else pin.annotations
        return PlannedTool(name, permissions.may_use(name), permissions.may_repeat(name), hints)

    def _call(self, visit: Visit, step: Step, called: Workflow, inputs: Inputs) -> tuple[tuple[PlannedNode, ...], Cost]:
        """The nodes of a called file, and what it may use. Those of a file that is running already are only counted."""
        own, unfolding = (self._place, step.definition.id), self._unfolding
        if self._around.count(own) >= depth_of(step):
            return (), FREE
        around = (*self._around, own)
        inside = self._said.inside(visit) if self._said else None
        key = own, frozenset(Counter(around).items()), "" if self._said is None else self._said.key(visit, "")
        known = unfolding.known.get(key)
        if known is None and len(unfolding.known) >= _MOST_CALLED:
            return (), OPEN
        if known is None:
            unfolding.known[key] = (), FREE
            steps = make_steps(called, unfolding.options, unfolding.default_model)
            given = {port: values[0].value for port, values in inputs.items()}
            nodes = tuple(_Forecaster(called, steps, given, unfolding, around, inside).nodes())
            known = unfolding.known[key] = nodes, costs_of(called.graph, steps, nodes, unfolding.endpoint, inside)
        return ((), known[1]) if own in self._around else known

    def _outcome(self, start: Start) -> Outcome:
        node, visit = start.node, start.visit
        many = {port.name for port in node.input_ports if port.many}
        # Of edges that Decisions keep apart one brings the value, whichever it is.
        inputs = {port: values if port in many else values[:1] for port, values in start.inputs.items()}
        step = self.steps.get(node.index)
        case = self._said.case(visit) if self._said else None
        given = self._said.of(visit) if self._said else {}
        if case is not None:
            self._answered.add(node.index)
            return Chose(visit, case, inputs.get("value", ())[:1])
        if step is not None and given.keys() >= step.shapes.keys():
            self._answered.add(node.index)
            return Gave(visit, {port: given[port] for port in step.shapes})
        if step is not None:
            if step.called is not None:
                self._called[node.index] = self._call(visit, step, step.called, inputs)
            self._questions[node.index] = tuple(self._asked(start, step, inputs))
            if isinstance(step.operator, RetrieveByEmbedding):
                self._queries[node.index] = next((values[0].value for values in inputs.values()), None)
            if node.asks:
                return Chose(visit, None)
            outputs = {port: placeholder(shape, f"{node.id}.{port}") for port, shape in step.shapes.items()}
            if step.samples is not None:
                outputs = {port: [value] * step.samples for port, value in outputs.items()}
            return Gave(visit, {**outputs, **given})
        if node.kind == "decision":
            return Chose(visit, None, self._carried(node, inputs.get("value", ())[:1]))
        if node.kind == "input":
            return Gave(visit, {INPUT_OUTPUT: self._inputs[node.id]})
        return Gave(visit, {"result": next((values[0].value for values in inputs.values()), None)})

    def _carried(self, node: TypedNode, value: Sequence[Given]) -> Sequence[Given]:
        """The value of a Decision; of a union, a placeholder of each kind, since the cases are all left open."""
        kinds = [kind for _, kind in node.placement.signature.kinds]
        return [
            Given(
                given.node,
                given.output,
                given.type,
                {KIND: kind, VALUE: self._placeholder(kind, given.node)},
                given.title,
            )
            for given in value
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

    def _asked(self, start: Start, step: Step, inputs: Inputs) -> Iterator[PlannedQuestion]:
        node, path = start.node, start.visit.path
        is_open = step.memory.kind == "summary" and bool(self.graph.decisions)

        def entries(*, wants: Wants | None = None) -> Sequence[Remembered]:
            # What a Decision keeps away by one of its cases isn't among the inputs then, and what it skips isn't remembered:
            # whether there is anything to sum up is open.
            return self._frontier.remembered(node, {} if is_open else inputs, path, wants=wants)

        memory = self.steps.memory_of(step, entries)
        if memory and step.memory.kind == "summary":
            yield summary_question(memory).planned(least=0 if is_open else 1)
            memory = [summary_of(f"<summary for {node.id}>")]
        task, validation = Task(step.definition, inputs, memory), step.validation
        outputs = {port: placeholder(shape, f"{node.id}.{port}") for port, shape in step.shapes.items()}
        asked = () if isinstance(step.operator, Output) else operator_for(step.definition).plan(task)
        later = [] if validation is None else [later_attempts(validation, asked_call, outputs) for asked_call in asked]
        for planned in (*asked, *(attempt for attempt in later if attempt is not None)):
            yield planned if step.aims is None else replace(planned, messages=with_advice(planned.messages, step.aims))
        if validation is not None:
            known = self._inputs if node.kind == "output" else {}
            yield from planned_questions(validation, task, known, outputs)
