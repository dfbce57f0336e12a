"""The same workflow with another memory, or with operators of a library: what is compared with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from merrow_analysis.definitions.environments import TEXTCRAFT
from merrow_analysis.edits.front_entries import add_entry, write_value
from merrow_analysis.graph.resolve import environment_name
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import apply_edits
from merrow_runtime.errors import UsageFailure
from merrow_runtime.workflow import RecordingProvider, Workflow, check_workflow

MEMORIES = "none, all, last:N, tokens:N, summary"
"""How a memory is written on the command line."""


def memory_of(text: str) -> str | dict[str, int]:
    """A memory as a front matter has it. Raises `UsageFailure`."""
    name, mark, number = text.strip().partition(":")
    if not mark and name in ("none", "all", "summary"):
        return name
    if name in ("last", "tokens") and number.isascii() and number.isdigit() and int(number) > 0:
        return {name: int(number)}
    raise UsageFailure(f"{text!r} is not a memory; write one of {MEMORIES}.")


def with_memory(workflow: Workflow, memory: str) -> Workflow:
    """The workflow with this memory, `MEMORIES`; nodes that name their own keep it. Raises `UsageFailure`."""
    return _with(workflow, ("memory",), memory_of(memory))


def with_temperature(workflow: Workflow, temperature: float) -> Workflow:
    """The workflow with this temperature; nodes that name their own keep it. Raises `UsageFailure`."""
    return _with(workflow, ("temperature",), temperature)


def with_recipes(workflow: Workflow, folder: str) -> Workflow:
    """The workflow, in which the environment textcraft has the recipes of this folder. Raises `UsageFailure`, also where it does
    not act there.
    """
    environments = {environment_name(node.resolution) for node in workflow.graph.nodes}
    if TEXTCRAFT not in environments:
        raise UsageFailure(f"{workflow.name} does not act in the environment {TEXTCRAFT}, so leave out --recipes.")
    return _with(workflow, ("environments", TEXTCRAFT), {"recipes": os.path.abspath(folder)})  # noqa: PTH100


def _with(workflow: Workflow, keys: tuple[str, ...], value: object) -> Workflow:
    """The workflow with a setting, in place of what its front matter says of it."""
    front = parse_diagram(workflow.text).front_matter
    edit = None if front is None else write_value(front, ("workflow", *keys), value)
    *section, name = keys
    edit = edit or add_entry(front, section[0] if section else None, name, value)
    if edit is None:
        raise UsageFailure(
            f"The {name} can't be written into the front matter of {workflow.name}; add `{name}:` by hand."
        )
    return _checked(workflow, apply_edits(workflow.text, [edit]))


def with_operators(workflow: Workflow, operators: Mapping[str, Any]) -> Workflow:
    """The workflow with these declarations of operators, but for those that it has already. Raises `UsageFailure`."""
    text = workflow.text
    known = {name.casefold() for name in workflow.analysis.settings.operators}
    for name, body in operators.items():
        if name.casefold() in known:
            continue
        edit = add_entry(parse_diagram(text).front_matter, "operators", name, body)
        if edit is None:
            raise UsageFailure(f"The operator {name} can't be declared in the front matter of {workflow.name}.")
        text = apply_edits(text, [edit])
    return workflow if text == workflow.text else _checked(workflow, text)


def _checked(workflow: Workflow, text: str) -> Workflow:
    """The workflow with another text, read with the files that it was read with."""
    files = RecordingProvider(None)
    files.files = {path: dict(known) for path, known in workflow.files.items()}
    return check_workflow(
        text,
        name=workflow.name,
        path=workflow.path,
        provider=files,
        config=workflow.config,
        fence=workflow.fence,
        shared=workflow.shared,
    )
