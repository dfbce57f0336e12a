"""How a node's one answer is asked for and read, by the type it must have and the node's ``format:``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.bounded.schemas import first_fault
from merrow_runtime.errors import AnswerFailure, NodeFailure
from merrow_runtime.operators.formats.planned import form_of, read_workflow
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.operators.formats.shapes import ValueShape, coerce
from merrow_runtime.operators.formats.structured import (
    Field,
    answer_form,
    answer_schema,
    read_fields,
    read_json,
    read_record,
    record_fields,
)
from merrow_runtime.records import record
from merrow_runtime.requests import AnswerSchema
from merrow_runtime.values import Value, as_text

CODE_FORM = (
    "Answer with one fenced Python block that holds the whole program, with every import and helper it needs. "
    "No tests and no example calls."
)
JSON_FORM = "Answer with valid JSON and nothing else."


@record(frozen=True, slots=True)
class AnswerForm:
    """How one value is asked for: what is added to the instructions, the schema, and how the answer is read."""

    instruction: str | None
    read: Callable[[str], Value]
    schema: AnswerSchema | None = None


def answer_form_of(name: str, shape: ValueShape, wanted: Value = None) -> AnswerForm:
    """The form for output port ``name``. ``wanted`` is the node's ``format``: a JSON Schema, ``json``, or any other word,
    which is told to the model as it is.
    """
    if wanted is None:
        return _by_shape(name, shape)
    if isinstance(wanted, dict):
        return _by_schema(wanted, shape)
    if isinstance(wanted, str) and wanted.strip().casefold() == "json":
        return AnswerForm(JSON_FORM, lambda text: _from_json(read_json(text), shape))
    form = _by_shape(name, shape)
    if isinstance(wanted, str) and wanted.strip():
        told = f"Write your answer in this format: {wanted.strip()}."
        return AnswerForm(told if form.instruction is None else f"{told}\n{form.instruction}", form.read, form.schema)
    return form


def read_text(text: str) -> str:
    """An answer in plain words. Raises `AnswerFailure` where there are none."""
    answer = text.strip()
    if not answer:
        raise AnswerFailure("The answer is empty.", advice="Your answer was empty. Answer the question.")
    return answer


_PLAIN = AnswerForm(None, read_text)


def _by_shape(name: str, shape: ValueShape) -> AnswerForm:
    if shape.kind == "code":
        return AnswerForm(CODE_FORM, read_code)
    if shape.kind == "workflow":
        return AnswerForm(form_of(), read_workflow)
    if shape.kind == "json":
        return AnswerForm(JSON_FORM, read_json)
    if shape.is_text:
        return _PLAIN
    if shape.kind == "record":
        fields = record_fields(shape)
        return AnswerForm(answer_form(fields), lambda text: read_record(text, shape), answer_schema(name, fields))
    field = Field(name, shape)
    return AnswerForm(answer_form([field]), lambda text: read_fields(text, [field])[name], answer_schema(name, [field]))


def _by_schema(schema: Mapping[str, Any], shape: ValueShape) -> AnswerForm:
    _check_schema(schema)

    def read(text: str) -> Value:
        value = read_json(text)
        _validate(value, schema)
        return _from_json(value, shape)

    told = f"{JSON_FORM} It must be valid by this JSON Schema:\n{json.dumps(schema, ensure_ascii=False, indent=2)}"
    # Endpoints take schemas of objects only; any other is told in words and checked all the same.
    of_object = schema.get("type") == "object"
    return AnswerForm(told, read, AnswerSchema("answer", schema) if of_object else None)


def _from_json(value: Value, shape: ValueShape) -> Value:
    return as_text(value) if shape.kind in ("text", "any") else coerce(value, shape)


def _check_schema(schema: Mapping[str, Any]) -> None:
    problem = problem_of_schema(schema)
    if problem is not None:
        place = problem.place and f" at {problem.place}"
        raise NodeFailure(f"The `format` is no JSON Schema{place}: {problem.message}.")


def _validate(value: Value, schema: Mapping[str, Any]) -> None:
    try:
        fault = first_fault(schema, value)
    except SchemaRefusedError as problem:
        # Another answer would not help.
        raise NodeFailure(f"The answer can't be checked: the node's `format` {problem}.") from None
    if fault is not None:
        message = f"{fault.place or 'the whole answer'}: {fault.message}"
        raise AnswerFailure(
            f"The answer does not fit the node's `format`: {message}", advice=f"Wrong in your JSON: {message}"
        )
