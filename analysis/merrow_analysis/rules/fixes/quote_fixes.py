"""Repairs of quotes as people write them elsewhere. Each is tried on the grammar before it is offered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.text import Position, Range, TextEdit

_LONGEST = 2_000
"""Characters of a line in which quotes are looked for."""
_MOST_TRIED = 6
_TYPOGRAPHIC = re.compile("[“”„‟«»]")
_BEFORE_VALUE = re.compile(r":[ \t]+")


def straight_quotes(line_number: int, line: str, reads: Callable[[str], bool]) -> Iterator[Fix]:
    """Write the quotes of word processors as the language has them."""
    matches = list(_TYPOGRAPHIC.finditer(line)) if len(line) <= _LONGEST else []
    if matches and reads(_TYPOGRAPHIC.sub('"', line)):
        edits = tuple(_edit(line_number, match.start(), match.end(), '"') for match in matches)
        yield Fix("Write straight quotes", edits, Applicability.UNSAFE)


def quotes_meant(line_number: int, line: str, column: int, reads: Callable[[str], bool]) -> Iterator[Fix]:
    """Open a quote before a value in metadata that is only closed."""
    if '"' not in line or len(line) > _LONGEST:
        return
    for match in reversed(list(_BEFORE_VALUE.finditer(line, 0, column))[-_MOST_TRIED:]):
        at = match.end()
        if reads(f'{line[:at]}"{line[at:]}'):
            yield Fix('Add "', (_edit(line_number, at, at, '"'),), Applicability.UNSAFE)
            return


def _edit(line: int, start: int, end: int, text: str) -> TextEdit:
    return TextEdit(Range(Position(line, start), Position(line, end)), text)
