"""Lists that may be empty, where something needs an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.boxes.edge_words import OVER
from merrow_analysis.graph.liveness.waiting import feed_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.placement import PortFeed
from merrow_analysis.graph.skipping import any_skips, failing_away, skipping_key
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.fixes.box_fixes import set_parameter
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, label_range, named, report

# It needs liveness, and `on_error` of nodes as well.
_FAMILY = RuleFamily[TextContext](Scope.TEXT)
EMPTY_LIST = _FAMILY.rule(
    "MW223",
    "empty-list",
    "A list that leaves a Map may be empty, but its target needs an item.",
    Severity.ERROR,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_empty_lists(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about lists from Maps, one for each edge that brings one where an item is needed."""
    graph = context.graph
    if graph is None or not any(box.kind == "map" for box in graph.composites):
        return
    try:
        reasons = _Reasons(graph, context.settings.on_error)
    except TooManyCombinationsError:
        return
    for edge, reason in sorted(reasons.by_edge.items(), key=lambda item: item[0].flow.index):
        box = edge.lowered
        related = [Related(graph.flow.groups[reason.box].range, f"the items of {reason.box}")]
        if box is not None and reasons.least(box) > 0:
            message = (
                f"The list that {edge.source.id} gives may be empty, for {reason.why}, but the Map {box} fails without "
                f"an item; write `min: 0` at {box}, or see to it that there is an item."
            )
            fixes = _least(context, box, reason)
            yield report(EMPTY_LIST, label_range(edge), message, related=related, fixes=fixes)
        elif box is None and _gathers(edge) and not _has_other_voice(graph, edge, reasons):
            message = (
                f"The list that {edge.source.id} gives may be empty, for {reason.why}, but {named(edge.target)} fails "
                f"without an item; feed `{edge.port}` from a node that always runs as well."
            )
            fixes = _least(context, None, reason)
            yield report(EMPTY_LIST, label_range(edge), message, related=related, fixes=fixes)


def _least(context: TextContext, entered: str | None, reason: _Reason) -> Iterator[Fix]:
    """Say how many results a Map needs: an item at least of the one that may give none, or none of the one that is entered; or
    have a node fail that is skipped.
    """
    workflow = context.workflow
    if workflow is None:
        return
    boxes = workflow.graph.composites.boxes
    if reason.by_least:
        yield from set_parameter(workflow, boxes[reason.box], "min", 1)
    loop = None if reason.skipped is None else boxes.get(reason.skipped)
    if loop is not None:
        if "on_error" in loop.parameters:
            yield from set_parameter(workflow, loop, "on_error", "fail")
    elif reason.skipped is not None:
        node, key = workflow.graph.by_id[reason.skipped], skipping_key(workflow.graph, reason.skipped)
        edits = rewrite(node, Moved(frozenset({key}), {key: "fail"})) if key in node.resolution.parameters else None
        if edits is not None:
            yield fix(f"Write {key}: fail at {node.id}", edits, safe=False)
    if entered is not None:
        yield from set_parameter(workflow, boxes[entered], "min", 0)


def _gathers(edge: TypedEdge) -> bool:
    """Whether an edge feeds the port of an ensemble or a Select that needs an item."""
    spec = edge.target.spec
    if spec is None or not (spec.is_ensemble or spec.name == "Select"):
        return False
    return any(feed.port == spec.inputs[0].name for feed in edge.feeds)


def _has_other_voice(graph: TypedGraph, edge: TypedEdge, reasons: _Reasons) -> bool:
    """Whether something else feeds the same port whenever the node runs."""
    port = edge.port or ""
    others = [other for other in edge.target.sources(port) if other not in reasons.by_edge]
    live = graph.combinations.live
    if live is None or not others:
        return bool(others)
    try:
        fed = live.algebra.never
        for other in others:
            fed = live.algebra.either(fed, graph.combinations.brings(other, port))
        return live.algebra.both(graph.combinations.runs(edge.target), live.algebra.negated(fed)) == NEVER
    except TooManyCombinationsError:
        return True


