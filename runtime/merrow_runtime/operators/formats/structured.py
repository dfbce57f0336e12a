"""Structured answers: the schema that is asked for, and a reader that takes what models really write.

An answer is read as JSON, as fenced JSON, as JSON that can be repaired, as fields in tags (``<answer>42</answer>``) and
as labelled lines (``answer: 42``), in this order; whatever way it came, every field is then checked against its type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import json_repair

from merrow_analysis.definitions.types import JSON
from merrow_analysis.graph.decisions import KIND
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.fences import fences
from merrow_runtime.operators.formats.shapes import FieldFailure, ValueShape, coerce, object_schema, phrase, schema_of
from merrow_runtime.requests import AnswerSchema
from merrow_runtime.values import Value

_LONGEST_REPAIRED = 50_000
_MOST_BY_DEPTH, _MOST_BY_COUNT = 200_000, 1_000_000
"""Characters times the depth, and times the number, of brackets: the repairing library's time grows with these products,
to minutes for an answer that is nothing but brackets.
"""
_MOST_TRIED = 50
_NO_VALUE = object()
_JSON = ValueShape("json", JSON)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an answer: its name, what it holds, and what the model is told about it. ``blank`` says that an
    empty text will do.
    """

    name: str
    shape: ValueShape
    description: str = ""
    blank: bool = False


def answer_schema(name: str, fields: Sequence[Field]) -> AnswerSchema:
    """The schema of an object with these fields, all required and no other."""
    properties: dict[str, Any] = {}
    for field in fields:
        described = {"description": field.description} if field.description else {}
        properties[field.name] = {**schema_of(field.shape), **described}
    return AnswerSchema(name, object_schema(properties))


def answer_form(fields: Sequence[Field]) -> str:
    """The same in words, for models whose endpoint knows no schemas."""
    lines = ["Answer with one JSON object and nothing else. Its fields, in this order:"]
    for field in fields:
        told = f"; {field.description}" if field.description else ""
        lines += [f"- {json.dumps(field.name)}: {phrase(field.shape)}{told}"]
    return "\n".join(lines)


def fields_reader(fields: Sequence[Field]) -> Callable[[str], dict[str, Value]]:
    """A reader of answers with these fields, for `Tools.ask`: it raises `AnswerFailure` with a remedy."""
    return lambda text: read_fields(text, fields)


def read_fields(text: str, fields: Sequence[Field]) -> dict[str, Value]:
    """The fields of an answer, each a value of its type. Raises `AnswerFailure` naming what is missing or wrong."""
    failure: AnswerFailure | None = None
    for mapping in _mappings(text, fields):
        try:
            return _checked(mapping, fields)
        except AnswerFailure as problem:
            failure = failure or problem
        if len(fields) == 1 and fields[0].shape.kind == "union" and KIND in mapping:
            # The value itself, without the field that it was asked for in.
            try:
                return {fields[0].name: coerce(dict(mapping), fields[0].shape)}
            except AnswerFailure as problem:
                failure = problem
    if failure is None and len(fields) == 1:
        try:
            return {fields[0].name: _bare(text, fields[0])}
        except AnswerFailure as problem:
            failure = AnswerFailure(str(problem), advice=f"{answer_form(fields)}\n{problem.advice}")
    raise failure or AnswerFailure("The answer is no JSON object.", advice=answer_form(fields))


def record_fields(shape: ValueShape) -> list[Field]:
    """The fields of a record, as those of an answer."""
    return [Field(name, part) for name, part in shape.parts]


def read_record(text: str, shape: ValueShape) -> Value:
    """The record that an answer is. Raises `AnswerFailure` naming the field that is missing, wrong or one too many."""
    fields = record_fields(shape)
    failure: AnswerFailure | None = None
    for mapping in _mappings(text, fields):
        try:
            return coerce(dict(mapping), shape)
        except AnswerFailure as problem:
            failure = failure or problem
    if isinstance(failure, FieldFailure):
        message = f"Field `{failure.path}` of the answer {failure.what}"
        raise AnswerFailure(message, advice=f"{failure.advice}\n{answer_form(fields)}")
    raise failure or AnswerFailure("The answer is no JSON object.", advice=answer_form(fields))


def read_json(text: str) -> Value:
    """The JSON value of an answer that should be nothing else; fences around it and small faults are forgiven.

    Raises `AnswerFailure` where there is none.
    """
    for candidate in (text, *(block.text for block in fences(text))):
        value = _loaded(candidate)
        if value is not _NO_VALUE:
            return coerce(value, _JSON)  # type: ignore[arg-type]
    start = re.search(r"[{\[]", text)
    if start is not None:
        value = _repaired(text[start.start() :])
        if isinstance(value, (dict, list)) and value:
            return coerce(value, _JSON)
    raise AnswerFailure("The answer is no JSON.", advice="Answer with valid JSON and nothing else.")


