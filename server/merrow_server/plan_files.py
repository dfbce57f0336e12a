"""JSON files with task graphs, as Flow's planner, its notebooks and its runs write them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from merrow_optimizer.planning.plan_reader import PlanBounds, PlanReading, read_plans
from merrow_server.errors import InputError
from merrow_server.files import Target, read
from merrow_server.rendering.counts import counted

_ENDING = ".json"
_NUMBERED = re.compile(r"(.*\.json)#(\d+)", re.IGNORECASE | re.DOTALL)
BOUNDS = PlanBounds(max_nodes=10_000, needs_agents=False)
"""What is read of a file that people have; Flow's own planner is asked for far less."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The plans of a file, of ``FILE.json#N`` the N-th alone. ``task`` is what they are for; empty where it isn't said."""

    name: str
    plans: tuple[PlanReading, ...]
    task: str


def is_plan_file(file: str) -> bool:
    """Whether a name is that of a JSON file, or of one plan in it."""
    return file.lower().endswith(_ENDING) or _NUMBERED.fullmatch(file) is not None


def open_plans(file: str) -> PlanFile:
    """Read a file of plans. Raises `InputError`."""
    numbered = _NUMBERED.fullmatch(file)
    path = file if numbered is None else numbered[1]
    text = read(Target(path, Path(path))).text
    plans = read_plans(text, BOUNDS)
    if numbered is not None:
        number = int(numbered[2])
        if not 1 <= number <= len(plans):
            raise InputError(f"{path} has {_count(len(plans))}; there is no number {number}.")
        plans = [plans[number - 1]]
    return PlanFile(file, tuple(plans), task_of(text))


def _count(plans: int) -> str:
    return counted(plans, "task graph")


def task_of(text: str) -> str:
    """The task that a file says its plans are for; empty where it does not say."""
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(plan, dict):
        return ""
    task = next((plan[key] for key in ("overall_task", "task") if isinstance(plan.get(key), str)), "")
    return str(task).strip()
