"""A reproduction made ready: its rows, what each may use and what is missing for it, before the first call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from merrow_optimizer.reproducing.papers import Row, read_paper
from merrow_runtime.errors import UsageFailure
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_server.continuing import ResumeChanges, answered_by_another
from merrow_server.errors import InputError, RunFailure
from merrow_server.evaluations.prepared_evaluation import Choosing
from merrow_server.reproductions.arranging import steps_of
from merrow_server.reproductions.bench import Bench, RowStep
from merrow_server.reproductions.estimates import Estimate, hours, total
from merrow_server.reproductions.readiness import Missing, missing
from merrow_server.reproductions.request import ReproductionRequest, asked_models, chosen_rows

KIND: Literal["reproduction"] = "reproduction"
_PREFIX = "repro"


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A row with its jobs in order, what each of them may use, and what is missing: then it is not run."""

    row: Row
    steps: tuple[RowStep, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def estimate(self) -> Estimate:
        """What all of its jobs may use."""
        return total(self.estimates)

    @property
    def asks(self) -> bool:
        """Whether it is run."""
        return bool(self.steps) and not self.missing


@dataclass(frozen=True)
class PreparedReproduction:
    """A reproduction that can begin. ``rows`` are those that are asked for, in the order of the paper."""

    bench: Bench
    rows: Sequence[PreparedRow]
    chosen: ChosenEndpoint

    @property
    def id(self) -> str:
        """Its id in the journal."""
        return self.bench.identity

    @property
    def request(self) -> ReproductionRequest:
        """What was asked for."""
        return self.bench.request

    @property
    def in_order(self) -> list[PreparedRow]:
        """The rows that are run, cheapest first; by calls where prices are not known."""
        asking = [one for one in self.rows if one.asks]
        place = {one.row.id: number for number, one in enumerate(self.rows)}
        return sorted(asking, key=lambda one: (one.estimate.usd or 0.0, one.estimate.calls, place[one.row.id]))

    @property
    def estimate(self) -> Estimate:
        """All jobs of all rows that are run, each once."""
        found: dict[str, Estimate] = {}
        for one in self.rows:
            if one.asks:
                found |= {step.id: estimate for step, estimate in zip(one.steps, one.estimates, strict=True)}
        return total(found.values())

    @property
    def hours(self) -> float:
        """How long it takes at least."""
        return hours(self.estimate, self.chosen)

    def check_runs(self) -> None:
        """Raise `InputError` where none of the rows can be run."""
        if not self.in_order:
            lacking = dict.fromkeys(lack.what for one in self.rows for lack in one.missing)
            raise InputError(f"None of the rows that were asked for can be run. {' '.join(lacking)}".rstrip())

    def begin(self) -> JobRecord:
        """Put it into the journal. Raises `StoreFailure`."""
        plan = {"asked": self.request.to_json(), "origin": self.chosen.endpoint.origin}
        record = JobRecord(self.id, KIND, self.request.paper, "running", time.time(), plan)
        self.bench.user.jobs[KIND].begin(record)
        return record

    async def close(self) -> None:
        """Nothing is open: each job opens what it needs."""


async def prepare(request: ReproductionRequest, user: Store, choosing: Choosing = choose) -> PreparedReproduction:
    """Check everything that can be wrong, and find out what is missing and what it may cost. Raises `InputError`."""
    bench = Bench(user, read_paper(request.paper), request, free_id(user, request.paper), choosing=choosing)
    return await _prepared(bench)


async def prepare_reproduction_again(
    record: JobRecord, user: Store, changed: ResumeChanges, choosing: Choosing = choose
) -> PreparedReproduction:
    """One of the journal made ready to continue. Raises `RunFailure`, also where another endpoint would answer and ``changed``
    does not say what becomes of the answers.
    """
    asked = ReproductionRequest.from_json(record.plan["asked"])
    request = replace(
        asked,
        limits=changed.limits_after(asked.limits),
        base_url=changed.base_url or asked.base_url,
        concurrency=changed.concurrency or asked.concurrency,
    )
    bench = Bench(user, read_paper(request.paper), request, record.id, changed, choosing)
    prepared = await _prepared(bench)
    before, now = record.plan["origin"], prepared.chosen.endpoint.origin
    if before != now and before != OFFLINE_ORIGIN and changed.reuse is None:
        raise InputError(answered_by_another(user.jobs[KIND], record.id, before, now))
    user.jobs[KIND].replan(record.id, {"asked": request.to_json(), "origin": now})
    return prepared


async def _prepared(bench: Bench) -> PreparedReproduction:
    request = bench.request
    rows = chosen_rows(bench.paper, request)
    try:
        chosen = bench.chosen()
    except UsageFailure as problem:
        raise InputError(str(problem)) from None
    await chosen.endpoint.close()
    known: dict[str, Estimate | str] = {}
    found = [await _row(bench, row, chosen.endpoint.origin, known) for row in rows]
    return PreparedReproduction(bench, found, chosen)


async def _row(bench: Bench, row: Row, origin: str, known: dict[str, Estimate | str]) -> PreparedRow:
    """``known`` has what jobs may use, or why they can't be done, by their ids: rows share some."""
    wanted = row if row.evaluation_of is None else bench.paper.rows[row.evaluation_of]
    lacking = tuple(dict.fromkeys([*missing(row, bench.request, origin), *missing(wanted, bench.request, origin)]))
    if lacking:
        return PreparedRow(row, missing=lacking)
    steps = tuple(steps_of(bench, row))
    for step in steps:
        if step.id not in known:
            try:
                known[step.id] = await step.estimate()
            except RunFailure as problem:
                known[step.id] = str(problem)
    refused = [said for step in steps if isinstance(said := known[step.id], str)]
    if refused:
        return PreparedRow(row, steps, missing=tuple(Missing(said) for said in dict.fromkeys(refused)))
    return PreparedRow(row, steps, tuple(one for step in steps if isinstance(one := known[step.id], Estimate)))


def free_id(user: Store, paper: str) -> str:
    """An id that nothing in the journal has, nor begins with."""
    number, name = 1, f"{_PREFIX}/{paper}"
    while user.listing.has_below(name):
        number += 1
        name = f"{_PREFIX}/{paper}.{number}"
    return name


def plan_object(prepared: PreparedReproduction) -> dict[str, Any]:
    """What it may use and what is missing, as plain data."""
    limits = prepared.request.limits
    return {
        "paper": prepared.request.paper,
        "title": prepared.bench.paper.title,
        "endpoint": prepared.chosen.endpoint.origin,
        "look": prepared.request.is_look,
        "simulated": prepared.request.simulate,
        "budget": {"usd": limits.usd, "tokens": limits.tokens, "seconds": limits.seconds},
        "order": [one.row.id for one in prepared.in_order],
        "estimate": {**prepared.estimate.to_json(), "hours": prepared.hours},
        "rows": [_row_object(one, prepared.request) for one in prepared.rows],
    }


def _row_object(one: PreparedRow, request: ReproductionRequest) -> dict[str, Any]:
    row = one.row
    return {
        "row": row.id,
        "table": row.table,
        "system": row.system,
        "column": row.column,
        "models": {role: request.model(row, role) for role in asked_models(row)},
        "data": list(row.sets),
        "asks": one.asks,
        "other_system": row.is_other,
        "estimate": one.estimate.to_json() if one.asks else None,
        "missing": [{"what": lack.what, "get": lack.get, "other_data": lack.is_other_data} for lack in one.missing],
    }
