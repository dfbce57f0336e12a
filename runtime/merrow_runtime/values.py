"""The values that flow along edges while a workflow runs: plain JSON data, so that a journal can hold them.

Text and its kinds (enumerations among them) are ``str``, Bool is ``bool``, Number is ``int`` or ``float``, Json is any
JSON value and ``list[T]`` is a list. A record is an object with its fields. A union is ``{"kind": ..., "value": ...}``: the
name of the kind that it is, which nothing else tells for sure, and the value of that kind. There is no other value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | list[Value] | dict[str, Value] | None"
"""A value of any type of the language."""

Outputs: TypeAlias = dict[str, Value]
"""What a node gave: its output ports, each with its value."""


VALUE = "value"
"""Where a union keeps the value of its kind, beside `merrow_analysis.graph.decisions.KIND`."""


def part_of(value: Value, keys: Iterable[str]) -> Value:
    """What a record has at the field, the field of that field and so on. Raises ``LookupError`` where it has none."""
    for key in keys:
        if not isinstance(value, dict):
            raise KeyError(key)
        value = value[key]
    return value


def list_apart(value: Value, keys: Sequence[str]) -> tuple[Value, Sequence[str]]:
    """The first list on the way that ``keys`` lead, and the keys that lead on in each of its items; the value itself where
    there is none.
    """
    inner = value
    for count, key in enumerate(keys):
        if not isinstance(inner, dict):
            return inner, keys[count:]
        inner = inner.get(key)
    return inner, ()


def output_at(outputs: Mapping[str, Value], name: str) -> Value:
    """An output by its name, or a field in one (``response.place.city``). Raises ``LookupError`` where there is none."""
    if name in outputs:
        return outputs[name]
    first, *keys = name.split(".")
    return part_of(outputs[first], keys)


def canonical(value: object) -> str:
    """JSON text that is the same for equal values: keys sorted, no space, no escape that isn't needed.

    It is what hashes are made of. Raises ``ValueError`` for NaN and infinity, ``TypeError`` for what isn't JSON.
    """
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
"""Made once: `json.dumps` makes one for each value."""


def number_text(number: float) -> str:
    """A number as JSON (or as Python's JSON has what JSON doesn't know), whatever kind of ``float`` it is."""
    return repr(float(number)) if math.isfinite(number) else json.dumps(float(number))


def from_json(text: str) -> Value:
    """A text of JSON as a value. Raises `ValueError`, also for NaN and Infinity, which are none, and `RecursionError`."""
    value: Value = json.loads(text, parse_constant=_no_constant)
    return value


def _no_constant(name: str) -> Value:
    raise ValueError(name)


def as_text(value: Value) -> str:
    """A value as a prompt or a result shows it: text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2)


def is_deeper(value: object, most: int) -> bool:
    """Whether JSON has more than ``most`` levels; level by level, since it may have any number."""
    level = [value]
    for _ in range(most + 1):
        level = [
            part
            for value in level
            if isinstance(value, (dict, list))
            for part in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True
