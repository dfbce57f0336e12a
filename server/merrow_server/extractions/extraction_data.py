"""Extractions as plain data, for programs."""

from __future__ import annotations

from typing import Any

from merrow_optimizer.extraction.sessions import REPORT
from merrow_runtime.asking.rows import paid_in
from merrow_runtime.jobs.life import state_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_server.extractions.prepared_extraction import PreparedExtraction


def plan_object(prepared: PreparedExtraction) -> dict[str, Any]:
    """What an extraction may use, as ``--dry-run --format json`` prints it."""
    plan = prepared.plan
    return {
        "dataset": str(prepared.data.file),
        "part": prepared.data.part,
        "cases": {
            "extraction": len(plan.split.extracted),
            "probe": len(plan.split.probe),
            "without_solution": plan.left_out,
        },
        "generator": plan.generator,
        "model": plan.base.model,
        "stages": [stage.to_json() for stage in plan.forecast],
        "notes": list(prepared.notes),
    }


def extraction_object(user: Store, record: ExtractionRecord) -> dict[str, Any]:
    """An extraction of the journal; ``report`` is null before its end."""
    kept = user.extractions.kept(record.id)
    return {
        "extraction": record.id,
        "status": state_of(user, record),
        "started": record.started,
        "seconds": record.seconds,
        "cases": record.cases,
        "part": record.part,
        "generator": record.generator,
        "model": record.model,
        "metric": record.metric,
        "library": record.plan["out"],
        "error": record.error,
        "usage": paid_in(kept).to_json(),
        "report": kept.get(REPORT),
    }
