"""A planner's answer read as a plan: what is taken as meant, what is left out with a note, and what must be asked for again.

The answer comes from a model, and perhaps from what it has read. So nothing in it is believed: a plan that comes out of here
has tasks with different ids, known dependencies and no cycle, and keeps to the `PlanBounds`, whatever the answer says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from merrow_analysis.graph.bare.reach import components, shortest_cycle, topological_order
from merrow_analysis.workflow_values import MOST_DECISIONS, MOST_NODES
from merrow_optimizer.planning.forms import RawPlan, RawTask, id_of, is_task, raw_plan, raw_plans
from merrow_optimizer.planning.json_objects import JsonObject, json_objects
from merrow_optimizer.planning.task_graph import PlannedAgent, PlannedTask, TaskGraph

LONGEST = 1_000_000
"""Characters of an answer."""

_LONGEST_NAME = 60
_BESIDE_TASKS = 2 + MOST_DECISIONS
LONGEST_TEXTS = 100_000
"""Characters of the objectives, forms and prompts of a plan together."""

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Also what makes text look otherwise than it is: marks that turn the direction of others around."""
_MOST_TOLD = 12


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """What a plan may have at most. ``roles`` are all that its agents may have, where there are any; ``needs_agents`` says that a
    task without an agent is an error.
    """

    max_nodes: int = 50
    max_agents: int | None = None
    roles: tuple[str, ...] = ()
    needs_agents: bool = True

    @property
    def max_boxes(self) -> int:
        """Boxes of a plan that is drawn: besides its tasks the ends, and diamonds. Of fewer ones the tasks are counted."""
        return max(MOST_NODES, self.max_nodes + _BESIDE_TASKS)


@dataclass(frozen=True, slots=True)
class PlanReading:
    """What an answer is. ``graph`` is None exactly where there are ``problems``: sentences for who wrote it. ``notes`` say
    what was taken or left out; ``lost`` is how many dependencies could not be read and were left out.
    """

    graph: TaskGraph | None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    lost: int = 0


def read_plan(text: str, bounds: PlanBounds) -> PlanReading:
    """The first plan of an answer, with anything around it. Never raises."""
    if len(text) > LONGEST:
        return PlanReading(None, problems=(f"The answer has {len(text):,} characters; at most {LONGEST:,} are read.",))
    unread: list[str] = []
    reading: PlanReading | None = None
    for parsed in json_objects(text):
        if not isinstance(parsed, JsonObject):
            # Such as braces in a sentence, or a first try that the model corrects below.
            unread.append(parsed.why)
            continue
        raw = raw_plan(parsed.value)
        if raw is None:
            continue
        if reading is not None:
            reading = replace(reading, notes=(*reading.notes, "Only the first plan of the answer is read."))
            break
        reading = _checked(raw, parsed.repeated, bounds)
    if reading is not None:
        if reading.graph is not None and reading.lost and not reading.graph.edges:
            # Without its dependencies it would look as if all could be done at once.
            return PlanReading(
                None, reading.notes, ("None of its dependencies can be read; name both tasks of each by their ids.",)
            )
        return reading
    return PlanReading(None, problems=(unread[0] if unread else "It has no JSON object with `tasks`.",))


def read_plans(text: str, bounds: PlanBounds) -> list[PlanReading]:
    """All plans of a JSON file, in its order. Never raises."""
    if len(text) > LONGEST:
        return [read_plan(text, bounds)]
    readings: list[PlanReading] = []
    for parsed in json_objects(_with_list_named(text)):
        if isinstance(parsed, JsonObject):
            readings += [_checked(raw, parsed.repeated, bounds) for raw in raw_plans(parsed.value)]
    return readings or [read_plan(text, bounds)]


def _with_list_named(text: str) -> str:
    """The text of a file that is a list of tasks as an object that has the list."""
    if not text.lstrip("\ufeff \t\r\n").startswith("["):
        return text
    named = f'{{"workflow": {text.lstrip(chr(0xFEFF))}}}'
    parsed = next(iter(json_objects(named)), None)
    tasks = parsed.value.get("workflow") if isinstance(parsed, JsonObject) else None
    is_plan = isinstance(tasks, list) and bool(tasks) and isinstance(tasks[0], dict) and is_task(tasks[0])
    return named if is_plan else text


