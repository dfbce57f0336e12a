"""Which jobs a row consists of, in order, and which of them it shares with other rows."""

from __future__ import annotations

from merrow_optimizer.reproducing.papers import Row
from merrow_server.reproductions.bench import Bench, RowStep
from merrow_server.reproductions.readiness import items_of
from merrow_server.reproductions.steps import EvaluateStep, ExtractStep, PlanStep, SearchStep


def steps_of(bench: Bench, row: Row) -> list[RowStep]:
    """The jobs of a row, in order; those that it shares with another row have ids below that one's. None for a row that asks
    nothing itself.
    """
    if row.evaluation_of is not None:
        return steps_of(bench, bench.paper.rows[row.evaluation_of])
    if row.is_derived or row.not_run:
        return []
    below = f"{bench.identity}/{row.id}"
    if row.plan is not None:
        return _planned(bench, row, below)
    source, operators = _search(bench, row)
    steps: list[RowStep] = [one for one in (operators, source) if one is not None]
    return [*steps, EvaluateStep(bench, row, below, source)]


def _search(bench: Bench, row: Row) -> tuple[SearchStep | None, ExtractStep | None]:
    said = row.search
    if said is None:
        return None, None
    if said.of is not None:
        return _search(bench, bench.paper.rows[said.of])
    operators = None
    if row.extract is not None and not bench.request.simulate:
        owner = row if row.extract.of is None else bench.paper.rows[row.extract.of]
        operators = ExtractStep(bench, owner, f"{bench.identity}/{owner.id}/extract")
    return SearchStep(bench, row, f"{bench.identity}/{row.id}/search", operators), operators


def _planned(bench: Bench, row: Row, below: str) -> list[RowStep]:
    said = row.plan
    assert said is not None  # noqa: S101 (see `steps_of`)
    owner = row if said.of is None else bench.paper.rows[said.of]
    steps: list[RowStep] = []
    for item in items_of(row)[: bench.request.items]:
        plan = PlanStep(bench, owner, f"{bench.identity}/{owner.id}/plan-{item.id}", item)
        steps += [plan, EvaluateStep(bench, row, f"{below}/{item.id}", plan, item.id)]
    return steps
