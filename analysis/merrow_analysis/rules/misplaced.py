"""Words of composites (``again``, ``over``, ``each``, ``first``) on edges where they mean nothing, and that name nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from merrow_analysis.graph.boxes.edge_words import WORDS, meaning, word_in
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.graph.placing.placement import PlacementFinding


class Misplaced(NamedTuple):
    """A word on an edge where it is none."""

    edge: TypedEdge
    word: str


def find_misplaced(graph: TypedGraph) -> list[Misplaced]:
    """All words that are out of place, in the order of the text."""
    mistakes = [*_as_names(graph), *_on_cycles(graph), *_as_cases(graph)]
    mistakes = list({mistake.edge.record: mistake for mistake in mistakes}.values()) if len(mistakes) > 1 else mistakes
    return sorted(mistakes, key=lambda mistake: mistake.edge.flow.index) if len(mistakes) > 1 else mistakes


def word_of(finding: PlacementFinding) -> str | None:
    """The word that was taken for a port or output which doesn't exist; None for any other finding."""
    if finding.kind not in ("unknown-port", "unknown-output") or not finding.names:
        return None
    return word_in(finding.names[0])


def is_late(graph: TypedGraph, mistake: Misplaced) -> bool:
    """Whether a word would have its meaning if it came before the output, and not after it."""
    edge, label = mistake.edge, mistake.edge.flow.arrow.label
    if edge.word is not None or label is None or edge.source.kind == "decision":
        return False
    if label.text.partition(":")[0].strip() == mistake.word:
        return False
    return meaning(mistake.word, edge.border, graph.composites, bool(edge.target.again_in)) is not None


def _as_names(graph: TypedGraph) -> Iterator[Misplaced]:
    """Words that were taken for ports or outputs, and that are none."""
    for index in graph.marks.found:
        node = graph.node(index)
        for finding in node.placement.findings:
            word = word_of(finding)
            if word is not None and finding.edge is not None and node.incoming[finding.edge].source.kind != "decision":
                yield Misplaced(node.incoming[finding.edge], word)


def _on_cycles(graph: TypedGraph) -> Iterator[Misplaced]:
    """Words on cycles, where a source that comes later counts as unknown, so that nothing is found about its outputs."""
    core = graph.core
    alone = [[index] for index in graph.shape.wrong]
    for component in (*graph.cycles, *alone):
        for index in component:
            # Cycles may have hundreds of nodes, and hardly any edge has such a word.
            if not core.placements[index].worded:
                continue
            record = core.records[index]
            for incoming in core.into(record.id) if record is not None else ():
                if incoming.arrow.label is None or WORDS.isdisjoint(
                    map(str.strip, incoming.arrow.label.text.split(":"))
                ):
                    continue
                edge = graph.edge(incoming)
                if len(component) == 1 and edge.source is not edge.target:
                    continue
                label, node = edge.placed.label, edge.target
                word = word_in(label.output or label.port or "")
                if word is None or edge.source.kind != "operator":
                    continue
                if word not in (edge.source.outputs if label.output else {port.name for port in node.input_ports}):
                    yield Misplaced(edge, word)


def _as_cases(graph: TypedGraph) -> Iterator[Misplaced]:
    """Words behind the case of an edge out of a Decision that are not a port of its target."""
    for node in graph.decisions:
        for edge in node.ways:
            label = edge.flow.arrow.label if not edge.implied else None
            if label is None or ":" not in label.text:
                continue
            parts = [part.strip() for part in label.text.split(":")]
            for number, part in enumerate(parts[1:], 1):
                is_port = number == len(parts) - 1 and edge.port == part
                if part in WORDS and part != edge.word and not is_port:
                    yield Misplaced(edge, part)
                    break
