"""What is being typed in a node's label: its operator, the key of a parameter, or a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_BREAK = re.compile(r"<br[ \t]*/?[ \t]*>|\r?\n", re.IGNORECASE)
_MARK = re.compile(r"#quot;|&quot;|#34;|#39;|['\"(),]", re.IGNORECASE)
_KEY = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*:[ \t]*")
_VALUE_BEGINS = re.compile(r":[ \t]*\Z")
_NEAR = 40
"""How far before a quote the colon of its parameter is looked for."""
_QUOTES = ("'", '"', "#quot;", "&quot;", "#34;", "#39;")


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """A place at the end of a label's text; ``start`` is the offset at which the word there begins.

    ``operator`` is the label's first line, ``keys`` are the parameters before the one at the place, ``key`` that of a value.
    """

    kind: Literal["operator", "key", "value", "text"]
    start: int
    operator: str = ""
    keys: tuple[str, ...] = ()
    key: str = ""


def label_place(text: str) -> LabelPlace:
    """Say what is typed at the end of ``text``, the beginning of a label without its quote. Takes linear time."""
    line_break = _BREAK.search(text)
    group = text.find("(")
    first_end = min(line_break.start() if line_break else len(text), group if group != -1 else len(text))
    operator = text[:first_end].strip()
    if group == -1:
        if line_break is not None:
            return LabelPlace("text", len(text), operator)
        return LabelPlace("operator", len(text) - len(text.lstrip()), operator)
    starts, quote = _last_parameter(text, group)
    if starts is None:
        return LabelPlace("text", len(text), operator)
    keys = tuple(match[1] for start in starts[:-1] if (match := _KEY.match(text, start)) is not None)
    last = starts[-1]
    key = _KEY.match(text, last)
    if key is not None:
        kind: Literal["value", "text"] = "text" if quote else "value"
        return LabelPlace(kind, key.end(), operator, keys, key[1])
    return LabelPlace("key", last + len(text[last:]) - len(text[last:].lstrip()), operator, keys)


def _last_parameter(text: str, group: int) -> tuple[list[int] | None, bool]:
    """Where each parameter of the group that is open at the end begins, and whether a quote is open there."""
    starts: list[int] | None = None
    depth = 0
    quote = ""
    for mark in _MARK.finditer(text, group):
        char = mark[0].lower()
        if quote:
            if char == quote:
                quote = ""
        elif char in _QUOTES:
            if _VALUE_BEGINS.search(text, max(0, mark.start() - _NEAR), mark.start()):
                quote = char
        elif char == "(":
            depth += 1
            if depth == 1:
                starts = [mark.end()]
        elif char == ")":
            depth = max(0, depth - 1)
            starts = starts if depth else None
        elif depth == 1 and starts is not None:
            starts.append(mark.end())
    return starts, bool(quote)
