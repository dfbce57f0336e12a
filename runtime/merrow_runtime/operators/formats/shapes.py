"""What values of a type look like: their JSON Schema, how a model's answer is read as one, whether a value is one.

Types are nominal; for values only this counts: text and its kinds are text (code must parse, a workflow must be one that can
be run, an enumeration's value must be one of its words), Bool, Number, Json and lists are what JSON calls so. A record is an
object with exactly its fields, a union an object that says its kind (`merrow_runtime.values`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from merrow_analysis.definitions.plain_values import is_json, is_number, read_bool, read_number, read_word
from merrow_analysis.definitions.types import (
    ANY,
    BOOL,
    BUILT_IN,
    CODE,
    ENTRY_POINT,
    JSON,
    NUMBER,
    WORKFLOW,
    Type,
    is_variable,
    item_of,
)
from merrow_analysis.graph.decisions import KIND
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.planned import EMPTY, problem_of, read_workflow
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.values import VALUE, Value, as_text

Kind = Literal["text", "code", "workflow", "words", "bool", "number", "json", "list", "record", "union", "any"]

_KINDS: Mapping[str, Kind] = {
    ANY: "any",
    CODE: "code",
    BOOL: "bool",
    NUMBER: "number",
    JSON: "json",
    WORKFLOW: "workflow",
}

_NONE: Mapping[str, Any] = {}

_SHOWN = 60
_MOST_NAMED = 8
"""Fields of a record that a message names."""


@dataclass(frozen=True, slots=True)
class ValueShape:
    """How values of ``type`` look. ``words`` are those of an enumeration, ``item`` is the shape of a list's items, ``parts`` are
    the fields of a record or the kinds of a union.
    """

    kind: Kind
    type: Type
    words: tuple[str, ...] = ()
    item: ValueShape | None = None
    parts: tuple[tuple[str, ValueShape], ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether a model may answer with it in plain words, code among them."""
        return self.kind in ("text", "code", "workflow", "any")


def shape_of(
    type_: Type,
    kinds: Mapping[str, str],
    words: Mapping[str, tuple[str, ...]],
    records: Mapping[str, Mapping[str, Type]] = _NONE,
    unions: Mapping[str, tuple[Type, ...]] = _NONE,
) -> ValueShape:
    """The shape of a type; the rest are the node's (`NodeDefinition`). A named type that none of them knows is a kind of text."""
    if not kinds and not words:
        return _built_in(type_)
    return _shape(type_, kinds, words, records, unions)


@lru_cache(maxsize=1024)
def _built_in(type_: Type) -> ValueShape:
    return _shape(type_, {}, {}, {}, {})


def _shape(
    type_: Type,
    kinds: Mapping[str, str],
    words: Mapping[str, tuple[str, ...]],
    records: Mapping[str, Mapping[str, Type]],
    unions: Mapping[str, tuple[Type, ...]],
) -> ValueShape:
    item = item_of(type_)
    if item is not None:
        return ValueShape("list", type_, item=_shape(item, kinds, words, records, unions))
    if type_ in words:
        return ValueShape("words", type_, tuple(words[type_]))
    parts: Mapping[str, Type] | None = records.get(type_)
    if parts is None and type_ in unions:
        parts = {kind: kind for kind in unions[type_]}
    if parts is not None:
        shapes = (
            (name, _built_in(part) if part in BUILT_IN else _shape(part, kinds, words, records, unions))
            for name, part in parts.items()
        )
        return ValueShape("record" if type_ in records else "union", type_, parts=tuple(shapes))
    if is_variable(type_):
        return ValueShape("any", type_)
    return ValueShape(_KINDS.get(kinds.get(type_, type_), "text"), type_)