def _mappings(text: str, fields: Sequence[Field]) -> list[Mapping[str, Value]]:
    """What may be the answer's fields, the likeliest reading first."""
    mappings: list[Mapping[str, Value]] = []
    texts = [text, *(block.text for block in fences(text))]
    mappings += [value for value in map(_loaded, texts) if isinstance(value, dict)]
    mappings += [value for value in _embedded(text) if isinstance(value, dict)] if not mappings else []
    if not any(_complete(value, fields) for value in mappings):
        for candidate in reversed(texts):
            start = candidate.find("{")
            value = _repaired(candidate[start:]) if start >= 0 else None
            options = value if isinstance(value, list) else [value]
            mappings += [option for option in options if isinstance(option, dict)]
    for reading in (_tagged(text, fields), _labelled(text, fields)):
        if len(reading) == len(fields):
            mappings.append(reading)
    return mappings


def _complete(mapping: Mapping[str, Value], fields: Sequence[Field]) -> bool:
    folded = {key.strip().casefold() for key in mapping}
    return all(field.name.casefold() in folded for field in fields)


def _checked(mapping: Mapping[str, Value], fields: Sequence[Field]) -> dict[str, Value]:
    folded = {key.strip().casefold(): value for key, value in mapping.items()}
    missing = [field.name for field in fields if field.name not in mapping and field.name.casefold() not in folded]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise AnswerFailure(f"The answer has no field {names}.", advice=answer_form(fields))
    return {
        field.name: _value(mapping[field.name] if field.name in mapping else folded[field.name.casefold()], field)
        for field in fields
    }


def _bare(text: str, field: Field) -> Value:
    """The value of an answer that is nothing else, perhaps in a fence."""
    blocks = fences(text)
    if field.shape.kind == "list":
        return _value(read_json(text), field)
    return _value(blocks[0].text if len(blocks) == 1 else text, field)


def _value(given: Value, field: Field) -> Value:
    try:
        value = coerce(given, field.shape)
    except AnswerFailure as problem:
        message = f"Field `{field.name}` of the answer: {problem}"
        raise AnswerFailure(message, advice=f"Field `{field.name}`: {problem.advice}") from None
    if value == "" and field.shape.is_text and not field.blank:
        message = f"Field `{field.name}` of the answer is empty."
        raise AnswerFailure(message, advice=f"Field `{field.name}` must not be empty.")
    return value


def _loaded(text: str) -> object:
    """The value of JSON text, `_NO_VALUE` where it is none."""
    try:
        return _well_formed(_DECODER.decode(text))
    except (ValueError, RecursionError):
        return _NO_VALUE


def _refuse(name: str) -> object:
    raise ValueError(f"JSON has no {name}")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def _repaired(text: str) -> object:
    depth, count = _brackets(text)
    if len(text) > _LONGEST_REPAIRED or len(text) * depth > _MOST_BY_DEPTH or len(text) * count > _MOST_BY_COUNT:
        return None
    try:
        return _well_formed(json_repair.loads(text, skip_json_loads=True))
    except (ValueError, RecursionError):
        return None


def _brackets(text: str) -> tuple[int, int]:
    """How deep brackets are nested, wherever they are, and how many there are."""
    depth = deepest = count = 0
    for bracket in re.findall(r"[{}\[\]]", text):
        opens = bracket in "{["
        count += opens
        depth += 1 if opens else -1
        deepest = max(deepest, depth)
    return deepest, count


def _embedded(text: str) -> list[object]:
    """The JSON objects that are in a text, outermost ones only."""
    values: list[object] = []
    start = text.find("{")
    for _ in range(_MOST_TRIED):
        if start < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, start)
            values.append(_well_formed(value))
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
    return values


def _well_formed(value: Any) -> Any:
    """The value with halves of surrogate pairs joined, and lone ones, which no text can hold, replaced."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _tagged(text: str, fields: Sequence[Field]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for field in fields:
        name = re.escape(field.name)
        opening = re.search(rf"<{name}\s*>", text, re.IGNORECASE)
        closing = opening and re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, opening.end())
        if opening and closing:
            values[field.name] = text[opening.end() : closing.start()].strip("\n")
    return values


def _labelled(text: str, fields: Sequence[Field]) -> dict[str, Value]:
    """Fields written ``name: value`` at the beginnings of lines; a value reaches to the next field."""
    names = "|".join(re.escape(field.name) for field in sorted(fields, key=lambda field: -len(field.name)))
    label = re.compile(rf"^[ \t>*#_-]*({names})[ \t*_]*[:=][ \t*_]*", re.MULTILINE | re.IGNORECASE)
    marks = list(label.finditer(text))
    by_name = {field.name.casefold(): field.name for field in fields}
    values: dict[str, Value] = {}
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        values[by_name[mark[1].casefold()]] = text[mark.end() : end].strip()
    return values
