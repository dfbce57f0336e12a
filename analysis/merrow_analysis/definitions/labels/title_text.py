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
    parameters = sorted(parts.parameters.values(), key=lambda parameter: parameter.key_span)
    if parts.problems or parts.repeated or not parameters or not parts.parameters.keys() <= _KEYS[opens[1]]:
        return text
    at, separator = 0, _OPENS
    for parameter in parameters:
        gap = separator.match(text, at)
        if gap is None or gap.end() != parameter.key_span[0]:
            return text
        at, separator = parameter.value_span[1], _COMMA
    if _CLOSES.match(text, at) is None:
        return text
    listed = ", ".join(f"{parameter.key}: {text[slice(*parameter.value_span)]}" for parameter in parameters)
    spaced = f"{opens[1]} ({listed})"
    after = parse_label(spaced)
    same = {key: parameter.value for key, parameter in after.parameters.items()} == {
        parameter.key: parameter.value for parameter in parameters
    }
    return spaced if same and not after.problems else text
