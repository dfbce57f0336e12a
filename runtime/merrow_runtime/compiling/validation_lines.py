"""What a program's constants and its table say of validators."""

from __future__ import annotations

from typing import Any

from merrow_analysis.definitions.validators import DEFAULT_ATTEMPTS, ValidatorCheck
from merrow_analysis.graph.instructions import validation_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.workflow import Workflow


def validators_of(workflow: Workflow) -> dict[str, list[dict[str, Any]]]:
    """The checks of each validator that nodes of a file name, as they are written."""
    settings = workflow.analysis.settings
    named = (validation_of(node, settings) for node in workflow.graph.nodes)
    keys = {name.casefold() for one in named if one is not None for name in one.names}
    found = [one for key, one in settings.validators.items() if key in keys]
    return {one.name: [_shown(check) for check in one.checks] for one in found}


def validation_of_node(workflow: Workflow, node: TypedNode) -> dict[str, Any]:
    """What the table says of how a node's result is validated; nothing where it is not."""
    settings = workflow.analysis.settings
    found = validation_of(node, settings)
    if found is None:
        return {}
    keys = dict.fromkeys(map(str.casefold, found.names))
    said: dict[str, Any] = {"validate": [settings.validators[key].name for key in keys]}
    said |= {} if found.attempts == DEFAULT_ATTEMPTS else {"attempts": found.attempts}
    return said if found.on_invalid == "fail" else {**said, "on_invalid": found.on_invalid}


def _shown(check: ValidatorCheck) -> dict[str, Any]:
    shown = check.to_json()
    return {**shown, "tests": list(shown["tests"])} if "tests" in shown else shown
