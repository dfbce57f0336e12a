"""What a Decision chooses, by the value that decides and the labels of its cases."""

from __future__ import annotations

from collections.abc import Mapping

from simpleeval import InvalidExpression, SimpleEval  # type: ignore[import-untyped]

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import NodeFailure
from merrow_runtime.values import Value, canonical

_FUNCTIONS = {"float": float, "int": int, "len": len, "str": str}
"""The functions that `merrow_analysis.graph.decisions.FUNCTIONS` allows."""

_SHOWN = 80


def decide(node: TypedNode, inputs: Mapping[str, Value]) -> int:
    """The number of the case that a Decision takes; ``inputs`` has the values of its ports.

    Raises `NodeFailure` where no case takes the value, or the ``if:`` expression can't be worked out.
    """
    assert node.cases is not None  # noqa: S101 (a Decision has cases)
    expression = node.resolution.expression
    value: object = inputs.get("when") if expression is None else _evaluate(node, expression, inputs)
    number = node.cases.choose(value)
    if number is None:
        cases = ", ".join(f"`{label}`" for label in node.cases.labels)
        raise NodeFailure(f"Decision {node.id}: no case takes {_shown(value)}; its cases are {cases}.", node=node.id)
    return number


def _evaluate(node: TypedNode, expression: str, inputs: Mapping[str, Value]) -> bool:
    try:
        return bool(SimpleEval(functions=dict(_FUNCTIONS), names=dict(inputs)).eval(expression.strip()))
    except (InvalidExpression, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as problem:
        given = ", ".join(f"{name} = {_shown(value)}" for name, value in inputs.items())
        reason = str(problem).strip().rstrip(".") or type(problem).__name__
        raise NodeFailure(
            f"Decision {node.id}: `{expression}` can't be worked out with {given or 'no value'}: {reason}.",
            node=node.id,
        ) from None


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value)
    text = " ".join(text.split())
    return f"`{text}`" if len(text) <= _SHOWN else f"`{text[: _SHOWN - 1]}…`"
