"""Evaluations in the journal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.kinds import Json, View
from merrow_server.cli.options.gates import check_gates, gates_of
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def none(workflow: str | None) -> str:  # noqa: ARG001 (all kinds have it)
    return "No evaluations yet; make one with: merrow evaluate FILE --dataset F"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    from merrow_server.evaluations.evaluation_data import evaluation_object

    records = user.evaluations.newest(limit, file, complain)
    return [evaluation_object(user, record, user.evaluations.scores(record.id)) for record in records]


def row(entry: Json) -> tuple[str, ...]:
    from merrow_server.evaluations.evaluation_data import score_text

    return (
        entry["evaluation"],
        entry["status"],
        ago(entry["started"]),
        score_text(entry),
        entry["metric"],
        cost_text(entry["usage"]),
        visible(workflow_text(entry["dataset"])) + f" ({entry['part']})",
        visible(workflow_text(entry["workflow"])),
    )


def show(user: Store, identity: str, view: View) -> None:
    from merrow_server.cli.texts.shown_evaluation import show_evaluation

    show_evaluation(user, identity, view.item, view.form, view.file)


def resume(user: Store, identity: str, given: Json) -> int:
    from merrow_server.cli.options.engine import check_engine, cluster_of
    from merrow_server.cli.sessions.evaluation import report, watch
    from merrow_server.cli.sessions.watching import reporting
    from merrow_server.continuing import changed_by
    from merrow_server.evaluations.prepared_evaluation import prepare_again

    check_gates(given)
    check_engine(given)
    record = user.evaluations.get(identity)
    gates = gates_of(given).named(record.plan.get("fields", {}))
    baseline = None if given["baseline"] is None else user.evaluations.get(given["baseline"])

    async def work() -> int:
        prepared = await prepare_again(record, user, changed_by(given))
        try:
            async with cluster_of(given) as cluster:
                return await watch(user, record, prepared, cluster)
        finally:
            await prepared.close()

    code = asyncio.run(work())
    passes = False
    with reporting(code):
        passes = report(user, record, gates, baseline, "text")
    return code if code != OK or passes else NOT_WELL
