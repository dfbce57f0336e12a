"""What happens to a type on an edge that crosses the border of a Map: ``each`` lowers it, leaving raises it."""

from __future__ import annotations

from typing import NamedTuple

from merrow_analysis.definitions.types import Type, TypeTable, item_of, list_of
from merrow_analysis.graph.boxes.edge_words import EACH
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.placing.arrived import with_fields
from merrow_analysis.graph.placing.notation import EdgeLabel
from merrow_analysis.graph.placing.placement import NodeSignature, PassedValue
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
    worded = graph.words.get(edge)
    lowered = worded is not None and worded.word == EACH
    raised = len(composites.maps(border.left)) if border.left else 0
    return Levels(raised, lowered) if raised or lowered else LEVEL


def carried(signature: NodeSignature, level: Levels, types: TypeTable) -> NodeSignature:
    """What a node gives, as it arrives over an edge. The items of a list of records have their fields."""
    if level is LEVEL:
        return signature
    if level.lowered:
        signature = signature._replace(
            apart=carried(signature, Levels(level.raised), types) if level.raised else signature
        )
    arriving = signature._replace(
        outputs=tuple([(name, _at(type_, level)) for name, type_ in signature.outputs]),
        kinds=tuple([(name, at) for name, kind in signature.kinds if (at := _at(kind, level)) is not None]),
        value=_at(signature.value, level),
        passes=None if signature.passes is None else tuple([_passed_at(passed, level) for passed in signature.passes]),
    )
    return with_fields(arriving, types) if level.lowered and not signature.fields else arriving


class Apart(NamedTuple):
    """What an edge with ``each`` takes apart: an output of its source (None: what a Decision carries), or the list at ``path``
    in it; and the type of that, None where it isn't known. ``is_list`` says whether there is a list at all.
    """

    output: str | None
    path: tuple[str, ...]
    type: Type | None
    is_list: bool


def taken_apart(graph: Graph, edge: EdgeRecord, source: NodeSignature, label: EdgeLabel, types: TypeTable) -> Apart:
    """What an edge with ``each`` takes apart, by its label. Of a node in a Map all fields of the records that its items give
    are one list.
    """
    given = carried(source, Levels(levels(graph, edge).raised), types)
    outputs = dict(given.outputs[: len(given.outputs) - given.fields])
    output, keys = next(iter(outputs), None), tuple((label.output or "").split(".")) if label.output else ()
    if source.decision:
        output, type_ = None, given.carried(label.case)
    else:
        if keys and keys[0] in outputs:
            output, keys = keys[0], keys[1:]
        type_ = None if output is None else outputs[output]
    if type_ is None:
        return Apart(output, (), None, is_list=False)
    count = types.keys_to_list(type_, keys)
    path = keys[:count]
    return Apart(output, path, types.field_at(type_, ".".join(path)) if path else type_, is_list=count is not None)


def _passed_at(passed: PassedValue, level: Levels) -> PassedValue:
    """What is passed on as one leaves a Map in one list."""
    return PassedValue(_at(passed.type, level), passed.several and not level.raised)


def _at(type_: Type | None, level: Levels) -> Type | None:
    """A type raised and lowered; None (not known) where something is taken apart that is not a list, which is told elsewhere."""
    if type_ is None:
        return None
    for _ in range(level.raised):
        type_ = list_of(type_)
    return item_of(type_) if level.lowered else type_
