"""Labels of edges whose ends are in two files."""

from __future__ import annotations

from merrow_analysis.graph.boxes.edge_words import Word
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.wiring.wires import joined


def label(word: Word | None, output: str | None, port: str | None) -> str | None:
    """A label of these parts; None where it would say nothing."""
    ends = joined(output, port)
    if word is None:
        return ends
    return word if ends is None else f"{word}:{ends}"


def into_output(edge: TypedEdge) -> str | None:
    """The label of an edge that brings an output of a workflow what another edge brings now; None for the one it has."""
    parts = edge.placed.label
    if parts.case is not None:
        return parts.case if parts.output is None else f"{parts.case}:{parts.output}:"
    output, default = edge.output, next(iter(edge.source.outputs), None)
    if output is None or (edge.flow.arrow.label is None and output == default):
        return None
    return label(edge.word, output if output != default or edge.word is None else None, None)
