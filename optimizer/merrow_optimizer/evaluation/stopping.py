"""When an evaluation stops before its end: what keeps its items from being answered would keep the others, too."""

from __future__ import annotations

import re
from collections import Counter

from merrow_optimizer.evaluation.scores import Status

FIRST = 20
"""Where so many of the first items by start came to nothing for one reason, it stops; or so many in a row, by end, were not
answered.
"""
EARLY = 50
EARLY_SHARE = 0.3
"""Of the first ``EARLY`` items by start, the share that came to nothing for one reason at which it stops."""

_NOTHING = (Status.UNANSWERED, Status.INVALID)


class Stopping:
    """Is told how items end, each by the place at which it was started, from 0."""

    def __init__(self) -> None:
        self._early: dict[int, str | None] = {}
        self._reasons: dict[str | None, str] = {}
        self._judged = 0
        self._row_kind: str | None = None
        self._row = 0

    def ended(self, place: int, status: Status, reason: str) -> str | None:
        """Take note of an item; why the evaluation must stop, None where it goes on."""
        kind = f"{status} {_kind(reason)}" if status in _NOTHING else None
        if status is not Status.UNANSWERED:
            self._row_kind, self._row = None, 0
        elif kind == self._row_kind:
            self._row += 1
        else:
            self._row_kind, self._row = kind, 1
        if place < EARLY:
            self._early[place] = kind
            self._reasons.setdefault(kind, reason)
        return reason if self._row >= FIRST else self._early_reason()

    def _early_reason(self) -> str | None:
        """Why so many of the first items came to nothing; None where they did not, or have not all ended."""
        for many, least in ((FIRST, FIRST), (EARLY, EARLY * EARLY_SHARE)):
            if self._judged < many and all(place in self._early for place in range(many)):
                self._judged = many
                kinds = Counter(self._early[place] for place in range(many))
                kinds.pop(None, None)
                for kind, count in kinds.most_common(1):
                    if count >= least:
                        return self._reasons[kind]
        return None


def _kind(reason: str) -> str:
    """A reason without what differs from item to item."""
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"|Node \S+", "#", reason)[:200]
