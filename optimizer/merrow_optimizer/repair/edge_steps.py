"""Steps that change edges near a finding: their labels, their ends, whether they are there at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, Type
from merrow_analysis.edits.change import GraphChange, Link, as_it_is, label_of
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.mutations import rewiring, rewiring_heads
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.rewiring_heads import is_open
from merrow_optimizer.mutations.wiring import Source, fits, joined, outputs, port_label
from merrow_optimizer.repair.concerned import Concerned
from merrow_optimizer.repair.steps import Step, of_change

NEAREST = 6
"""How many nodes are tried as another end of an edge: the nearest in the file that fit."""


def edge_steps(original: Original, about: Concerned) -> Iterator[Step]:
    """All that may be done to the edges that a finding is about."""
    for edge in about.edges:
        yield from _labels(original, edge)
        yield from _ends(original, edge)
        yield _removed(original, edge)
        yield from _turned(original, edge)
    for node in about.nodes:
        yield from _fed(original, node)
        yield from _led_on(original, node)


def _labels(original: Original, edge: TypedEdge) -> Iterator[Step]:
    """Other ports of the same node, and other outputs."""
    if edge.word is not None:
        return
    for label in dict.fromkeys(_possible_labels(original, edge)):
        if label != label_of(edge.flow):
            link = Link(edge.source.id, edge.target.id, label, kept=True)
            what = "Remove the label of" if label is None else f"Write |{label}| on"
            title = f"{what} {edge.source.id} --> {edge.target.id}"
            yield of_change(original, GraphChange(edges={edge.flow.index: (link,)}), title)


def _possible_labels(original: Original, edge: TypedEdge) -> Iterator[str | None]:
    source, target = edge.source, edge.target
    if source.kind == "decision":
        # A case that only this edge leads from is needed.
        said = [other.case for other in source.ways]
        if edge.case is None or said.count(edge.case) > 1:
            yield from _missing_cases(source)
        return
    for start in outputs(source) or [Source(source)]:
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


def _ends(original: Original, edge: TypedEdge) -> Iterator[Step]:
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
        yield from islice((of_change(original, one, one.title) for one in changes if not one.doubts), NEAREST)
    heads = (head for node in _nearest(original, edge.target) for head in rewiring_heads.heads(edge, node))
    moved = (rewiring_heads.lead_to(original, edge, head) for head in heads)
    # What the old node loses by it is for the check to say: it may have too much.
    likely = (one for one in moved if not one.doubts or {name for name, _ in one.doubts} == {"sides"})
    yield from islice((of_change(original, one, one.title) for one in likely), NEAREST)


def _removed(original: Original, edge: TypedEdge) -> Step:
    change = GraphChange(edges={edge.flow.index: ()})
    return of_change(original, change, f"Remove the edge {edge.source.id} --> {edge.target.id}")


def _turned(original: Original, edge: TypedEdge) -> Iterator[Step]:
    source, target = edge.target, edge.source
    if edge.word is not None or source.kind in ("decision", "unknown") or source is target or target.kind == "input":
        return
    title = f"Turn the edge {edge.source.id} --> {edge.target.id} around"
    given = next(iter(outputs(source)), Source(source))
    for port in islice((port for port in target.input_ports if fits(original, given.type, port)), 2):
        link = Link(source.id, target.id, _said(original, target, port, given.type), kept=True)
        yield of_change(original, GraphChange(edges={edge.flow.index: (link,)}), title)


def _fed(original: Original, node: TypedNode) -> Iterator[Step]:
    """Edges into the ports of a node that lack something: those that must be fed, and all where nothing leads to it."""
    if node.kind not in ("operator", "output", "decision"):
        return
    lonely = not node.incoming
    for decision in original.typed.decisions if lonely else ():
        if not original.reaches(node, decision):
            yield from (_branch(original, decision, case, node) for case in _missing_cases(decision))
    for port in node.input_ports:
        is_fed = port.name in node.placement.fed or port.name in node.resolution.literals
        scarce = port.many and node.spec is not None and node.spec.is_ensemble
        if (is_fed and not scarce) or not (port.required or lonely or scarce):
            continue
        before = {(edge.source.id, edge.output) for edge in node.incoming}
        sources = (
            source
            for other in _nearest(original, node)
            if not original.reaches(node, other)
            for source in outputs(other)
            if (other.id, source.output) not in before and _suits(original, source, node, port)
        )
        for source in islice(sources, NEAREST):
            yield from _drawn(original, source, node, port)


def _led_on(original: Original, node: TypedNode) -> Iterator[Step]:
    """Edges out of a node that nothing reads."""
    if node.outgoing or node.kind not in ("operator", "input"):
        return
    heads = (
        (source, other, port)
        for other in _nearest(original, node)
        if not original.reaches(other, node)
        for source in outputs(node)[:1]
        for port in other.input_ports
        if is_open(other, port) and _suits(original, source, other, port)
    )
    for source, other, port in islice(heads, NEAREST):
        yield from _drawn(original, source, other, port)


def _suits(original: Original, source: Source, node: TypedNode, port: InputPort) -> bool:
    """Whether an output may be drawn to a port: the type fits, and a task or an entry point goes where such a thing is wanted."""
    if not fits(original, source.type, port):
        return False
    if source.type == ENTRY_POINT:
        return port.item == ENTRY_POINT
    if source.type == PROBLEM:
        return port.item == PROBLEM or (
            node.spec is not None and node.spec.through is port and not node.spec.is_ensemble
        )
    return True


def _drawn(original: Original, source: Source, node: TypedNode, port: InputPort) -> Iterator[Step]:
    """The step that draws an edge from an output to a port, beside the edges that are like it."""
    label = joined(source.output, _said(original, node, port, source.type))
    link = Link(source.node.id, node.id, label)
    title = f"Draw {link.source} -->{'' if label is None else f'|{label}|'} {link.target}"
    beside = next(iter(reversed(node.incoming)), None) or next(iter(reversed(source.node.outgoing)), None)
    if beside is not None and not beside.implied:
        at = beside.flow
    elif original.flow.edges:
        at = original.flow.edges[-1]
    else:
        return
    yield of_change(original, GraphChange(edges={at.index: (as_it_is(at), link)}), title)


def _branch(original: Original, decision: TypedNode, case: str, node: TypedNode) -> Step:
    """The step that leads a case of a Decision to a node."""
    at = decision.outgoing[-1].flow
    title = f"Draw {decision.id} -->|{case}| {node.id}"
    return of_change(original, GraphChange(edges={at.index: (as_it_is(at), Link(decision.id, node.id, case))}), title)


def _nearest(original: Original, node: TypedNode) -> Iterable[TypedNode]:
    """The nodes of the text, those that stand nearest first."""
    written = [other for other in original.typed.nodes if not other.implied]
    return sorted(written, key=lambda other: abs(other.index - node.index))
