"""Whether a value that a file writes as a ``default:`` can be one of a type, as a run reads it."""

from __future__ import annotations

import json
import math
import re

from merrow_analysis.definitions.types import BOOL, NUMBER, Type, TypeTable, item_of
from merrow_analysis.graph.decisions import FALSY, TRUTHY

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,4})?")
_LONGEST_NUMBER = 400
_DECORATION = " \t\r\n\"'`*_.()[]"
_DEEPEST = 20


def why_not(value: object, type_: Type, types: TypeTable, depth: int = 0) -> str | None:
    """What is wrong with a value of a type, as the end of a sentence; None where a run takes it, or where only a run can tell."""
    if depth > _DEEPEST:
        return None
    item = item_of(type_)
    if item is not None:
        listed = _parsed(value)
        if not isinstance(listed, list):
            return f"it is not a list ({type_})"
        return next((why for one in listed if (why := why_not(one, item, types, depth + 1))), None)
    if type_ in types.records:
        return _record(value, type_, types, depth)
    if type_ in types.words:
        words = types.words[type_]
        said = "" if isinstance(value, (list, dict)) else _said(value).strip(_DECORATION).casefold()
        if said and any(said in (word.casefold(), word.strip(_DECORATION).casefold()) for word in words):
            return None
        return f"it is none of {', '.join(words[:8])}"
    if type_ == BOOL:
        folded = value.strip(_DECORATION).casefold() if isinstance(value, str) else None
        return (
            None if isinstance(value, bool) or folded in TRUTHY or folded in FALSY else "it is neither true nor false"
        )
    if type_ == NUMBER:
        return None if _is_number(value) else "it is not a number"
    return None


def _record(value: object, type_: Type, types: TypeTable, depth: int) -> str | None:
    fields, given = types.records[type_], _parsed(value)
    if not isinstance(given, dict):
        return f"it is not an object with {', '.join(fields)}"
    written = {str(name).strip().casefold(): one for name, one in given.items()}
    for name, wanted in fields.items():
        if name.casefold() not in written:
            return f"its field {name} is missing"
        if why := why_not(written[name.casefold()], wanted, types, depth + 1):
            return f"in its field {name}, {why}"
    return None


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _said(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        said = value.strip().strip("`*").strip()
        return len(said) <= _LONGEST_NUMBER and any(map(str.isdigit, said)) and _NUMBER.fullmatch(said) is not None
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
