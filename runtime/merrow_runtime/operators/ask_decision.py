"""A Decision that asks a model which way to take: one question whose answer is one of its cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from merrow_analysis.definitions.labels.step_text import step_text
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, read_fields
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, output_shape
from merrow_runtime.values import Outputs

CHOICE = "choice"
"""The one output of such a Decision when it runs: the words of the case it takes."""
CASE = "Case"
"""The enumeration of these words."""

PROMPT = """\
Decide which way to take. What to decide on is said above; the data is in the next message. Answer with the one way that \
fits best."""
OTHERWISE = f"`{ELSE}` is the way to take where none of the others fits."


def case_words(node: TypedNode) -> tuple[str, ...]:
    """What each case of an asking Decision is called, by its number: its label as a person reads it; all are different."""
    assert node.cases is not None  # noqa: S101 (a Decision has cases)
    words: dict[str, None] = {}
    for number, (key, label) in enumerate(zip(node.cases.keys, node.cases.labels, strict=True), 1):
        word = ELSE if key == ELSE else " ".join(step_text(label).split()) or label
        words[word if word not in words else f"{word} ({number})"] = None
    return tuple(words)


class AskDecision(OneQuestion):
    """Outputs the words of the case that the model takes; an answer that is none of them is `else`, where there is one."""

    name: ClassVar[str] = "Decision"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        fields = [Field(CHOICE, output_shape(task.node, CHOICE))]
        words = task.node.words[CASE]
        told = PROMPT if ELSE not in words else f"{PROMPT} {OTHERWISE}"
        messages = compose((task.node.prompt, told, answer_form(fields)), input_sections(task.inputs), task.memory)
        return Question("decide", messages, _reader(fields, words), answer_schema("decision", fields))


def _reader(fields: Sequence[Field], words: Sequence[str]) -> Callable[[str], Outputs]:
    def read(text: str) -> Outputs:
        try:
            return dict(read_fields(text, fields))
        except AnswerFailure:
            if ELSE in words:
                return {CHOICE: ELSE}
            raise

    return read
