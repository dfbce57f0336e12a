"""The plans that can be used, in the order of a rule and of what they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.graph.measures.measures import Measures, measure
from merrow_optimizer.planning.candidates import PlanCandidate
from merrow_optimizer.planning.coverage import Coverage
from merrow_optimizer.planning.ranking import RULES, RuleName, ranked
from merrow_optimizer.planning.task_graph import TaskGraph


@dataclass(frozen=True, slots=True)
class RankedPlan:
    """A plan in its place. ``figures`` are what each rule computed; ``missing`` the requirements that it misses, and ``covered``
    which of its tasks meet each: both empty where nobody judged. ``is_behind`` says that coverage put it back. A plan of which
    dependencies could not be read comes after all others: what it lacks would make it look simple.
    """

    candidate: PlanCandidate
    graph: TaskGraph
    figures: Mapping[str, Mapping[str, float]]
    measures: Measures
    covered: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()
    is_behind: bool = False


def usable(candidates: Sequence[PlanCandidate]) -> list[tuple[PlanCandidate, TaskGraph]]:
    """The plans that can be used, of equal ones the first."""
    seen: set[str] = set()
    plans: list[tuple[PlanCandidate, TaskGraph]] = []
    for candidate in candidates:
        if candidate.graph is not None and candidate.text not in seen:
            seen.add(candidate.text)
            plans.append((candidate, candidate.graph))
    return plans


def in_order(
    plans: Sequence[tuple[PlanCandidate, TaskGraph]], rule: RuleName, coverage: Coverage | None
) -> list[RankedPlan]:
    """The plans, the best one first. ``coverage`` is of these plans, in this order."""
    graphs = [graph for _, graph in plans]
    figures = {name: ranking.figures(graphs) for name, ranking in RULES.items()}
    order = [number for number, _ in ranked(graphs, RULES[rule])]
    if coverage is not None:
        order.sort(key=coverage.is_behind)
    order.sort(key=lambda number: plans[number][0].lost > 0)
    return [
        RankedPlan(
            plans[number][0],
            graphs[number],
            {name: rows[number].shown for name, rows in figures.items()},
            measure(graphs[number].ids, graphs[number].edges),
            {} if coverage is None else coverage.met[number],
            () if coverage is None else coverage.missing(number),
            coverage is not None and coverage.is_behind(number),
        )
        for number in order
    ]
