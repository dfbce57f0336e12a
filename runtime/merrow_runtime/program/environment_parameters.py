"""What an Environment runs with: which environment its name means in this workflow."""

from __future__ import annotations

from pathlib import Path

from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import environment_name
from merrow_runtime.environments.shipped import SHIPPED_KEY, shipped_version, textcraft_with
from merrow_runtime.environments.textcraft.recipes import RecipesError
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.environment import ENV, OF
from merrow_runtime.values import Value


def environment_parameters(node: TypedNode, settings: WorkflowSettings, folder: Path | None) -> dict[str, Value]:
    """The parameters of an Environment's definition; ``folder`` is that of the workflow's file, None where it is not known.

    Raises `UsageFailure` where no environment is meant, or its recipes can't be used.
    """
    name = environment_name(node.resolution) or ""
    declared = settings.environments.get(name)
    if declared is not None and declared.recipes is not None:
        if folder is None and not Path(declared.recipes).is_absolute():
            raise UsageFailure(f"Environment {name}: in a file that is called, `recipes` needs an absolute path.")
        try:
            return {ENV: name, OF: dict(textcraft_with((folder or Path()) / declared.recipes))}
        except RecipesError as problem:
            raise UsageFailure(f"Environment {name}: {problem}") from None
    if declared is not None:
        of = {"server": declared.server} if declared.server is not None else {"gymnasium": declared.gymnasium}
        return {ENV: name, OF: dict(of)}
    version = shipped_version(name)
    if version is None:
        raise UsageFailure(f"Node {node.id}: there is no environment `{name}`.")  # as MW505 says
    return {ENV: name, OF: {SHIPPED_KEY: version}}