def schema_of(shape: ValueShape) -> Mapping[str, Any]:
    """The JSON Schema of the values; empty (anything) for Json and Any."""
    if shape.kind == "words":
        return {"type": "string", "enum": list(shape.words)}
    if shape.kind == "list":
        return {"type": "array", "items": schema_of(shape.item) if shape.item else {}}
    if shape.kind == "record":
        return object_schema({name: schema_of(part) for name, part in shape.parts})
    if shape.kind == "union":
        kinds = ({KIND: {"type": "string", "enum": [name]}, VALUE: schema_of(part)} for name, part in shape.parts)
        return {"anyOf": [object_schema(properties) for properties in kinds]}
    plain = {"text": "string", "code": "string", "workflow": "string", "bool": "boolean", "number": "number"}.get(
        shape.kind
    )
    return {} if plain is None else {"type": plain}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these properties, all required and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def phrase(shape: ValueShape) -> str:
    """What such a value is, in words a model understands."""
    if shape.kind == "words":
        return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in shape.words)
    if shape.kind == "list":
        return "a list, each item " + (phrase(shape.item) if shape.item else "anything")
    if shape.kind == "record":
        fields = ", ".join(f"{json.dumps(name)} ({phrase(part)})" for name, part in shape.parts)
        return f"an object with the fields {fields} and no others"
    if shape.kind == "union":
        forms = " or ".join(
            f"{{{json.dumps(KIND)}: {json.dumps(name)}, {json.dumps(VALUE)}: ...}} with {phrase(part)} as its value"
            for name, part in shape.parts
        )
        return f"an object of one of these forms: {forms}"
    return {
        "text": "text",
        "code": "Python code as text",
        "workflow": "a workflow as text, which is a Mermaid flowchart",
        "bool": "true or false",
        "number": "a number",
        "json": "any JSON value",
    }.get(shape.kind, "text")


def coerce(value: Value, shape: ValueShape) -> Value:
    """A value of an answer as its type wants it: ``"1,200"`` is the number 1200, ``"Math."`` the word ``math``.

    Raises `AnswerFailure` where it can't be taken for one.
    """
    kind = shape.kind
    if kind in ("json", "any"):
        return _json(value)
    if kind == "list":
        return _list(value, shape)
    if kind in ("record", "union"):
        mapping = _object(value, shape)
        return _record(mapping, shape) if kind == "record" else _union(mapping, shape)
    if value is None or (isinstance(value, (dict, list)) and kind != "text"):
        raise _unfit(value, shape)
    if kind == "text":
        return as_text(value).strip()
    if kind == "code":
        return read_code(as_text(value))
    if kind == "workflow":
        return read_workflow(as_text(value))
    if kind == "words":
        return _word(value, shape)
    return _bool(value, shape) if kind == "bool" else _number(value, shape)


def is_of(value: Value, shape: ValueShape) -> bool:
    """Whether the value is one of the type's, as it stands."""
    if shape.kind in ("json", "any"):
        return is_json(value)
    if shape.kind == "list":
        return isinstance(value, list) and all(shape.item is None or is_of(item, shape.item) for item in value)
    if shape.kind == "record":
        return (
            isinstance(value, dict)
            and len(value) == len(shape.parts)
            and all(name in value and is_of(value[name], part) for name, part in shape.parts)
        )
    if shape.kind == "union":
        if not isinstance(value, dict) or value.keys() != {KIND, VALUE}:
            return False
        return any(value[KIND] == name and is_of(value[VALUE], part) for name, part in shape.parts)
    if shape.kind == "bool":
        return isinstance(value, bool)
    if shape.kind == "number":
        return is_number(value)
    if shape.kind == "workflow":
        return isinstance(value, str) and problem_of(value) is None
    return isinstance(value, str) and (shape.kind != "words" or value in shape.words)


def placeholder(shape: ValueShape, origin: str) -> Value:
    """A value of the type that stands for one that is not known yet; ``origin`` says where it will come from."""
    if shape.type == ENTRY_POINT:
        return "entry_point"
    if shape.kind == "list":
        return [placeholder(shape.item, origin)] if shape.item else []
    if shape.kind == "words":
        return shape.words[0]
    if shape.kind == "record":
        return {name: placeholder(part, f"{origin}.{name}") for name, part in shape.parts}
    if shape.kind == "union":
        name, part = shape.parts[0]
        return {KIND: name, VALUE: placeholder(part, origin)}
    if shape.kind == "code":
        return f"# <{shape.type} from {origin}>\npass"
    if shape.kind == "workflow":
        return EMPTY
    if shape.kind in ("bool", "number"):
        return shape.kind == "bool" or 0
    return {"placeholder": f"{shape.type} from {origin}"} if shape.kind == "json" else f"<{shape.type} from {origin}>"


def shown(value: Value) -> str:
    """A value as a message names it: on one line, and not the whole of a long one."""
    # A program's own operator may give what is no JSON at all; then its type has to do.
    written = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=lambda odd: repr(type(odd)))
    )
    text = " ".join(written.split())
    return f"`{text}`" if len(text) <= _SHOWN else f"`{text[: _SHOWN - 1]}…`"


class FieldFailure(AnswerFailure):
    """A record can't be taken for one: ``path`` leads to the field, ``what`` says what is wrong with it."""

    def __init__(self, path: str, what: str, advice: str = "") -> None:
        super().__init__(f"Field `{path}` {what}", advice=advice or f"Field `{path}` {what}")
        self.path, self.what = path, what

    def within(self, outer: str) -> FieldFailure:
        """The same, seen from a record or list further out."""
        joint = "" if self.path.startswith("[") else "."
        return FieldFailure(f"{outer}{joint}{self.path}", self.what)


