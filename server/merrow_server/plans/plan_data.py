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
                {**_plan(number, one), "places": {rule: by[number - 1] for rule, by in places.items()}}
                for number, one in enumerate(self.plans, 1)
            ],
            "refused": [{"candidate": one.number, "problems": list(one.problems)} for one in self.refused],
            "notice": self.notice,
        }


def _places(plans: Sequence[RankedPlan]) -> dict[str, list[int]]:
    """By each rule the place of each plan, from 1, by structure alone."""
    graphs = [one.graph for one in plans]
    found: dict[str, list[int]] = {}
    for name, rule in RULES.items():
        order = [number for number, _ in ranked(graphs, rule)]
        found[name] = [order.index(number) + 1 for number in range(len(plans))]
    return found


def _plan(number: int, one: RankedPlan) -> dict[str, Any]:
    return {
        "rank": number,
        "candidate": one.candidate.number,
        "file": None,
        "text": one.candidate.text,
        "agents": [{"id": agent.id, "role": agent.role, "prompt": agent.prompt} for agent in one.graph.agents],
        "tasks": [
            {
                "id": task.id,
                "objective": task.objective,
                "agent": task.agent,
                "output_format": task.output_format,
                "after": list(task.after),
            }
            for task in one.graph.tasks
        ],
        "figures": {name: dict(shown) for name, shown in one.figures.items()},
        "metrics": one.measures.as_json(),
        "covered": {name: list(tasks) for name, tasks in one.covered.items()},
        "missing": list(one.missing),
        "behind": one.is_behind,
        "repairs": one.candidate.repairs,
        "notes": list(one.candidate.notes),
    }
