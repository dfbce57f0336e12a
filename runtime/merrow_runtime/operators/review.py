"""Review: judges a solution."""

from __future__ import annotations

from typing import ClassVar

from merrow_analysis.definitions.types import BOOL
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.shapes import ValueShape
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, read_fields
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, output_shape, text_at
from merrow_runtime.values import Outputs

PROMPT = """\
Review the solution of the problem you are given. Check it step by step against what the problem asks: facts, reasoning, \
calculation, completeness, form of the answer. In the feedback say first what is wrong and where, then how to put it \
right; if nothing is wrong, say what you checked. Reject the solution only if you are more than 95 % sure that it is \
wrong; if in doubt, accept it and name the doubt in the feedback."""


class Review(OneQuestion):
    """Outputs the feedback, and as ``result`` whether the solution is accepted."""

    name: ClassVar[str] = "Review"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        text_at(task, "solution")
        fields = [
            Field(
                "feedback", output_shape(task.node, "feedback"), "what you checked, what is wrong and how to mend it"
            ),
            Field(
                "accepted",
                ValueShape("bool", BOOL),
                "false only if you are more than 95 % sure that the solution is wrong",
            ),
        ]

        def read(text: str) -> Outputs:
            values = read_fields(text, fields)
            return {"feedback": values["feedback"], "result": values["accepted"]}

        sections = input_sections(task.inputs, ["problem", "solution"])
        messages = compose((PROMPT, task.node.prompt, answer_form(fields)), sections, task.memory)
        return Question("review", messages, read, answer_schema("review", fields))
