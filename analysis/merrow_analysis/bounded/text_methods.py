"""The methods that an expression may call on texts, lists, mappings and numbers, each with what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of

_WIDEST = 1_000
_PERCENT = re.compile(r"%(?:\([^()]*\))?[-+ #0]*+(\*|[0-9]*+)(?:\.(\*|[0-9]*+))?")
_DIGITS = re.compile(r"[0-9]++")

Method = Callable[..., Any]


def spec_cost(spec: str) -> int:
    """The characters that a format such as ``>10`` adds. Raises `TooMuchError` where they are too many."""
    return sum(_width(digits) for digits in _DIGITS.findall(spec))


def percent_cost(template: str) -> int:
    """The characters that a text formatted with ``%`` has of its own. Raises `TooMuchError` where a width is too large."""
    widths = (digits for match in _PERCENT.finditer(template) for digits in match.groups("") if digits)
    return len(template) + sum(_width(digits) for digits in widths)


def _width(digits: str) -> int:
    if digits == "*" or len(digits.lstrip("0")) > 4 or int(digits) > _WIDEST:
        raise TooMuchError(f"a format is wider than {_WIDEST:,} characters; use a smaller width")
    return int(digits)


def _linear(name: str, factor: int = 3) -> Method:
    """A method that reads its text, and the ones that it is given, from front to back; ``factor`` is for what it makes."""

    def call(allowance: Allowance, text: str, *given: Any, **named: Any) -> Any:
        longest = max((len(argument) for argument in (*given, *named.values()) if isinstance(argument, str)), default=0)
        # CPython looks for short texts in the simplest way.
        allowance.take(len(text) * factor + len(text) * min(longest, 128) // 16 + longest)
        return getattr(text, name)(*given, **named)

    return call


def _backwards(name: str) -> Method:
    """A method that may look at each character once for each of the text that it is given."""

    def call(allowance: Allowance, text: str, *given: Any, **named: Any) -> Any:
        longest = max((len(argument) for argument in (*given, *named.values()) if isinstance(argument, str)), default=1)
        allowance.take(len(text) * (1 + longest // 4) * (8 if name == "rsplit" else 1))
        return getattr(text, name)(*given, **named)

    return call


def _padded(name: str) -> Method:
    def call(allowance: Allowance, text: str, width: Any, *fill: Any) -> Any:
        allowance.take(len(text) + (max(0, width) if isinstance(width, int) else 0))
        return getattr(text, name)(width, *fill)

    return call


def _replace(allowance: Allowance, text: str, old: Any, new: Any, *count: Any) -> str:
    if isinstance(old, str) and isinstance(new, str):
        times: int = _linear("count")(allowance, text, old)
        allowance.take(len(text) + times * len(new))
    return text.replace(old, new, *count)


def _join(allowance: Allowance, text: str, several: Any) -> str:
    allowance.take(size_of(several, allowance) + len(text) * (len(several) if isinstance(several, (str, list)) else 1))
    return text.join(several)


def _counted(name: str) -> Method:
    def call(allowance: Allowance, several: list[Any], *given: Any) -> Any:
        size_of(several, allowance)
        return getattr(several, name)(*given)

    return call


def _of_mapping(name: str) -> Method:
    def call(allowance: Allowance, mapping: dict[str, Any], *given: Any) -> Any:
        allowance.take(8 * len(mapping))
        result = getattr(mapping, name)(*given)
        return result if name == "get" else list(result)

    return call


def _plain(name: str) -> Method:
    return lambda _allowance, of, *given: getattr(of, name)(*given)


_LINEAR = (
    "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric"
    " isprintable isspace istitle isupper lower partition removeprefix removesuffix startswith swapcase title upper"
)

METHODS: Mapping[tuple[type, str], Method] = {
    **{(str, name): _linear(name) for name in _LINEAR.split()},
    **{(str, name): _linear(name, 8) for name in ("split", "splitlines")},
    **{
        (str, name): _backwards(name)
        for name in ("lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip")
    },
    **{(str, name): _padded(name) for name in ("center", "ljust", "rjust", "zfill")},
    (str, "replace"): _replace,
    (str, "join"): _join,
    **{(list, name): _counted(name) for name in ("count", "index")},
    **{(dict, name): _of_mapping(name) for name in ("get", "items", "keys", "values")},
    (float, "is_integer"): _plain("is_integer"),
    (int, "bit_length"): _plain("bit_length"),
}
"""The methods, by the type of what they are called on and their name. The first argument is the allowance."""
