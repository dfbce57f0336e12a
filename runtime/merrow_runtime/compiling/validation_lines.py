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
    keys = {name.casefold() for validation in named if validation is not None for name in validation.names}
    wanted = [validator for key, validator in settings.validators.items() if key in keys]
    return {validator.name: [_shown(check) for check in validator.checks] for validator in wanted}


def validation_of_node(workflow: Workflow, node: TypedNode) -> dict[str, Any]:
    """What the table says of how a node's result is validated; nothing where it is not."""
    settings = workflow.analysis.settings
    validation = validation_of(node, settings)
    if validation is None:
        return {}
    keys = dict.fromkeys(map(str.casefold, validation.names))
    entry: dict[str, Any] = {"validate": [settings.validators[key].name for key in keys]}
    entry |= {} if validation.attempts == DEFAULT_ATTEMPTS else {"attempts": validation.attempts}
    return entry if validation.on_invalid == "fail" else {**entry, "on_invalid": validation.on_invalid}


def _shown(check: ValidatorCheck) -> dict[str, Any]:
    shown = check.to_json()
    return {**shown, "tests": list(shown["tests"])} if "tests" in shown else shown
