"""Evaluations as jobs: begun, and carried out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.evaluator import AnswerEngine, Evaluator, OnScore
from merrow_optimizer.evaluation.local_engine import LocalEngine
from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.jobs.life import carry_out
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.names import new_id


def begin(
    user: Store, plan: Plan, dataset: str, part: str, again: Mapping[str, Any], identity: str | None = None
) -> EvaluationRecord:
    """Put a new evaluation into the user's store. ``dataset`` is the hash of its items; ``again`` what a resume needs to make
    the plan again, as plain data; ``identity`` is its id, None for one of its own. Raises `StoreFailure`.
    """
    record = EvaluationRecord(
        identity or new_id(),
        whole_path(plan.workflow.name),
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


async def work(
    user: Store, evaluation: str, plan: Plan, told: OnScore = lambda _: None, engine: AnswerEngine | None = None
) -> Evaluator:
    """Work on an evaluation to its end, whatever that is, and keep how it ended. ``engine`` is where its items are answered;
    None: in this process.

    Cancelling ends it: what is finished is kept. Raises `StoreFailure` where it can't begin: another process works on it.
    """
    local: list[LocalEngine] = []

    def make(own: Store) -> Evaluator:
        evaluator = Evaluator(evaluation, plan, user, user.evaluations.get(evaluation).seconds)
        if engine is None:
            is_resumed = evaluator.scored or own.has_runs
            local.append(LocalEngine(evaluation, plan, user, own, evaluator.spent, is_resumed=is_resumed))
        return evaluator

    async def run(evaluator: Evaluator) -> None:
        chosen = engine or local[0]
        try:
            await evaluator.run(chosen, told)
        finally:
            chosen.close()

    return await carry_out(user, user.evaluations, evaluation, make, run, spread=engine is not None)
