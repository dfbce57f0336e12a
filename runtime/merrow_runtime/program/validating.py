"""How the result of a node is validated, with everything resolved."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.validators import KINDS, ValidatorCheck
from merrow_analysis.graph.instructions import validation_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import UsageFailure
from merrow_runtime.values import canonical


@dataclass(frozen=True, slots=True)
class Validation:
    """What a result must pass, in ``attempts`` at most. ``checks`` are in the order in which they are made, each with the name of
    its validator. ``digest`` stands for all of it: a result that was judged by the same is not judged again.
    """

    checks: tuple[tuple[str, ValidatorCheck], ...]
    attempts: int
    on_invalid: str
    digest: str

    @property
    def models(self) -> set[str]:
        """The models that its checks name."""
        return {check.model for _, check in self.checks if check.model is not None}


def resolve_validation(node: TypedNode, settings: WorkflowSettings) -> Validation | None:
    """How a node's result is validated; None where it is not. Raises `UsageFailure` for a JSON Schema that is not one, and for
    a file with Python where files of workflows can't be read.
    """
    instruction = validation_of(node, settings)
    if instruction is None:
        return None
    validators = [settings.validators[name.casefold()] for name in dict.fromkeys(map(str.casefold, instruction.names))]
    checks = [(validator.name, check) for validator in validators for check in validator.checks]
    checks.sort(key=lambda pair: KINDS.index(pair[1].kind))
    for name, check in checks:
        if check.kind == "schema":
            _check_schema(name, check.said)
        if check.kind == "python" and check.said is None:
            raise UsageFailure(
                f"Validator {name}: {check.file} can't be read here; write its Python into the workflow."
            )
    described = [[name, check.to_json()] for name, check in checks]
    try:
        text = canonical([described, instruction.attempts, instruction.on_invalid])
    except (ValueError, TypeError, RecursionError):
        raise UsageFailure(
            f"Validators of {node.id} have a value that JSON does not have, such as .nan or .inf; write another one."
        ) from None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Validation(tuple(checks), instruction.attempts, instruction.on_invalid, digest)


def _check_schema(name: str, schema: dict[str, object]) -> None:
    problem = problem_of_schema(schema)
    if problem is not None:
        place = problem.place and f" at {problem.place}"
        raise UsageFailure(f"Validator {name}: its `schema` is not a JSON Schema{place}: {problem.message}.")
