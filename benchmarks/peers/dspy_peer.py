"""Evaluates items with DSPy for `benchmarks.evaluate_peers`: one call an item, its results kept.

Arguments: address, items, folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import dspy

address, items, folder = sys.argv[1:]
lm = dspy.LM("openai/loopback", api_base=address, api_key="none", cache=False)
dspy.configure(lm=lm)
records = [json.loads(line) for line in Path(items).read_text(encoding="utf-8").splitlines()]
examples = [dspy.Example(problem=one["problem"], answer=one["answer"]).with_inputs("problem") for one in records]


class Asks(dspy.Module):
    """Hands the problem to the model as it is: forms of answers would be asked for again where the model misses them."""

    def forward(self, problem: str) -> Any:
        return dspy.Prediction(text=lm(problem)[0])


def contains(example: Any, prediction: Any, _trace: Any = None) -> bool:
    return example.answer in prediction.text


evaluate = dspy.Evaluate(
    devset=examples,
    metric=contains,
    num_threads=50,
    display_progress=False,
    save_as_json=str(Path(folder) / "results.json"),
)
result = evaluate(Asks())
if len(result.results) != len(records):
    raise SystemExit(f"DSPy: {len(result.results)} results")
