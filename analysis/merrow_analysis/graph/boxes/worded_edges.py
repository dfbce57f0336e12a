"""Which edges of a chart have a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from merrow_analysis.graph.boxes.composites import Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, WordedLabel, worded
from merrow_analysis.graph.records import Chart, EdgeRecord


def words_of(
    looked: Iterable[EdgeRecord],
    words: Mapping[EdgeRecord, WordedLabel],
    chart: Chart,
    composites: Composites,
    decides: Callable[[str], bool],
) -> dict[EdgeRecord, WordedLabel | None]:
    """The words of the edges ``looked`` at, None where one has none, and of those into nodes where something comes ``again`` now
    and did not by ``words``, or the other way round. ``decides``: whether a node of this name is a Decision.
    """
    labels: dict[EdgeRecord, WordedLabel | None] = {}
    before = {edge.target for edge, label in words.items() if label.word == AGAIN}
    for final in (False, True):
        again = {
            edge.target for edge, label in {**words, **labels}.items() if label is not None and label.word == AGAIN
        }
        if final:
            # The word `first` is one where something comes again.
            looked = dict.fromkeys((*looked, *(e for name in again ^ before for e in chart.incoming.get(name, ()))))
        for edge in looked:
            if edge.carries_nothing or edge.arrow.label is None:
                labels[edge] = None
            elif edge not in labels or (final and edge.target in again):
                labels[edge] = worded(
                    edge.arrow.label.text,
                    composites.border(edge.source, edge.target),
                    composites,
                    from_decision=decides(edge.source),
                    again_into=final and edge.target in again,
                )
    return labels
