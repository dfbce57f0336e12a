"""Human: asks a person and waits for the answer, for days if need be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_analysis.definitions.durations import read_duration
from merrow_analysis.definitions.templates import PromptTemplate, variables
from merrow_analysis.definitions.types import BUILT_IN, TypeTable
from merrow_analysis.people.answers import InvalidAnswerError, answer_and_note, validated
from merrow_analysis.people.forms import LONGEST_TEXT, NOTE, QUESTIONS, Form, form_of, is_record, read_form
from merrow_analysis.visible import plain
from merrow_runtime.errors import NodeFailure, UnansweredFailure
from merrow_runtime.operators.base import NodeDefinition, Task, Tools
from merrow_runtime.operators.prompts.prompting import Section, input_sections
from merrow_runtime.operators.prompts.templating import filled
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, default_port
from merrow_runtime.requests import PersonQuestion
from merrow_runtime.values import Outputs, as_text

STEP = "ask"
LONGEST_SHOWN = 20_000
"""Characters of each value that a person is shown; the rest is left out, and how much that is."""
_MOST_SHOWN = 20
"""Values that a person is shown."""


class Human(ModelOperator):
    """Its question is what the node's `ask` says, with what arrives at `input`; its form follows from `returns`."""

    name: ClassVar[str] = "Human"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """No model is asked."""
        del task
        return ()

    def question(self, task: Task) -> PersonQuestion:
        """What a person is asked. Raises `NodeFailure`."""
        node = task.node
        sections = input_sections({port: given for port, given in task.inputs.items() if port != "draft"})
        ask = node.prompt or ""
        if isinstance(ask, PromptTemplate):
            named = variables(ask)
            texts = {port: "\n\n".join(section.text for section in sections if section.port == port) for port in named}
            sections = [section for section in sections if section.port not in named]
            ask = filled(ask, texts)
        form = form_of(node.outputs[default_port(node)], _types(node), has_draft="draft" in task.inputs)
        if "draft" in task.inputs:
            draft = as_text(task.inputs["draft"][0].value)
            if len(draft) > LONGEST_TEXT:
                raise NodeFailure.of(
                    node.id,
                    f"the text at its port `draft` has {len(draft):,} characters; a person can be asked to edit"
                    f" {LONGEST_TEXT:,} at most.",
                )
            form = form.with_draft(draft)
        return PersonQuestion(shown_text(ask or QUESTIONS[form.kind]), form.schema(), _shown(sections))

    async def run(self, task: Task, tools: Tools) -> Outputs:
        node = task.node
        deadline = node.parameters.get("deadline")
        question = self.question(task)
        answer = await tools.person(STEP, question, read_duration(deadline))
        if answer.action == "expire":
            raise UnansweredFailure.of(node.id, f"nobody answered its question within its `deadline` of {deadline}.")
        if answer.action == "decline":
            raise UnansweredFailure.of(node.id, f"{answer.by or 'a person'} declined to answer its question.")
        try:
            return outputs_of(node, read_form(question.schema), answer.content)
        except InvalidAnswerError as problem:  # of a recording, or of a journal that somebody has changed
            raise NodeFailure.of(node.id, f"its answer does not fit its form. {problem}") from None


def outputs_of(node: NodeDefinition, form: Form, content: object) -> Outputs:
    """What a Human gives for an answer (``content``, anything at all). Raises `InvalidAnswerError` where it does not fit."""
    values = validated(form, content)
    port = default_port(node)
    value, note = answer_and_note(form, values, whole=is_whole(node, port))
    return {port: value, NOTE: note}


def is_whole(node: NodeDefinition, port: str) -> bool:
    """Whether an answer is all fields of a form together, a record, rather than one field."""
    return is_record(node.outputs[port], _types(node))


def _types(node: NodeDefinition) -> TypeTable:
    return TypeTable({**BUILT_IN, **node.kinds}, node.words, node.records, node.unions)


def shown_text(text: str) -> str:
    """A text as people are shown it: nothing in it drives a terminal or hides itself, and it has an end."""
    shown = plain(text)
    if len(shown) <= LONGEST_SHOWN:
        return shown
    return f"{shown[:LONGEST_SHOWN]}\n... ({len(shown) - LONGEST_SHOWN:,} more characters are left out)"


def _shown(sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    shown = [(shown_text(section.heading), shown_text(section.text)) for section in sections[:_MOST_SHOWN]]
    if len(sections) > _MOST_SHOWN:
        shown.append(("More", f"{len(sections) - _MOST_SHOWN:,} more values are left out."))
    return tuple(shown)
