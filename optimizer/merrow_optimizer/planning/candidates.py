"""Plans asked for at once, each repaired until it can be used or was asked for too often."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.edits.front_entries import declare_workflow
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.formatting import format_text
from merrow_analysis.graph.instructions import prompt_of
from merrow_analysis.graph.metrics import subtasks_of
from merrow_analysis.text import apply_edits
from merrow_optimizer.planning.model import Model
from merrow_optimizer.planning.questions import PLAN, asked_again, plan_messages
from merrow_optimizer.planning.reading import Bounds, Reading, read_plan
from merrow_optimizer.planning.task_graph import PlannedTask, TaskGraph
from merrow_optimizer.planning.writing import workflow_text
from merrow_optimizer.repair.search import repair
from merrow_runtime.errors import AnswerFailure, EndpointFailure
from merrow_runtime.operators.fences import fences
from merrow_runtime.operators.planned import input_of, load_planned
from merrow_runtime.requests import ModelReply, ModelRequest

REPAIRS = 3
"""How often a plan that can't be used is asked for again."""
TEMPERATURE = 1.0
_MOST_TOLD = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """One plan. ``number`` counts those that were asked for, from 1; ``text`` is the workflow file. Without a ``graph`` there are
    ``problems``: why there is none. ``repairs`` is how often it was asked for again.
    """

    number: int
    graph: TaskGraph | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    repairs: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is planned: the task, by which model, within which bounds, and in which form the model answers."""

    task: str
    model: str
    bounds: Bounds
    as_mermaid: bool = False

    def request(self) -> ModelRequest:
        """The first question."""
        messages = plan_messages(self.task, self.bounds, as_mermaid=self.as_mermaid)
        return ModelRequest(self.model, messages, TEMPERATURE, schema=None if self.as_mermaid else PLAN)


async def ask_for_plans(wanted: Wanted, count: int, model: Model) -> list[Candidate]:
    """``count`` plans, asked for at once. One whose call fails has that as its problem.

    Raises `EndpointFailure` where no call could succeed; `BudgetFailure`, `StoreFailure`.
    """
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_ask(wanted, number, model)) for number in range(1, count + 1)]
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from None
    return [one.result() for one in asked]


async def _ask(wanted: Wanted, number: int, model: Model) -> Candidate:
    request = wanted.request()
    for attempt in range(REPAIRS + 1):
        try:
            reply = await model.ask(request, f"{number} {attempt}")
        except EndpointFailure as failure:
            if failure.fatal:
                raise
            return Candidate(number, problems=(str(failure),), repairs=attempt)
        found, text = _read(wanted, reply)
        if found.graph is not None:
            return Candidate(number, found.graph, text, found.notes, repairs=attempt)
        messages = (*wanted.request().messages, *asked_again(reply.text, found.problems))
        request = ModelRequest(wanted.model, messages, TEMPERATURE, schema=request.schema)
    return Candidate(number, None, "", found.notes, found.problems, REPAIRS)


def _read(wanted: Wanted, reply: ModelReply) -> tuple[Reading, str]:
    """What an answer is, and the workflow file of it."""
    if reply.finish == "length":
        return Reading(None, problems=("The answer is cut off; plan with fewer or shorter words.",)), ""
    if reply.finish == "refusal":
        return Reading(None, problems=("The model refused to answer.",)), ""
    if wanted.as_mermaid:
        return _mermaid(wanted, reply.text)
    return _in_file(read_plan(reply.text, wanted.bounds), wanted.task)


def _in_file(found: Reading, task: str) -> tuple[Reading, str]:
    """A plan with its workflow file; what the checker says of the file where that has errors."""
    if found.graph is None:
        return found, ""
    text = workflow_text(found.graph, task)
    errors = analyse(text).errors
    if not errors:
        return found, text
    done = repair(text)
    if done.is_valid:
        return Reading(found.graph, (*found.notes, *(f"Repaired: {step.title}." for step in done.steps))), done.text
    return Reading(None, found.notes, tuple(error.message for error in errors[:_MOST_TOLD])), ""


def written(number: int, found: Reading, task: str) -> Candidate:
    """A plan of a file as a candidate."""
    read, text = _in_file(found, task)
    return Candidate(number, read.graph, text, read.notes, read.problems)


def _mermaid(wanted: Wanted, answer: str) -> tuple[Reading, str]:
    """An answer that is itself a workflow. What a repair of Merrow's own makes valid need not be asked for again."""
    blocks = fences(answer)
    block = next((one for one in blocks if one.language == "mermaid"), blocks[0] if blocks else None)
    if block is not None and not block.closed:
        return Reading(None, problems=("The answer is cut off: its fenced block is not closed.",)), ""
    text = (answer if block is None else block.text).strip() + "\n"
    notes: tuple[str, ...] = ()
    try:
        load_planned(text)
    except AnswerFailure as failure:
        mended = _mended(text)
        if mended is None:
            return Reading(None, problems=tuple(str(failure).split("\n"))), ""
        text, notes = mended
    planned = load_planned(text)
    graph = _graph_of(planned.analysis)
    if len(graph.tasks) > wanted.bounds.max_nodes:
        return Reading(
            None, problems=(f"It has {len(graph.tasks)} tasks; write at most {wanted.bounds.max_nodes}.",)
        ), ""
    if not graph.tasks:
        return Reading(None, problems=("It has no task.",)), ""
    whole = _with_default(text, input_of(planned.graph).id, wanted.task)
    if analyse(whole).errors:
        return Reading(None, problems=("The task can't be written into it as the default of its input.",)), ""
    return Reading(graph, notes), whole


def _mended(text: str) -> tuple[str, tuple[str, ...]] | None:
    """A text that can be run after the smallest repair of it, with what was repaired; None where it can't."""
    declared = declare_workflow(analyse(text, as_workflow=True).diagram.front_matter)
    if declared is None:
        return None
    whole = apply_edits(text, [declared])
    done = repair(whole)
    if not done.is_valid or not _keeps_all(whole, done.text):
        return None
    try:
        load_planned(done.text)
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
    declared = declare_workflow(analyse(text, as_workflow=True).diagram.front_matter)
    text = text if analyse(text).settings.declared or declared is None else apply_edits(text, [declared])
    return format_text(f"{text.rstrip()}\n{name}@{{ default: {word(task)} }}\n")


def _graph_of(analysis: Analysis) -> TaskGraph:
    """The steps of a workflow as tasks; what runs back in a Loop is left out."""
    assert analysis.typed is not None  # noqa: S101 (what can be run is a workflow)
    nodes, edges = subtasks_of(analysis.typed)
    tasks = []
    for name in nodes:
        said = prompt_of(analysis.typed.by_id[name], analysis.prompts)
        objective = said if isinstance(said, str) else name if said is None else said.text
        after = tuple(dict.fromkeys(source for source, target in edges if target == name))
        tasks.append(PlannedTask(name, objective, after=after))
    return TaskGraph(tuple(tasks))
