"""The calculations that the embedded offline model works out: the first one in a text, in signs or in words."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

_NUMBER = r"\({0,20}\d+(?:\.\d+)?\){0,20}"
_LONGEST = 1_000
_CALCULATION = re.compile(rf"(?<![\w.]){_NUMBER}(?: [-+*/] {_NUMBER})+(?![\w.]*\w)")
_WORDS = (
    (r"\bmultiplied by\b|\btimes\b|×", "*"),
    (r"\bdivided by\b|÷", "/"),
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
)
# A minus or a slash without spaces may be a range or a date.
_CLOSE_SIGN = re.compile(r"(?<=[\d)])([+*])(?=[\d(])")
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculation(text: str) -> str | None:
    """The first calculation in a text that can be worked out, as a Python expression; None where there is none.

    ``6 times 7``, ``6 × 7`` and ``6*7`` count as ``6 * 7``; dates, ranges and divisions by zero don't.
    """
    for words, sign in _WORDS:
        text = re.sub(rf"(?i)(?<=[\d)])\s*(?:{words})\s*(?=[\d(])", f" {sign} ", text)
    text = _CLOSE_SIGN.sub(r" \1 ", text)
    for match in _CALCULATION.finditer(text):
        if _value(match.group()) is not None:
            return match.group()
    return None


def result(expression: str) -> str:
    """What an expression that `calculation` found gives: a whole number without a point."""
    value = _value(expression)
    assert value is not None  # noqa: S101 (`calculation` gives no other)
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def _value(expression: str) -> Fraction | None:
    """What a calculation gives; None where it is none, is very long, or divides by zero."""
    if len(expression) > _LONGEST:
        return None
    try:
        value = _worked_out(ast.parse(expression, mode="eval").body)
        float(value)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    return value


def _worked_out(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    raise ValueError("no calculation")
