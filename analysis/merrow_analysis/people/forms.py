"""The form in which a person answers: what a `Human` asks for, or a server of tools, as flat fields.

A form is written as the JSON Schema that MCP's elicitation has: an object whose properties are texts, numbers, truths, words of
an enumeration, or lists of such words. That schema is all that is kept of a question: `form_of` makes the form of a type,
`Form.schema` writes it, and `read_form` reads it again, in another process or from a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from merrow_analysis.definitions.plain_values import is_number
from merrow_analysis.definitions.types import BOOL, NUMBER, TEXT, Type, TypeTable, item_of

FieldKind = Literal["text", "number", "integer", "bool", "word", "words"]
"""What one field takes: ``word`` is one of an enumeration, ``words`` are any of them."""

FormKind = Literal["approval", "choice", "choices", "number", "text", "edit", "form"]
"""What a question is for people: yes or no, one word, several words, a number, a text to write, a text to edit, or fields."""

ANSWER = "answer"
"""The field of a form that is not a record's."""

NOTE = "note"
"""The field in which a person may say more; it is never required."""

LONGEST_TEXT = 1_000_000
"""Characters in one field of an answer."""

MOST_FIELDS = 100
MOST_WORDS = 1_000
_LONGEST_LABEL = 2_000
_FORMATS = frozenset({"email", "uri", "date", "date-time"})


class UnanswerableError(ValueError):
    """Something that is not a flat form. The message is the end of a sentence: why not. ``field`` is the part that is not
    flat, if it is one of a record.
    """

    def __init__(self, why: str, field: str | None = None) -> None:
        super().__init__(why)
        self.field = field


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form. ``words`` are those that ``word`` and ``words`` fields take, ``labels`` how they are shown, in the same
    order. ``least`` and ``most`` bound a number, the length of a text, or how many words are chosen. ``format`` is email, uri,
    date, date-time or empty. ``default`` is what is filled in before a person writes; None for nothing.
    """

    name: str
    kind: FieldKind
    title: str
    required: bool = True
    words: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    description: str = ""
    format: str = ""
    least: float | None = None
    most: float | None = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Form:
    """The fields that a person fills in, in their order; the note last."""

    fields: tuple[FormField, ...]

    @property
    def note(self) -> FormField | None:
        """The field in which a person may say more; None where there is none."""
        last = self.fields[-1] if len(self.fields) > 1 else None
        return last if last is not None and last.name == NOTE and last.kind == "text" and not last.required else None

    @property
    def asked(self) -> tuple[FormField, ...]:
        """The fields without the note."""
        return self.fields if self.note is None else self.fields[:-1]

    @property
    def sole(self) -> FormField | None:
        """The one field besides the note; None where there are several, or none."""
        return self.asked[0] if len(self.asked) == 1 else None

    @property
    def kind(self) -> FormKind:
        """What the question is for people."""
        field = self.sole
        if field is None or field.name != ANSWER:
            return "form"
        if field.kind == "text":
            return "text" if field.default is None else "edit"
        kinds: Mapping[FieldKind, FormKind] = {"bool": "approval", "word": "choice", "words": "choices"}
        return kinds.get(field.kind, "number")

    @property
    def options(self) -> tuple[tuple[str, bool | str], ...]:
        """What can be chosen by one click, each with its label: of an approval or a choice; else nothing."""
        field = self.sole
        if field is None or self.kind not in ("approval", "choice"):
            return ()
        if field.kind == "bool":
            return (("Approve", True), ("Reject", False))
        return tuple(zip(field.labels, field.words, strict=True))

    def with_draft(self, text: str) -> Form:
        """The same form with a text to edit in its one field. Raises ValueError where that does not take text."""
        field = self.sole
        if field is None or field.kind != "text":
            raise ValueError("only a form for text has a draft")
        return replace(self, fields=(replace(field, default=text), *self.fields[1:]))

    def schema(self) -> dict[str, Any]:
        """The form as MCP's elicitation writes it (``requestedSchema``): plain JSON."""
        return {
            "type": "object",
            "properties": {field.name: _written(field) for field in self.fields},
            "required": [field.name for field in self.fields if field.required],
        }


