"""Which values fit where: what a node gives, what another can take, and whether an edge would close a cycle."""

from __future__ import annotations

from typing import NamedTuple

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import Type, TypeTable, is_variable, item_of
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.nodes import TypedGraph, TypedNode

_VARIABLE_STEPS = 9
"""Any type fits a type variable, but every named type is nearer."""


class Value(NamedTuple):
    """A value that an edge can carry: an output of a node (empty for a Decision's value), its type if known."""

    output: str
    type: Type | None


def values_of(node: TypedNode) -> list[Value]:
    """What can leave a node, the default first; a Decision hands on its one value."""
    signature = node.placement.signature
    if signature.decision:
        return [Value("", signature.value)] if signature.has_value else []
    return [Value(name, type_) for name, type_ in signature.outputs]


def value_at(node: TypedNode, name: str) -> Value | None:
    """An output of a node by its name, or a field in one, ``place.city``; None where it has none."""
    first, dot, path = name.partition(".")
    value = next((value for value in values_of(node) if value.output == first), None)
    if not dot or value is None or value.type is None:
        return value
    type_ = node.types.field_at(value.type, path)
    return None if type_ is None else Value(name, type_)


def steps(given: Type | None, port: InputPort, types: TypeTable) -> int | None:
    """How far a type is from what one edge into a port brings; None where it doesn't fit. What isn't known may fit."""
    if given is None:
        return _VARIABLE_STEPS
    item = item_of(given)
    wanted = port.item if port.many else port.type
    if port.many and item is not None:
        inner = _VARIABLE_STEPS if is_variable(wanted) else types.distance(item, wanted)
        if inner is not None:
            return inner
    if is_variable(wanted):
        return _VARIABLE_STEPS
    inner_wanted = item_of(wanted)
    if inner_wanted is not None and is_variable(inner_wanted):
        return None if item is None else _VARIABLE_STEPS
    return types.distance(given, wanted)


class OpenPort(NamedTuple):
    """A port that can take one more edge."""

    port: InputPort
    fed: bool


def open_ports(node: TypedNode) -> list[OpenPort]:
    """The ports of a node that an edge can still go to, ports with nothing yet first among equals."""
    literals = node.resolution.literals
    ports: list[OpenPort] = []
    for port in node.input_ports:
        fed = bool(node.sources(port.name)) or port.name in literals
        if port.many or not fed:
            ports.append(OpenPort(port, fed))
    return ports


class Fit(NamedTuple):
    """How well a value goes into a node; the smaller, the better. ``port`` is the one it would feed."""

    rank: int
    steps: int
    port: str | None


NEEDED, WELCOME, NO_FIT, CYCLE, NOT_A_TARGET = range(5)


def fit(values: list[Value], target: TypedNode, types: TypeTable) -> Fit:
    """The best port of ``target`` for one of the values: a required empty one, else one that takes more, else none."""
    if target.kind == "input":
        return Fit(NOT_A_TARGET, 0, None)
    best = Fit(NO_FIT, 0, None)
    for port, fed in open_ports(target):
        for number, value in enumerate(values):
            far = steps(value.type, port, types)
            if far is None:
                continue
            fitting = Fit(NEEDED if port.required and not fed else WELCOME, far + 3 * number, port.name)
            best = min(best, fitting, key=lambda candidate: (candidate.rank, candidate.steps))
    return best


def upstream(graph: TypedGraph, nodes: list[TypedNode]) -> bytearray:
    """For each node by number whether a path leads from it to one of ``nodes``: an edge to it would close a cycle."""
    return reach(graph.shape.before, [node.index for node in nodes])
