"""What expressions say: which case a Decision takes, whether a Loop goes on, and how good a turn of it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from merrow_analysis.bounded.expressions import WRONG, evaluate
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import NodeFailure
from merrow_runtime.values import Outputs, Value, canonical

_SHOWN = 80


def decide(node: TypedNode, inputs: Mapping[str, Value]) -> int:
    """The number of the case that a Decision takes; ``inputs`` has the values of its ports.

    Raises `NodeFailure` where no case takes the value, or the ``if:`` expression can't be worked out.
    """
    assert node.cases is not None  # noqa: S101 (a Decision has cases)
    expression = node.resolution.expression
    value: object = inputs.get("when") if expression is None else _decided(node, expression, inputs)
    number = node.cases.choose(value)
    if number is None:
        cases = ", ".join(f"`{label}`" for label in node.cases.labels)
        raise NodeFailure(f"Decision {node.id}: no case takes {_shown(value)}; its cases are {cases}.", node=node.id)
    return number


def holds(loop: str, expression: str, outputs: Callable[[str], Outputs | None]) -> bool:
    """Whether the ``until`` of a Loop holds; ``outputs`` gives what a member gave in the turn. Raises `NodeFailure`."""
    return bool(_of_turn(loop, "until", expression, outputs))


def score(loop: str, expression: str, outputs: Callable[[str], Outputs | None]) -> float | None:
    """How good a turn of a Loop is by its ``best``; None where that is not a number. Raises `NodeFailure`."""
    value = _of_turn(loop, "best", expression, outputs)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def holds_of_result(expression: str, known: Mapping[str, Value]) -> bool:
    """Whether the ``if`` of a validator holds; ``known`` are the names that it may use.

    Raises ``ValueError`` saying why that can't be worked out.
    """
    named = {name: _Fields(value.__getitem__) if isinstance(value, dict) else value for name, value in known.items()}
    try:
        return bool(evaluate(expression, named))
    except WRONG as problem:
        raise ValueError(_reason(problem)) from None


class _Fields:
    """Named values as an expression takes them: by a dot and the name."""

    __slots__ = ("_of",)

    def __init__(self, of: Callable[[str], object]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> object:
        value = self._of(name)
        return _Fields(value.__getitem__) if isinstance(value, dict) else value


def _of_turn(loop: str, key: str, expression: str, outputs: Callable[[str], Outputs | None]) -> object:
    def member(name: str) -> _Fields:
        given = outputs(name)
        if given is None:
            raise KeyError(name)
        first = next(iter(given.values()), None)
        # The fields of a record are as outputs of what gives it.
        return _Fields({**(first if isinstance(first, dict) else {}), **given}.__getitem__)

    try:
        return evaluate(expression, _Fields(member))
    except WRONG as problem:
        reason = f"`{key}: {expression}` can't be worked out: {_reason(problem)}."
        raise NodeFailure(f"Loop {loop}: {reason}", node=loop, reason=reason) from None


def _decided(node: TypedNode, expression: str, inputs: Mapping[str, Value]) -> bool:
    try:
        return bool(evaluate(expression, dict(inputs)))
    except WRONG as problem:
        given = ", ".join(f"{name} = {_shown(value)}" for name, value in inputs.items())
        raise NodeFailure(
            f"Decision {node.id}: `{expression}` can't be worked out with {given or 'no value'}: {_reason(problem)}.",
            node=node.id,
        ) from None


def _reason(problem: Exception) -> str:
    text = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    return text.strip().rstrip(".") or type(problem).__name__


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value)
    text = " ".join(text.split())
    return f"`{text}`" if len(text) <= _SHOWN else f"`{text[: _SHOWN - 1]}…`"
