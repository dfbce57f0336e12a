"""What came of planning, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.planning.candidates import PlanCandidate
from merrow_optimizer.planning.choosing import RankedPlan
from merrow_optimizer.planning.coverage import Coverage
from merrow_optimizer.planning.ranking import RULES, RankingRule, ranked


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The plans in order, those that can't be used, and what the judge said (or why nothing)."""

    plans: tuple[RankedPlan, ...]
    refused: tuple[PlanCandidate, ...]
    coverage: Coverage | None
    notice: str | None

    def to_json(self, rule: RankingRule) -> dict[str, Any]:
        """As ``--format json`` prints it; ``rule`` ranked the plans, which are in no file."""
        places = _places(self.plans)
        return {
            "rule": {"name": rule.name, "formula": rule.formula, "fault": rule.fault},
            "requirements": None if self.coverage is None else list(self.coverage.requirements),
            "plans": [
                {**_plan(number, plan), "places": {rule: by[number - 1] for rule, by in places.items()}}
                for number, plan in enumerate(self.plans, 1)
            ],
            "refused": [{"candidate": plan.number, "problems": list(plan.problems)} for plan in self.refused],
            "notice": self.notice,
        }


def _places(plans: Sequence[RankedPlan]) -> dict[str, list[int]]:
    """By each rule the place of each plan, from 1, by structure alone."""
    graphs = [plan.graph for plan in plans]
    places: dict[str, list[int]] = {}
    for name, rule in RULES.items():
        order = [number for number, _ in ranked(graphs, rule)]
        places[name] = [order.index(number) + 1 for number in range(len(plans))]
    return places


def _plan(number: int, plan: RankedPlan) -> dict[str, Any]:
    return {
        "rank": number,
        "candidate": plan.candidate.number,
        "file": None,
        "text": plan.candidate.text,
        "agents": [{"id": agent.id, "role": agent.role, "prompt": agent.prompt} for agent in plan.graph.agents],
        "tasks": [
            {
                "id": task.id,
                "objective": task.objective,
                "agent": task.agent,
                "output_format": task.output_format,
                "after": list(task.after),
            }
            for task in plan.graph.tasks
        ],
        "figures": {name: dict(shown) for name, shown in plan.figures.items()},
        "metrics": plan.measures.as_json(),
        "covered": {name: list(tasks) for name, tasks in plan.covered.items()},
        "missing": list(plan.missing),
        "behind": plan.is_behind,
        "repairs": plan.candidate.repairs,
        "notes": list(plan.candidate.notes),
    }
