"""What an evaluation comes to: the score with its interval, what was left out, repeats; two of them compared."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_optimizer.evaluation.field_summary import CountedField, FieldSummary
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.statistics.intervals import Interval, interval_of
from merrow_optimizer.evaluation.statistics.paired import PairedDifference, compare, interval_method
from merrow_optimizer.evaluation.statistics.repeats import is_flaky, pass_hat
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING, Usage

COUNTED = (Status.RIGHT, Status.WRONG, Status.FAILED)
"""What counts in a score; the others are left out of it."""

_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Summary:
    """``items`` are those of the evaluation, ``counted`` those with a score, ``answers`` how many answers have which status.

    ``score`` is the mean over items of their mean over repeats; None where nothing is counted. ``pass_hat`` has pass^k for
    k = 1 to the number of repeats; ``flaky`` the ids of items that were right only sometimes. ``exhausted`` counts the answers
    of runs in which a Loop still wanted another turn when its turns or its budget ran out. ``fields`` has the same of each field
    of the answers, where these are scored.
    """

    items: int
    repeats: int
    counted: int
    answers: Mapping[Status, int]
    score: float | None
    interval: Interval | None
    pass_hat: Sequence[float | None]
    flaky: Sequence[str]
    usage: Usage
    exhausted: int = 0
    fields: Mapping[str, FieldSummary] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """How many answers are unanswered or invalid."""
        return self.answers.get(Status.UNANSWERED, 0) + self.answers.get(Status.INVALID, 0)

    @property
    def missing(self) -> int:
        """How many answers were not asked for yet."""
        return self.items * self.repeats - sum(self.answers.values())

    def to_json(self) -> dict[str, Any]:
        """As reports show it."""
        shown: dict[str, Any] = {
            "items": self.items,
            "repeats": self.repeats,
            "counted": self.counted,
            "answers": {status.value: self.answers.get(status, 0) for status in Status},
            "missing": self.missing,
            "score": self.score,
            "interval": None if self.interval is None else list(self.interval),
            "usage": self.usage.to_json(),
            "exhausted": self.exhausted,
        }
        if self.repeats > 1:
            shown |= {"pass_hat": list(self.pass_hat), "flaky": list(self.flaky)}
        if self.fields:
            shown["fields"] = {name: field.to_json() for name, field in self.fields.items()}
        return shown


class _Counted:
    """The answers that count, of many items in little memory: by item how many there are and how many of them are right, and the
    values of all.
    """

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._right, self._answers = array("Q"), array("Q")
        self._values, self._of = array("d"), array("Q")

    def add(self, score: ScoreRecord) -> None:
        place = self.places.setdefault(score.item, len(self.places))
        if place == len(self._answers):
            self._right.append(0)
            self._answers.append(0)
        self._right[place] += score.status == Status.RIGHT
        self._answers[place] += 1
        self._values.append(score.value or 0.0)
        self._of.append(place)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """How many answers are right of how many, by item."""
        return zip(self._right, self._answers, strict=True)

    def means(self) -> array[float]:
        """The mean of each item over its answers."""
        if len(self._values) == len(self.places):
            return self._values
        several: list[list[float]] = [[] for _ in self.places]
        for place, value in zip(self._of, self._values, strict=True):
            several[place].append(value)
        return array("d", (math.fsum(values) / len(values) for values in several))


def item_means(scores: Iterable[ScoreRecord]) -> dict[str, float]:
    """The mean of each item over the answers that count, by its id."""
    counted = _Counted()
    for score in scores:
        if score.status in COUNTED:
            counted.add(score)
    return dict(zip(counted.places, counted.means(), strict=True))


def summary_of(
    scores: Iterable[ScoreRecord], items: int, repeats: int, fields: Mapping[str, Mapping[str, Any]] | None = None
) -> Summary:
    """The summary of an evaluation of so many items and repeats, with the scores that there are. ``fields`` are those that are
    scored, by name: the ``metric`` of each and its ``labels``.
    """
    of_fields = {name: CountedField(known["metric"], known.get("labels")) for name, known in (fields or {}).items()}
    answers: Counter[Status] = Counter()
    counted, usage, exhausted = _Counted(), NOTHING, 0
    for score in scores:
        answers[Status(score.status)] += 1
        usage += score.usage
        exhausted += score.exhausted > 0
        if score.status in COUNTED:
            counted.add(score)
        for name, of_field in of_fields.items():
            of_field.add(score, (score.fields or {}).get(name))
    means = counted.means()
    return Summary(
        items,
        repeats,
        len(means),
        answers,
        math.fsum(means) / len(means) if means else None,
        interval_of(means, repeats=repeats) if means else None,
        [pass_hat(counted.pairs(), k) for k in range(1, repeats + 1)],
        sorted(item for item, pair in zip(counted.places, counted.pairs(), strict=True) if is_flaky(*pair)),
        usage,
        exhausted,
        {name: of_field.summary(repeats) for name, of_field in of_fields.items()},
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two evaluations on the items that both scored. ``better`` and ``worse`` are the ids of items that turned; ``left_out`` is
    how many items only one of them has a score for. ``difference`` is None where they share no item. ``fields`` has the
    difference in each field that both scored.
    """

    difference: PairedDifference | None
    better: Sequence[str]
    worse: Sequence[str]
    left_out: int
    fields: Mapping[str, PairedDifference] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As reports show it."""
        difference = self.difference
        shown: dict[str, Any] = {
            "better": list(self.better),
            "worse": list(self.worse),
            "left_out": self.left_out,
            "items": 0,
        }
        if difference is not None:
            shown |= _object(difference)
        if self.fields:
            shown["fields"] = {name: _object(each) for name, each in self.fields.items()}
        return shown


def _object(difference: PairedDifference) -> dict[str, Any]:
    return {
        "items": difference.items,
        "difference": difference.difference,
        "interval": list(difference.interval),
        "interval_method": interval_method(difference.test),
        "test": difference.test,
        "p": difference.p,
        "p_worse": difference.p_worse,
        "showable": difference.showable,
    }


def compared(
    before: Iterable[ScoreRecord], after: Iterable[ScoreRecord], *, repeats: int, fields: Sequence[str] = ()
) -> Comparison:
    """Compare two evaluations item by item, and in each of the ``fields`` that both scored; ``repeats`` is the greater number of
    theirs.
    """
    first, *first_fields = _means(before, fields)
    second, *second_fields = _means(after, fields)
    difference = _difference(first, second, repeats)
    common = sorted(first.keys() & second.keys())
    of_fields = {
        name: each
        for name, one, other in zip(fields, first_fields, second_fields, strict=True)
        if (each := _difference(one, other, repeats)) is not None
    }
    return Comparison(
        difference,
        [item for item in common if second[item] > first[item] + _EQUAL],
        [item for item in common if second[item] < first[item] - _EQUAL],
        len(first.keys() ^ second.keys()),
        of_fields,
    )


def _means(scores: Iterable[ScoreRecord], fields: Sequence[str]) -> list[dict[str, float]]:
    """The mean of each item, and in each of the fields."""
    counted, of_fields = _Counted(), [CountedField("", None) for _ in fields]
    for score in scores:
        if score.status in COUNTED:
            counted.add(score)
        for name, of_field in zip(fields, of_fields, strict=True):
            of_field.add(score, (score.fields or {}).get(name))
    whole = dict(zip(counted.places, counted.means(), strict=True))
    return [whole, *(dict(of_field.means()) for of_field in of_fields)]


def _difference(first: Mapping[str, float], second: Mapping[str, float], repeats: int) -> PairedDifference | None:
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    return compare([first[item] for item in common], [second[item] for item in common], repeats=repeats)
