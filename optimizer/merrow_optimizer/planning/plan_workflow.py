"""A plan written as a workflow file that runs without an input: a Custom for each task, and an Assemble at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from merrow_analysis.definitions.operators import BUILT_IN_TABLE, INTERFACE_CLASS, INTERFACE_STYLE
from merrow_analysis.edits.yaml_write import block_text, quoted, word
from merrow_analysis.formatting import format_text
from merrow_analysis.fresh_ids import FreshIds
from merrow_optimizer.planning.task_graph import PlannedAgent, TaskGraph

_RESERVED = ("PROBLEM", "RETURN", "ENTRY_POINT", "ASSEMBLE")
_NOT_ASCII = re.compile(r"[^A-Za-z0-9_]+")
_READ_OTHERWISE = re.compile(r"[=<]|%%|\s\Z")
"""What Mermaid may read otherwise in a block of the front matter, such as quotes in HTML tags."""
_LONGEST_NAME = 40
_STEP = "  "


def workflow_text(plan: TaskGraph, task: str) -> str:
    """The formatted file. ``task`` is what the workflow is given unless somebody gives it something else.

    Each task is given the problem, the results that it needs, and, as advice, what the tasks that need its result are to do.
    """
    ids = _names(_RESERVED, ((step.id, step.id) for step in plan.tasks), "task")
    agents = _names((), ((agent.id, agent.role) for agent in plan.agents), "agent")
    lines = ["---", "workflow:", f"{_STEP}aims: true"]
    if plan.agents:
        lines.append(f"{_STEP}agents:")
        for agent in plan.agents:
            lines += _agent(agents[agent.id], agent)
    lines.append(f"{_STEP}prompts:")
    lines += [f"{_STEP * 2}{front_key(ids[step.id])}: {front_text(step.objective, _STEP * 3)}" for step in plan.tasks]
    lines += ["---", "flowchart TD", "PROBLEM([Problem])", f"PROBLEM@{{ default: {word(task)} }}"]
    for planned in plan.tasks:
        name = ids[planned.id]
        lines.append(f'{name}["Custom<br/>(role: {name})"]')
        settings = {} if planned.agent is None else {"agent": agents[planned.agent]}
        settings |= {"format": planned.output_format} if planned.output_format else {}
        if settings:
            lines.append(f"{name}@{{ {', '.join(f'{key}: {word(value)}' for key, value in settings.items())} }}")
    lines += ['ASSEMBLE["Assemble<br/>"]', "RETURN([Result])"]
    lines.append(f"PROBLEM -->|input| {' & '.join(ids.values())}")
    for planned in plan.tasks:
        behind = [ids[target] for source, target in plan.edges if source == planned.id]
        if behind:
            lines.append(f"{ids[planned.id]} --> {' & '.join(behind)}")
    lines.append("PROBLEM -->|problem| ASSEMBLE")
    lines.append(f"{' & '.join(ids[last] for last in plan.last)} --> ASSEMBLE")
    lines += ["ASSEMBLE --> RETURN", *_styles(ids.values())]
    return format_text("".join(f"{line}\n" for line in lines))


def _names(reserved: Iterable[str], wanted: Iterable[tuple[str, str]], otherwise: str) -> dict[str, str]:
    """For each key a name like the one that is wanted, of ASCII letters, unlike all others also without regard to case."""
    fresh = FreshIds(reserved, str.casefold)
    names: dict[str, str] = {}
    for key, name in wanted:
        names[key] = fresh.new(_NOT_ASCII.sub("_", name)[:_LONGEST_NAME], otherwise)
    return names


def _agent(name: str, agent: PlannedAgent) -> Iterator[str]:
    yield f"{_STEP * 2}{front_key(name)}:"
    yield f"{_STEP * 3}role: {_without_tags(word(agent.role) or '')}"
    if agent.prompt:
        yield f"{_STEP * 3}prompt: {front_text(agent.prompt, _STEP * 4)}"


def front_key(name: str) -> str:
    """A name as a key in a front matter."""
    return word(name) or quoted(name)


def front_text(text: str, indent: str) -> str:
    """A text after a key in a front matter, such that Mermaid and YAML read it as the same; its lines are indented."""
    block = None if _READ_OTHERWISE.search(text) else block_text(text, indent)
    return _without_tags(quoted(text, in_statement=True)) if block is None else block


def _without_tags(written: str) -> str:
    """What is written in quotes, so that Mermaid sees no HTML tag in it, not even one that ends in another entry."""
    return written.replace("<", "\\x3c")


def _styles(customs: Iterable[str]) -> Iterator[str]:
    used: Mapping[str, tuple[str, ...]] = {"Custom": tuple(customs), "Assemble": ("ASSEMBLE",)}
    yield f"classDef {INTERFACE_CLASS} {INTERFACE_STYLE}"
    yield f"class PROBLEM,RETURN {INTERFACE_CLASS}"
    for operator, names in used.items():
        spec = BUILT_IN_TABLE.specs[operator.casefold()]
        yield f"classDef {spec.class_name} {spec.style}"
        yield f"class {','.join(names)} {spec.class_name}"
