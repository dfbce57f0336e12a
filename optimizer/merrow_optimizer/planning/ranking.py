"""Which of several plans to take, by their structure alone: three rules, each with the fault that it is known to have.

Structure says how soon the tasks of a plan can be done and how far a change reaches, not whether they are the right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Literal

from merrow_analysis.graph.measures.measures import measure
from merrow_optimizer.planning.task_graph import TaskGraph

RuleName = Literal["expected", "paper", "code"]

WORK = 8.0
"""What all tasks of a plan amount to, in units of work; `expected` divides them equally among the tasks."""

_HAND_OVER = 0.25
"""Units of work to read one input."""
_SUCCESS = 0.9
"""How likely a unit of work is to succeed; a task is done again until it does."""
_AT_ONCE = 8
_SOFT = 0.01
"""Flow's code adds this to standard deviations, which may be 0."""


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """What a rule computed for one plan; the lowest ``order`` comes first. ``shown`` are the numbers of its formula, by name."""

    order: tuple[float, ...]
    shown: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RankingRule:
    """``figures`` computes those of each plan, in their order. ``formula`` and ``fault`` are sentences for people."""

    name: RuleName
    formula: str
    fault: str
    figures: Callable[[Sequence[TaskGraph]], list[PlanFigures]]


def ranked(plans: Sequence[TaskGraph], rule: RankingRule) -> list[tuple[int, PlanFigures]]:
    """The numbers of the plans, best first, with their figures. Of equals the earlier one comes first."""
    figures = rule.figures(plans)
    return sorted(enumerate(figures), key=lambda entry: (entry[1].order, entry[0]))


def path_counts(plan: TaskGraph) -> dict[str, int]:
    """For each task how many paths from the first tasks lead to it."""
    counts: dict[str, int] = {}
    before = _before(plan)
    for task in in_order(plan):
        counts[task] = sum(counts[parent] for parent in before[task]) or 1
    return counts


def in_order(plan: TaskGraph) -> list[str]:
    """The ids of the tasks, each behind those that it needs."""
    before = _before(plan)
    order: dict[str, None] = {}
    for task in plan.ids:
        stack = [task]
        while stack:
            missing = [parent for parent in before[stack[-1]] if parent not in order]
            if missing:
                stack.append(missing[0])
            else:
                order.setdefault(stack.pop())
    return list(order)


def _before(plan: TaskGraph) -> dict[str, tuple[str, ...]]:
    return {task.id: task.after for task in plan.tasks}


def _shape(plan: TaskGraph) -> tuple[int, float, float]:
    """Steps, parallelism and dependency complexity, as the paper defines them."""
    measures = measure(plan.ids, plan.edges)
    assert measures.depth is not None and measures.p_avg is not None and measures.c_dependency is not None  # noqa: S101, PT018 (no cycle)
    return measures.depth, measures.p_avg, measures.c_dependency


def _paper(plans: Sequence[TaskGraph]) -> list[PlanFigures]:
    figures = []
    for plan in plans:
        _, parallelism, complexity = _shape(plan)
        figures.append(PlanFigures((-parallelism, complexity), {"parallelism": parallelism, "complexity": complexity}))
    return figures


def _code(plans: Sequence[TaskGraph]) -> list[PlanFigures]:
    shapes = [_shape(plan) for plan in plans]
    counted = [fsum(path_counts(plan).values()) / steps for plan, (steps, _, _) in zip(plans, shapes, strict=True)]
    complexities = [complexity for _, _, complexity in shapes]
    figures = []
    for paths, complexity, p, c in zip(counted, complexities, _scores(counted), _scores(complexities), strict=True):
        figures.append(PlanFigures((c - p,), {"score": c - p, "path_parallelism": paths, "complexity": complexity}))
    return figures


def _scores(values: Sequence[float]) -> list[float]:
    """How far each is from the mean, in standard deviations."""
    if not values:
        return []
    mean = fsum(values) / len(values)
    deviation = sqrt(fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / (deviation + _SOFT) for value in values]


def _expected(plans: Sequence[TaskGraph]) -> list[PlanFigures]:
    return [_expected_of(plan) for plan in plans]


def _expected_of(plan: TaskGraph) -> PlanFigures:
    count = len(plan.tasks)
    before = _before(plan)
    part = WORK / count
    tries = _SUCCESS**-part
    takes = {task: (part + _HAND_OVER * max(1, len(needed))) * tries for task, needed in before.items()}
    done: dict[str, float] = {}
    ancestors: dict[str, set[str]] = {}
    for task in in_order(plan):
        done[task] = max((done[parent] for parent in before[task]), default=0.0) + takes[task]
        ancestors[task] = set(before[task]).union(*(ancestors[parent] for parent in before[task]))
    work = fsum(takes.values())
    time = max(*done.values(), work / _AT_ONCE)
    rework = fsum(takes[task] * (1 + len(above)) for task, above in ancestors.items()) / count
    score = time * (work + rework)
    return PlanFigures((score,), {"score": score, "time": time, "work": work, "rework": rework})


RULES: Mapping[RuleName, RankingRule] = {
    rule.name: rule
    for rule in (
        RankingRule(
            "expected",
            "Lowest expected time x (work + rework), for 8 units of work in equal parts, a quarter for each input that a "
            "task reads, and 9 in 10 units that succeed.",
            "It assumes that the tasks are equal parts of the work.",
            _expected,
        ),
        RankingRule(
            "paper",
            "Highest tasks / steps, then lowest standard deviation of the tasks' degrees (Flow, Algorithm 1).",
            "It prefers more dependencies where they make degrees alike, against the paper's own example, and tasks that "
            "add nothing raise tasks / steps.",
            _paper,
        ),
        RankingRule(
            "code",
            "Lowest z(complexity) - z(paths / steps), as Flow's code computes it.",
            "More dependencies raise the number of paths, so they count as parallelism, and leaving out a plan that loses "
            "can change which one wins.",
            _code,
        ),
    )
}
