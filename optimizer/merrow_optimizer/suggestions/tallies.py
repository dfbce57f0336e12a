"""How many candidates of a model were valid, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REPAIRS = 3
"""How many times a refused candidate goes back to the model at most."""


@dataclass(slots=True)
class CandidateTally:
    """Numbers of candidates of one form: total, valid at first, valid after a free repair, and valid after going back to the
    model 1, 2 and 3 times.
    """

    proposed: int = 0
    first: int = 0
    free: int = 0
    again: list[int] = field(default_factory=lambda: [0] * REPAIRS)

    @property
    def valid(self) -> int:
        """The number that finally passed."""
        return self.first + self.free + sum(self.again)

    def __add__(self, other: CandidateTally) -> CandidateTally:
        again = [count + more for count, more in zip(self.again, other.again, strict=True)]
        return CandidateTally(self.proposed + other.proposed, self.first + other.first, self.free + other.free, again)

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> CandidateTally:
        """The inverse of `to_json`."""
        again = list(shown["valid_after_repair"])
        return cls(shown["proposed"], shown["valid_first"], shown["valid_after_free_repair"], again)

    def to_json(self) -> dict[str, Any]:
        """Counts, and their shares of all proposals (null if there were none)."""
        share = None if not self.proposed else self.first / self.proposed
        after = None if not self.proposed else self.valid / self.proposed
        return {
            "proposed": self.proposed,
            "valid_first": self.first,
            "valid_after_free_repair": self.free,
            "valid_after_repair": list(self.again),
            "never": self.proposed - self.valid,
            "share_first": share,
            "share_after_repair": after,
        }