def _unfit(value: Value, shape: ValueShape) -> AnswerFailure:
    wanted = phrase(shape)
    if shape.kind in ("record", "union"):
        keys = [KIND, VALUE] if shape.kind == "union" else [name for name, _ in shape.parts]
        named = ", ".join(f"`{key}`" for key in keys[:_MOST_NAMED]) + (", ..." if len(keys) > _MOST_NAMED else "")
        message = f"{shown(value)} is not a {shape.type}, which is a JSON object with {named}."
        return AnswerFailure(message, advice=f"Give {wanted}.")
    return AnswerFailure(f"{shown(value)} is not {wanted}.", advice=f"Give {wanted}.")


def _json(value: Value) -> Value:
    if not is_json(value):
        raise AnswerFailure("The answer holds a number that JSON does not have.", advice="Answer with valid JSON.")
    return value


def _list(value: Value, shape: ValueShape) -> Value:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _unfit(value, shape) from None
    if not isinstance(value, list):
        raise _unfit(value, shape)
    items: list[Value] = []
    for number, item in enumerate(value):
        try:
            items.append(coerce(item, shape.item) if shape.item else item)
        except FieldFailure as problem:
            raise problem.within(f"[{number}]") from None
    return items


def _object(value: Value, shape: ValueShape) -> dict[str, Value]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _unfit(value, shape) from None
    if not isinstance(value, dict):
        raise _unfit(value, shape)
    return value


def _record(value: dict[str, Value], shape: ValueShape) -> Value:
    """The fields in the order of the record; their names may differ in case."""
    written = {name.strip().casefold(): name for name in reversed(value)}
    fields: dict[str, Value] = {}
    taken: set[str] = set()
    for name, part in shape.parts:
        key = name if name in value else written.get(name.casefold())
        if key is None:
            raise FieldFailure(name, "is missing.", f"Give {phrase(shape)}; `{name}` is missing.")
        taken.add(key)
        fields[name] = _in_field(value[key], part, name)
    for key in value:
        if key not in taken:
            raise FieldFailure(key, f"is not a field of {shape.type}.", f"Leave out `{key}`; give {phrase(shape)}.")
    return fields


def _in_field(value: Value, shape: ValueShape, name: str) -> Value:
    try:
        if shape.kind == "text" and isinstance(value, (dict, list)):
            raise _unfit(value, shape)
        return coerce(value, shape)
    except FieldFailure as problem:
        raise problem.within(name) from None
    except AnswerFailure as problem:
        raise FieldFailure(name, f"is wrong: {problem}", f"Field `{name}`: {problem.advice}") from None


def _union(value: dict[str, Value], shape: ValueShape) -> Value:
    """A value with its kind. A record's fields may also stand beside ``kind``, as models often write them."""
    kind = value.get(KIND)
    names = {name.casefold(): (name, part) for name, part in shape.parts}
    known = names.get(kind.strip().casefold()) if isinstance(kind, str) else None
    if known is None:
        what = "is missing" if kind is None else f"is {shown(kind)}"
        kinds = ", ".join(f"`{name}`" for name, _ in shape.parts)
        message = f"The kind of the {shape.type} {what}; it must be one of {kinds}."
        raise AnswerFailure(message, advice=f"Give {phrase(shape)}.")
    name, part = known
    beside: dict[str, Value] = {key: inner for key, inner in value.items() if key != KIND}
    try:
        if beside.keys() != {VALUE}:
            raise FieldFailure(VALUE, "is missing.", f"Give {phrase(shape)}.")
        return {KIND: name, VALUE: _in_field(beside[VALUE], part, VALUE)}
    except FieldFailure as problem:
        if part.kind != "record":
            raise
        try:
            return {KIND: name, VALUE: _record(beside, part)}
        except FieldFailure as flat:
            raise (problem if beside.keys() == {VALUE} else flat) from None


def _word(value: Value, shape: ValueShape) -> str:
    word = read_word(as_text(value), shape.words)
    if word is None:
        raise _unfit(value, shape)
    return word


def _bool(value: Value, shape: ValueShape) -> bool:
    truth = read_bool(value)
    if truth is None:
        raise _unfit(value, shape)
    return truth


def _number(value: Value, shape: ValueShape) -> int | float:
    number = read_number(value)
    if number is None:
        raise _unfit(value, shape)
    return number
