"""Extractions from their beginning to their end: begun, carried out, continued."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from merrow_optimizer.extraction.extraction_report import report
from merrow_optimizer.extraction.extractor import Extractor, Told
from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_runtime.jobs.life import carry_out
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.names import new_id

REPORT = "report"
"""The key of the report in the journal, once an extraction has ended."""


def begin(
    user: Store,
    plan: ExtractionPlan,
    cases: str,
    dataset: str,
    part: str,
    again: Mapping[str, Any],
    identity: str | None = None,
) -> ExtractionRecord:
    """Put a new extraction into the user's store. ``cases`` is the file, ``dataset`` the hash of its cases, ``again`` what a
    resume needs to make the plan again, as plain data; ``identity`` is its id, None for one of its own. Raises `StoreFailure`.
    """
    record = ExtractionRecord(
        identity or new_id(),
        whole_path(cases),
        "running",
        time.time(),
        dataset,
        part,
        plan.base.metric.name,
        plan.base.model,
        plan.generator,
        plan.seed,
        {**again, "origin": plan.base.chosen.endpoint.origin, "items": [case.id for case in plan.split.all]},
    )
    user.extractions.begin(record)
    return record


async def work(user: Store, record: ExtractionRecord, plan: ExtractionPlan, told: Told) -> Extractor:
    """Carry out an extraction to its end, whatever that is, and keep how it ended.

    Cancelling ends it: what is finished is kept. Raises `StoreFailure` where it can't begin: another process works on it.
    """

    def make(own: Store) -> Extractor:
        return Extractor(record, plan, user, own)

    async def run(extractor: Extractor) -> None:
        await extractor.run(told)
        if extractor.stopped_by is None:
            await user.extractions.keep(record.id, REPORT, report(extractor))

    return await carry_out(user, user.extractions, record.id, make, run)
