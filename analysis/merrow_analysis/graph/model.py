"""The typed graph.

A `Graph` says what each node is, where each edge goes and with what type. It is never changed and knows no place in a text. It
shares with its predecessor all that a delta leaves alone, so any number of versions live side by side. Nodes have handles,
which are numbers given at birth. The one way from one graph to another is `merrow_analysis.graph.infer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_analysis.graph.bare.shape import GraphShape
from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, WordedLabel
from merrow_analysis.graph.drawings.notes import ReadingNote
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.language import GraphSettings, Language, NumberedFacts
from merrow_analysis.graph.placing.placement import Placement
from merrow_analysis.graph.records import Chart, EdgeRecord, MentionRecord, WrittenNode
from merrow_analysis.graph.resolve import WRITTEN, FlowchartReading, PlainKind, Resolution, Role

_NO_EDGES: tuple[EdgeRecord, ...] = ()


class NodeMarks(NamedTuple):
    """Handles of the nodes about which there may be something to say, so that not all need be looked at.

    ``found``: with findings about their edges; ``problems``: about what is written at them; ``gathering``: ensembles,
    and nodes with a port for one value that several edges feed; ``decisions``; ``conflicts``: with declarations that
    contradict each other; ``plain``: with no operator written at them; ``templates``: that say whether their prompt is
    one; ``agents``: that name an agent; ``validated``: that name validators.
    """

    found: frozenset[int] = frozenset()
    problems: frozenset[int] = frozenset()
    gathering: frozenset[int] = frozenset()
    decisions: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()
    plain: frozenset[int] = frozenset()
    templates: frozenset[int] = frozenset()
    agents: frozenset[int] = frozenset()
    validated: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Graph:
    """What a chart means. Lists are by handle; a node that is gone has None among ``records``.

    ``handles`` are the nodes' by id, ``ranks`` order them by first mention. ``resolutions`` say what each node is,
    ``facts`` what placing its edges needs of that, ``placements`` where its incoming edges go and what it gives.
    ``hides`` says that some edges carry nothing (``~~~``) or run back in a composite (``again``); neither have a part in the
    flat picture, which is what is typed here. ``words`` are the edges with a word of composites. ``touched`` are the
    nodes at which something differs from the graph that this one was inferred from, None where that may be all.
    ``drawn`` is the chart as it is written, and ``reading`` how it is read; ``chart`` has an implied PROBLEM and RETURN as well.
    ``ends`` are the inputs and outputs of a drawing, and ``kinds`` say what its plain nodes are. ``results`` are the steps that
    are outputs. ``loose`` says that an arrow that was taken starts a step, as in drawings.
    ``groups`` are the boxes as they were written, ``notes`` what of a drawing says nothing.
    """

    chart: Chart
    settings: GraphSettings
    language: Language
    handles: dict[str, int]
    records: list[WrittenNode | None]
    resolutions: list[Resolution]
    facts: list[NumberedFacts]
    placements: list[Placement]
    shape: GraphShape
    marks: NodeMarks
    hides: bool = False
    touched: frozenset[int] | None = None
    reading: FlowchartReading = WRITTEN
    drawn: Chart = field(default_factory=Chart)
    ends: Mapping[str, Role] = field(default_factory=dict)
    composites: Composites = NO_COMPOSITES
    words: Mapping[EdgeRecord, WordedLabel] = field(default_factory=dict)
    kinds: Mapping[str, PlainKind] = field(default_factory=dict)
    results: frozenset[str] = frozenset()
    loose: bool = False
    groups: Mapping[str, Subgraph] = field(default_factory=dict)
    notes: Sequence[ReadingNote] = ()

    @property
    def ending(self) -> list[int]:
        """The handles of the steps that are outputs."""
        return [self.handles[name] for name in self.results if name in self.handles]

    def into(self, name: str) -> Sequence[EdgeRecord]:
        """The edges of the flat picture into a node."""
        row = self.chart.incoming.get(name, _NO_EDGES)
        return [edge for edge in row if self.is_flat(edge)] if self.hides else row

    def out_of(self, name: str) -> Sequence[EdgeRecord]:
        """The edges of the flat picture out of a node."""
        row = self.chart.outgoing.get(name, _NO_EDGES)
        return [edge for edge in row if self.is_flat(edge)] if self.hides else row

    def is_flat(self, edge: EdgeRecord) -> bool:
        """Whether an edge has a part in the flat picture."""
        return not (edge.carries_nothing or self.runs_again(edge))

    def runs_again(self, edge: EdgeRecord) -> bool:
        """Whether an edge has the word ``again``."""
        worded = self.words.get(edge)
        return worded is not None and worded.word == AGAIN

    def text_of(self, edge: EdgeRecord) -> str | None:
        """The label of an edge without its word."""
        worded = self.words.get(edge)
        if worded is not None:
            return worded.text
        return None if edge.arrow.label is None else edge.arrow.label.text


def conflicting(record: WrittenNode) -> tuple[MentionRecord, ...]:
    """The declarations of a node, where their labels differ; Mermaid silently takes the last one."""
    first = None
    differs = False
    for mention in record.mentions:
        if mention.vertex.shape is not None:
            if first is None:
                first = mention
            elif _label(first) != _label(mention):
                differs = True
    return tuple(mention for mention in record.mentions if mention.vertex.shape is not None) if differs else ()


def _label(mention: MentionRecord) -> str | None:
    label = mention.vertex.label
    return label.text if label is not None else None
