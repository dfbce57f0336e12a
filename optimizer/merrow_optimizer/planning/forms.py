"""The forms in which plans are written: Merrow's own, and those of Flow, whose planner and files had several.

What is read here is only what stands there. Whether it makes a plan is decided in `reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_AGENT_NUMBER = re.compile(r"agent[\s_#-]*(-?\d+)", re.IGNORECASE)
_OBJECTIVES = frozenset({"objective", "requirement", "params"})
_EDGES = frozenset({"next", "prev", "child"})
_DEEPEST = 4
"""Objects around a plan that are looked into, such as ``{"graph": {"workflow": ...}}``."""


@dataclass(slots=True)
class RawTask:
    """A task as it is written. ``id`` is None where it has none, ``agent`` a key as `agent_key` makes them."""

    id: str | None
    said: Mapping[str, object]
    agent: str | None = None
    before: list[object] = field(default_factory=list)
    behind: list[object] = field(default_factory=list)


@dataclass(slots=True)
class RawPlan:
    """``tells_both`` says that this form writes an edge at both of its ends. ``ends`` are edges that are written by themselves.
    ``agents`` is None where the plan has no list of them.
    """

    tasks: list[RawTask]
    agents: list[tuple[str, Mapping[str, object]]] | None
    tells_both: bool = False
    ends: list[tuple[object, object]] = field(default_factory=list)


def raw_plan(value: Mapping[str, object]) -> RawPlan | None:
    """The first plan in an object, itself or an object inside it; None where there is none."""
    return next(raw_plans(value), None)


def raw_plans(value: Mapping[str, object]) -> Iterator[RawPlan]:
    """The plans in an object, in the order of the text. What is inside a plan is not looked at."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        nested, depth = waiting.pop()
        inside: list[object] = []
        if isinstance(nested, dict):
            plan = _read(nested)
            if plan is not None:
                yield plan
                continue
            # A schema that a model repeats has the keys of a plan as names of properties.
            inside = [] if isinstance(nested.get("properties"), dict) else list(nested.values())
        elif isinstance(nested, list):
            inside = nested
        if depth < _DEEPEST:
            waiting += [(part, depth + 1) for part in reversed(inside) if isinstance(part, (dict, list))]


def _read(data: Mapping[str, object]) -> RawPlan | None:
    if isinstance(data.get("subtasks"), (list, dict)):
        return _subtasks(data)
    for key in ("workflow", "tasks"):
        if isinstance(data.get(key), (list, dict)):
            return _tasks(data[key], data.get("agents"))
    dictionaries = [entry for entry in data.values() if isinstance(entry, dict)]
    of_tasks = [entry for entry in dictionaries if is_task(entry)]
    return _tasks(data, None) if of_tasks and len(dictionaries) == len(data) else None


def is_task(data: Mapping[str, object]) -> bool:
    """Whether an object is a task of Flow's, in whichever of its forms."""
    return bool(_OBJECTIVES.intersection(data)) and bool(_EDGES.intersection(data))


def _in_one_form(data: Mapping[str, object]) -> Mapping[str, object]:
    """A task with the keys of Flow's code: in the paper's tables it has ``requirement`` and ``child``, and in its example
    ``params`` with ``task`` and ``agent``.
    """
    task = dict(data)
    params = data.get("params")
    if isinstance(params, dict):
        task.setdefault("objective", params.get("task"))
        task.setdefault("agent", params.get("agent"))
    for key, other in (("objective", "requirement"), ("next", "child")):
        if other in data:
            task.setdefault(key, data[other])
    return task


def _tasks(data: object, agents: object) -> RawPlan:
    plan = RawPlan([], None if agents is None else _agents(agents))
    for task in _entries(data):
        keys = task.said
        plan.tells_both |= "next" in keys and "child" not in keys
        task.before = _list(keys.get("after")) + _list(keys.get("prev"))
        task.behind = _list(keys.get("next"))
        task.agent = agent_key(keys["agent_id"] if keys.get("agent_id") is not None else keys.get("agent"))
        plan.tasks.append(task)
    if plan.agents is None:
        # The task dictionaries of Flow's files name the role at each task.
        plan.agents = [
            (task.agent, {"role": task.said.get("agent")})
            for task in plan.tasks
            if task.agent is not None and isinstance(task.said.get("agent"), str)
        ]
    return plan


def _subtasks(data: Mapping[str, object]) -> RawPlan:
    plan = RawPlan(_entries(data["subtasks"]), _agents(data.get("agents")))
    for dependency in _list(data.get("subtask_dependencies")):
        if isinstance(dependency, dict):
            plan.ends.append((dependency.get("parent"), dependency.get("child")))
        elif isinstance(dependency, list) and len(dependency) == 2:
            plan.ends.append((dependency[0], dependency[1]))
        else:
            plan.ends.append((None, None))
    doers: dict[str, str] = {}
    for key, agent in plan.agents or ():
        for done in map(id_of, _list(agent.get("subtasks"))):
            if done is not None:
                doers.setdefault(done, key)
    for task in plan.tasks:
        own = agent_key(task.said.get("agent_id"))
        task.agent = own if own is not None else doers.get(task.id or "")
    return plan


def _entries(data: object) -> list[RawTask]:
    if isinstance(data, dict):
        return [
            RawTask(id_of(key), _in_one_form(entry) if isinstance(entry, dict) else {}) for key, entry in data.items()
        ]
    tasks = data if isinstance(data, list) else []
    return [
        RawTask(id_of(entry.get("id")), _in_one_form(entry)) if isinstance(entry, dict) else RawTask(None, {})
        for entry in tasks
    ]


def _agents(data: object) -> list[tuple[str, Mapping[str, object]]]:
    agents: list[tuple[str, Mapping[str, object]]] = []
    if isinstance(data, dict):
        pairs = [(key, agent if isinstance(agent, dict) else {"role": agent}) for key, agent in data.items()]
        return [(agent_key(key) or "", agent) for key, agent in pairs]
    for number, entry in enumerate(_list(data)):
        if isinstance(entry, dict):
            key = agent_key(entry.get("id"))
            agents.append((str(number) if key is None else key, entry))
        elif isinstance(entry, str):
            agents.append((str(number), {"role": entry}))
    return agents


def agent_key(value: object) -> str | None:
    """An agent's id so that ``"Agent 1"``, ``"1"`` and ``1`` are one; None where there is none."""
    known = id_of(value)
    if known is None:
        return None
    numbered = _AGENT_NUMBER.fullmatch(known)
    return str(int(numbered[1])) if numbered is not None and len(known) < 30 else known.casefold()


def id_of(value: object) -> str | None:
    """The id that a value is: a text that is not blank, or a whole number."""
    if isinstance(value, str):
        return " ".join(value.split()) or None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
