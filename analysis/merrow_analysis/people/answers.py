"""Whether a person's answer fits its form, and what a text on a command line means as one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from merrow_analysis.definitions.plain_values import FALSY, TRUTHY, read_number, read_word
from merrow_analysis.people.forms import ANSWER, Form, FormField

_YES = TRUTHY | {"y", "approve", "approved", "accept", "accepted", "agree", "agreed"}
_NO = FALSY | {"n", "reject", "rejected", "decline", "declined", "refuse", "refused", "disagree", "disagreed"}
_MOST_NAMED = 8
_LONGEST_WORD = 200
_LONGEST_CHOICE = 10_000
_LONGEST_NAME = 60
_EMAIL = re.compile(r"[^@\s]{1,250}@[^@\s]{1,250}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:\S+")
_PIECES = {"email": "an e-mail address", "uri": "an address such as https://...", "date": "a date such as 2026-12-24"}


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with a field of an answer, as a sentence that names it. ``field`` is empty for the answer as a whole."""

    field: str
    message: str


class InvalidAnswerError(ValueError):
    """An answer that does not fit its form; the message is the first of the ``problems``."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        super().__init__(" ".join(problem.message for problem in problems[:_MOST_NAMED]))
        self.problems = problems


def validated(form: Form, content: object) -> dict[str, Any]:
    """The values of an answer by field, as the form wants them: a text for a text, a number for a number, True or False, a word
    as the form spells it, a list of words without repetition, in the order of the form. Texts that say a number, a truth or a
    word are read as such. A field that is not required and not answered is left out; so is a blank note.

    ``content`` is anything at all, as a client sent it. Raises `InvalidAnswerError` with everything that is wrong.
    """
    if not isinstance(content, Mapping):
        raise InvalidAnswerError((FieldProblem("", "The answer must be an object with the fields of the form."),))
    problems: list[FieldProblem] = []
    values: dict[str, Any] = {}
    for field in form.fields:
        given = content.get(field.name)
        if field is form.note and isinstance(given, str) and not given.strip():
            continue
        if given is None:
            if field.required:
                problems.append(FieldProblem(field.name, f"`{field.name}` is missing; it must be {wanted(field)}."))
            continue
        try:
            values[field.name] = _value(field, given)
        except ValueError as problem:
            problems.append(FieldProblem(field.name, f"`{field.name}` must be {problem}."))
    known = {field.name for field in form.fields}
    problems += _unknown(form, [name for name in content if name not in known])
    if problems:
        raise InvalidAnswerError(tuple(problems))
    return values


def _unknown(form: Form, names: list[object]) -> Iterator[FieldProblem]:
    for name in names[:_MOST_NAMED]:
        fields = ", ".join(f"`{field.name}`" for field in form.fields[:_MOST_NAMED])
        yield FieldProblem("", f"The form has no field {_shown(name)}; its fields are {fields}.")


def answer_and_note(form: Form, values: Mapping[str, Any], *, whole: bool) -> tuple[Any, str]:
    """The two outputs of a Human: its answer, and its note, which is empty where there is none. ``values`` are those that
    `validated` gave; ``whole`` says that the answer is a record (`forms.is_record`), which may have a field ``note`` of its own.
    """
    note = "" if form.note is None else values.get(form.note.name, "")
    if not whole:
        return values[ANSWER], note
    return {field.name: values[field.name] for field in form.asked}, note


def parsed(form: Form, text: str) -> dict[str, Any]:
    """The content of an answer that a command line says in one text: ``approve`` or ``no``, a word of a choice, words with commas
    between them, a number, the text itself where one is asked for; for a form, JSON. An object in JSON with fields of the form
    says any of them, the note too, but where a text is asked for.

    Raises `InvalidAnswerError` where it can't be read; whether it fits is for `validated` to say.
    """
    field = form.sole
    if field is not None and field.kind == "text":
        return {field.name: text}
    written = _json_object(text)
    if written is not None:
        return written
    if field is None:
        names = ", ".join(f'"{field.name}": ...' for field in form.asked[:_MOST_NAMED])
        raise InvalidAnswerError((FieldProblem("", f"Write the fields of the form as JSON: {{{names}}}."),))
    if field.kind == "words":
        return {field.name: _json_list(text) or [word.strip() for word in text.split(",") if word.strip()]}
    return {field.name: text.strip()}


def wanted(field: FormField) -> str:
    """What a field takes, as the end of a sentence."""
    if field.kind == "bool":
        return "yes or no"
    if field.kind in ("word", "words"):
        named = ", ".join(f"`{word}`" for word in field.words[:_MOST_NAMED])
        more = "" if len(field.words) <= _MOST_NAMED else f" and {len(field.words) - _MOST_NAMED} more"
        many = f" ({_count(field)})" if _count(field) else ""
        return f"one of {named}{more}" if field.kind == "word" else f"a list of words among {named}{more}{many}"
    if field.kind == "text":
        return _PIECES.get(
            field.format, "a date and time such as 2026-12-24T18:00:00Z" if field.format else _length(field)
        )
    kind = "a whole number" if field.kind == "integer" else "a number"
    if field.least is not None and field.most is not None:
        return f"{kind} from {field.least} to {field.most}"
    if field.least is not None:
        return f"{kind} of at least {field.least}"
    return kind if field.most is None else f"{kind} of at most {field.most}"


def _length(field: FormField) -> str:
    if field.least is not None and field.least > 1:
        return f"a text of at least {field.least:g} characters"
    return "a text that is not empty" if field.least else "a text"


def _count(field: FormField) -> str:
    least, most = field.least, field.most
    pieces = [f"at least {least:g}"] if least else []
    return " and ".join([*pieces, f"at most {most:g}"] if most is not None else pieces)


def _value(field: FormField, given: object) -> Any:
    """A field's value. Raises ValueError with what is wanted."""
    if field.kind == "bool":
        said = given if isinstance(given, bool) else _truth(given)
        if said is None:
            raise ValueError(wanted(field))
        return said
    if field.kind == "word":
        return _word(field, given)
    if field.kind == "words":
        return _words(field, given)
    if field.kind == "text":
        return _text(field, given)
    number = read_number(given)
    if number is None or (field.kind == "integer" and number % 1):
        raise ValueError(wanted(field))
    if (field.least is not None and number < field.least) or (field.most is not None and number > field.most):
        raise ValueError(wanted(field))
    return int(number) if field.kind == "integer" else number


