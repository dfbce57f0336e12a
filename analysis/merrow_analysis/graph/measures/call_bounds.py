"""How many calls a workflow makes at least and at most: products of the bounds of the Loops and Maps around each node."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from merrow_analysis.definitions.schema import LOOP_KEYS, MAP_KEYS
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.instructions import ValidationInstruction, validation_of
from merrow_analysis.graph.language import GraphSettings
from merrow_analysis.graph.nodes import TypedGraph, TypedNode


@dataclass(frozen=True, slots=True)
class CallBounds:
    """How often nodes are carried out, all of a workflow together: each operator, and each Decision that asks a model, once for
    each turn, item, sample and attempt, with what its validator asks; in place of a Call those of its workflow. Further calls
    that an operator makes for one answer are not counted.
    """

    least: int
    most: int | None
    """None where files call each other, which is a matter of their Decisions, or where a workflow is planned."""

    def as_json(self) -> dict[str, int | None]:
        return {"least": self.least, "most": self.most}


def call_bounds(graph: TypedGraph) -> CallBounds:
    """The bounds for one workflow. A node behind a Decision may not run at all; a Loop has one turn at least. Where the cases of
    Decisions are too many to combine, nothing is certain to run.
    """
    least, most = 0, 0
    is_open = False
    is_known = graph.combinations.undecided is None
    for node in graph.nodes:
        validated = validation_of(node, graph.settings)
        if node.kind == "operator" or node.asks or validated is not None:
            own_most = most_calls(graph, node)
            is_open = is_open or own_most is None
            most += own_most or 0
            if is_known and graph.combinations.runs(node) == ALWAYS:
                boxes = [graph.composites.boxes[name] for name in graph.composites.around(node.id)]
                least += (
                    _samples(node)
                    * _own_calls(node)[0]
                    * prod(count_of(box, "min") for box in boxes if box.kind == "map")
                )
    return CallBounds(least, None if is_open else most)


def most_calls(graph: TypedGraph, node: TypedNode) -> int | None:
    """How often one node is carried out at most; None where nothing bounds it. 0 where no model is asked."""
    validation = validation_of(node, graph.settings)
    if node.kind != "operator" and not node.asks and validation is None:
        return 0
    own = _own_calls(node)[1]
    if own is None:
        return None
    if validation is not None:
        own = own * validation.attempts + _judging(validation, graph.settings)
    boxes = (graph.composites.boxes[name] for name in graph.composites.around(node.id))
    return _samples(node) * own * prod(count_of(box, "max") for box in boxes)


def _judging(validation: ValidationInstruction, settings: GraphSettings) -> int:
    """How often a validator asks a model at most, in all attempts."""
    checks = [check for name in validation.names for check in settings.validators[name.casefold()].checks]
    votes = sum(check.votes for check in checks if check.kind == "rubric")
    return votes * validation.attempts + sum(check.generate > 0 for check in checks)


def _own_calls(node: TypedNode) -> tuple[int, int | None]:
    """How often a node calls at least and at most each time it is carried out."""
    if node.kind == "output":
        return 0, 0
    if node.spec is not None and node.spec.is_planned_call:
        return 0, None
    callee = node.resolution.callee
    return (1, 1) if callee is None else callee.calls


def count_of(box: Composite, key: str) -> int:
    """The number that a Loop or a Map gives as ``max`` or ``min``; the default where it says none, or none that can be."""
    fragment: Any = (LOOP_KEYS if box.kind == "loop" else MAP_KEYS)[key]
    parameter = box.parameters.get(key)
    number = _whole(parameter.value) if parameter is not None else None
    default: int = fragment["default"]
    return default if number is None or number < fragment["minimum"] else number


def _whole(value: object) -> int | None:
    """A value as a whole number; texts of titles, too."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _samples(node: TypedNode) -> int:
    samples = node.resolution.parameters.get("samples")
    return max(1, _whole(samples.value) or 1) if samples is not None else 1
