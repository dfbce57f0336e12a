"""Whether a result is valid by the JSON Schema of a validator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from merrow_analysis.bounded.schemas import first_fault
from merrow_runtime.values import Value


def problem_by(schema: Mapping[str, Any], value: Value) -> str | None:
    """What is wrong with a value, in a sentence; None where it is valid. A text must be JSON.

    Raises `merrow_analysis.bounded.schema_check.SchemaRefusedError` where the schema can't be worked through.
    """
    if isinstance(value, str):
        try:
            value = _loaded(value)
        except _NotJsonError as problem:
            return f"It is not JSON: {problem}."
    fault = first_fault(schema, value)
    return None if fault is None else f"By the schema{fault.place and f', at {fault.place}'}: {fault.message}."


class _NotJsonError(Exception):
    """Why a text is no JSON, as the end of a sentence."""


def _loaded(text: str) -> Value:
    try:
        value: Value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        raise _NotJsonError(str(problem)) from None
    except RecursionError:
        raise _NotJsonError("it nests too deep") from None
    except ValueError:
        raise _NotJsonError("a number in it is too long") from None
    return value


def _refuse(name: str) -> Value:
    raise _NotJsonError(f"JSON has no {name}")
