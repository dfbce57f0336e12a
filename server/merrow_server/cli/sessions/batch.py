"""A batch watched from the command line, and its file written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_server.cli.sessions.evaluation import watch
from merrow_server.cli.sessions.watching import reporting
from merrow_server.evaluations.batch_data import batch_object, batch_text
from merrow_server.evaluations.batch_output import write_batch
from merrow_server.evaluations.prepared_evaluation import PreparedEvaluation
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_server.workers.cluster import Cluster


async def watch_batch(
    user: Store,
    record: EvaluationRecord,
    prepared: PreparedEvaluation,
    cluster: Cluster | None = None,
    output: str = "text",
) -> int:
    """Work on a batch to its end, and write what there is of it then; the exit code."""
    code = await watch(user, record, prepared, cluster)
    with reporting(code):
        record = user.batches.get(record.id)
        path = write_batch(user, record, prepared.data, prepared.plan.workflow)
        shown = batch_object(user, record)
        if output == "json":
            emit(json.dumps(shown, indent=2))
            return code
        echo(batch_text(shown))
        echo(f"Written to {visible(str(path))}. Batch {record.id}: see it with: merrow show {record.id}", err=True)
    return code
