"""AnswerGenerate: reasons step by step, then gives a short answer."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, fields_reader
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, output_shape
from merrow_runtime.values import Outputs

PROMPT = """\
Answer the question you are given. First reason step by step, using what the material says before what you remember, \
and check the result against the question. Then give the final answer by itself, as short as it can be: a number, a \
name, a date, yes or no, or a few words, without explanation and without repeating the question."""


class AnswerGenerate(OneQuestion):
    """Outputs ``answer`` and the ``thought`` that led to it; the model writes the thought first."""

    name: ClassVar[str] = "AnswerGenerate"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        fields = [
            Field("thought", output_shape(task.node, "thought"), "your reasoning, step by step", blank=True),
            Field("answer", output_shape(task.node, "answer"), "the final answer alone"),
        ]
        instructions = (PROMPT, task.node.prompt, answer_form(fields))
        messages = compose(instructions, input_sections(task.inputs), task.memory)
        return Question("answer", messages, fields_reader(fields), answer_schema("answer", fields))
