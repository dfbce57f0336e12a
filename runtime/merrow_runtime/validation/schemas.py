"""Whether a result is valid by a JSON Schema, in a bounded number of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from merrow_runtime.values import Value

_MOST_STEPS = 200_000
_SHOWN = 300


class SchemaRefusedError(Exception):
    """The schema can't be worked through; a sentence says why."""


def problem_by(schema: Mapping[str, Any], value: Value) -> str | None:
    """What is wrong with a value, in a sentence; None where it is valid. A text must be JSON. Raises `SchemaRefusedError`."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    if isinstance(value, str):
        try:
            value = _loaded(value)
        except _NotJsonError as problem:
            return f"It is not JSON: {problem}."
    _LEFT.set([_MOST_STEPS])
    # An empty registry: a schema in a workflow must not make this program fetch addresses.
    validator = _bounded()(dict(schema), registry=Registry())
    try:
        found = next(iter(validator.iter_errors(value)), None)
    except Unresolvable as fault:
        raise SchemaRefusedError(f"its `schema` refers to {fault.ref}, which is not in it.") from None
    except RecursionError:
        raise SchemaRefusedError("its `schema` leads back to itself without end.") from None
    if found is None:
        return None
    place = "/".join(str(part) for part in found.absolute_path)
    message = found.message if len(found.message) <= _SHOWN else f"{found.message[: _SHOWN - 1]}…"
    return f"By the schema{f', at {place}' if place else ''}: {message}."


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


_LEFT: ContextVar[list[int]] = ContextVar("_LEFT")
"""Steps that are left for the value that is looked at."""


@cache
def _bounded() -> Any:
    """The validator of JSON Schema, which counts its steps."""
    import jsonschema

    plain: Any = jsonschema.Draft202012Validator

    def counted(keyword: Callable[..., Iterator[Any] | None]) -> Callable[..., Iterator[Any]]:
        def check(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
            left = _LEFT.get()
            left[0] -= 1
            if left[0] < 0:
                raise SchemaRefusedError(f"its `schema` takes more than {_MOST_STEPS:,} steps; write a simpler one.")
            yield from keyword(validator, said, instance, schema) or ()

        return check

    keywords = {name: counted(keyword) for name, keyword in plain.VALIDATORS.items()}
    extend: Any = jsonschema.validators.extend
    return extend(plain, keywords)
