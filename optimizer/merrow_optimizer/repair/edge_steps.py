"""Steps that change edges near a finding: their labels, their ends, whether they are there at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import Type
from merrow_analysis.edits.change import GraphChange, WantedEdge, as_it_is, label_of
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.wiring.sources import sources
from merrow_analysis.wiring.takers import takers
from merrow_analysis.wiring.wires import NodeOutput, Wire, joined, wire_to
from merrow_optimizer.mutations import rewiring, rewiring_heads
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import fits, outputs, port_label
from merrow_optimizer.repair.concerned import Concerned
from merrow_optimizer.repair.steps import RepairStep, of_change
from merrow_optimizer.repair.weights import MADE_UP, UNASKED

NEAREST = 6
"""How many nodes are tried as another end of an edge: the nearest in the file that fit."""


def edge_steps(original: Original, about: Concerned) -> Iterator[RepairStep]:
    """All that may be done to the edges that a finding is about."""
    for edge in about.edges:
        yield from _labels(original, edge)
        yield from _ends(original, edge)
        yield _removed(original, edge)
        yield from _turned(original, edge)
    for node in about.nodes if original.flow.edges else ():
        yield from _fed(original, node)
        yield from _led_on(original, node)


def _labels(original: Original, edge: TypedEdge) -> Iterator[RepairStep]:
    """Other ports of the same node, and other outputs."""
    if edge.word is not None:
        return
    for label in dict.fromkeys(_possible_labels(original, edge)):
        if label != label_of(edge.flow):
            link = WantedEdge(edge.source.id, edge.target.id, label, kept=True)
            what = "Remove the label of" if label is None else f"Write |{label}| on"
            title = f"{what} {edge.source.id} --> {edge.target.id}"
            change = GraphChange(edges={edge.flow.index: (link,)})
            yield of_change(original, change, title, MADE_UP if _is_wrong(edge) else UNASKED)


def _is_wrong(edge: TypedEdge) -> bool:
    """Whether something is said against an edge itself, or it brings nothing."""
    findings = edge.target.placement.findings
    told = (edge.target.incoming[finding.edge] for finding in findings if finding.edge is not None)
    return edge.order_only or any(marked is edge for marked in told)


def _possible_labels(original: Original, edge: TypedEdge) -> Iterator[str | None]:
    source, target = edge.source, edge.target
    if source.kind == "decision":
        # A case that only this edge leads from is needed.
        cases = [other.case for other in source.ways]
        if edge.case is None or cases.count(edge.case) > 1:
            yield from _missing_cases(source)
        return
    for start in outputs(source) or [NodeOutput(source)]:
        for port in target.input_ports:
            if fits(original, start.type, port):
                yield joined(start.output, _said(original, target, port, start.type))
                yield joined(start.output, port.name)


def _missing_cases(decision: TypedNode) -> Iterator[str]:
    """The cases that a Decision has to have and has not."""
    for problem in () if decision.cases is None else decision.cases.problems:
        if problem.kind in ("uncovered", "unlabelled"):
            yield from problem.words
            yield ELSE


def _said(original: Original, target: TypedNode, port: InputPort, given: Type | None) -> str | None:
    return port_label(target.spec, port.name, given, named=original.names_bulk, original=original)


def _ends(original: Original, edge: TypedEdge) -> Iterator[RepairStep]:
    """Another source for what an edge brings, and another node to lead to."""
    if edge.word is not None:
        return
    if edge.source.kind != "decision" and edge.port is not None and edge.target.kind != "unknown":
        sources = (
            source
            for node in _nearest(original, edge.source)
            if node is not edge.source and not original.reaches(edge.target, node)
            for source in outputs(node)
        )
        changes = (rewiring.rewire(original, edge, source) for source in sources)
        yield from islice(
            (of_change(original, change, change.title) for change in changes if not change.doubts), NEAREST
        )
    heads = (head for node in _nearest(original, edge.target) for head in rewiring_heads.heads(edge, node))
    moved = (rewiring_heads.lead_to(original, edge, head) for head in heads)
    # What the old node loses by it is for the check to say: it may have too much.
    likely = (move for move in moved if not move.doubts or {name for name, _ in move.doubts} == {"sides"})
    yield from islice((of_change(original, move, move.title) for move in likely), NEAREST)


def _removed(original: Original, edge: TypedEdge) -> RepairStep:
    change = GraphChange(edges={edge.flow.index: ()})
    return of_change(original, change, f"Remove the edge {edge.source.id} --> {edge.target.id}")


def _turned(original: Original, edge: TypedEdge) -> Iterator[RepairStep]:
    source, target = edge.target, edge.source
    if edge.word is not None or source.kind in ("decision", "unknown") or source is target or target.kind == "input":
        return
    title = f"Turn the edge {edge.source.id} --> {edge.target.id} around"
    given = next(iter(outputs(source)), NodeOutput(source))
    for port in islice((port for port in target.input_ports if fits(original, given.type, port)), 2):
        link = WantedEdge(source.id, target.id, _said(original, target, port, given.type), kept=True)
        yield of_change(original, GraphChange(edges={edge.flow.index: (link,)}), title)


def _fed(original: Original, node: TypedNode) -> Iterator[RepairStep]:
    """Edges into the ports of a node that lack something: those that must be fed, and all where nothing leads to it."""
    if node.kind not in ("operator", "output", "decision"):
        return
    lonely = not node.incoming
    for decision in original.typed.decisions if lonely else ():
        if not original.reaches(node, decision):
            yield from (_drawn(original, Wire(decision, node, case)) for case in _missing_cases(decision))
    for port in node.input_ports:
        is_fed = port.name in node.placement.fed or port.name in node.resolution.literals
        scarce = port.many and node.spec is not None and node.spec.is_ensemble
        if (is_fed and not scarce) or not (port.required or lonely or scarce):
            continue
        before = {(edge.source, edge.placed.label.output) for edge in node.incoming}
        likely = (giver for giver in sources(original.typed, node, port) if (giver.node, giver.output) not in before)
        for source in islice(likely, NEAREST):
            yield _drawn(original, wire_to(original.typed, source, node, port))


def _led_on(original: Original, node: TypedNode) -> Iterator[RepairStep]:
    """Edges out of a node that nothing reads."""
    if not node.outgoing and node.kind in ("operator", "input"):
        yield from (_drawn(original, wire) for wire in islice(takers(original.typed, node), NEAREST))


def _drawn(original: Original, wire: Wire) -> RepairStep:
    """The step that draws an edge: in the place of another one, or beside the edges that are like it."""
    if wire.instead is not None:
        return of_change(original, GraphChange(edges={wire.instead.flow.index: (wire.link,)}), wire.title)
    near = (*reversed(wire.target.incoming), *reversed(wire.source.outgoing))
    at = next((edge.flow for edge in near if not edge.implied), original.flow.edges[-1])
    return of_change(original, GraphChange(edges={at.index: (as_it_is(at), wire.link)}), wire.title)


def _nearest(original: Original, node: TypedNode) -> Iterable[TypedNode]:
    """The nodes of the text, those that stand nearest first."""
    written = [other for other in original.typed.nodes if not other.implied]
    return sorted(written, key=lambda other: abs(other.index - node.index))
