"""Batches in the journal."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from merrow_server.cli.kinds import Json, View
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def none(workflow: str | None) -> str:  # noqa: ARG001 (all kinds have it)
    return "No batches yet; make one with: merrow batch FILE --dataset F -o OUT"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    from merrow_server.evaluations.batch_data import batch_object

    return [batch_object(user, record) for record in user.batches.newest(limit, file, complain)]


def row(entry: Json) -> tuple[str, ...]:
    return (
        entry["batch"],
        entry["status"],
        ago(entry["started"]),
        f"{entry['rows']['answered']:,} of {entry['items']:,}",
        cost_text(entry["usage"]),
        visible(workflow_text(entry["dataset"])),
        visible(workflow_text(entry["workflow"])),
    )


def show(user: Store, identity: str, view: View) -> None:
    from merrow_server.cli.texts.shown_evaluation import show_evaluation
    from merrow_server.evaluations.batch_data import batch_object, batch_text
    from merrow_server.rendering.terminal import echo, emit

    if view.item is not None:
        show_evaluation(user, identity, view.item, view.form, view.file)
        return
    if view.form not in ("text", "json") or view.file is not None:
        raise InputError("A batch is shown as text or json; its answers are in the file that it wrote.")
    shown = batch_object(user, user.batches.get(identity))
    if view.form == "json":
        emit(json.dumps(shown, indent=2))
        return
    echo(f"{shown['batch']}  {shown['status']}  {ago(shown['started'])}  {visible(workflow_text(shown['workflow']))}")
    if shown["error"]:
        echo(visible(shown["error"]))
    echo(batch_text(shown))
    echo(f"Its file: {visible(shown['output'])}")


def resume(user: Store, identity: str, given: Json) -> int:
    from merrow_server.cli.options.engine import check_engine, cluster_of
    from merrow_server.cli.sessions.batch import watch_batch
    from merrow_server.continuing import changed_by
    from merrow_server.evaluations.prepared_evaluation import prepare_again

    check_engine(given)
    record = user.batches.get(identity)

    async def work() -> int:
        prepared = await prepare_again(record, user, changed_by(given))
        try:
            async with cluster_of(given) as cluster:
                return await watch_batch(user, record, prepared, cluster)
        finally:
            await prepared.close()

    return asyncio.run(work())
