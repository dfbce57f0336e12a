"""Batches as plain data, and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.scores import Status
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_server.evaluations.batch_output import ANSWERED
from merrow_server.evaluations.evaluation_data import evaluation_object
from merrow_server.rendering.counts import counted
from merrow_server.reports.run_report import cost_text
from merrow_server.times import duration

_SCORED = ("evaluation", "metric", "score", "interval", "counted", "answers", "part", "held_out", "repeats")


def batch_object(user: Store, record: EvaluationRecord) -> dict[str, Any]:
    """A batch in a list: what it was of, how it ended, how many rows have which status, and the file of its answers."""
    known = evaluation_object(user, record, user.evaluations.scores(record.id))
    statuses = {ANSWERED if name == Status.RIGHT else name: count for name, count in known["answers"].items()}
    return {
        "batch": record.id,
        **{name: value for name, value in known.items() if name not in _SCORED},
        "rows": {name: count for name, count in statuses.items() if name != Status.WRONG},
        "output": record.plan["asked"]["batch"],
    }


def batch_text(batch: Mapping[str, Any]) -> str:
    """What a batch came to."""
    rows = [f"{count:,} {status}" for status, count in batch["rows"].items() if count]
    if batch["missing"]:
        rows.append(f"{batch['missing']:,} not asked yet")
    usage = batch["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    used = f"{counted(usage['calls'], 'call')}, {tokens:,} tokens, {cost_text(usage)}, {duration(batch['seconds'])}"
    return f"{counted(batch['items'], 'row')}: {', '.join(rows)}; {used}"
