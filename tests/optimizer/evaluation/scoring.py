"""Scores of single answers, for tables of pairs."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.optimizer.kept_workers import kept_workers

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.scores import InvalidItemError, Score

INVALID = "invalid"
Verdict = "float | str"


def item(gold: Any, **inputs: Any) -> Item:
    return Item("1", inputs, gold)


def scores(name: str, pairs: list[tuple[Item, Any]], **options: Any) -> list[Score | InvalidItemError]:
    """The score of each output, in order, by one metric."""

    async def all_of_them() -> list[Score | InvalidItemError]:
        scored_by = metric(name, **options)
        found: list[Score | InvalidItemError] = []
        try:
            for each, output in pairs:
                try:
                    found.append(await scored_by.score(each, output))
                except InvalidItemError as error:
                    found.append(error)
        finally:
            await scored_by.close()
        return found

    with kept_workers():
        return asyncio.run(all_of_them())


def values(name: str, pairs: list[tuple[Any, Any]], **options: Any) -> list[float | str]:
    """The values for pairs of a gold answer and an output; `INVALID` where there is none."""
    found = scores(name, [(item(gold), output) for gold, output in pairs], **options)
    return [INVALID if isinstance(score, InvalidItemError) else score.value for score in found]


def differing(name: str, table: list[tuple[Any, Any, float | str, str]], **options: Any) -> list[Any]:
    """The rows of a table (gold, output, value, why) that have another value than the table says."""
    found = values(name, [(gold, output) for gold, output, _, _ in table], **options)
    return [(row, value) for row, value in zip(table, found, strict=True) if row[2] != value]
