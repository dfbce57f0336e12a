"""Fixes of Decisions: cases on their edges, edges for the cases that are missing, names in their expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from merrow_analysis.definitions.plain_values import FALSY, TRUTHY
from merrow_analysis.definitions.types import BOOL, Type
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, WantedEdge, label_of
from merrow_analysis.graph.decisions import ELSE, case_key
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import firsts, relabel, remove_edge
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import fix, parameter_range, spelled
from merrow_analysis.text import Position, Range, TextEdit
from merrow_analysis.wiring.decision_cases import targets_of_case
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.wires import wire_to

_MOST_OFFERED = 3
_MOST_TRIED = 8
"""Nodes that a missing case is tried to lead to, the likeliest first."""
_OPPOSITES = {"yes": "no", "true": "false", "pass": "fail", "passed": "failed", "ok": "no"}
_OPPOSITES |= {falsy: truthy for truthy, falsy in reversed(_OPPOSITES.items())}


def write_case(context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge) -> Iterator[Fix]:
    """Write one of the cases that are left on an edge, or take it away."""
    made = (repair for case in open_cases(node) for repair in relabel(context, rule, edge, case))
    yield from firsts(made, _MOST_OFFERED)
    yield from remove_edge(context, rule, edge.flow)


def open_cases(node: TypedNode) -> list[str]:
    """The cases that a Decision may have and that no edge says, in the words of its other cases; ``else`` last."""
    labels = [edge.case_label for edge in node.ways if edge.case_label]
    decided_by = node.placement.decided_by
    keys = {case_key(label, decided_by) for label in labels}
    words: Sequence[str] = ()
    if decided_by == "truth":
        words = _truths(labels)
    elif decided_by == "words" and node.placement.when:
        words = node.types.words_of(node.placement.when) or ()
    elif decided_by == "kinds" and node.placement.when:
        words = node.types.kinds_of(node.placement.when) or ()
    missing = [word for word in words if case_key(word, decided_by) not in keys]
    if ELSE not in keys and (missing or decided_by not in ("truth", "words", "kinds")):
        missing.append(ELSE)
    return missing


def _truths(labels: Sequence[str]) -> tuple[str, str]:
    """The two cases of a Bool, the opposite of one that is written as that is written."""
    for label in labels:
        opposite = _OPPOSITES.get(label.strip().casefold())
        if opposite is not None:
            opposite = opposite.capitalize() if label.strip()[:1].isupper() else opposite
            pair = (label, opposite)
            return pair if label.strip().casefold() in TRUTHY else (opposite, label)
    return ("yes", "no")


def other_case(context: GraphContext, rule: Rule, node: TypedNode, edge: TypedEdge) -> Iterator[Fix]:
    """Write a case that no edge of its Decision says in the place of one that never comes, on this edge alone."""
    label = edge.placed.label
    rest = "after" if label.after else label.port
    made = (
        repair
        for case in open_cases(node)
        for repair in relabel(context, rule, edge, spelled(case, edge.word, label.output, rest))
    )
    yield from firsts(made, _MOST_OFFERED)


def draw_cases(context: GraphContext, rule: Rule, node: TypedNode, words: Sequence[str]) -> Iterator[Fix]:
    """Have a Bool decide where one arrives; lead the missing cases to an output, or to where another case leads."""
    yield from _decided_by_bool(context, rule, node)
    yield from _decided_by_another(context, rule, node)
    own = [case for case in open_cases(node) if case != ELSE]
    labels = own if len(own) == len(words) else words
    ends = islice(targets_of_case(context.graph, node), _MOST_TRIED)
    made = (repair for target, rest in ends for repair in _drawn(context, rule, node, labels, target, rest))
    yield from firsts(made, _MOST_OFFERED)


def _drawn(
    context: GraphContext, rule: Rule, node: TypedNode, words: Sequence[str], target: TypedNode, rest: str | None
) -> Iterator[Fix]:
    """Edges for the missing cases, or one for all of them, that say ``rest`` besides."""
    links = [WantedEdge(node.id, target.id, spelled(word, rest)) for word in words]
    if len(links) <= _MOST_OFFERED:
        listing = ", ".join(words)
        yield from asked(context).drawn(rule, f"Lead {listing} of {node.id} to {target.id}", links)
    if ELSE not in words:
        link = WantedEdge(node.id, target.id, spelled(ELSE, rest))
        yield from asked(context).drawn(rule, f"Lead {ELSE} of {node.id} to {target.id}", [link])


def _decided_by_bool(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    if node.placement.decided_by != "text":
        return
    labels = {edge.case_label.strip().casefold() for edge in node.ways if edge.case_label}
    if not labels <= TRUTHY | FALSY:
        return
    for edge in node.incoming:
        outputs = edge.source.outputs.items() if edge.source.kind == "operator" else ()
        bools = [name for name, type_ in outputs if type_ is not None and node.types.fits(type_, BOOL)]
        if not any(feed.port == "when" for feed in edge.feeds):
            continue
        if len(bools) == 1:
            yield from relabel(context, rule, edge, f"{bools[0]}:when")
        elif (
            all(other.target is node for other in edge.source.outgoing)
            and "returns" not in edge.source.resolution.parameters
        ):
            title = f"Write returns: {BOOL} at {edge.source.id}"
            yield from asked(context).with_parameter(rule, title, edge.source, "returns", BOOL)


def _decided_by_another(context: GraphContext, rule: Rule, node: TypedNode) -> Iterator[Fix]:
    """Let a step decide whose words are the cases, in the place of a text that can be anything."""
    if node.placement.decided_by != "text":
        return
    cases = {edge.case_label.strip().casefold() for edge in node.ways if edge.case_label}
    fed = next((edge for edge in node.incoming if any(feed.port == "when" for feed in edge.feeds)), None)
    port = next((port for port in node.input_ports if port.name == "when"), None)
    if fed is None or port is None or not cases:
        return
    for source in islice(sources(context.graph, node, port), _MOST_TRIED):
        words = _words(node, source.type)
        if source.node is not fed.source and words and cases <= words:
            said_before, wire = label_of(fed.flow), wire_to(context.graph, source, node, port)
            made = (
                proposal
                for label, giver in ((said_before, source.node.id), (wire.label, source.said))
                for proposal in asked(context).changed(
                    rule,
                    f"Let {node.id} read {giver} instead of {fed.source.id}",
                    GraphChange(edges={fed.flow.index: (WantedEdge(source.node.id, node.id, label, kept=True),)}),
                )
            )
            yield from islice(asked(context).clearest(made), 1)
            return


def _words(node: TypedNode, type_: Type | None) -> frozenset[str]:
    """The words, in small letters, that a value of a type may be decided by; none where it can be anything."""
    if type_ is None:
        return frozenset()
    if type_ == BOOL:
        return TRUTHY | FALSY
    return frozenset(word.casefold() for word in node.types.words_of(type_) or ())


def rename_in_value(node: TypedNode, key: str, name: str, near: str) -> Iterator[Fix]:
    """Write another name in a parameter of a node, where that has the misspelled one once."""
    parameter = node.resolution.parameters.get(key)
    place = parameter_range(node, key)
    if parameter is None or not isinstance(parameter.value, str) or place.start.line != place.end.line:
        return
    matches = list(re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", parameter.value))
    shift = {len(parameter.value): 0, len(parameter.value) + 2: 1}.get(place.end.column - place.start.column)
    if len(matches) != 1 or shift is None:
        return
    start = place.start.column + shift + matches[0].start()
    there = Range(Position(place.start.line, start), Position(place.start.line, start + len(name)))
    yield fix(f"Write {near}", [TextEdit(there, near)], safe=False)
