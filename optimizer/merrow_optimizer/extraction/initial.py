"""Stage 1: the steps by which a case is solved, one question a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.types import Type
from merrow_optimizer.extraction.case_workflow import TypedSteps, case_text, problems_of
from merrow_optimizer.extraction.generator import (
    TEXT_OR_NULL,
    TEXT_VALUE,
    Generator,
    list_of,
    object_of,
    object_schema,
    question,
)
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.extraction.solved_cases import SolvedCase
from merrow_optimizer.extraction.steps import Steps, kinds_of, read_steps
from merrow_runtime.requests import Message

STAGE = 1
SCHEMA = object_schema(
    "steps",
    steps=list_of(
        object_of(
            name=TEXT_VALUE,
            does=TEXT_VALUE,
            reads=list_of(TEXT_VALUE),
            gives=TEXT_VALUE,
            prompt=TEXT_OR_NULL,
            built_in=TEXT_OR_NULL,
        )
    ),
)
_LONGEST_SHOWN = 24_000
"""Characters of a problem or solution that the model is shown."""


@dataclass(frozen=True, slots=True)
class ExtractionTask:
    """What the cases have in common: their inputs by the ids of nodes, the kind of their answers, and what the data is, in
    words.
    """

    inputs: tuple[str, ...]
    answer: Type
    described: Mapping[str, Any]


def case_question(case: SolvedCase, task: ExtractionTask) -> tuple[Message, ...]:
    """The question about a case."""
    shown = {
        "The problem": case.problem[:_LONGEST_SHOWN],
        "Its solution": case.solution[:_LONGEST_SHOWN],
        "The inputs of the workflow, by their names": list(task.inputs),
    }
    return question("initial", shown, SCHEMA)


def read_case(answer: Mapping[str, Any], task: ExtractionTask, leaks: CaseLeaks | None, cases: Sequence[str]) -> Steps:
    """The steps of an answer, as a workflow that the checker finds nothing wrong with, and without anything of these cases.

    Raises `AnswerRefused`.
    """
    steps = read_steps(answer, task.inputs)
    for step in steps:
        if leaks is not None and step.built_in is None:
            leaks.check(step.prompt, cases)
    text = case_text(TypedSteps(steps, kinds_of(steps, task.answer), task.inputs), {})
    problems = ["What the steps read does not fit what they take."] if text is None else problems_of(text)
    if problems:
        raise AnswerRefused(problems[:8])
    return steps


async def steps_of(case: SolvedCase, task: ExtractionTask, leaks: CaseLeaks, generator: Generator) -> Steps | None:
    """The steps of a case; None where no answer could be used."""
    return await generator.answer(
        STAGE, case_question(case, task), SCHEMA, lambda answer: read_case(answer, task, leaks, [case.id])
    )


async def described_steps(task: ExtractionTask, generator: Generator) -> Steps | None:
    """The steps for any case, by the description of the data alone; None where no answer could be used."""
    shown = {"The problems": dict(task.described), "The inputs of the workflow, by their names": list(task.inputs)}
    asked = question("described", shown, SCHEMA)
    return await generator.answer(STAGE, asked, SCHEMA, lambda answer: read_case(answer, task, None, []))
