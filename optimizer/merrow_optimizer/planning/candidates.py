"""Plans asked for at once, each repaired until it can be used or was asked for too often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from merrow_analysis.check import analyse
from merrow_optimizer.planning.drawings import read_drawing
from merrow_optimizer.planning.plan_reader import PlanBounds, PlanReading, read_plan
from merrow_optimizer.planning.plan_workflow import workflow_text
from merrow_optimizer.planning.questions import PLAN, asked_again, plan_messages
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_optimizer.repair.search import repair
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.question import JobQuestion
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, RunFailure
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.together import together

REPAIRS = 3
"""How often a plan that can't be used is asked for again."""
TEMPERATURE = 1.0
_MOST_TOLD = 8
Told = Callable[[str, int, int], None]
"""Hears what goes on in words, and how many of how many steps are done."""


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """One plan. ``number`` counts those that were asked for, from 1; ``text`` is the workflow file. Without a ``graph`` there are
    ``problems``: why there is none. ``repairs`` is how often it was asked for again, ``lost`` how many of its dependencies could
    not be read.
    """

    number: int
    graph: TaskGraph | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    repairs: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class PlanningTask:
    """What is planned: the task, by which model, within which bounds, and in which form the model answers."""

    task: str
    model: str
    bounds: PlanBounds
    as_mermaid: bool = False

    def request(self) -> ModelRequest:
        """What is asked first."""
        messages = plan_messages(self.task, self.bounds, as_mermaid=self.as_mermaid)
        return ModelRequest(self.model, messages, TEMPERATURE, schema=None if self.as_mermaid else PLAN)


async def ask_for_plans(
    wanted: PlanningTask, count: int, asker: Asker, told: Told = lambda _, __, ___: None
) -> list[PlanCandidate]:
    """``count`` plans, asked for at once. One whose call fails has that as its problem.

    Raises `EndpointFailure`, `BudgetFailure` where no more calls can be made and none of the plans can be used; `StoreFailure`,
    and what ``asker`` raises besides.
    """
    ended = 0
    last: list[RunFailure] = []  # after which no more calls can be made

    async def ask_one(number: int) -> PlanCandidate:
        nonlocal ended

        def again(attempt: int) -> None:
            told(f"correcting plan {number} (attempt {attempt} of {REPAIRS})", ended, count)

        candidate = await _ask(wanted, number, asker, again, last)
        ended += 1
        told(f"{ended} of {count} plans received", ended, count)
        return candidate

    told("asking for 1 plan" if count == 1 else f"asking for {count} plans", 0, count)
    candidates = await together(ask_one(number) for number in range(1, count + 1))
    if last and all(each.graph is None for each in candidates):
        raise last[0]
    return candidates


async def _ask(
    wanted: PlanningTask, number: int, asker: Asker, again: Callable[[int], None], last: list[RunFailure]
) -> PlanCandidate:
    readings: list[PlanReading] = []

    def read(reply: ModelReply) -> tuple[PlanReading, str]:
        parsed, text = _read(wanted, reply)
        readings.append(parsed)
        if parsed.graph is None:
            raise AnswerFailure(" ".join(parsed.problems), advice=asked_again(parsed.problems))
        return parsed, text

    first = wanted.request()
    question = JobQuestion(
        str(number), wanted.model, first.messages, read, first.schema, 1 + REPAIRS, TEMPERATURE, again=again
    )
    try:
        answer = await asker.ask(question)
    except (EndpointFailure, BudgetFailure) as failure:
        if not isinstance(failure, EndpointFailure) or failure.fatal:
            last.append(failure)
        return PlanCandidate(number, problems=(str(failure),), repairs=len(readings))
    except AnswerFailure:
        return PlanCandidate(number, None, "", readings[-1].notes, readings[-1].problems, len(readings) - 1)
    reading, text = answer.value
    return PlanCandidate(number, reading.graph, text, reading.notes, repairs=answer.attempts - 1, lost=reading.lost)


def _read(wanted: PlanningTask, reply: ModelReply) -> tuple[PlanReading, str]:
    """What an answer is, and the workflow file of it."""
    if reply.finish == "length":
        return PlanReading(None, problems=("The answer is cut off; plan with fewer or shorter words.",)), ""
    if reply.finish == "refusal":
        return PlanReading(None, problems=("The model refused to answer.",)), ""
    if wanted.as_mermaid:
        return read_drawing(reply.text, wanted.task, wanted.bounds)
    return _in_file(read_plan(reply.text, wanted.bounds), wanted.task)


def _in_file(reading: PlanReading, task: str) -> tuple[PlanReading, str]:
    """A plan with its workflow file; what the checker says of the file where that has errors."""
    if reading.graph is None:
        return reading, ""
    text = workflow_text(reading.graph, task)
    errors = analyse(text).errors
    if not errors:
        return reading, text
    done = repair(text)
    if done.is_valid:
        notes = (*reading.notes, *(f"Repaired: {step.title}." for step in done.steps))
        return replace(reading, notes=notes), done.text
    return PlanReading(None, reading.notes, tuple(error.message for error in errors[:_MOST_TOLD])), ""


def written(number: int, reading: PlanReading, task: str) -> PlanCandidate:
    """A plan of a file as a candidate."""
    read, text = _in_file(reading, task)
    return PlanCandidate(number, read.graph, text, read.notes, read.problems, lost=read.lost)
