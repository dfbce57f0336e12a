"""Searches from their beginning to their end: begun, carried out, continued."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from merrow_optimizer.optimization.plan import SearchPlan, Told
from merrow_optimizer.optimization.readings import searched_part
from merrow_optimizer.optimization.rounds import Rounds
from merrow_optimizer.optimization.searcher import Searcher
from merrow_runtime.jobs.life import carry_out
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.names import new_id
from merrow_runtime.store.optimizations import OptimizationRecord


def begin(
    user: Store,
    plan: SearchPlan,
    dataset: str,
    part: str,
    again: Mapping[str, Any],
    out: str | None,
    identity: str | None = None,
) -> OptimizationRecord:
    """Put a new search into the user's store. ``dataset`` is the hash of all items, ``again`` what a resume needs to make the
    plan again, as plain data; ``out`` is the folder for the candidates' files, None for one beside the workflow;
    ``identity`` is its id, None for one of its own. Raises `StoreFailure`, and `UsageFailure` where the files can't be written.
    """
    identity = identity or new_id()
    file = Path(whole_path(plan.start.name))
    folder = file.parent / f"{file.stem}.search-{identity}" if out is None else Path(out)
    split = plan.split
    record = OptimizationRecord(
        identity,
        str(file),
        "running",
        time.time(),
        dataset,
        part,
        plan.base.metric.name,
        plan.base.model,
        plan.strategy,
        plan.proposer,
        plan.seed,
        plan.jobs,
        {
            **again,
            "origin": plan.base.chosen.endpoint.origin,
            "folder": os.path.abspath(folder),  # noqa: PTH100 (as text)
            "items": [item.id for item in split.searched],
            "shown": [item.id for item in split.shown],
            "proposing": None if plan.proposing is None else asdict(plan.proposing),
            "held_out": {"part": split.part, "items": [item.id for item in split.held_out]},
            "given": [list(entry) for entry in plan.given],
            "seen": plan.seen,
        },
    )
    rounds = rounds_of(record, plan)
    rounds.check()
    rounds.open()
    user.optimizations.begin(record, searched_part(part, split.part), plan.base.semantic)
    return record


def rounds_of(record: OptimizationRecord, plan: SearchPlan) -> Rounds:
    """The files of a search's candidates."""
    is_simulated = plan.base.options.person is not None
    return Rounds(record.id, Path(record.plan["folder"]), plan.start.files, is_simulated=is_simulated)


async def work(user: Store, record: OptimizationRecord, plan: SearchPlan, told: Told) -> Searcher:
    """Carry out a search to its end, whatever that is, and keep how it ended.

    Cancelling ends it: what is finished is kept. Raises `StoreFailure` where it can't begin: another process works on it;
    `UsageFailure` where it can't continue as it began.
    """

    def make(own: Store) -> Searcher:
        return Searcher(record, plan, rounds_of(record, plan), user, own)

    return await carry_out(user, user.optimizations, record.id, make, lambda searcher: searcher.run(told))
