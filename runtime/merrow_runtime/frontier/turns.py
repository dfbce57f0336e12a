"""The turns of a Loop: which is the next, and which one's values go out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    """``most`` turns are made at most; ``number`` is that of the newest, from 1."""

    most: int
    number: int = 0
    _best: int | None = None
    _score: float = 0.0

    def begin(self) -> int:
        """Another turn begins: its number."""
        self.number += 1
        return self.number

    def end(self, *, more: bool, score: float | None = None, spent: bool = False) -> int | None:
        """The newest turn has ended: the number of the turn whose values go out, None where another one follows.

        ``more`` says that another is wanted, ``spent`` that the Loop may use nothing any more. Where turns run out those of the
        best by its ``score`` go out, the earlier of equals; without scores those of the last.
        """
        if score is not None and (self._best is None or score > self._score):
            self._best, self._score = self.number, score
        if not more:
            return self.number
        if not spent and self.number < self.most:
            return None
        return self.number if self._best is None else self._best
