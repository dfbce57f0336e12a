"""Whether the text of a mutant still draws the Loops and Maps that the change meant."""

from __future__ import annotations

from collections import Counter

from merrow_analysis.check import Analysis
from merrow_analysis.graph.boxes.composites import Composites
from merrow_analysis.graph.liveness.frames import unit_order
from merrow_analysis.graph.model import Graph
from merrow_optimizer.mutations.change import Mutation


def is_torn(change: Mutation, mutant: Analysis) -> bool:
    """Whether a Loop or Map of the mutant has other nodes or parameters than the change meant, an edge has another word or
    crosses other borders, or a path leaves a box and comes back.
    """
    after = mutant.typed
    if after is None:
        return True
    wanted = change.after
    if _boxes(after.composites) != _boxes(wanted.composites) or _words(after.core) != _words(wanted.core):
        return True
    return unit_order(after.core) is None and unit_order(change.original.typed.core) is not None


def _boxes(composites: Composites) -> dict[str, tuple[object, ...]]:
    return {
        box.id: (
            box.kind,
            box.parent,
            frozenset(box.nodes),
            {key: parameter.value for key, parameter in box.parameters.items()},
        )
        for box in composites
    }


def _words(graph: Graph) -> Counter[tuple[str, str, object]]:
    return Counter((edge.source, edge.target, word) for edge, word in graph.words.items())
