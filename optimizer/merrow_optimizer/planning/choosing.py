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
    found: list[tuple[PlanCandidate, TaskGraph]] = []
    for one in candidates:
        if one.graph is not None and one.text not in seen:
            seen.add(one.text)
            found.append((one, one.graph))
    return found


def in_order(
    plans: Sequence[tuple[PlanCandidate, TaskGraph]], rule: RuleName, coverage: Coverage | None
) -> list[RankedPlan]:
    """The plans, the best one first. ``coverage`` is of these plans, in this order."""
    graphs = [graph for _, graph in plans]
    figures = {name: one.figures(graphs) for name, one in RULES.items()}
    order = [number for number, _ in ranked(graphs, RULES[rule])]
    if coverage is not None:
        order.sort(key=coverage.is_behind)
    order.sort(key=lambda number: plans[number][0].lost > 0)
    return [
        RankedPlan(
            plans[number][0],
            graphs[number],
            {name: found[number].shown for name, found in figures.items()},
            measure(graphs[number].ids, graphs[number].edges),
            {} if coverage is None else coverage.met[number],
            () if coverage is None else coverage.missing(number),
            coverage is not None and coverage.is_behind(number),
        )
        for number in order
    ]
