"""Custom: one question with the author's own prompt."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.answer_forms import answer_form_of
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, default_port, output_shape
from merrow_runtime.values import Outputs


class Custom(OneQuestion):
    """The node's prompt, then its inputs in edge order. The answer is of the type that the node ``returns``."""

    name: ClassVar[str] = "Custom"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        port = default_port(task.node)
        form = answer_form_of(port, output_shape(task.node, port), task.node.parameters.get("format"))
        messages = compose((task.node.prompt, form.instruction), input_sections(task.inputs), task.memory)
        return Question("answer", messages, lambda text: {port: form.read(text)}, form.schema)
