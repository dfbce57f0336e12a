"""YAML scalars by the JSON schema of YAML 1.2, in the reading Mermaid has of it: what a plain word means, and escapes.

Numbers are JavaScript's: a whole number beyond 2**53 is rounded to the nearest double, and one beyond the range of
doubles is a string. `key_text` gives the name a value has when it stands as a key.
"""

from __future__ import annotations

import math
import re

_NAMED: dict[str, bool | None] = {
    "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER = re.compile(r"([-+]?)(?:0b([01]+)|0x([0-9a-fA-F]+)|0o([0-7]+)|([0-9]+))")
_FLOAT = re.compile(
    r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_MAY_BE_NUMBER = frozenset("0123456789+-.")
_EXACT = 2**53
_LONGEST_KEY = 1 << 24
"""A key made of a list can be long far beyond the text through aliases; no text that people write comes near."""

SIMPLE_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


class WrongTagError(ValueError):
    """A scalar can't be read as its explicit tag wants."""


def plain_value(text: str) -> object:
    """What an unquoted scalar means: None, a bool, a number, or itself."""
    if text[0] in _MAY_BE_NUMBER:
        number = _number(text)
        return text if number is None else number
    return _NAMED.get(text, text)


def _number(text: str) -> int | float | None:
    whole = _INTEGER.fullmatch(text)
    if whole is not None:
        value = _whole(whole)
        if value is not None:
            return value
    if _FLOAT.fullmatch(text) is None:
        return None
    word = text.lower().lstrip("+-")
    if word == ".nan":
        return math.nan
    if word == ".inf":
        return -math.inf if text[0] == "-" else math.inf
    value_as_float = float(text)
    return None if math.isinf(value_as_float) else value_as_float


def _whole(match: re.Match[str]) -> int | None:
    sign, binary, hexadecimal, octal, decimal = match.groups()
    if decimal is not None:
        if len(decimal) < 16:
            exact = int(decimal)
        else:
            rounded = float(decimal)
            if math.isinf(rounded):
                return None
            exact = int(rounded)
    else:
        digits, base = (binary, 2) if binary else (hexadecimal, 16) if hexadecimal else (octal, 8)
        exact = int(digits, base)
        if exact >= _EXACT:
            try:
                exact = int(float(exact))
            except OverflowError:
                return None
    return -exact if sign == "-" else exact


def tagged_value(tag: str, value: object) -> object:
    """A scalar under a standard tag (``str``, ``int``, ...). Raises `WrongTagError` where it is none of that kind.

    ``value`` is the scalar's text, or None for an empty node, or what an untagged reading already made of it.
    """
    if tag == "str":
        return "" if value is None else value
    if tag == "null":
        if value is None or (isinstance(value, str) and value in _NAMED and _NAMED[value] is None):
            return None
    elif isinstance(value, str):
        if tag == "bool" and isinstance(_NAMED.get(value), bool):
            return _NAMED[value]
        if tag == "int":
            whole = _INTEGER.fullmatch(value)
            number = None if whole is None else _whole(whole)
            if number is not None:
                return number
        if tag == "float" and _FLOAT.fullmatch(value):
            number_or_none = _number(value)
            if number_or_none is not None:
                return number_or_none
    raise WrongTagError(tag)


def key_text(value: object) -> str:
    """The name of a key as JavaScript writes the value. Raises ValueError for a list in a list, or one far too long."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts: list[str] = []
        length = 0
        for item in value:
            if isinstance(item, list):
                raise ValueError("a list inside a list can't be a key")
            parts.append("" if item is None else key_text(item))
            length += len(parts[-1]) + 1
            if length > _LONGEST_KEY:
                raise ValueError("this key is too long")
        return ",".join(parts)
    if isinstance(value, dict):
        return "[object Object]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number_text(float(value))  # type: ignore[arg-type]


def _number_text(value: float) -> str:
    """A number as JavaScript writes it: shortest exact digits, an exponent below 1e-6 and from 1e21 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


def escaped_character(number: int) -> str:
    """The character of a hexadecimal escape; numbers beyond Unicode wrap around as UTF-16 arithmetic makes them."""
    if number <= 0x10FFFF:
        return chr(number)
    if number >= 0x80000000:
        return chr(number & 0xFFFF)
    above = number - 0x10000
    return chr(((above >> 10) + 0xD800) & 0xFFFF) + chr(((above & 0x3FF) + 0xDC00) & 0xFFFF)


def join_surrogates(text: str) -> str:
    """Replace pairs of surrogates, as two escapes make them, by the character they stand for; lone ones stay."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
