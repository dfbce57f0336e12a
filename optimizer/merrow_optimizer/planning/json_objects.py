"""JSON objects in a text that may hold anything else: prose around them, fences, several of them, one that is cut off."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_DIGITS = 18
_MOST_UNREADABLE = 100
_BEGIN = re.compile(r'\{\s*(["}])')
"""What begins an object rather than being part of a sentence."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """One outermost object. ``repeated`` are the keys that one of the objects in it has twice."""

    value: dict[str, object]
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Where an object begins that can't be read. ``why`` is a sentence; ``cut`` says that the text ends inside it."""

    why: str
    cut: bool = False


def json_objects(text: str) -> Iterator[JsonObject | Unreadable]:
    """The outermost objects of a text, in order, and what begins like one. What is inside an unreadable one is not looked at.

    Nothing is looked at beyond the hundredth unreadable one. So the time is linear in the text; no depth of nesting is too much
    for it.
    """
    repeated: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(items)
        if len(made) < len(items):
            repeated.extend(key for key, times in Counter(key for key, _ in items).items() if times > 1)
        return made

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_int=_whole, strict=False)
    end = len(text.rstrip().rstrip("`~").rstrip())
    unreadable = 0  # each costs time for the whole text before it, whose lines are counted
    begin = _BEGIN.search(text)
    while begin is not None and unreadable < _MOST_UNREADABLE:
        at = begin.start()
        repeated.clear()
        try:
            value, after = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            unreadable += 1
            if begin[1] == "}":  # with blanks before it that JSON doesn't know
                pass
            elif error.pos >= end or error.msg.startswith("Unterminated string"):
                yield Unreadable("The answer is cut off: its JSON object is not closed.", cut=True)
            else:
                yield Unreadable(f"It is not JSON. Line {error.lineno}, column {error.colno}: {error.msg}.")
            after = max(error.pos, at + 1)
        except RecursionError:
            yield Unreadable("Its JSON is nested too deeply.")
            return
        else:
            yield JsonObject(value, tuple(dict.fromkeys(repeated)))
        begin = _BEGIN.search(text, after)


def _whole(digits: str) -> int | float:
    """Python refuses integers of thousands of digits; nothing here counts that far."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
