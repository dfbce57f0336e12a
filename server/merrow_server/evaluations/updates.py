"""How much the updates of an evaluation's runs changed (Flow, Table 5), and how long its answers took."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import fsum
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.errors import StoreFailure
from merrow_runtime.revising.difference import is_task
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_server.evaluations.journals import jobs_of
from merrow_server.reports.run_report import ratio_of


def tasks_of(plan: Plan) -> dict[str, int]:
    """How many tasks the runs of an evaluation begin with, as plain data; empty if no model revises them."""
    return {} if plan.refine is None else {"tasks": sum(map(is_task, plan.workflow.graph.nodes))}


def updates_of(user: Store, record: EvaluationRecord, scores: Iterable[ScoreRecord]) -> dict[str, Any]:
    """What the updates of the runs changed, as ``updates``: how many tasks a run begins with (``initial``), how many of these
    ``changed`` (the mean over items of the mean over their answers), their share (``ratio``), and how many answers come from
    runs that were ``updated``. Empty if no model revises them, or no journal of the runs is left.
    """
    initial = record.plan.get("tasks")
    if not isinstance(initial, int):
        return {}
    changed = _changed(user, {score.run for score in scores if score.run})
    by_item: dict[str, list[int]] = {}
    for score in scores:
        if score.run in changed:
            by_item.setdefault(score.item, []).append(changed[score.run] or 0)
    if not by_item:
        return {}
    mean = fsum(map(statistics.fmean, by_item.values())) / len(by_item)
    updated = sum(changed.get(score.run) is not None for score in scores)
    return {"updates": {"initial": initial, "changed": mean, "ratio": ratio_of(mean, initial), "updated": updated}}


def _changed(user: Store, runs: set[str]) -> dict[str, int | None]:
    """How many tasks of runs changed, None for those without an update; as far as their journals are there and can be read."""
    counts: dict[str, int | None] = {}
    for evaluation in jobs_of(user, runs):
        with suppress(StoreFailure), user.looking_into(evaluation) as own:
            known = {} if own is None else own.tasks_changed()
            counts |= {run: known[run] for run in runs if run in known}
    return counts


def updates_text(updates: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    share = "" if updates["ratio"] is None else f" ({updates['ratio']:.0%})"
    answers = "1 answer" if updates["updated"] == 1 else f"{updates['updated']:,} answers"
    return (
        f"Initial tasks {updates['initial']}, changed {updates['changed']:.1f}{share} on average; updates in {answers}."
    )


def seconds_of(seconds: Sequence[float]) -> dict[str, float] | None:
    """The ``mean`` and the standard deviation ``sd`` (that of a sample; 0 for one) of the seconds that answers took; None without
    any.
    """
    if not seconds:
        return None
    return {"mean": statistics.fmean(seconds), "sd": statistics.stdev(seconds) if len(seconds) > 1 else 0.0}


def seconds_text(seconds: Mapping[str, float] | None) -> str:
    """Mean and standard deviation as papers print them; empty without answers."""
    return "" if seconds is None else f"{seconds['mean']:.2f} ± {seconds['sd']:.2f}"
