"""A plan: tasks, who does them, and which needs the results of which."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedAgent:
    """Who does tasks: a role, and what is asked of it at each of its tasks."""

    id: str
    role: str
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task. ``agent`` is the id of an agent of the plan, or None; ``after`` has the ids of the tasks whose results it
    needs.
    """

    id: str
    objective: str
    agent: str | None = None
    output_format: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Tasks without a cycle, each id once; ``agents`` are those that have a task."""

    tasks: tuple[PlannedTask, ...]
    agents: tuple[PlannedAgent, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(task.id for task in self.tasks)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """From a task to one that needs its result, in the order of the latter."""
        return tuple((before, task.id) for task in self.tasks for before in task.after)

    @property
    def last(self) -> tuple[str, ...]:
        """The tasks whose results no other task needs."""
        needed = {before for before, _ in self.edges}
        return tuple(task.id for task in self.tasks if task.id not in needed)
