"""The words on edges at composites: ``again``, ``over``, ``each`` and ``first``.

A label is ``[case:][word:][output:][port]``. A word is one only where it has a meaning: ``again`` inside a composite, ``each``
into a Map, ``over`` out of a Loop, ``first`` into a composite towards a node with an ``again`` edge. Elsewhere it is a name like
any other. Out of a Decision the first part is always the case.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from merrow_analysis.graph.boxes.composites import Border, Composites

Word = Literal["again", "over", "each", "first"]
AGAIN: Word = "again"
OVER: Word = "over"
EACH: Word = "each"
FIRST: Word = "first"
WORDS: frozenset[str] = frozenset({AGAIN, EACH, FIRST, OVER})


class WordedLabel(NamedTuple):
    """The word of an edge, and its label without that word; None where nothing is left."""

    word: Word
    text: str | None


def possible_words(border: Border, composites: Composites, *, again_into: bool) -> list[Word]:
    """The words that have a meaning on an edge across this border; ``again_into`` says whether its target has an `again` edge."""
    words: list[Word] = []
    if border.scope is not None:
        words.append(AGAIN)
    if border.left and composites.boxes[border.left[0]].kind == "loop":
        words.append(OVER)
    if entered_map(border, composites) is not None:
        words.append(EACH)
    if border.entered and again_into:
        words.append(FIRST)
    return words


def word_in(written: str) -> str | None:
    """The word that a part of a label begins with, or that comes late, after an output."""
    parts = written.split(":")
    return next((word for word in (parts[0].strip(), parts[-1].strip()) if word in WORDS), None)


def worded(
    text: str | None, border: Border, composites: Composites, *, from_decision: bool, again_into: bool
) -> WordedLabel | None:
    """The word on an edge that crosses ``border``, if any. ``again_into`` says that an ``again`` edge leads to its target."""
    if text is None or (border.scope is None and not border.left and not border.entered):
        return None
    if not any(word in text for word in WORDS):
        return None
    parts = text.split(":")
    start = 1 if from_decision else 0
    for number, part in enumerate(parts[start:] if from_decision else parts[:1], start):
        word = meaning(part.strip(), border, composites, again_into)
        if word is not None:
            rest = [*parts[:number], *parts[number + 1 :]]
            return WordedLabel(word, ":".join(rest).strip() or None)
    return None


def meaning(part: str, border: Border, composites: Composites, again_into: bool) -> Word | None:
    """The word that a part of a label is on an edge that crosses ``border``; None where it is a name."""
    if part == AGAIN:
        return AGAIN if border.scope is not None else None
    if part == OVER:
        return OVER if border.left and composites.boxes[border.left[0]].kind == "loop" else None
    if part == EACH:
        return EACH if entered_map(border, composites) is not None else None
    if part == FIRST:
        return FIRST if border.entered and again_into else None
    return None


def entered_map(border: Border, composites: Composites) -> str | None:
    """The Map that an ``each`` edge takes a list apart for: the innermost around its target, where the edge enters it."""
    return next((box for box in reversed(border.entered) if composites.boxes[box].kind == "map"), None)
