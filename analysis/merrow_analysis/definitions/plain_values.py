"""How text and JSON are read as a number, a truth or a word of an enumeration: in answers, inputs and ``default:``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

TRUTHY = frozenset({"yes", "true", "pass", "passed", "ok"})
FALSY = frozenset({"no", "false", "fail", "failed"})

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,4})?")
_DECORATION = " \t\r\n\"'`*_.()[]"
_LONGEST_NUMBER = 400


def is_number(value: object) -> bool:
    """Whether a value is a number that can be worked with: an integer may have more digits than there are numbers with a point
    for.
    """
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def read_number(value: object) -> int | float | None:
    """The number that a value is or writes, ``"1,200"`` as well; None where it is none."""
    if isinstance(value, str):
        text = value.strip().strip("`*").strip()
        if not text or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text) or not any(map(str.isdigit, text)):
            return None
        plain = text.replace(",", "")
        value = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    return value if isinstance(value, (int, float)) and is_number(value) else None


def read_bool(value: object) -> bool | None:
    """The truth that a value is or says in a word; None where it is none."""
    if isinstance(value, bool):
        return value
    word = value.strip(_DECORATION).casefold() if isinstance(value, str) else ""
    return True if word in TRUTHY else False if word in FALSY else None


def read_word(text: str, words: Iterable[str]) -> str | None:
    """The word that a text says, whatever its case and what surrounds it; None where it is none of ``words``."""
    bare = text.strip(_DECORATION).casefold()
    return next((word for word in words if bare in (word.casefold(), word.strip(_DECORATION).casefold())), None)


def is_json(value: object) -> bool:
    """Whether JSON has all that a value holds: it has no NaN, no infinity, and no keys but text."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if not all(isinstance(key, str) for key in part):
                return False
            todo += part.values()
        elif isinstance(part, list):
            todo += part
        elif isinstance(part, float):
            if not math.isfinite(part):
                return False
        elif part is not None and not isinstance(part, (str, int)):
            return False
    return True
