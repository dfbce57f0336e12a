"""CustomCodeGenerate: a program for the problem, by the author's own instruction."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.answer_forms import CODE_FORM
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.operators.formats.shapes import coerce
from merrow_runtime.operators.programs.entry_point import entry_point_of
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, default_port, output_shape
from merrow_runtime.values import Outputs

PROMPT = """\
Write Python 3 code that solves the problem you are given. Keep every name, parameter and helper function that the problem \
gives, mind its examples and edge cases, and return results instead of printing them unless it asks for output."""


class CustomCodeGenerate(OneQuestion):
    """The code of the answer, cleaned to what parses; it must define the entry point, where one is given."""

    name: ClassVar[str] = "CustomCodeGenerate"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        port = default_port(task.node)
        shape = output_shape(task.node, port)
        entry_point = entry_point_of(task)
        must = None if entry_point is None else f"The code must define `{entry_point}` at its top level."
        instructions = (PROMPT, task.node.prompt, must, CODE_FORM)
        messages = compose(instructions, input_sections(task.inputs, ["problem"]), task.memory, inputs=task.inputs)
        return Question("answer", messages, lambda text: {port: coerce(read_code(text, entry_point), shape)})
