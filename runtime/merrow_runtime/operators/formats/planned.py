"""Workflows that a model plans: what an answer of type Workflow must be, and how it is read.

Such a text comes from a model, and perhaps from what a model has read. So it is checked like a file, and moreover it reaches
nothing outside: it names no file, model or setting of the machine, and it is small and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.provider import NoFiles
from merrow_analysis.definitions.types import ANY, TEXT
from merrow_analysis.graph.measures.call_bounds import call_bounds, count_of
from merrow_analysis.graph.measures.kept_effects import acting
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_analysis.rules.configuration import Config
from merrow_analysis.workflow_values import MOST_NODES, oversized
from merrow_runtime.errors import AnswerFailure, UsageFailure
from merrow_runtime.models.trust import workspace_values
from merrow_runtime.operators.formats.fences import fences
from merrow_runtime.workflow import Workflow, check_workflow

MOST_CALLS = 1_000
"""Calls that one run of a planned workflow may make at most, by the bounds of its Loops, Maps and samples."""

_MOST_TOLD = 8
"""Findings that the model is told at once."""

_NAME = "the planned workflow"
_OUT_OF_REACH = frozenset({"model", "retries", "timeout", "budget", "libraries", "stores"})
"""Keys by which a planned workflow would decide what it costs, how long it waits, or what it reads."""

_FORM = """\
Answer with one fenced block that begins with ```mermaid and holds the whole workflow, a Mermaid flowchart:
- Its first line is `flowchart TD`. `PROBLEM([Problem])` stands for the task, `RETURN([Result])` for the result.
- Each step is a box with an id of its own and, in quotes, what is to be done, in plain words: `HOME["Write the home page."]`. \
A step is given to a model of its own, which sees the results of the steps before it.
- An arrow leads from a step to each one that needs its result: `STRUCTURE --> HOME`. Steps without an arrow between them may \
run at the same time.
- Exactly one step leads to RETURN; it puts the results together. Every step is reached from PROBLEM.
- There are at most {boxes} boxes, and no arrow leads back."""

EMPTY = "flowchart TD\n    PROBLEM([Problem]) --> RETURN([Result])\n"
"""The workflow that gives what it is given."""


def form_of(boxes: int = MOST_NODES) -> str:
    """How a model is asked for a workflow of at most so many boxes."""
    return _FORM.replace("{boxes}", str(boxes))


def read_workflow(text: str) -> str:
    """The workflow that an answer is, alone or in a fence. Raises `AnswerFailure` that names what is wrong with it."""
    blocks = fences(text)
    of_mermaid = [block for block in blocks if block.language == "mermaid"] or blocks
    if len(of_mermaid) > 1:
        message = f"The answer has {len(of_mermaid)} blocks, and one workflow is wanted."
        raise AnswerFailure(message, advice=f"{message} Answer with one block alone.")
    plan = (of_mermaid[0].text if of_mermaid else text).strip()
    problem = problem_of(plan)
    if problem is not None:
        raise AnswerFailure(
            f"It is not a workflow that can be run. {problem}",
            advice=f"Your workflow can't be run. {problem}\nAnswer with the whole workflow again.",
        )
    return plan


@lru_cache(maxsize=64)
def problem_of(text: str) -> str | None:
    """Why a text is no workflow that may be run, in sentences; None where it is one."""
    try:
        load_planned(text)
    except AnswerFailure as failure:
        return str(failure)
    return None


def load_planned(text: str, boxes: int = MOST_NODES) -> Workflow:
    """The workflow that a text is, of at most so many boxes. Raises `AnswerFailure` with all that is wrong with it."""
    if not text.strip():
        raise AnswerFailure("It is empty.")
    problems = list(oversized(text, boxes))
    if problems:
        raise AnswerFailure("\n".join(problems))
    files = NoFiles(lambda path: f"a planned workflow can name no file, and this names {path}.")
    analysis = analyse(text, provider=files, config=Config(), as_workflow=True)
    problems = [f"Line {error.range.start.line + 1}: {error.message}" for error in analysis.errors]
    graph = analysis.typed
    if not problems and graph is not None:
        problems = list(_refused(analysis, graph))
    if problems:
        more = f"\nAnd {len(problems) - _MOST_TOLD} more." if len(problems) > _MOST_TOLD else ""
        raise AnswerFailure("\n".join(problems[:_MOST_TOLD]) + more)
    try:
        return check_workflow(text, name=_NAME, provider=files, analysis=analysis)
    except UsageFailure as problem:
        raise AnswerFailure(str(problem)) from None


def input_of(graph: TypedGraph) -> TypedNode:
    """The input of a planned workflow that takes the problem."""
    return _inputs(graph)[0]


def _inputs(graph: TypedGraph) -> list[TypedNode]:
    """The inputs that must be given; where all have defaults, those."""
    inputs = list(graph.inputs)
    return [node for node in inputs if "default" not in node.resolution.parameters] or inputs


def _refused(analysis: Analysis, graph: TypedGraph) -> Iterator[str]:
    """What a file may do and a planned workflow may not."""
    bounds = call_bounds(graph)
    if bounds.most is None:
        yield "How many calls it makes has no bound, since it runs a planned workflow itself; draw its steps instead."
    elif bounds.most > MOST_CALLS or any(_times(graph, box.id) > MOST_CALLS for box in graph.composites):
        yield f"It may make more than {MOST_CALLS:,} calls; lower `max` of its Loops and Maps, or `samples`."
    for node in acting(graph):
        yield f"{node.id} is a {node.operator}, and a planned workflow can only ask models; leave it out."
    yield from _signature(graph)
    block = analysis.settings.document.values.get("workflow")
    keys = block if isinstance(block, dict) else {}
    for key in [
        *(key for key in keys if key in _OUT_OF_REACH),
        *(value.key for value in workspace_values(keys, _NAME)),
    ]:
        yield f"`{key}` in its front matter is not for it to say; leave it out."
    for agent in analysis.settings.agents.values():
        if agent.model is not None:
            yield f"`model` of the agent {agent.name} is not for it to say; leave it out."
    for validator in analysis.settings.validators.values():
        if any(check.kind == "schema" for check in validator.checks):
            yield f"`schema` of the validator {validator.name} is not for it to say; leave it out."
        if any(check.model is not None for check in validator.checks):
            yield f"`model` of the validator {validator.name} is not for it to say; leave it out."
    for node in graph.nodes:
        parameters = node.resolution.parameters
        for key in parameters.keys() & _OUT_OF_REACH:
            yield f"`{key}` at {node.id} is not for it to say; leave it out."
        if "format" in parameters and not isinstance(parameters["format"].value, str):
            yield f"`format` at {node.id} must be a word; leave out the schema."
    for box in graph.composites:
        if "budget" in box.parameters:
            yield f"`budget` at {box.id} is not for it to say; leave it out."


def _times(graph: TypedGraph, name: str) -> int:
    """How often what is in a composite may run."""
    return prod(count_of(graph.composites.boxes[box], "max") for box in graph.composites.chain(name))


def _signature(graph: TypedGraph) -> Iterator[str]:
    inputs, outputs = _inputs(graph), list(graph.outputs)
    if len(inputs) != 1:
        yield f"It must have one input, which is given the problem; it has {len(inputs)}."
    else:
        type_ = inputs[0].outputs.get(INPUT_OUTPUT) or ANY
        if TEXT not in graph.types.ancestors(type_) and type_ != ANY:
            yield f"Its input {inputs[0].id} must take the problem, which is text; its type is {type_}."
        elif graph.types.words_of(type_) is not None:
            yield f"Its input {inputs[0].id} must take any problem; its type {type_} has only some words."
    if len(outputs) != 1:
        yield f"It must have one output, which gives its result; it has {len(outputs)}."
