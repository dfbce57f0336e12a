"""What there is to say about a node that asks a person."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.durations import read_duration
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.definitions.types import TEXT
from merrow_analysis.graph.instructions import prompt_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup
from merrow_analysis.people.answers import wanted
from merrow_analysis.people.forms import QUESTIONS, Form, UnanswerableError, form_of

_MOST_FIELDS = 12
_UNITS = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def form_at(node: TypedNode) -> Form | None:
    """The form in which a person answers at a Human; None where what it returns is not flat."""
    try:
        return form_of(node.resolution.declared or TEXT, node.types, has_draft=bool(node.sources("draft")))
    except UnanswerableError:
        return None


def person_text(analysis: Analysis, node: TypedNode) -> Markup:
    """What a person is asked, how they answer, and until when."""
    prompt, form = prompt_of(node, analysis.prompts), form_at(node)
    question = prompt.text if isinstance(prompt, Prompt) else prompt
    if question is None and form is not None:
        question = QUESTIONS[form.kind]
    text = Markup().say("A person is asked:").block(describe.shortened_prompt(question or ""))
    if form is not None:
        text.join(_answers(form))
    deadline = node.resolution.parameters.get("deadline")
    seconds = None if deadline is None else read_duration(deadline.value)
    if seconds is None:
        return text.say("There is no deadline: the run waits until somebody answers.")
    return text.say(f"Without an answer {length(seconds)} after the question, the node fails.")


def _answers(form: Form) -> Markup:
    kind = form.kind
    if kind == "edit":
        return Markup().say("The person edits the text that arrives at ", CodeSpan("draft"), ".")
    if kind != "form":
        field = form.fields[0]
        return Markup().say(f"The answer is {wanted(field).replace('`', '')}; a note may go with it.")
    lines: list[Inline] = [(CodeSpan(field.name), f": {wanted(field).replace('`', '')}") for field in form.asked]
    left = len(lines) - _MOST_FIELDS
    return (
        Markup()
        .say("The person fills in a form:")
        .items([*lines[:_MOST_FIELDS], *([(f"{left} more",)] if left > 0 else [])])
    )


def length(seconds: float) -> str:
    """A length of time in words, in the largest unit of which it is a whole number."""
    unit, name = next(((unit, name) for unit, name in _UNITS if seconds % unit == 0), (1, "second"))
    count = seconds / unit
    return f"{count:g} {name}{'' if count == 1 else 's'}"
