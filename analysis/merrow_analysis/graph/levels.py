"""What happens to a type on an edge that crosses the border of a Map: ``each`` lowers it, leaving raises it."""

from __future__ import annotations

from typing import NamedTuple

from merrow_analysis.definitions.types import Type, TypeTable, item_of, list_of
from merrow_analysis.graph.boxes.words import EACH
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.placing.arrived import with_fields
from merrow_analysis.graph.placing.placement import Passed, Signature
from merrow_analysis.graph.records import EdgeRecord


class Levels(NamedTuple):
    """How many Maps an edge leaves, each of which makes a list of what it brings, and whether it then takes a list apart."""

    raised: int = 0
    lowered: bool = False


LEVEL = Levels()


def levels(graph: Graph, edge: EdgeRecord) -> Levels:
    """What an edge does to the types that it brings."""
    composites = graph.composites
    if not composites:
        return LEVEL
    border = composites.border(edge.source, edge.target)
    said = graph.words.get(edge)
    lowered = said is not None and said.word == EACH
    raised = len(composites.maps(border.left)) if border.left else 0
    return Levels(raised, lowered) if raised or lowered else LEVEL


def carried(signature: Signature, level: Levels, types: TypeTable) -> Signature:
    """What a node gives, as it arrives over an edge. The items of a list of records have their fields."""
    if level is LEVEL:
        return signature
    arriving = signature._replace(
        outputs=tuple([(name, _at(type_, level)) for name, type_ in signature.outputs]),
        kinds=tuple([(name, at) for name, kind in signature.kinds if (at := _at(kind, level)) is not None]),
        value=_at(signature.value, level),
        passes=None if signature.passes is None else tuple([_passed_at(passed, level) for passed in signature.passes]),
    )
    return with_fields(arriving, types) if level.lowered and not signature.fields else arriving


def _passed_at(passed: Passed, level: Levels) -> Passed:
    """What is passed on as one leaves a Map in one list."""
    return Passed(_at(passed.type, level), passed.several and not level.raised)


def _at(type_: Type | None, level: Levels) -> Type | None:
    """A type raised and lowered; None (not known) where something is taken apart that is not a list, which is told elsewhere."""
    if type_ is None:
        return None
    for _ in range(level.raised):
        type_ = list_of(type_)
    return item_of(type_) if level.lowered else type_
