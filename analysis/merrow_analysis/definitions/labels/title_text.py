"""The titles of Loops and Maps as the formatter writes them."""

from __future__ import annotations

import re

from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.schema import LOOP_KEYS, MAP_KEYS

_OPENS = re.compile(r"[ \t]*(Loop|Map)[ \t]*\([ \t]*")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_CLOSES = re.compile(r"[ \t]*\)[ \t]*\Z")
_KEYS = {"Loop": LOOP_KEYS.keys(), "Map": MAP_KEYS.keys()}


def spaced_title(text: str) -> str:
    """``Loop (max: 3, until: CHECK.result)``: a title with the usual spaces between its parameters, which says the same.

    Any other text, and a title with more in it than parameters that are known, comes back as it is.
    """
    opens = _OPENS.match(text)
    if opens is None:
        return text
    parts = parse_label(text)
    parameters = sorted(parts.parameters.values(), key=lambda one: one.key_span)
    if parts.problems or parts.repeated or not parameters or not parts.parameters.keys() <= _KEYS[opens[1]]:
        return text
    at, separator = 0, _OPENS
    for one in parameters:
        gap = separator.match(text, at)
        if gap is None or gap.end() != one.key_span[0]:
            return text
        at, separator = one.value_span[1], _COMMA
    if _CLOSES.match(text, at) is None:
        return text
    said = ", ".join(f"{one.key}: {text[slice(*one.value_span)]}" for one in parameters)
    spaced = f"{opens[1]} ({said})"
    after = parse_label(spaced)
    same = {key: one.value for key, one in after.parameters.items()} == {one.key: one.value for one in parameters}
    return spaced if same and not after.problems else text