def _checked(raw: RawPlan, repeated: Sequence[str], bounds: PlanBounds) -> PlanReading:
    notes: list[str] = []
    problems = [f"The key {_named(key)} occurs twice in one object; give each task its own." for key in repeated]
    if not raw.tasks:
        problems.append("It has no task.")
    if len(raw.tasks) > bounds.max_nodes:
        problems.append(f"It has {len(raw.tasks)} tasks; write at most {bounds.max_nodes}.")
        return PlanReading(None, (), tuple(problems))
    length = sum(map(len, _texts(raw)))
    if length > LONGEST_TEXTS:
        problems.append(f"Its texts have {length:,} characters together; write at most {LONGEST_TEXTS:,}.")
        return PlanReading(None, (), tuple(problems[:_MOST_TOLD]))
    problems += _wrong_tasks(raw.tasks)
    known = {task.id: number for number, task in enumerate(raw.tasks) if task.id is not None}
    agents = _agents(raw, notes)
    problems += _wrong_agents(raw, agents, bounds, notes)
    after, lost = _dependencies(raw, known, notes, problems)
    if len(known) == len(raw.tasks) and not problems:
        problems += _cycles(raw.tasks, after)
    if problems:
        told = problems[:_MOST_TOLD]
        more = len(problems) - len(told)
        return PlanReading(None, tuple(notes), (*told, f"And {more} more.") if more else tuple(told))
    tasks = tuple(
        PlannedTask(
            task.id or "",
            _text(task.said.get("objective")),
            task.agent if task.agent in agents else None,
            _text(task.said.get("output_format")),
            tuple(raw.tasks[source].id or "" for source in sorted(sources)),
        )
        for task, sources in zip(raw.tasks, after, strict=True)
    )
    doing = {task.agent for task in tasks}
    return PlanReading(
        TaskGraph(tasks, tuple(agent for key, agent in agents.items() if key in doing)), tuple(notes), lost=lost
    )


def _texts(raw: RawPlan) -> Iterator[str]:
    """All texts of a plan that are written into its file."""
    parts = [task.said for task in raw.tasks] + [agent for _, agent in raw.agents or ()]
    for part in parts:
        for key in ("objective", "output_format", "role", "prompt"):
            yield _text(part.get(key))


def _wrong_tasks(tasks: Sequence[RawTask]) -> Iterator[str]:
    seen: set[str] = set()
    for number, task in enumerate(tasks):
        if task.id is None:
            yield f"Task {number + 1} has no id."
        elif task.id in seen:
            yield f"Two tasks have the id {_named(task.id)}; give each its own."
        else:
            seen.add(task.id)
        if not _text(task.said.get("objective")):
            yield f"{_task(task, number)} has no objective; say what it is to do."


def _agents(raw: RawPlan, notes: list[str]) -> dict[str, PlannedAgent]:
    agents: dict[str, PlannedAgent] = {}
    for key, description in raw.agents or ():
        role = " ".join(_text(description.get("role")).split()) or key
        if key not in agents:
            agents[key] = PlannedAgent(key, role, _text(description.get("prompt")))
        elif agents[key].role != role:
            notes.append(f"Several agents are called {_named(key)}; the first one is taken.")
    by_role = {agent.role.casefold(): key for key, agent in reversed(agents.items())}
    for task in raw.tasks:
        if task.agent is not None and task.agent not in agents:
            task.agent = by_role.get(task.agent, task.agent)
    return agents


