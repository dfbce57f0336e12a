"""A model in the place of the person whom a Human or an agent asks, in evaluations and searches, where nobody else answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from merrow_analysis.people.answers import InvalidAnswerError
from merrow_analysis.people.forms import NOTE, Form, read_form
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.base import NodeDefinition, Task
from merrow_runtime.operators.formats.shapes import shape_of
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, read_fields, record_fields
from merrow_runtime.operators.human import STEP, Human, is_whole, outputs_of
from merrow_runtime.operators.prompts.prompting import DATA_NOTICE, Section, render_section
from merrow_runtime.operators.questions import OneQuestion, Question, default_port, output_shape
from merrow_runtime.requests import AnswerSchema, Message, PersonQuestion
from merrow_runtime.values import Outputs, Value

PARAMETER = "simulated"
"""The parameter of a definition that says so. No workflow can have it; it keeps results of a model apart from those of people."""

_INSTRUCTIONS = (
    "You stand in for the person who is asked a question by a workflow. Read the question and what it is about, and answer as a"
    " careful person would who knows no more than what is shown."
)
_EDITING = "The section `Draft` is the text to edit: answer with the whole text as it should be."
_APPROVAL = "true to approve or say yes, false to reject or say no"
_REMARK = "a remark for whoever reads the answer, such as why; empty if there is none"

_WORDS = "Choice"
"""What the type of the words is called that an agent offers."""

_HUMAN = Human()


class SimulatedPerson(OneQuestion):
    """Asks a model what `Human` asks a person, in the same form and checked in the same way."""

    name: ClassVar[str] = "Human"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        """What a person would be asked. Raises `NodeFailure`."""
        node = task.node
        put = _HUMAN.question(task)
        form = read_form(put.schema)
        asked = _fields(node, form)
        fields = asked if form.note is None else [*asked, _note()]

        def read(text: str) -> Outputs:
            try:
                return outputs_of(node, form, _content(text, fields, asked))
            except InvalidAnswerError as problem:
                raise AnswerFailure(str(problem), advice=f"{problem}\n{answer_form(fields)}") from None

        return Question(STEP, _messages(put, form, fields), read, answer_schema("person", fields))


def simulated_answer(
    put: PersonQuestion, form: Form
) -> tuple[tuple[Message, ...], Callable[[str], Value], AnswerSchema]:
    """A question of an agent with the one field of its ``form``: what a model is sent, how its answer is read, and its schema."""
    field = form.sole
    assert field is not None  # noqa: S101 (an agent asks for one thing)
    shape = shape_of(_WORDS, {}, {_WORDS: field.words}) if field.words else shape_of("Text", {}, {})
    fields = [Field(field.name, shape)]
    return (
        _messages(put, form, fields),
        lambda text: read_fields(text, fields)[field.name],
        answer_schema("person", fields),
    )


def _messages(put: PersonQuestion, form: Form, fields: list[Field]) -> tuple[Message, ...]:
    """What is sent. All that comes from the workflow and its data stands in fences, so that nothing there instructs the model."""
    sections = [Section("Question", put.ask), *(Section(title, text) for title, text in put.shown)]
    paragraphs = [_INSTRUCTIONS]
    if form.kind == "edit":
        field = form.sole
        assert field is not None  # noqa: S101 (a text to edit is the one field of its form)
        sections.append(Section("Draft", field.default))
        paragraphs.append(_EDITING)
    paragraphs += [answer_form(fields), DATA_NOTICE]
    return (
        Message("system", "\n\n".join(paragraphs)),
        Message("user", "\n\n".join(map(render_section, sections))),
    )


def _fields(node: NodeDefinition, form: Form) -> list[Field]:
    """The fields that must be answered."""
    port = default_port(node)
    shape = output_shape(node, port)
    if is_whole(node, port):
        return record_fields(shape)
    return [Field(form.asked[0].name, shape, _APPROVAL if form.kind == "approval" else "")]


def _note() -> Field:
    return Field(NOTE, shape_of("Text", {}, {}), _REMARK, blank=True)


def _content(text: str, fields: list[Field], asked: list[Field]) -> dict[str, Value]:
    """The fields of an answer; a model that leaves no note need not say so."""
    try:
        return read_fields(text, fields)
    except AnswerFailure as failure:
        if len(asked) == len(fields):
            raise
        try:
            return read_fields(text, asked)
        except AnswerFailure:
            raise failure from None
