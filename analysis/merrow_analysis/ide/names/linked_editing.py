"""The places that may be typed in at once: all mentions of a node's id, where any word does as its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.places.occurrences import occurrences_of
from merrow_analysis.text import Position, Range

WORD_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
"""What may be typed without leaving the linked places."""

_WORD = re.compile(WORD_PATTERN)
_TIGHT_ARROW = "-=.&"


@dataclass(frozen=True, slots=True)
class LinkedPlaces:
    """Ranges of the same text that change together."""

    ranges: tuple[Range, ...]
    word_pattern: str = WORD_PATTERN


def linked_places(analysis: Analysis, position: Position) -> LinkedPlaces | None:
    """All mentions of the node or subgraph named at a position; None where typing could change what the text means.

    That is so for ids that are no plain words, for inputs and outputs known by their names, and right behind an arrow,
    whose head the first letter could become.
    """
    here = occurrence_at(analysis, position)
    if here is None or here.symbol.kind not in ("node", "subgraph"):
        return None
    name = here.symbol.name
    if not _WORD.fullmatch(name) or (analysis.is_workflow and name in (PROBLEM_ID, ENTRY_POINT_ID, RETURN_ID)):
        return None
    places = occurrences_of(analysis, here.symbol)
    if len(places) < 2:
        return None
    for place in places:
        start = place.span[0]
        before = place.block.text[start - 1 : start]
        if place.written != name or (before and before in _TIGHT_ARROW):
            return None
    return LinkedPlaces(tuple(place.range for place in places))
