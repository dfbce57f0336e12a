"""Format: a solution shortened to the answer alone."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.answer_forms import answer_form_of
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, default_port, output_shape, text_at
from merrow_runtime.values import Outputs

PROMPT = """\
You are given a problem and a solution of it. Write down the solution's final answer and nothing else: a number, a name, a \
date, yes or no, or a few words, in the form the problem asks for. Take the answer as the solution gives it; do not \
correct it, explain it or repeat the question."""


class Format(OneQuestion):
    """Outputs the answer alone."""

    name: ClassVar[str] = "Format"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        text_at(task, "solution")
        port = default_port(task.node)
        form = answer_form_of(port, output_shape(task.node, port), task.node.parameters.get("format"))
        sections = input_sections(task.inputs, ["problem", "solution"])
        messages = compose((PROMPT, task.node.prompt, form.instruction), sections, task.memory)
        return Question("format", messages, lambda text: {port: form.read(text)}, form.schema)
