"""Revise: rewrites a solution by the feedback on it."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.answer_forms import answer_form_of
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, default_port, output_shape, text_at
from merrow_runtime.values import Outputs

PROMPT = """\
Revise the solution of the problem you are given by the feedback on it. Put right everything the feedback rightly finds \
wrong, leave alone what is right, and keep the form of the solution. Where the feedback itself is mistaken, keep to the \
problem. Answer with the whole revised solution, ready to be used in place of the old one, and nothing about the revision."""

CODE_PROMPT = "The solution is code: keep the names and parameters of its functions."


class Revise(OneQuestion):
    """The solution's type stays: code is revised into code that parses, a number into a number."""

    name: ClassVar[str] = "Revise"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        text_at(task, "solution")
        port = default_port(task.node)
        shape = output_shape(task.node, port)
        form = answer_form_of(port, shape, task.node.parameters.get("format"))
        instructions = (PROMPT, CODE_PROMPT if shape.kind == "code" else None, task.node.prompt, form.instruction)
        sections = input_sections(task.inputs, ["problem", "solution", "feedback"])
        messages = compose(instructions, sections, task.memory)
        return Question("revise", messages, lambda text: {port: form.read(text)}, form.schema)
