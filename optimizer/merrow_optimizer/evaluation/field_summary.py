"""What the answers in one field come to: their score, and which values were taken for which."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.statistics.intervals import Interval, interval_of
from merrow_runtime.store.evaluations import ScoreRecord


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """``counted`` items have a score in this field; ``score`` is the mean over them, None where there are none.

    Where the field has few values, ``confusion`` says for each right one how often which was answered ("": none), and
    ``precision`` and ``recall`` what share of the answers with a value, and of the items that it is right for, are right.
    """

    metric: str
    counted: int
    score: float | None
    interval: Interval | None
    confusion: Mapping[str, Mapping[str, int]] | None
    precision: Mapping[str, float | None] | None
    recall: Mapping[str, float | None] | None

    def to_json(self) -> dict[str, Any]:
        """As reports show it."""
        shown: dict[str, Any] = {
            "score": self.score,
            "n": self.counted,
            "interval": None if self.interval is None else list(self.interval),
            "metric": self.metric,
            "confusion": None if self.confusion is None else {gold: dict(row) for gold, row in self.confusion.items()},
        }
        if self.precision is not None and self.recall is not None:
            shown |= {"precision": dict(self.precision), "recall": dict(self.recall)}
        return shown


class CountedField:
    """Counts the answers of many items in one field, in little memory. ``labels`` are the values that it can have, None where
    they are not counted against each other.
    """

    def __init__(self, metric: str, labels: Sequence[str] | None) -> None:
        self._metric, self._labels = metric, labels
        self._places: dict[str, int] = {}
        self._sums, self._answers = array("d"), array("Q")
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._right: set[tuple[str, str]] = set()

    def add(self, score: ScoreRecord, field: Mapping[str, Any] | None) -> None:
        """Take what is known of an answer, which may have other fields without a score; one of a workflow that failed is worth
        nothing.
        """
        if field is None and score.status != Status.FAILED:
            return
        value = 0.0 if field is None else float(field["value"])
        place = self._places.setdefault(score.item, len(self._places))
        if place == len(self._sums):
            self._sums.append(0.0)
            self._answers.append(0)
        self._sums[place] += value
        self._answers[place] += 1
        if field is not None and self._labels is not None:
            pair = str(field["gold"]), str(field["read"])
            self._pairs[pair] += 1
            if value == 1:
                self._right.add(pair)

    def means(self) -> Iterator[tuple[str, float]]:
        """The mean of each item over its answers."""
        for item, place in self._places.items():
            yield item, self._sums[place] / self._answers[place]

    def summary(self, repeats: int) -> FieldSummary:
        """What they come to."""
        means = [mean for _, mean in self.means()]
        score = math.fsum(means) / len(means) if means else None
        interval = interval_of(means, repeats=repeats) if means else None
        if self._labels is None:
            return FieldSummary(self._metric, len(means), score, interval, None, None, None)
        golds = self._sorted({gold for gold, _ in self._pairs})
        reads = self._sorted({read for _, read in self._pairs})
        confusion = {gold: {read: count for read in reads if (count := self._pairs[gold, read])} for gold in golds}
        return FieldSummary(
            self._metric,
            len(means),
            score,
            interval,
            confusion,
            {label: self._share(1, label) for label in self._labels},
            {label: self._share(0, label) for label in self._labels},
        )

    def _sorted(self, values: set[str]) -> list[str]:
        """In the order of the labels; others behind them, and no answer last."""
        known = {label: place for place, label in enumerate(self._labels or ())}
        return sorted(values, key=lambda value: (value == "", known.get(value, len(known)), value))

    def _share(self, side: int, label: str) -> float | None:
        """What share of the answers are right that have this label on one side, the right one (0) or that of the answer (1)."""
        those = {pair: count for pair, count in self._pairs.items() if pair[side] == label}
        if not those:
            return None
        return sum(count for pair, count in those.items() if pair in self._right) / sum(those.values())
