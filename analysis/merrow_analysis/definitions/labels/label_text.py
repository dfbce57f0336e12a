"""The text of a label with parameters taken out or added, and values written so that a label says them."""

from __future__ import annotations

import re

from merrow_analysis.definitions.labels.parameters import LabelParameter, parse_label
from merrow_analysis.text import Span

_EMPTY_GROUP = re.compile(r"[ \t]*\([\s,]*\)")
_BREAK = r"(?:[ \t]|<br[ \t]*/?[ \t]*>|\r?\n)*"
_COMMA_AFTER = re.compile(rf"{_BREAK},{_BREAK}", re.IGNORECASE)
_COMMA_BEFORE = re.compile(rf",{_BREAK}\Z", re.IGNORECASE)
_ENDS_IN_BREAK = re.compile(r"(?:<br[ \t]*/?[ \t]*>|\n)[ \t]*\Z", re.IGNORECASE)
_NEEDS_QUOTES = re.compile(r"[,()'\"]|^\s|\s$|^$")
_IN_LABEL = {'"': "#quot;", "#": "#35;", "&": "#amp;", "<": "#lt;", ">": "#gt;", "\n": "<br/>"}


def without(text: str, keys: set[str]) -> str | None:
    """A label's text without some of its parameters; None where they can't be cut out."""
    parts = parse_label(text)
    if parts.repeated or parts.problems:
        return None
    for parameter in sorted(parts.parameters.values(), key=lambda parameter: parameter.key_span, reverse=True):
        if parameter.key in keys:
            begin, end = with_comma(text, parameter)
            text = text[:begin] + text[end:]
    return _EMPTY_GROUP.sub("", text)


def without_one(text: str, parameter: LabelParameter, *, is_title: bool) -> str:
    """A label's text without one of the parameters that were read from it.

    A title keeps its parentheses, for they make a Loop of ``Loop ()``.
    """
    begin, end = with_comma(text, parameter)
    left = text[:begin] + text[end:]
    return left if is_title else _EMPTY_GROUP.sub("", left)


def with_comma(text: str, parameter: LabelParameter) -> Span:
    """Where a parameter that was read from a label's text stands, with one of the commas beside it."""
    begin, end = parameter.key_span[0], parameter.value_span[1]
    after = _COMMA_AFTER.match(text, end)
    if after is not None:
        return begin, after.end()
    before = _COMMA_BEFORE.search(text[:begin])
    return begin if before is None else before.start(), end


def with_parameters(text: str, written: list[str]) -> str:
    """A label's text with parameters, each ``key: value``, in the parentheses it has, or in new ones."""
    joined = ", ".join(written)
    body = text.rstrip()
    if parse_label(text).parameters and body.endswith(")"):
        return f"{body[:-1]}, {joined})"
    return f"{text}{'' if _ENDS_IN_BREAK.search(text) else '<br/>'}({joined})"


def parameter(key: str, value: object) -> str | None:
    """``key: value`` as a label says it; None where a label can't say this value."""
    if isinstance(value, bool):
        return f"{key}: {'true' if value else 'false'}"
    if isinstance(value, (int, float)):
        plain = f"{key}: {value!r}"
        return plain if _says(plain, key, value) else None
    if not isinstance(value, str):
        return None
    encoded = "".join(_IN_LABEL.get(char, char) for char in value)
    for form in (encoded, "'" + encoded.replace("'", "''") + "'"):
        if form is encoded and _NEEDS_QUOTES.search(value):
            continue
        if _says(f"{key}: {form}", key, value):
            return f"{key}: {form}"
    return None


def _says(written: str, key: str, value: object) -> bool:
    """Whether a label with this parameter, and another one after it, gives the value back."""
    for text in (f"X<br/>({written})", f"X<br/>({written}, other: 1)"):
        parts = parse_label(text)
        existing = parts.parameters.get(key)
        if existing is None or parts.problems or type(existing.value) is not type(value) or existing.value != value:
            return False
    return True
