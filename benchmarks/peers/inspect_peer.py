"""Evaluates items with Inspect for `benchmarks.evaluate_peers`: one call an item, its log kept.

Arguments: address, items, folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inspect_ai import Task, eval  # noqa: A004 (its name)
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

address, items, folder = sys.argv[1:]
records = [json.loads(line) for line in Path(items).read_text(encoding="utf-8").splitlines()]
samples = [Sample(input=one["problem"], target=one["answer"], id=one["id"]) for one in records]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
model = get_model("openai/loopback", base_url=address, api_key="none", responses_api=False)
[log] = eval(task, model=model, max_connections=50, max_samples=50, log_dir=folder, display="none")
if log.status != "success" or log.results is None or log.results.completed_samples != len(samples):
    raise SystemExit(f"Inspect: {log.status}, {log.error}")
