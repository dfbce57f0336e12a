"""Evaluations from their beginning to their end: begun, gone on with, and looked at."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from merrow_optimizer.evaluation.evaluator import Evaluator, OnScore
from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.names import new_id

FOLDER = "evaluations"
"""Where journals of evaluations are, in the user's state folder."""

State = Literal["running", "finished", "stopped", "cancelled", "interrupted"]


def journal_of(user: Store, evaluation: str) -> Path:
    """The file with the runs of an evaluation."""
    assert user.path is not None  # noqa: S101 (the user's store is a file)
    return user.path.parent / FOLDER / f"{evaluation}.sqlite"


def begin(user: Store, plan: Plan, dataset: str, part: str, again: Mapping[str, Any]) -> EvaluationRecord:
    """Put a new evaluation into the user's store. ``dataset`` is the hash of its items; ``again`` what a resume needs to make
    the plan again, as plain data. Raises `StoreFailure`.
    """
    record = EvaluationRecord(
        new_id(),
        os.path.abspath(plan.workflow.name),  # noqa: PTH100 (#2 may follow)
        "running",
        time.time(),
        dataset,
        part,
        plan.metric.name,
        plan.model,
        plan.options.seed,
        plan.repeats,
        {**again, "semantic": plan.semantic, "origin": plan.chosen.endpoint.origin, "items": len(plan.items)},
    )
    user.evaluations.begin(record)
    return record


async def work(user: Store, evaluation: str, plan: Plan, told: OnScore = lambda _: None) -> Evaluator:
    """Work on an evaluation to its end, whatever that is, and keep how it ended.

    Cancelling ends it: what is finished is kept. Raises `StoreFailure`, also where another process works on it.
    """
    started = time.monotonic()
    try:
        own = Store.open(journal_of(user, evaluation), answers=user, alone=True)
    except StoreFailure as problem:
        raise StoreFailure(f"Evaluation {evaluation} can't go on. {problem}") from None
    with closing(own):
        evaluator = Evaluator(evaluation, plan, user, own)
        user.evaluations.update(evaluation, "running")
        try:
            await evaluator.run(told)
        except asyncio.CancelledError:
            user.evaluations.update(evaluation, "cancelled", None, time.time(), time.monotonic() - started)
            raise
        except StoreFailure as problem:
            evaluator.stopped_by = str(problem)
            # A disk that is full may have room for this, which is little; where it has not, the process is over for others, too.
            user.evaluations.update(evaluation, "stopped", str(problem), time.time(), time.monotonic() - started)
            raise
        status: Literal["finished", "stopped"] = "finished" if evaluator.stopped_by is None else "stopped"
        seconds = time.monotonic() - started
        user.evaluations.update(evaluation, status, evaluator.stopped_by, time.time(), seconds)
    return evaluator


def state_of(user: Store, record: EvaluationRecord) -> State:
    """How an evaluation is now: one that no living process works on is not running, whatever was written down last."""
    if record.status != "running":
        return record.status
    path = journal_of(user, record.id)
    if not path.exists():
        return "interrupted"
    with closing(Store.open(path)) as own:
        return "running" if own.is_open_elsewhere else "interrupted"


def delete(user: Store, evaluation: str) -> None:
    """Take an evaluation out of the user's store, and its runs with their journal. What models answered stays in the cache.

    Raises `StoreFailure` while a process works on it.
    """
    path = journal_of(user, evaluation)
    if path.exists():
        with closing(Store.open(path)) as own:
            if own.is_open_elsewhere:
                raise StoreFailure(f"Evaluation {evaluation} is still going on; stop it first.")
    user.evaluations.delete(evaluation)
    for ending in ("", "-wal", "-shm", ".ballast"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
