"""No metric: of a batch, whose answers are wanted and not scored."""

from __future__ import annotations

from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, right, text_of
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.store.evaluations import BATCH


class Unscored(BaseMetric):
    """Any answer will do."""

    name = BATCH
    needs_gold = False

    async def score(self, item: Item, output: Any) -> Score:
        del item
        return right(text_of(output), "answered")
