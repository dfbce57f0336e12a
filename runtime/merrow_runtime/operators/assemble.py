"""Assemble: puts results together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.formats.answer_files import files_in, text_of_files
from merrow_runtime.operators.formats.answer_forms import answer_form_of
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, Question, default_port, output_shape
from merrow_runtime.values import Outputs, as_text

PROMPT = """\
Put the results that you are given together into the one result that the problem asks for. Keep everything of them that it \
needs, word for word where it is code or data; where they contradict each other, take what fits the problem. Deliver the \
product itself: no summary of it, and no word about the results or about what you did."""


class Assemble(ModelOperator):
    """Outputs the whole: as a model puts it together, the results one below the other, or the files that are in them."""

    name: ClassVar[str] = "Assemble"
    version: ClassVar[int] = 1

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        return () if _how(task) != "model" else (_question(task).planned(),)

    async def run(self, task: Task, tools: Tools) -> Outputs:
        how = _how(task)
        if how == "model":
            return await _question(task).ask(tools)
        tools.no_call("It puts its results together without a model.")
        port = default_port(task.node)
        results = list(_results(task))
        if how == "concat":
            return {port: "\n\n".join(results)}
        try:
            files = files_in(results)
        except ValueError as problem:
            raise NodeFailure.of(task.node.id, str(problem)) from None
        if not files:
            raise NodeFailure.of(
                task.node.id, "no result has a fenced block with a file name, such as ```html index.html."
            )
        return {port: text_of_files(files)}


def _how(task: Task) -> str:
    return str(task.node.parameters.get("how") or "model")


def _question(task: Task) -> Question[Outputs]:
    port = default_port(task.node)
    form = answer_form_of(port, output_shape(task.node, port), task.node.parameters.get("format"))
    sections = input_sections(task.inputs, ["problem", "results"])
    messages = compose((PROMPT, task.node.prompt, form.instruction), sections, task.memory)
    return Question("assemble", messages, lambda text: {port: form.read(text)}, form.schema)


def _results(task: Task) -> Iterator[str]:
    """The results as texts, lists item by item."""
    for given in task.inputs.get("results", ()):
        for value in given.value if isinstance(given.value, list) else [given.value]:
            yield as_text(value).strip("\n")
