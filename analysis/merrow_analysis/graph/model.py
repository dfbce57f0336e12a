"""The typed graph.

A `Graph` says what each node is, where each edge goes and with what type. It is never changed and knows no place in a text. It
shares with its predecessor all that a delta leaves alone, so any number of versions live side by side. Nodes have handles,
which are numbers given at birth. The one way from one graph to another is `merrow_analysis.graph.infer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.graph.language import Language, NumberedFacts, Settings
from merrow_analysis.graph.placement import Placement
from merrow_analysis.graph.records import Chart, EdgeRecord, MentionRecord, NodeRecord
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.graph.shape import Shape

PROBLEM_ID = "PROBLEM"
ENTRY_POINT_ID = "ENTRY_POINT"
RETURN_ID = "RETURN"

INTERFACE_SPELLINGS = frozenset({"Interface", "interface", "INTERFACE"})
_NO_EDGES: tuple[EdgeRecord, ...] = ()


class Marks(NamedTuple):
    """Handles of the nodes about which there may be something to say, so that not all need be looked at.

    ``found``: with findings about their edges; ``problems``: about what is written at them; ``gathering``: ensembles,
    and nodes with a port for one value that several edges feed; ``decisions``; ``conflicts``: with declarations that
    contradict each other.
    """

    found: frozenset[int] = frozenset()
    problems: frozenset[int] = frozenset()
    gathering: frozenset[int] = frozenset()
    decisions: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Graph:
    """What a chart means. Lists are by handle; a node that is gone has None among ``records``.

    ``handles`` are the nodes' by id, ``ranks`` order them by first mention. ``resolutions`` say what each node is,
    ``facts`` what placing its edges needs of that, ``placements`` where its incoming edges go and what it gives.
    ``hides`` says that some edges carry nothing (``~~~``); they have no part in anything here. ``touched`` are the
    nodes at which something differs from the graph that this one was inferred from, None where that may be all.
    """

    chart: Chart
    settings: Settings
    language: Language
    handles: dict[str, int]
    records: list[NodeRecord | None]
    resolutions: list[Resolution]
    facts: list[NumberedFacts]
    placements: list[Placement]
    shape: Shape
    marks: Marks
    hides: bool = False
    touched: frozenset[int] | None = None

    def into(self, name: str) -> Sequence[EdgeRecord]:
        """The edges into a node that carry something."""
        row = self.chart.incoming.get(name, _NO_EDGES)
        return [edge for edge in row if not edge.carries_nothing] if self.hides else row

    def out_of(self, name: str) -> Sequence[EdgeRecord]:
        """The edges out of a node that carry something."""
        row = self.chart.outgoing.get(name, _NO_EDGES)
        return [edge for edge in row if not edge.carries_nothing] if self.hides else row


def is_interface(record: NodeRecord) -> bool:
    """Whether a class or the metadata of a node says Interface."""
    if any(use.name.text in INTERFACE_SPELLINGS for use in record.classes):
        return True
    for metadata, _ in record.metadata:
        op = parse_metadata(metadata.body).values.get("op")
        if isinstance(op, str) and op.strip() in INTERFACE_SPELLINGS:
            return True
    return False


def conflicting(record: NodeRecord) -> tuple[MentionRecord, ...]:
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