class _Reason:
    """Why a list may be empty, as part of a sentence, and the Map whose items may give nothing."""

    __slots__ = ("box", "by_least", "skipped", "why")

    def __init__(self, box: str, why: str, *, by_least: bool = False, skipped: str | None = None) -> None:
        self.box, self.why, self.by_least, self.skipped = box, why, by_least, skipped


class _Reasons:
    """Why what edges bring may be an empty list. Making it raises `TooManyCombinationsError`."""

    def __init__(self, graph: TypedGraph, usual: str | None) -> None:
        self._graph = graph
        self._usual = usual
        self._skips = any_skips(graph, usual)
        self._away: dict[str, dict[str, str]] = {}
        self.by_edge: dict[TypedEdge, _Reason] = {}
        composites = graph.composites
        for record in graph.core.chart.edges:
            border = composites.border(record.source, record.target)
            if border.left and composites.maps(border.left) and graph.core.is_flat(record):
                edge = graph.edge(record)
                reason = self._leaving(edge)
                if reason is not None:
                    self.by_edge[edge] = reason
        for index in graph.order if self.by_edge else ():
            node = graph.node(index)
            if node.kind == "decision" or (node.spec is not None and node.spec.name == "Pass"):
                for edge in node.outgoing:
                    reason = self._handed_on(node, edge) if edge.out_of is None else None
                    if reason is not None:
                        self.by_edge[edge] = reason

    def _failing(self, box: str) -> dict[str, str]:
        """`failing_away` of a Map."""
        if not self._skips:
            return {}
        if box not in self._away:
            self._away[box] = failing_away(self._graph, box, self._usual)
        return self._away[box]

    def least(self, box: str) -> float:
        """How many results a Map needs."""
        parameter = self._graph.composites.boxes[box].parameters.get("min")
        return parameter.value if parameter is not None and isinstance(parameter.value, (int, float)) else 1

    def _leaving(self, edge: TypedEdge) -> _Reason | None:
        """Why the list that leaves a Map on this edge may be empty."""
        maps = self._graph.composites.maps(edge.left)
        for box in maps:
            if self.least(box) <= 0:
                return _Reason(box, f"`min` of {box} is 0", by_least=True)
            cause = self._failing(box).get(edge.source.id)
            if cause is not None:
                key = skipping_key(self._graph, cause)
                return _Reason(box, f"{cause} is skipped where it fails (`{key}: skip`)", skipped=cause)
        live = self._graph.combinations.live
        if live is None:
            return None
        algebra = live.algebra
        for feed in edge.feeds:
            known = feed_of(edge, feed)
            there, some = live.alive(replace(known, out_of=None)), live.alive(known)
            if algebra.both(some, algebra.negated(there)) == NEVER:
                continue
            source = edge.source
            if edge.word == OVER:
                return _Reason(maps[-1], f"no turns of {edge.left[0]} may run out")
            if source.kind == "decision":
                return _Reason(maps[-1], f"{source.id} may choose `{edge.case_label}` for no item")
            return _Reason(maps[-1], f"{source.id} may run for no item")
        return None

    def _handed_on(self, node: TypedNode, edge: TypedEdge) -> _Reason | None:
        """Why a list that a node only hands on may be empty."""
        if not self.by_edge:
            return None
        for feed in edge.feeds:
            for source in _sources(node, feed):
                if source in self.by_edge and source.lowered is None:
                    return self.by_edge[source]
        return None


def _sources(node: TypedNode, feed: PortFeed) -> list[TypedEdge]:
    """The edges whose value a node hands on as it is."""
    if node.kind == "decision":
        if feed.passed is not None:
            return [edge for edge, _ in node.passes[feed.passed]]
        return node.sources("value")
    if node.spec is None or node.spec.name != "Pass":
        return []
    return [edge for edge in node.incoming if edge.feeds]
