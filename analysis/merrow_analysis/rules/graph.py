"""All checks of the typed graph: what `merrow_analysis.check` calls for a workflow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from merrow_analysis.consequences import unexplained
from merrow_analysis.definitions.front_matter import EMPTY, FrontMatterDoc
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, Type
from merrow_analysis.diagnostics import Cause, Diagnostic
from merrow_analysis.graph.drawing import ENTRY_POINT_ID, PROBLEM_ID
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.rules.class_rules import check_classes
from merrow_analysis.rules.decision_rules import check_decisions
from merrow_analysis.rules.definition_rules import PlaceOf, check_definitions
from merrow_analysis.rules.hint_rules import check_hints
from merrow_analysis.rules.liveness_rules import check_liveness
from merrow_analysis.rules.operator_rules import check_operators
from merrow_analysis.rules.path_rules import (
    MISSING_INPUT_OR_OUTPUT,
    OFF_PATH,
    Rims,
    check_cycles,
    check_edges,
    check_paths,
    check_rims,
    find_rims,
    told_dead_ends,
)
from merrow_analysis.rules.port_rules import check_ports
from merrow_analysis.syntax.tree import Block, FrontMatter, Header
from merrow_analysis.text import Position, Range

_TOP = Range(Position(0, 0), Position(0, 0))


def check(
    graph: TypedGraph,
    *,
    header: tuple[Header, Block] | None = None,
    front_matter: tuple[FrontMatter, Block] | None = None,
    document: FrontMatterDoc = EMPTY,
) -> list[Diagnostic]:
    """Everything that is to say about the meaning of a workflow's graph, in no particular order. Never raises.

    ``header`` and ``front_matter`` are those of the diagram, ``document`` is what the settings were read from; they
    only say where findings about the whole file, and about its front matter, are shown.
    """
    rims = find_rims(graph)
    places = Places(header, front_matter, document)
    return unexplained([*check_nodes(graph, rims.stand_in_ids, places), *check_edges_and_paths(graph, rims, places)])


@dataclass(frozen=True, slots=True)
class Places:
    """Where findings about the whole file, and about its front matter, are shown."""

    header: tuple[Header, Block] | None = None
    front_matter: tuple[FrontMatter, Block] | None = None
    document: FrontMatterDoc = EMPTY

    @property
    def top(self) -> Range:
        """Where the diagram begins."""
        return _TOP if self.header is None else self.header[1].range(self.header[0].span)

    def of(self, path: tuple[str | int, ...]) -> Range | None:
        """Where the front matter has what is at ``path`` below ``workflow``; None where it hasn't."""
        places = self.document.places("workflow", *path)
        if self.front_matter is None or places is None:
            return None
        statement, block = self.front_matter
        shift = statement.body_span[0]
        (start, end), value = places
        if isinstance(path[-1], int):
            start, end = value
        return block.range((start + shift, end + shift))


def check_nodes(graph: TypedGraph, stand_ins: frozenset[str], places: Places) -> Iterator[Diagnostic]:
    """What is to say about single nodes and about declarations, whatever edges there are.

    ``stand_ins`` are nodes that `check_edges_and_paths` reports as a misnamed PROBLEM or RETURN.
    """
    yield from check_definitions(graph, places.of, places.top)
    yield from check_operators(graph, stand_ins)
    yield from check_classes(graph)


def check_edges_and_paths(graph: TypedGraph, rims: Rims, places: Places) -> Iterator[Diagnostic]:
    """What is to say about edges, and about nodes for the edges that they have."""
    named = _named_places(graph, places.of)
    yield from check_rims(graph, rims, named, places.top)
    yield from check_edges(graph)
    yield from check_cycles(graph)
    yield from check_paths(graph, rims)
    yield from check_ports(graph, _lacking(graph, rims, named.get(PROBLEM_ID, places.top)))
    yield from check_decisions(graph)
    yield from check_liveness(graph, told_dead_ends(graph, rims))
    yield from check_hints(graph)


def _named_places(graph: TypedGraph, place_of: PlaceOf) -> dict[str, Range]:
    """Where the front matter names inputs and outputs."""
    places: dict[str, Range] = {}
    for side, names in (("inputs", graph.settings.inputs), ("outputs", graph.settings.outputs)):
        for number, name in enumerate(names or ()):
            place = place_of((side, number)) or place_of((side,))
            if place is not None:
                places.setdefault(name, place)
    return places


def _lacking(graph: TypedGraph, rims: Rims, place: Range) -> dict[Type, Cause]:
    """Types that nothing gives since an input node is missing, which is told at ``place``, or not connected."""
    lacking: dict[Type, Cause] = {}
    if PROBLEM_ID in rims.missing and PROBLEM_ID not in rims.stand_ins:
        lacking[PROBLEM] = Cause(MISSING_INPUT_OR_OUTPUT.code, place)
    for index in graph.shape.inputs:
        node = graph.node(index)
        if node.id == ENTRY_POINT_ID and not graph.shape.following[index]:
            lacking[ENTRY_POINT] = Cause(OFF_PATH.code, node.flow.range)
    return lacking