QUESTIONS: Mapping[FormKind, str] = {
    "approval": "Do you approve?",
    "choice": "Which one?",
    "choices": "Which ones?",
    "number": "Which number?",
    "text": "What is your answer?",
    "edit": "Please edit this text.",
    "form": "Please fill in this form.",
}
"""What is asked where a Human has no ``ask``."""

FLAT = "Text, Number, Bool, enumerations and lists of an enumeration's words"
"""What fields of a form can be, for messages."""


def form_of(type_: Type, types: TypeTable, *, has_draft: bool = False) -> Form:
    """The form of a Human that ``returns`` a type. With ``has_draft`` a text is edited rather than written: the form has an empty
    default, which `Form.with_draft` replaces at run time. A type is that of one answer, without the list that samples make.

    Raises `UnanswerableError` for a type that is not flat: Json, Any, unions, lists of anything but words, records with such
    fields. At run time the table is ``TypeTable({**BUILT_IN, **definition.kinds}, definition.words, definition.records,
    definition.unions)``. That a Code or a Workflow is one isn't said by the form: check the value as a model's.
    """
    fields = types.fields_of(type_)
    if fields is None:
        field = _field(ANSWER, type_, types)
        if has_draft and field.kind == "text":
            field = replace(field, default="")
        return Form((field, _note()))
    if not fields:
        raise UnanswerableError(f"{type_} has no fields")
    if len(fields) > MOST_FIELDS:
        raise UnanswerableError(f"{type_} has more than {MOST_FIELDS} fields")
    made = []
    for name, inner in fields.items():
        try:
            made.append(_field(name, inner, types))
        except UnanswerableError as problem:
            raise UnanswerableError(f"its field {name} is not flat: {problem}", name) from None
    return Form(tuple(made) if NOTE in fields else (*made, _note()))


def is_record(type_: Type, types: TypeTable) -> bool:
    """Whether an answer of a type is all fields of its form together, rather than the field `ANSWER`."""
    return types.fields_of(type_) is not None


def _note() -> FormField:
    return FormField(NOTE, "text", "Note", required=False, description="Optional.", most=LONGEST_TEXT)


def _field(name: str, type_: Type, types: TypeTable) -> FormField:
    title = name.replace("_", " ").strip().capitalize() or name
    item = item_of(type_)
    words = types.words_of(type_ if item is None else item)
    if words is not None:
        return FormField(name, "word" if item is None else "words", title, words=words, labels=words)
    if item is not None:
        raise UnanswerableError(f"{type_} is a list, and {item} is not an enumeration")
    if types.fields_of(type_) is not None:
        raise UnanswerableError(f"{type_} is a record")
    if types.kinds_of(type_) is not None:
        raise UnanswerableError(f"{type_} is a union")
    above = types.ancestors(type_)
    if BOOL in above:
        return FormField(name, "bool", title)
    if NUMBER in above:
        return FormField(name, "number", title)
    if TEXT in above:
        return FormField(name, "text", title, least=1 if name == ANSWER else None, most=LONGEST_TEXT)
    raise UnanswerableError(f"{type_} can be anything")


def _written(field: FormField) -> dict[str, Any]:
    written: dict[str, Any] = {"title": field.title}
    if field.description:
        written["description"] = field.description
    if field.kind == "words":
        written |= {"type": "array", "items": _enumeration(field)}
        bounds = ("minItems", "maxItems")
    elif field.kind == "word":
        written |= _enumeration(field)
        bounds = ("", "")
    elif field.kind == "text":
        written |= {"type": "string"} | ({"format": field.format} if field.format else {})
        bounds = ("minLength", "maxLength")
    else:
        written["type"] = "boolean" if field.kind == "bool" else field.kind
        bounds = ("minimum", "maximum") if field.kind != "bool" else ("", "")
    written |= {
        key: bound for key, bound in zip(bounds, (field.least, field.most), strict=True) if key and bound is not None
    }
    return written if field.default is None else written | {"default": field.default}


