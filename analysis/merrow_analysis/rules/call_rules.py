"""Calls: files that can't be called, and calls that never end."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import listed, named, parameter_range, report

_ENDLESS = RuleFamily[GraphContext](Scope.GRAPH)
ENDLESS_CALL = _ENDLESS.rule(
    "MW226", "endless-call", "A file always calls itself, directly or through others.", Severity.ERROR
)

_CALLED = RuleFamily[GraphContext](Scope.PARAMETER)
BAD_CALLEE = _CALLED.rule(
    "MW227", "called-file", "The workflow that a Call runs is missing, can't be read or has errors.", Severity.ERROR
)


@_ENDLESS.checked_by
def check_endless_calls(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about calls that lead back to their own file and that no Decision or Map can avoid."""
    graph = context.graph
    outside = graph.core.language.outside
    if outside is None:
        return
    for index in graph.ranked:
        resolution = graph.resolutions[index]
        path = None if resolution.callee is None else called_path(resolution)
        way = None if path is None else outside.way_back(path)
        if way is None:
            continue
        node = graph.node(index)
        in_map = bool(graph.composites.maps(graph.composites.around(node.id)))
        if not in_map and graph.combinations.runs(node) == ALWAYS:
            yield report(ENDLESS_CALL, parameter_range(node, "workflow"), _endless(node, way))


def _endless(node: TypedNode, way: tuple[str, ...]) -> str:
    *others, own = way
    through = "" if not others else f" through {listed(others)}"
    return (
        f"{named(node)}: this calls {own}, the file that it is in, again{through}, and always does; put a Decision before it "
        "that can end this."
    )


@_CALLED.checked_by
def check_called_files(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the files that nodes call."""
    graph = context.graph
    for index in graph.shape.by_rank(graph.marks.problems):
        resolution = graph.resolutions[index]
        if not any(problem.kind == "callee" for problem in resolution.problems):
            continue
        node, callee = graph.node(index), resolution.callee
        place = parameter_range(node, "workflow")
        if callee is None:
            message = f"{named(node)}: `workflow` names no file; write `workflow: ./file.mmd`."
            yield report(BAD_CALLEE, place, message)
        else:
            message = f"{named(node)}: {callee.problem}"
            related = () if callee.related is None else (callee.related,)
            yield report(BAD_CALLEE, place, message, related=related)
