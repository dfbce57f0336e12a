"""Checks values against the fragments of `definitions.schema`, and says in plain words what is wanted.

It looks only as deep as the schema goes and at each value once, so a text whose aliases make it endless costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from merrow_analysis.definitions.schema import Fragment

Path = tuple[str | int, ...]

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a fragment does not allow.

    ``path`` leads to it. ``kind`` is ``unknown`` for a key that is not among ``known``, else ``wrong``; then
    ``wanted`` says what is.
    """

    kind: Literal["unknown", "wrong"]
    path: Path
    wanted: str = ""
    known: tuple[str, ...] = ()


def violations(fragment: Fragment, value: object, path: Path = ()) -> list[Violation]:
    """What ``fragment`` does not allow in ``value``, in the order of the text."""
    faults: list[Violation] = []
    _check(fragment, value, path, faults, set())
    return faults


def named(path: Path) -> str:
    """A path as a message names it: `refine.every`, or item 1 of `refine.on`."""
    last = next((place for place in range(len(path) - 1, -1, -1) if isinstance(path[place], int)), None)
    keys = ".".join(str(step) for step in path[0 if last is None else last + 1 :])
    if last is None:
        return f"`{keys}`"
    item = f"item {int(path[last]) + 1} of {named(path[:last])}"
    return f"`{keys}` in {item}" if keys else item


def sentence_start(text: str) -> str:
    """A text with its first letter as it is at the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def fragment_at(fragment: Fragment, step: str | int) -> Fragment:
    """What a fragment says of an entry of a mapping, or an item of a list; one that allows anything where it says nothing."""
    for option in fragment.get("anyOf") or [fragment]:
        inner = option.get("items") if isinstance(step, int) else option.get("properties", {}).get(step)
        others = option.get("additionalProperties")
        if inner is None and isinstance(step, str) and isinstance(others, Mapping):
            inner = others
        if inner is not None:
            current: Fragment = inner
            return current
    return {}


def _check(fragment: Fragment, value: object, path: Path, faults: list[Violation], seen: set[tuple[int, int]]) -> None:
    if isinstance(value, (dict, list)):
        pair = (id(fragment), id(value))
        if pair in seen:
            return
        seen.add(pair)
    if not _fits_itself(fragment, value):
        faults.append(Violation("wrong", path, wanted(fragment)))
        return
    options = fragment.get("anyOf")
    if options is not None:
        fitting = [option for option in options if _fits_itself(option, value)]
        if not fitting:
            faults.append(Violation("wrong", path, wanted(fragment)))
            return
        best: list[Violation] | None = None
        for option in fitting:
            problems: list[Violation] = []
            _check(option, value, path, problems, set() if len(fitting) > 1 else seen)
            if best is None or not problems:
                best = problems
        if best and len(fitting) > 1:
            best = [Violation("wrong", path, wanted(fragment))]
        faults += best or []
    elif isinstance(value, dict):
        _check_entries(fragment, value, path, faults, seen)
    elif isinstance(value, list) and "items" in fragment:
        for index, item in enumerate(value):
            _check(fragment["items"], item, (*path, index), faults, seen)


def _check_entries(
    fragment: Fragment, value: dict[str, object], path: Path, faults: list[Violation], seen: set[tuple[int, int]]
) -> None:
    properties: Mapping[str, Fragment] = fragment.get("properties", {})
    others = fragment.get("additionalProperties", True)
    for key, part in value.items():
        if key in properties:
            _check(properties[key], part, (*path, key), faults, seen)
        elif others is False:
            faults.append(Violation("unknown", (*path, key), known=tuple(properties)))
        elif isinstance(others, Mapping):
            _check(others, part, (*path, key), faults, seen)
    if any(key not in value for key in fragment.get("required", ())):
        faults.append(Violation("wrong", path, wanted(fragment)))


def _fits_itself(fragment: Fragment, value: object) -> bool:
    """Whether the value is of the fragment's type and range, whatever its parts are."""
    if "enum" in fragment:
        return isinstance(value, str) and any(value == word for word in fragment["enum"])
    types = fragment.get("type")
    if types is None:
        return True
    names = [types] if isinstance(types, str) else types
    if not any(_is_a(value, name) for name in names):
        return False
    if isinstance(value, str):
        pattern = fragment.get("pattern")
        fits = pattern is None or re.compile(pattern).fullmatch(value.strip()) is not None
        return fits and len(value.strip()) >= int(fragment.get("minLength", 0))
    if isinstance(value, list):
        return len(value) >= int(fragment.get("minItems", 0))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _in_range(fragment, value)
    return True


def _is_a(value: object, name: str) -> bool:
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    if name == "integer":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
    kinds: dict[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
    return isinstance(value, kinds[name])


def _in_range(fragment: Fragment, value: float) -> bool:
    return (
        value >= fragment.get("minimum", value)
        and value <= fragment.get("maximum", value)
        and not ("exclusiveMinimum" in fragment and value <= fragment["exclusiveMinimum"])
    )


_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping of keys to values",
    "array": "a list",
    "null": "nothing",
}


def wanted(fragment: Fragment) -> str:
    """What a fragment allows, as a phrase: "a number from 0 to 2", "fail, skip or default"."""
    if "title" in fragment:
        return str(fragment["title"])
    if "anyOf" in fragment:
        parts: list[str] = []
        for option in fragment["anyOf"]:
            # A text of a pattern is another spelling of something that is named already.
            parts += option.get("enum") or ([] if "pattern" in option and "title" not in option else [wanted(option)])
        return _either(parts)
    if "enum" in fragment:
        return _either(fragment["enum"])
    types = fragment.get("type")
    if types is None:
        return "any value"
    if not isinstance(types, str):
        return _either(_WORDS[name] for name in types)
    if types == "object" and fragment.get("required"):
        keys = ", ".join(f"{key}: {_example(fragment['properties'].get(key, {}))}" for key in fragment["required"])
        return "{" + keys + "}"
    if types == "array" and "items" in fragment:
        item = fragment["items"]
        return "a list of texts" if item.get("type") == "string" else f"a list of {wanted(item).removeprefix('a ')}"
    return _WORDS[types] + _range(fragment)


def _range(fragment: Fragment) -> str:
    if "minLength" in fragment:
        return " that is not empty"
    if "minimum" in fragment and "maximum" in fragment:
        return f" from {fragment['minimum']} to {fragment['maximum']}"
    if "minimum" in fragment:
        return f" of at least {fragment['minimum']}"
    if "exclusiveMinimum" in fragment:
        return f" above {fragment['exclusiveMinimum']}"
    return ""


def _example(fragment: Fragment) -> str:
    kind = fragment.get("type")
    return "n" if kind in ("integer", "number") else "{...}" if kind == "object" else "..."


def _either(parts: Iterable[str]) -> str:
    words = list(dict.fromkeys(parts))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def shown(value: Any) -> str:
    """A value as a message names it: short, and never the whole of a large one."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = str(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else _whole(value)
    text = " ".join(text.split()) if len(text) <= 10 * _SHOWN else text
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"`{text}`" if text else "an empty text"


def _whole(value: int) -> str:
    return str(value) if abs(value) < 10**21 else f"{float(value):g}"
