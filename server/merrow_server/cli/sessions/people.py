"""Questions of a run, asked on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from merrow_runtime.errors import UsageFailure
from merrow_server.cli.given.inputs import line, typed
from merrow_server.cli.texts.questions import whole_question
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, style

if TYPE_CHECKING:
    from merrow_analysis.people.forms import FormField
    from merrow_runtime.store.contract import AskRecord
    from merrow_runtime.store.database import Store

_DECLINE = "/decline"


class _PutOff(Exception):  # noqa: N818 (a decision of the person)
    """The person answers later."""


class _Declined(Exception):  # noqa: N818 (a decision of the person)
    """The person does not want to answer."""


def ask_all(store: Store, run: str) -> bool:
    """Ask the person at the terminal all that a run asks, one question after the other; whether any has an answer now. The end of
    input puts a question off.
    """
    from merrow_runtime.people.answering import open_questions

    has_answers = False
    put_off: set[int] = set()
    while (ask := next((ask for ask in open_questions(store, run) if ask.number not in put_off), None)) is not None:
        if ask_one(store, run, ask):
            has_answers = True
        else:
            put_off.add(ask.number)
    return has_answers


def ask_one(store: Store, run: str, ask: AskRecord) -> bool:
    """Ask one question until the answer fits; whether it has one then, of this person or of somebody who was faster."""
    from merrow_runtime.people.answering import answer

    for shown in whole_question(ask.visit.name, ask.question, ask.due):
        echo(shown, err=True)
    echo(style(f"Ctrl-D: answer later. {_DECLINE}: decline to answer.", dim=True), err=True)
    while True:
        try:
            answer(store, run, ask.visit.name, _filled_in(ask))
        except _PutOff:
            echo(err=True)
            return False
        except UsageFailure as problem:
            echo(str(problem), err=True)
            now = next((other for other in store.asks(run) if other.number == ask.number), None)
            if now is not None and now.state == "asked" and (now.due is None or now.due > store.now()):
                continue
        return True


def _filled_in(ask: AskRecord) -> dict[str, Any] | None:
    """What the person fills in, by field; None where they decline."""
    from merrow_analysis.people.forms import UnanswerableError, read_form

    try:
        form = read_form(ask.question.get("schema", {}))
    except UnanswerableError:
        raise UsageFailure(f"The question of {ask.visit.name} is damaged in the journal.") from None
    content: dict[str, Any] = {}
    try:
        for field in form.fields:
            value = _value(field)
            if value is not None:
                content[field.name] = value
    except _Declined:
        return None
    return content


def _value(field: FormField) -> Any:
    """What is typed for a field, or written in an editor; None where that is left out."""
    from merrow_analysis.people.answers import InvalidAnswerError, parsed, validated, wanted
    from merrow_analysis.people.forms import Form

    if field.kind == "text" and field.default is not None:
        echo("Your editor opens with the text. Save it and close the editor.", err=True)
        edited = _edited(str(field.default))
        return field.default if edited is None else edited
    hint = visible(wanted(field))
    if not field.required:
        hint = "Enter for none"
    elif field.kind == "text":
        hint += ', \'"""\' for several lines, an empty line for your editor'
    while True:
        echo(f"{style(visible(field.title), bold=True)} ({hint}): ", nl=False, err=True)
        text = typed() if field.kind == "text" else line()
        if text is None:
            raise _PutOff
        if text.strip() == _DECLINE:
            raise _Declined
        if not text.strip():
            if not field.required:
                return None
            text = (_edited("") or "") if field.kind == "text" else ""
            if not text.strip():
                continue
        form = Form((field,))
        try:
            return validated(form, parsed(form, text)).get(field.name)
        except InvalidAnswerError as problem:
            echo(visible(str(problem)), err=True)


def _edited(text: str) -> str | None:
    """A text as the person has changed it in their editor; None where they have not saved it. Raises `InputError`."""
    try:
        edited = click.edit(text, extension=".md")
    except click.ClickException as problem:
        raise InputError(f"Your editor can't be opened: {problem.message} Set EDITOR to one that can.") from None
    if edited is None or text.endswith("\n"):
        return edited
    return edited.removesuffix("\n")  # which editors add
