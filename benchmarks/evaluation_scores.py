"""What scoring answers that are known costs.

    .venv/bin/python -m benchmarks.evaluation_scores DATASETS

``DATASETS`` is the folder of the published data sets. Each gold answer is scored as an answer to its own item, and to the one
before it. Figures are CPU seconds, with those of the worker process of the metric ``math`` in them, its start too.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import check_scoring, metric

SETS = {"GSM8K": ("gsm8k_test",), "MATH": ("math_validate", "math_test"), "F1 (DROP)": ("drop_validate", "drop_test")}


def main(folder: Path) -> None:
    for name, files in SETS.items():
        sets = [read_items(folder / f"{file}.jsonl") for file in files]
        items = [item for data in sets for item in data.items]
        golds = [item.gold for item in items]
        pairs, others = list(zip(items, golds, strict=True)), list(zip(items, golds[1:] + golds[:1], strict=True))
        own = _seconds(sets[0].metric_name, pairs, files[0], folder)
        other = _seconds(sets[0].metric_name, others, files[0], folder)
        print(f"{name}: {len(items):,} answers, each right {own:.2f} s, each that of another item {other:.2f} s")


def _seconds(name: str, pairs: list[tuple[Item, object]], file: str, folder: Path) -> float:
    """CPU seconds of scoring these, in this process and in the metric's worker."""
    data = read_items(folder / f"{file}.jsonl")

    async def score() -> None:
        scored_by = metric(name, **data.metric_options)
        await check_scoring(data, scored_by)
        await asyncio.gather(*(scored_by.score(item, output) for item, output in pairs))
        await scored_by.close()

    before = os.times()
    asyncio.run(score())
    return sum(os.times()[:4]) - sum(before[:4])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