def _enumeration(field: FormField) -> dict[str, Any]:
    if field.labels == field.words:
        return {"type": "string", "enum": list(field.words)}
    return {
        "type": "string",
        "oneOf": [{"const": word, "title": label} for word, label in zip(field.words, field.labels, strict=True)],
    }


def read_form(schema: object) -> Form:
    """The form that a schema of MCP's elicitation describes: one that `Form.schema` wrote, or a server's. Raises
    `UnanswerableError` for anything that is not such a schema, however it was made; what it takes is bounded.
    """
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise UnanswerableError("it is not the schema of an object")
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        raise UnanswerableError("it has no properties")
    if len(properties) > MOST_FIELDS + 1:
        raise UnanswerableError(f"it has more than {MOST_FIELDS} fields")
    fields = tuple(_read(str(name), body, required=name in required) for name, body in properties.items())
    notes = [field for field in fields if field.name == NOTE and not field.required]
    return Form((*(field for field in fields if field not in notes), *notes))


def _read(name: str, body: object, *, required: bool) -> FormField:
    if not isinstance(body, Mapping):
        raise UnanswerableError(f"the property {name} is not a schema", name)
    field = FormField(
        name,
        "text",
        _label(body.get("title"), name),
        required=required,
        description=_label(body.get("description"), ""),
        default=_default(body.get("default")),
    )
    kind, choices = body.get("type"), _choices(body)
    if kind == "array":
        items = body.get("items")
        choices = _choices(items) if isinstance(items, Mapping) else None
    if choices is not None and kind in ("array", "string", None):
        words, labels = choices
        bounds = _bounds(body, "minItems", "maxItems") if kind == "array" else (None, None)
        return replace(
            field,
            kind="words" if kind == "array" else "word",
            words=words,
            labels=labels,
            least=bounds[0],
            most=bounds[1],
        )
    if kind == "boolean":
        return replace(field, kind="bool")
    if kind in ("number", "integer"):
        least, most = _bounds(body, "minimum", "maximum")
        return replace(field, kind="number" if kind == "number" else "integer", least=least, most=most)
    if kind != "string":
        raise UnanswerableError(f"the property {name} is not a text, a number, a truth or a choice", name)
    least, most = _bounds(body, "minLength", "maxLength")
    given = body.get("format")
    return replace(
        field,
        format=given if isinstance(given, str) and given in _FORMATS else "",
        least=least,
        most=LONGEST_TEXT if most is None else min(most, LONGEST_TEXT),
    )


def _choices(body: Mapping[Any, Any]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words of an enumeration and how they are shown; None where it is none, or one that nobody can choose from."""
    pairs = list(_pairs(body))[: MOST_WORDS + 1]
    if not pairs or len(pairs) > MOST_WORDS or len({word for word, _ in pairs}) < len(pairs):
        return None
    return tuple(word for word, _ in pairs), tuple(_label(label, word) for word, label in pairs)


def _pairs(body: Mapping[Any, Any]) -> Iterator[tuple[str, object]]:
    words, names = body.get("enum"), body.get("enumNames")
    if isinstance(words, list):
        shown = names if isinstance(names, list) and len(names) == len(words) else words
        yield from ((word, label) for word, label in zip(words, shown, strict=True) if isinstance(word, str))
        return
    several = body.get("oneOf", body.get("anyOf"))
    for option in several if isinstance(several, list) else ():
        if isinstance(option, Mapping) and isinstance(option.get("const"), str):
            yield option["const"], option.get("title")


def _bounds(body: Mapping[Any, Any], *keys: str) -> tuple[float | None, float | None]:
    least, most = (value if is_number(value) else None for value in map(body.get, keys))
    return least, most


def _label(value: object, otherwise: str) -> str:
    return value[:_LONGEST_LABEL] if isinstance(value, str) and value.strip() else otherwise


def _default(value: object) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, list):
        return [word for word in value[:MOST_WORDS] if isinstance(word, str)]
    return value if isinstance(value, bool) or is_number(value) else None
