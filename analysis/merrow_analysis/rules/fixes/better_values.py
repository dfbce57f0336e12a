"""Values that a schema allows in place of one that it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from merrow_analysis.definitions.schema import Fragment
from merrow_analysis.definitions.validation import violations
from merrow_analysis.definitions.yaml.yaml_scalars import plain_value
from merrow_analysis.suggest import closest

_MOST = 5
_READ = 80
"""The characters of a wrong text that are looked at for what was meant."""
_WORDS_AND_NUMBERS = re.compile(r"[a-z]+|[0-9]+")
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def better_values(fragment: Fragment, value: object) -> list[object]:
    """At most five values that ``fragment`` allows, those nearest to ``value`` first; none where nothing is near."""
    better: list[object] = []
    for candidate in _candidates(fragment, value):
        if not violations(fragment, candidate) and candidate not in better:
            better.append(candidate)
        if len(better) == _MOST:
            break
    return better


def _candidates(fragment: Fragment, value: object) -> Iterator[object]:
    options = fragment.get("anyOf") or [fragment]
    for option in options:
        yield from _converted(option, value)
        yield from _like_examples(option, value)
    words = [word for option in options for word in option.get("enum", ())]
    if words:
        near = closest(str(value), words)
        yield from [near, *words] if near else words
    yield from (example for option in options if "pattern" in option for example in option.get("examples", ()))


def _like_examples(option: Fragment, value: object) -> Iterator[str]:
    """Of a text with a pattern, the examples that have a word of ``value``, with its number: `{last: 2}` for `last 2`."""
    if "pattern" not in option or not isinstance(value, (str, dict)):
        return
    text = value if isinstance(value, str) else " ".join(map(str, islice(value, _MOST)))
    words = _WORDS_AND_NUMBERS.findall(text[:_READ].casefold())
    number = next((word for word in words if word.isdigit() and int(word)), None)
    for example in option.get("examples", ()):
        word = _WORDS_AND_NUMBERS.findall(example)
        if word[0] in words:
            yield example if number is None else example.replace(word[1], number)


def _converted(option: Fragment, value: object) -> Iterator[object]:
    types = option.get("type")
    names = [types] if isinstance(types, str) else types or ()
    read = plain_value(value.strip()) if isinstance(value, str) and value.strip() else value
    for name in names:
        if name in ("integer", "number") and isinstance(read, (int, float)) and not isinstance(read, bool):
            yield from _in_range(option, read, whole=name == "integer")
        elif name == "boolean" and str(value).casefold() in _TRUTH:
            yield _TRUTH[str(value).casefold()]
        elif name == "string" and isinstance(value, (int, float)):
            yield str(value).lower() if isinstance(value, bool) else f"{value:g}"
        elif name == "array" and isinstance(value, (str, dict)):
            yield [value] if isinstance(value, str) else list(value)
        elif name == "object" and len(option.get("required", ())) == 1:
            [key] = option["required"]
            yield from ({key: inner} for inner in _converted(option["properties"][key], read))
            yield {key: read}


def _in_range(option: Fragment, value: float, *, whole: bool) -> Iterator[object]:
    if value != value or value in (float("inf"), float("-inf")):
        return
    bounded = max(value, option.get("minimum", value))
    bounded = min(bounded, option.get("maximum", bounded))
    if bounded <= option.get("exclusiveMinimum", float("-inf")):
        bounded = option["exclusiveMinimum"] + 1
    yield int(bounded) if whole or bounded == int(bounded) else bounded
