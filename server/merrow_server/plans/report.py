"""What came of planning, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merrow_optimizer.planning.choosing import RankedPlan
from merrow_optimizer.planning.ranking import RULES, ranked
from merrow_server.plans.preparing import PlanOutcome, PreparedPlan


def report(prepared: PreparedPlan, outcome: PlanOutcome, files: Sequence[str] = ()) -> dict[str, Any]:
    """As ``--format json`` prints it. ``files`` are where plans were written, the best first; there may be fewer than plans."""
    rule = RULES[prepared.asked.rank]
    names = [*files, *[None] * len(outcome.plans)]
    places = _places(outcome.plans)
    return {
        "task": prepared.wanted.task,
        "model": prepared.wanted.model,
        "endpoint": prepared.chosen.endpoint.origin,
        "rule": {"name": rule.name, "formula": rule.formula, "fault": rule.fault},
        "requirements": None if outcome.coverage is None else list(outcome.coverage.requirements),
        "plans": [
            {**_plan(number, one, name), "places": {rule: by[number - 1] for rule, by in places.items()}}
            for number, (one, name) in enumerate(zip(outcome.plans, names, strict=False), 1)
        ],
        "refused": [{"candidate": one.number, "problems": list(one.problems)} for one in outcome.refused],
        "notice": outcome.notice,
        "notices": list(prepared.notices),
        "usage": outcome.used.to_json(),
        "known": outcome.known,
    }


def _places(plans: Sequence[RankedPlan]) -> dict[str, list[int]]:
    """By each rule the place of each plan, from 1, by structure alone."""
    graphs = [one.graph for one in plans]
    found: dict[str, list[int]] = {}
    for name, rule in RULES.items():
        order = [number for number, _ in ranked(graphs, rule)]
        found[name] = [order.index(number) + 1 for number in range(len(plans))]
    return found


def _plan(number: int, one: RankedPlan, file: str | None) -> dict[str, Any]:
    return {
        "rank": number,
        "candidate": one.candidate.number,
        "file": file,
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