def _truth(given: object) -> bool | None:
    word = given.strip().casefold() if isinstance(given, str) and len(given) <= _LONGEST_WORD else ""
    return True if word in _YES else False if word in _NO else None


def _word(field: FormField, given: object) -> str:
    if isinstance(given, str) and len(given) <= _LONGEST_CHOICE:
        if given in field.words:
            return given
        word = read_word(given, field.words) or read_word(given, field.labels)
        if word is not None:
            return word if word in field.words else field.words[field.labels.index(word)]
    raise ValueError(wanted(field))


def _words(field: FormField, given: object) -> list[str]:
    if not isinstance(given, list) or len(given) > len(field.words):
        raise ValueError(wanted(field))
    try:
        chosen = {_word(field, word) for word in given}
    except ValueError:
        raise ValueError(wanted(field)) from None
    if (field.least is not None and len(chosen) < field.least) or (field.most is not None and len(chosen) > field.most):
        raise ValueError(wanted(field))
    return [word for word in field.words if word in chosen]


def _text(field: FormField, given: object) -> str:
    if not isinstance(given, str):
        raise ValueError(wanted(field))
    if field.most is not None and len(given) > field.most:
        raise ValueError(f"a text of at most {field.most:,.0f} characters, and has {len(given):,}")
    if field.least is not None and len(given.strip()) < field.least:
        raise ValueError(wanted(field))
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError("text, and has a character that is none (half of a surrogate pair)") from None
    if field.format and not _has_format(field.format, given.strip()):
        raise ValueError(wanted(field))
    return given


def _has_format(name: str, text: str) -> bool:
    if name in ("email", "uri"):
        return (_EMAIL if name == "email" else _URI).fullmatch(text) is not None
    try:
        (date if name == "date" else datetime).fromisoformat(text)
    except ValueError:
        return False
    return True


def _json_object(text: str) -> dict[str, Any] | None:
    value = _json(text) if text.lstrip().startswith("{") else None
    return value if isinstance(value, dict) else None


def _json_list(text: str) -> list[Any] | None:
    value = _json(text) if text.lstrip().startswith("[") else None
    return value if isinstance(value, list) else None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _shown(name: object) -> str:
    """A name that a client made up, safe to show."""
    text = ascii(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."
