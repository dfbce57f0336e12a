"""The nearest known word to a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_LONGEST = 64
"""Words longer than this are no misspelled names; comparing them would only cost time."""
_MOST_COMPARED = 500
"""Candidates that a misspelled word is compared with."""
_MOST_GUESSES = 20
"""Guesses for one list of words: with more misspelled words than that, guessing would only cost time."""


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``word`` most likely means, or None where none is near.

    A candidate that differs in case alone, or is there twice, wins. Otherwise the smallest edit distance decides (insert, delete,
    replace, swap neighbours; case does not count), at most a third of the longer word's length; the earlier candidate wins a
    tie. Takes bounded time: only the first 500 candidates count, and words over 64 characters are never compared letter
    by letter.
    """
    folded = word.casefold()
    best: str | None = None
    limit = max(1, len(folded) // 3)
    if len(folded) > _LONGEST or not folded:
        limit = 0
    best_distance = limit + 1
    for candidate in islice(candidates, _MOST_COMPARED):
        other = candidate.casefold()
        if folded in (other, other * 2) or other == folded * 2:
            return candidate
        if best_distance <= 1 or abs(len(other) - len(folded)) >= best_distance or len(other) > _LONGEST:
            continue
        longer = max(len(other), len(folded))
        allowed = min(best_distance - 1, max(1, longer // 3) if longer > 2 else 0)
        if allowed < 1:
            continue
        distance = _distance(folded, other, allowed)
        if distance <= allowed:
            best, best_distance = candidate, distance
    return best


class Guesses:
    """`closest` for a list of words, of which only the first few are looked up."""

    def __init__(self) -> None:
        self._left = _MOST_GUESSES

    @property
    def is_over(self) -> bool:
        """Whether there were too many words."""
        return self._left < 0

    def closest(self, word: str, candidates: Iterable[str]) -> str | None:
        """What `closest` says, or None once there were too many words."""
        self._left -= 1
        return closest(word, candidates) if self._left >= 0 else None


class KnownNames:
    """Names that exist. What is misspelt is looked up once, however often it is written, and only the first few are."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(islice(names, _MOST_COMPARED))
        self._guesses = Guesses()
        self._found: dict[str, str | None] = {}

    @property
    def all_guessed(self) -> bool:
        """Whether every word was looked up. If not, a name that seems to be unused may be one that was misspelt."""
        return not self._guesses.is_over

    def closest(self, word: str) -> str | None:
        """What `closest` says, or None once there were too many words."""
        if word not in self._found:
            self._found[word] = self._guesses.closest(word, self._names)
        return self._found[word]


def _distance(a: str, b: str, limit: int) -> int:
    """Optimal string alignment distance of ``a`` and ``b``, or ``limit + 1`` once it is sure to be above ``limit``."""
    start, end = 0, min(len(a), len(b))
    while start < end and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    # Each letter that the other word lacks takes an edit of its own.
    if max(len(set(a) - set(b)), len(set(b) - set(a))) > limit:
        return limit + 1
    if not a or not b:
        return len(a) or len(b)
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for row, left in enumerate(a, 1):
        current = [row]
        for column, right in enumerate(b, 1):
            cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (left != right))
            if row > 1 and column > 1 and left == b[column - 2] and a[row - 2] == right:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit and (not before or min(previous) > limit):
            return limit + 1
        before, previous = previous, current
    return previous[-1]
