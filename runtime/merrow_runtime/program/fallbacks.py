"""The outputs of nodes that failed."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.graph.decisions import KIND
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import AnswerFailure, UsageFailure
from merrow_runtime.operators.formats.planned import EMPTY
from merrow_runtime.operators.formats.shapes import ValueShape, coerce, is_of
from merrow_runtime.values import VALUE, Outputs, Value, canonical


def plain_value(value: object, node: TypedNode, key: str) -> Value:
    try:
        canonical(value)
    except (ValueError, TypeError, RecursionError):
        raise UsageFailure.of(
            node.id, f"`{key}` has a value that JSON does not have, such as .nan or .inf; write another one."
        ) from None
    return value  # type: ignore[return-value]


def fallback_case_of(node: TypedNode) -> int | None:
    """The number of the case that a failed Decision takes: ``default:`` names it by a label or a value. None if it names none."""
    parameter, cases = node.resolution.parameters.get("default"), node.cases
    return None if parameter is None or cases is None else cases.named(parameter.value)


def check_fallback_case(node: TypedNode, on_error: object) -> None:
    """Raise `UsageFailure` where a Decision that may fail is to continue with a default that is none of its cases."""
    may_fail = node.asks or node.resolution.expression is not None
    if on_error == "default" and may_fail and node.cases is not None and fallback_case_of(node) is None:
        labels = ", ".join(f"`{label}`" for label in node.cases.labels)
        raise UsageFailure(
            f"Node {node.id} has `on_error: default` and no `default:` that is one of its cases; write one of {labels}.",
            node=node.id,
        )


def fallback_of(node: TypedNode, parameters: Mapping[str, object], shapes: Mapping[str, ValueShape]) -> Outputs:
    """The outputs of a node that failed, by ``default:``, a value of its first output or a mapping of outputs to values.

    Outputs that it says nothing of are empty ones of their type.
    """
    if parameters.get("default") is None:
        raise UsageFailure(
            f"Node {node.id} has `on_error: default` and no `default:` to continue with; write one.", node=node.id
        )
    value = plain_value(parameters["default"], node, "default")
    first = next(iter(shapes))
    whole = is_of(value, shapes[first]) and shapes[first].kind == "record"
    by_output = isinstance(value, dict) and value and value.keys() <= shapes.keys() and not whole
    given = value if isinstance(value, dict) and by_output else {first: value}
    outputs: Outputs = {}
    for name, shape in shapes.items():
        try:
            outputs[name] = coerce(given[name], shape) if name in given else _empty(shape)
        except AnswerFailure as problem:
            raise UsageFailure.of(
                node.id, f"its `default:` can't be its output {name} ({shape.type}): {problem}"
            ) from None
    return outputs


def empties(shapes: Mapping[str, ValueShape]) -> Outputs:
    return {name: _empty(shape) for name, shape in shapes.items()}


def _empty(shape: ValueShape) -> Value:
    if shape.kind == "list":
        return []
    if shape.kind == "words":
        return shape.words[0]
    if shape.kind == "record":
        return {name: _empty(part) for name, part in shape.parts}
    if shape.kind == "union":
        name, part = shape.parts[0]
        return {KIND: name, VALUE: _empty(part)}
    return {"bool": False, "number": 0, "json": None, "workflow": EMPTY}.get(shape.kind, "")
