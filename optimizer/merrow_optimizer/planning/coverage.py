"""What each plan provides for: one question to a judge about all of them, since structure says nothing of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from merrow_optimizer.planning.forms import id_of
from merrow_optimizer.planning.json_objects import JsonObject, json_objects
from merrow_optimizer.planning.plan_reader import LONGEST, as_text
from merrow_optimizer.planning.questions import COVERAGE, COVERED, MOST_REQUIREMENTS, coverage_messages
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.question import JobQuestion
from merrow_runtime.errors import BudgetFailure, EndpointFailure

BEHIND = 2
"""A plan that misses so many requirements more than the best one is put behind those that don't."""


_LONGEST = 200
"""Characters of a requirement that are shown."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The requirements of a task, and for each plan, in their order, the tasks that meet each (by requirement)."""

    requirements: tuple[str, ...]
    met: tuple[Mapping[str, tuple[str, ...]], ...]

    def missing(self, plan: int) -> tuple[str, ...]:
        """The requirements that no task of the plan meets."""
        return tuple(requirement for requirement in self.requirements if not self.met[plan].get(requirement))

    def is_behind(self, plan: int) -> bool:
        """Whether the plan misses too many."""
        least = min(len(self.missing(other)) for other in range(len(self.met)))
        return len(self.missing(plan)) >= least + BEHIND


async def judge(task: str, plans: Sequence[TaskGraph], name: str, asker: Asker) -> Coverage | str:
    """What a judge says of the plans; a sentence where that can't be had, since the plans are there and paid. Raises
    `StoreFailure`.
    """
    question = JobQuestion(
        COVERED, name, coverage_messages(task, plans), lambda reply: read_coverage(reply.text, plans), COVERAGE
    )
    try:
        coverage = (await asker.ask(question)).value
    except (EndpointFailure, BudgetFailure) as failure:
        return f"What the plans cover could not be judged. {failure}"
    return (
        coverage
        if coverage is not None
        else "What the plans cover could not be judged: the judge's answer can't be read."
    )


def read_coverage(text: str, plans: Sequence[TaskGraph]) -> Coverage | None:
    """A judge's answer; None where it names no requirement, or is too long to be one. Tasks and plans that there are not don't
    count.
    """
    if len(text) > LONGEST:
        return None
    for parsed in json_objects(text):
        listed = parsed.value.get("requirements") if isinstance(parsed, JsonObject) else None
        if isinstance(listed, list):
            return _coverage(listed[:MOST_REQUIREMENTS], plans)
    return None


def _named(value: object) -> str | None:
    """A requirement as it is shown: one line that is not long."""
    name = id_of(value)
    line = "" if name is None else " ".join(as_text(name).split())
    return None if not line else line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _coverage(entries: Sequence[object], plans: Sequence[TaskGraph]) -> Coverage | None:
    met: list[dict[str, tuple[str, ...]]] = [{} for _ in plans]
    names: dict[str, None] = {}
    for entry in entries:
        name = _named(entry.get("requirement")) if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or name is None:
            continue
        names.setdefault(name)
        by = entry.get("met_by")
        for meeting in by if isinstance(by, list) else []:
            number = id_of(meeting.get("plan")) if isinstance(meeting, dict) else None
            task = id_of(meeting.get("task")) if isinstance(meeting, dict) else None
            known = number is not None and number.isdecimal() and len(number) < 9 and 1 <= int(number) <= len(plans)
            if known and task in plans[int(number or 0) - 1].ids:
                tasks = met[int(number or 0) - 1]
                tasks[name] = tuple(dict.fromkeys((*tasks.get(name, ()), task or "")))
    return Coverage(tuple(names), tuple(met)) if names else None
