"""``default:`` values that a run would refuse before its first call."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.default_values import why_not
from merrow_analysis.rules.registry import Family, Scope
from merrow_analysis.rules.reporting import named, parameter_range, report

_FAMILY = Family[GraphContext](Scope.PARAMETER)
UNUSABLE_DEFAULT = _FAMILY.rule(
    "MW319", "unusable-default", "An input's default is not of the input's type.", Severity.ERROR
)


@_FAMILY.checked_by
def check_defaults(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the defaults of inputs."""
    graph = context.graph
    for node in graph.inputs:
        default, type_ = node.resolution.parameters.get("default"), node.resolution.declared
        if default is None or default.value is None or type_ is None:
            continue
        why = why_not(default.value, type_, graph.types)
        if why is not None:
            message = (
                f"{named(node)}: its `default:` must be of type {type_}, but {why}; write another value or `type:`."
            )
            yield report(UNUSABLE_DEFAULT, parameter_range(node, "default"), message)
