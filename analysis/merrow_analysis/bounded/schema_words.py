"""Values and messages of JSON Schema, cut to what a person or a model can read."""

from __future__ import annotations

import reprlib

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of

LONGEST = 300
"""Characters of a message."""
_SMALL = 2_000


def cut(message: str) -> str:
    """A message of at most 300 characters."""
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"


_CUT = reprlib.Repr()
_CUT.maxlevel, _CUT.maxlist, _CUT.maxdict, _CUT.maxstring, _CUT.maxlong = 4, 10, 10, LONGEST, LONGEST


def shown(value: object) -> str:
    """A value as Python writes it; a large one is cut without being written whole."""
    try:
        return _written(value)
    except ValueError:
        return "a number with too many digits"  # more than Python writes


def _written(value: object) -> str:
    try:
        size_of(value, Allowance(_SMALL, ""))
    except TooMuchError:
        return _CUT.repr(value)
    return repr(value)
