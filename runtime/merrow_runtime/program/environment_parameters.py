"""What an Environment runs with: which environment its name means in this workflow."""

from __future__ import annotations

from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import environment_name
from merrow_runtime.environments.shipped import SHIPPED_KEY, shipped_version
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.environment import ENV, OF
from merrow_runtime.values import Value


def environment_parameters(node: TypedNode, settings: WorkflowSettings) -> dict[str, Value]:
    """The parameters of an Environment's definition. Raises `UsageFailure` where no environment is meant."""
    name = environment_name(node.resolution) or ""
    declared = settings.environments.get(name)
    if declared is not None:
        of = {"server": declared.server} if declared.server is not None else {"gymnasium": declared.gymnasium}
        return {ENV: name, OF: dict(of)}
    version = shipped_version(name)
    if version is None:
        raise UsageFailure(f"Node {node.id}: there is no environment `{name}`.")  # as MW505 says
    return {ENV: name, OF: {SHIPPED_KEY: version}}
