"""Whether what somebody wrote is a JSON Schema (draft 2020-12): in one walk over it, before any value is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

from merrow_analysis.bounded.allowance import Allowance
from merrow_analysis.bounded.patterns import PatternError, check_pattern
from merrow_analysis.bounded.schema_check import Path, SchemaCheck, SchemaRefusedError
from merrow_analysis.bounded.schema_keywords import TYPES, is_number
from merrow_analysis.bounded.schema_words import cut, shown


class SchemaProblem(NamedTuple):
    """What is wrong with a schema: where in it, and the end of a sentence that begins with that place."""

    path: Path
    message: str

    @property
    def place(self) -> str:
        """Where it is, such as ``properties/age/type``; empty for the whole schema."""
        return "/".join(str(part) for part in self.path)


def problem_of_schema(schema: object) -> SchemaProblem | None:
    """What is wrong first with a schema; None where nothing is. What its references lead to is a schema, too; that they lead
    anywhere is not looked at. A schema of an older draft must be one of 2020-12 as well, since it is read as that.
    """
    references = _References(schema)
    waiting: list[tuple[Path, object]] = [((), schema)]
    seen: set[int] = set()
    for path, subschema in waiting:  # It grows meanwhile.
        if isinstance(subschema, bool):
            continue
        if not isinstance(subschema, dict):
            return SchemaProblem(path, f"{_shown(subschema)} is not a schema; write an object, true or false")
        if id(subschema) in seen:
            continue
        seen.add(id(subschema))
        for key, argument in subschema.items():
            message = _FORMS[key](argument) if key in _FORMS else None
            if message is not None:
                return SchemaProblem((*path, key), cut(message))
            waiting += (
                references.of((*path, key), argument) if key in _REFERENCES else _inner((*path, key), key, argument)
            )
    return None


class _References:
    """What the references of a schema lead to."""

    def __init__(self, schema: object) -> None:
        # Each reference is followed once, which takes no longer than to read it.
        self._check = SchemaCheck(schema, {}, Allowance(sys.maxsize, "")) if isinstance(schema, dict) else None

    def of(self, path: Path, reference: str) -> list[tuple[Path, object]]:
        try:
            return [] if self._check is None else [(path, self._check.referred(reference))]
        except SchemaRefusedError:
            return []


def _inner(path: Path, key: str, argument: Any) -> list[tuple[Path, object]]:
    if key in _SCHEMA:
        return [(path, argument)]
    if key in _LISTS:
        return [((*path, number), part) for number, part in enumerate(argument)]
    return [((*path, name), part) for name, part in argument.items()] if key in _MAPS else []


def _shown(value: object) -> str:
    return cut(shown(value) if isinstance(value, (str, int, float, type(None))) else f"this {type(value).__name__}")


def _is(holds: Callable[[Any], bool], wanted: str) -> Callable[[Any], str | None]:
    return lambda value: None if holds(value) else f"{_shown(value)} is not {wanted}"


def _is_count(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and value == value // 1


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _is_type(value: object) -> bool:
    if isinstance(value, str):
        return value in TYPES
    return _are_names(value) and bool(value) and set(value) <= TYPES.keys()  # type: ignore[call-overload]


def _pattern(value: object) -> str | None:
    if not isinstance(value, str):
        return f"{_shown(value)} is not a regular expression"
    try:
        check_pattern(value)
    except PatternError as problem:
        return f"{_shown(value)} can't be used as a regular expression: {problem}"
    return None


def _patterns(value: object) -> str | None:
    if not isinstance(value, dict):
        return f"{_shown(value)} is not an object of schemas"
    return next((problem for pattern in value if (problem := _pattern(pattern)) is not None), None)


_SCHEMA = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
           "unevaluatedProperties")  # fmt: skip
_REFERENCES = ("$ref", "$dynamicRef")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")

_COUNT = _is(_is_count, "a whole number from 0")
_NUMBER = _is(is_number, "a number")
_TEXT = _is(lambda value: isinstance(value, str), "a text")
_FORMS: Mapping[str, Callable[[Any], str | None]] = {
    **dict.fromkeys(_LISTS, _is(lambda value: isinstance(value, list) and bool(value), "a list of schemas")),
    **dict.fromkeys(_MAPS, _is(lambda value: isinstance(value, dict), "an object of schemas")),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("minContains", "maxContains"), _COUNT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor"), _TEXT),
    "multipleOf": _is(lambda value: is_number(value) and 0 < value < inf, "a number above 0"),
    "items": lambda value: (
        "a list of schemas is called `prefixItems` in draft 2020-12" if isinstance(value, list) else None
    ),
    "pattern": _pattern,
    "patternProperties": _patterns,
    "type": _is(_is_type, f"one or several of {', '.join(TYPES)}"),
    "required": _is(_are_names, "a list of different names"),
    "enum": _is(lambda value: isinstance(value, list), "a list of values"),
    "uniqueItems": _is(lambda value: isinstance(value, bool), "true or false"),
    "dependentRequired": _is(
        lambda value: isinstance(value, dict) and all(map(_are_names, value.values())), "an object of lists of names"
    ),
}
"""What the value of a keyword must be; a sentence where it is not."""
