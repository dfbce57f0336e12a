"""A planner's answer that is itself a workflow in Mermaid: read, repaired where that loses nothing, and held to the bounds."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.edits.front_entries import declare_workflow
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.formatting import format_text
from merrow_analysis.graph.instructions import agent_of, prompt_of
from merrow_analysis.graph.measures.metrics import subtasks_of
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.text import apply_edits
from merrow_analysis.workflow_values import oversized
from merrow_optimizer.planning.plan_reader import PlanBounds, PlanReading, as_text
from merrow_optimizer.planning.task_graph import PlannedAgent, PlannedTask, TaskGraph
from merrow_optimizer.repair.search import repair
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.fences import fences
from merrow_runtime.operators.formats.planned import input_of, load_planned

_MOST_ERRORS = 30
"""Errors of a text that is repaired."""


def read_drawing(answer: str, task: str, bounds: PlanBounds) -> tuple[PlanReading, str]:
    """What an answer is, and the workflow file of it, whose input has ``task`` as its default. What a repair by Merrow makes
    valid need not be asked for again.
    """
    blocks = fences(answer)
    block = next((fenced for fenced in blocks if fenced.language == "mermaid"), blocks[0] if blocks else None)
    if block is not None and not block.closed:
        return PlanReading(None, problems=("The answer is cut off: its fenced block is not closed.",)), ""
    text = as_text(answer if block is None else block.text) + "\n"
    large = tuple(oversized(text, bounds.max_boxes))
    if large:  # A repair would take long, and could not make it small.
        return PlanReading(None, problems=large), ""
    notes: tuple[str, ...] = ()
    try:
        load_planned(text, bounds.max_boxes)
    except AnswerFailure as failure:
        repaired = _repaired(text, bounds.max_boxes)
        if repaired is None:
            return PlanReading(None, problems=tuple(str(failure).split("\n"))), ""
        text, notes = repaired
    planned = load_planned(text, bounds.max_boxes)
    graph = _graph_of(planned.analysis)
    problems = tuple(_out_of_bounds(planned.analysis, graph, bounds))
    if problems:
        return PlanReading(None, notes, problems), ""
    whole = _with_default(text, input_of(planned.graph).id, task)
    if analyse(whole).errors:
        return PlanReading(None, problems=("The task can't be written into it as the default of its input.",)), ""
    return PlanReading(graph, notes), whole


def _out_of_bounds(analysis: Analysis, graph: TaskGraph, bounds: PlanBounds) -> Iterator[str]:
    """What a plan has that it may not have, in sentences for who drew it."""
    if not graph.tasks:
        yield "It has no task."
    if len(graph.tasks) > bounds.max_nodes:
        yield f"It has {len(graph.tasks)} tasks; write at most {bounds.max_nodes}."
    agents = list(analysis.settings.agents.values())
    if bounds.max_agents is not None and len(agents) > bounds.max_agents:
        yield f"It has {len(agents)} agents; use at most {bounds.max_agents}."
    if not bounds.roles:
        return
    roles, allowed = {role.casefold().strip() for role in bounds.roles}, ", ".join(bounds.roles)
    for agent in agents:
        if " ".join(agent.role.split()).casefold() not in roles:
            yield f"The agent `{agent.name}` has the role `{agent.role}`; the roles are {allowed}."
    without = [node for node in _asking(analysis.typed) if not _agent_name(analysis, node)]
    if without:
        yield f"These steps have no agent: {', '.join(without)}. The roles of the agents are {allowed}."


def _asking(graph: TypedGraph | None) -> list[str]:
    """The ids of the steps that an agent can carry out: those that ask a model and are no Decisions."""
    nodes = [] if graph is None else graph.nodes
    return [
        node.id
        for node in nodes
        if node.kind == "operator" and node.spec is not None and node.spec.asks_model and not node.asks
    ]


def _agent_name(analysis: Analysis, node: str) -> str | None:
    agent = None if analysis.typed is None else agent_of(analysis.typed.by_id[node], analysis.settings)
    return None if agent is None else agent.name


def _repaired(text: str, boxes: int) -> tuple[str, tuple[str, ...]] | None:
    """A text that can be run after the smallest repair of it, with what was repaired; None where it can't, or where so much is
    wrong that looking for one would take longer than asking again.
    """
    whole = _declared(text)
    if len(analyse(whole, as_workflow=True).errors) > _MOST_ERRORS:
        return None
    done = repair(whole)
    if not done.is_valid or not _keeps_all(whole, done.text):
        return None
    try:
        load_planned(done.text, boxes)
    except AnswerFailure:
        return None
    return done.text, tuple(f"Repaired: {step.title}." for step in done.steps)


def _keeps_all(before: str, after: str) -> bool:
    """Whether a repair has lost no step: none was removed, and no line turned into a comment."""
    comments = [sum(line.lstrip().startswith("%%") for line in text.split("\n")) for text in (before, after)]
    old, new = (analyse(text, as_workflow=True).flow.chart.nodes for text in (before, after))
    return comments[0] == comments[1] and old.keys() <= new.keys()


def _with_default(text: str, name: str, task: str) -> str:
    """The formatted workflow that is given the task where nothing else is given."""
    return format_text(f"{_declared(text).rstrip()}\n{name}@{{ default: {word(task)} }}\n")


def _declared(text: str) -> str:
    """The text with a front matter that makes it a workflow, where that can be written."""
    declared = declare_workflow(analyse(text, as_workflow=True).diagram.front_matter)
    return text if analyse(text).settings.declared or declared is None else apply_edits(text, [declared])


def _graph_of(analysis: Analysis) -> TaskGraph:
    """The steps of a workflow as tasks; what runs back in a Loop is left out."""
    assert analysis.typed is not None  # noqa: S101 (what can be run is a workflow)
    nodes, edges = subtasks_of(analysis.typed)
    tasks = []
    for name in nodes:
        node = analysis.typed.by_id[name]
        prompt = prompt_of(node, analysis.prompts)
        objective = prompt if isinstance(prompt, str) else name if prompt is None else prompt.text
        form = node.resolution.parameters.get("format")
        written = form.value if form is not None and isinstance(form.value, str) else ""
        after = tuple(dict.fromkeys(source for source, target in edges if target == name))
        tasks.append(PlannedTask(name, objective, _agent_name(analysis, name), written, after))
    used = {task.agent for task in tasks}
    agents = (PlannedAgent(agent.name, agent.role, agent.prompt) for agent in analysis.settings.agents.values())
    return TaskGraph(tuple(tasks), tuple(agent for agent in agents if agent.id in used))