def _wrong_agents(raw: RawPlan, agents: dict[str, PlannedAgent], bounds: PlanBounds, notes: list[str]) -> Iterator[str]:
    roles = {role.casefold().strip() for role in bounds.roles}
    doing: dict[str, PlannedAgent] = {}
    for number, task in enumerate(raw.tasks):
        if task.agent in agents:
            doing[task.agent] = agents[task.agent]
        elif not bounds.needs_agents:
            notes.append(f"{_task(task, number)} has no agent that is in the list; it is done without one.")
        elif task.agent is None:
            yield f"{_task(task, number)} has no agent."
        elif task.agent.startswith("-"):
            yield f"{_task(task, number)} has the agent {task.agent}; agents are counted from 0."
        else:
            yield f"{_task(task, number)} has the agent {_named(task.agent)}, which is not in `agents`."
    for agent in doing.values():
        if roles and agent.role.casefold() not in roles:
            allowed = ", ".join(bounds.roles)
            yield f"The agent {_named(agent.id)} has the role {_named(agent.role)}; the roles are {allowed}."
    if bounds.max_agents is not None and len(doing) > bounds.max_agents:
        yield f"It has {len(doing)} agents; use at most {bounds.max_agents}."


def _dependencies(
    raw: RawPlan, known: dict[str, int], notes: list[str], problems: list[str]
) -> tuple[list[set[int]], int]:
    """For each task the numbers of those whose results it needs; and how many dependencies are left out."""
    after: list[set[int]] = [set() for _ in raw.tasks]
    lost = 0
    behind: set[tuple[int, int]] = set()

    def add(source: object, target: object, dependency: str) -> None:
        nonlocal lost
        ends = id_of(source), id_of(target)
        if None in ends:
            lost += 1
            notes.append(f"A dependency without both ends was left out ({dependency}).")
            return
        unknown = [end for end in ends if end not in known]
        problems.extend(f"{dependency} names {_named(end or '')}, which is not the id of a task." for end in unknown)
        if not unknown:
            first, second = known[ends[0] or ""], known[ends[1] or ""]
            if first == second:
                problems.append(f"Task {_named(ends[0] or '')} needs its own result.")
            else:
                after[second].add(first)

    for number, task in enumerate(raw.tasks):
        if task.id is not None:
            for source in task.before:
                add(source, task.id, f"{_task(task, number)}")
    before = [set(targets) for targets in after]
    for number, task in enumerate(raw.tasks):
        if task.id is not None:
            for target in task.behind:
                add(task.id, target, f"{_task(task, number)}")
                other = known.get(id_of(target) or "")
                if other is not None:
                    behind.add((number, other))
    for parent, child in raw.ends:
        add(parent, child, f"`{_shown(parent)} -> {_shown(child)}`")
    if raw.tells_both:
        told = {(source, target) for target, sources in enumerate(before) for source in sources}
        for source, target in sorted(told ^ behind):
            only = "prev" if (source, target) in told else "next"
            ends = f"{_named(raw.tasks[source].id or '')} -> {_named(raw.tasks[target].id or '')}"
            notes.append(f"Only `{only}` says the dependency {ends}; it is taken.")
    return after, lost


def _cycles(tasks: Sequence[RawTask], after: Sequence[set[int]]) -> Iterator[str]:
    successors: list[list[int]] = [[] for _ in tasks]
    for target, sources in enumerate(after):
        for source in sorted(sources):
            successors[source].append(target)
    left = set(range(len(tasks))).difference(topological_order(successors))
    for component in components(successors, left):
        if len(component) > 1:
            cycle = shortest_cycle(successors, component)
            path = " -> ".join(_named(tasks[number].id or "") for number in [*cycle, cycle[0]])
            yield f"The tasks wait for each other: {path}. Remove one of these dependencies."


def _text(value: object) -> str:
    """What `as_text` makes of a text; empty for anything else."""
    return as_text(value) if isinstance(value, str) else ""


def as_text(value: str) -> str:
    """A text as files and prompts can hold it, without blanks around it."""
    return _NOT_TEXT.sub(" ", value.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _task(task: RawTask, number: int) -> str:
    return f"Task {number + 1}" if task.id is None else f"Task {_named(task.id)}"


def _named(name: str) -> str:
    text = _NOT_TEXT.sub(" ", name).replace("`", "'")
    return f"`{text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + '…'}`"


def _shown(value: object) -> str:
    return "null" if value is None else _named(str(value))[1:-1]
