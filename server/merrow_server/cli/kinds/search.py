"""Searches in the journal."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from merrow_server.cli import OK
from merrow_server.cli.kinds import Json, View
from merrow_server.errors import InputError
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.plan import EvaluationLimits
    from merrow_optimizer.optimization.record import SearchRecord
    from merrow_runtime.store.database import Store


def none(workflow: str | None) -> str:  # noqa: ARG001 (all kinds have it)
    return "No searches yet; make one with: merrow optimize FILE --dataset F"


def listed(user: Store, limit: int, file: str | None) -> list[Json]:
    from merrow_optimizer.optimization.record import load
    from merrow_runtime.store.listed import readable
    from merrow_server.optimizations.search_data import search_object

    records = user.optimizations.newest(limit, file, complain)
    return readable(records, lambda record: search_object(load(user, record.id)), complain)


def row(entry: Json) -> tuple[str, ...]:
    from merrow_server.evaluations.stand_ins import stand_ins_mark

    return (
        entry["search"],
        entry["status"],
        ago(entry["started"]),
        counted(entry["candidates"], "candidate"),
        _best(entry) + stand_ins_mark(entry),
        cost_text(entry["usage"]),
        visible(workflow_text(entry["dataset"])) + f" ({entry['part']})",
        visible(workflow_text(entry["workflow"])),
    )


def show(user: Store, identity: str, view: View) -> None:
    from merrow_server.cli.texts.shown_search import show_search

    if view.item is not None:
        raise InputError("--item goes with an evaluation; list them with: merrow evaluations")
    show_search(user, identity, view.form, view.file)


def resume(user: Store, identity: str, given: Json) -> int:
    from merrow_optimizer.evaluation.plan import EvaluationLimits
    from merrow_optimizer.optimization.record import load
    from merrow_server.cli.sessions.evaluation import notice
    from merrow_server.cli.sessions.search import report, watch
    from merrow_server.continuing import changed_by
    from merrow_server.optimizations.prepared_search import prepare_search_again

    as_json, record = given["as_json"], user.optimizations.get(identity)
    if given["jobs"] not in (None, record.jobs):
        raise InputError(
            f"Search {identity} was begun with --jobs {record.jobs}: what it draws depends on that, so it continues with no"
            " other."
        )
    changed = changed_by(given)
    _check_used(load(user, identity), changed.limits)
    if record.status == "finished":
        if changed.limits != EvaluationLimits():
            again = f"merrow optimize {shlex.quote(workflow_text(record.workflow))} --from {identity} ..."
            notice(
                f"Search {identity} is over, so that no budget continues it. Begin another one with its best: {again}"
            )
        report(user, identity, as_json=as_json)
        return OK

    async def work() -> int:
        prepared = await prepare_search_again(record, user, changed)
        return await watch(user, user.optimizations.get(identity), prepared, as_json=as_json)

    return asyncio.run(work())


def _check_used(search_record: SearchRecord, limits: EvaluationLimits) -> None:
    """Raise `InputError` where less may be used than a search has used already."""
    usage, seconds = search_record.usage, search_record.search.seconds
    for option, limit, used, spent in (
        ("usd", limits.usd, usage.cost_usd or 0.0, f"{usage.cost_usd or 0.0:.4f} US dollars"),
        ("tokens", limits.tokens, usage.tokens, f"{usage.tokens:,} tokens"),
        ("seconds", limits.seconds, seconds, f"{seconds:.1f} seconds"),
    ):
        if limit is not None and limit < used:
            raise InputError(f"Search {search_record.id} has used {spent} already; give a greater --budget-{option}.")


def _best(entry: Json) -> str:
    """The held-out difference where there is one, else what the search estimates."""
    if entry["held_out"] is not None:
        return f"{entry['held_out']['difference']:+.3f} held out"
    if entry["told"] is None:
        return "no score"
    if entry["crown"] == 0:
        return f"start {entry['told']:.3f}"
    return f"about {entry['told']:.3f}, start {entry['start_told']:.3f}"
