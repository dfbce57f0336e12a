"""People's verdicts as a metric: what `merrow rate` kept of this very answer to this very item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item, hash_of
from merrow_optimizer.evaluation.metrics.base import BaseMetric, right, text_of, wrong
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.store.evaluations import output_text

VerdictOf = Callable[[str, str], str | None]
"""What was said of an answer, by the hash of its item and the answer as it is kept."""


class Verdicts(BaseMetric):
    """1 for an answer that people called good, 0 for a bad one. ``edition`` changes with the labels that there are."""

    name = "labels"
    needs_gold = False

    def __init__(self, verdict_of: VerdictOf | None = None, edition: int = 0) -> None:
        super().__init__({"edition": edition})
        self._said = verdict_of

    async def prepare(self) -> None:
        if self._said is None:
            raise DataError.of("The metric labels needs a store with labels.", field="metric")

    async def score(self, item: Item, output: Any) -> Score:
        verdict = None if self._said is None else self._said(hash_of(item), output_text(output))
        if verdict is None:
            raise InvalidItemError("nobody has rated this answer; rate it with: merrow rate EVAL")
        made = right if verdict == "good" else wrong
        return made(text_of(output), f"a person called it {verdict}")
