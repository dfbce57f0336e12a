"""The programs that the embedded offline model writes: they run, and claim nothing."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

DEFAULT_FUNCTION = "solve"
_NAME = r"([A-Za-z_]\w*)"
_ENTRY_POINT = re.compile(rf"(?im)^#+ *(?:name of the |entry[ _]?point\b).*\n`{{3,}}\w*\n\s*{_NAME}\s*\n")
_ASKED_FOR = re.compile(
    rf"(?i)\b(?:defin\w*|functions?|named|called|implement\w*|entry[ _]?point)\W+(?:\w+\W+){{0,4}}?`{_NAME}"
)
_DEFINED = re.compile(rf"(?m)^[ \t]*def {_NAME}\(")
_CALCULATION = re.compile(r"(?<![\w.])\(*\d+(?:\.\d+)?\)*(?: [-+*/] \(*\d+(?:\.\d+)?\)*)+(?![\w.]*\w)")
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def wanted_function(texts: Sequence[str]) -> str:
    """The name of the function that a request asks for: given as the entry point, named in the instructions, begun in the
    problem; ``solve`` where none is.
    """
    for pattern, searched in ((_ENTRY_POINT, texts), (_ASKED_FOR, texts[:1]), (_DEFINED, texts)):
        for text in searched:
            names = pattern.findall(text)
            if names:
                return str(names[-1])
    return DEFAULT_FUNCTION


def program(function: str, problem: str, notice: str) -> str:
    """A program that defines ``function``. ``solve`` works out the first calculation that stands in the problem (``12 * 3``);
    any other function takes whatever it is given and returns None.
    """
    if function != DEFAULT_FUNCTION:
        return f"# {notice}\ndef {function}(*args, **kwargs):\n    return None"
    for found in _CALCULATION.finditer(problem):
        if _value(found.group()) is not None:
            said = f"The first calculation in the problem, {found.group()}, gives "
            shown = f"{said!r} + str(result) + {'. ' + notice!r}"
            return f"# {notice}\ndef solve():\n    result = {found.group()}\n    return {shown}"
    said = f"There is no plain calculation in the problem. {notice}"
    return f"# {notice}\ndef solve():\n    return {said!r}"


def _value(calculation: str) -> Fraction | None:
    """What a calculation gives; None where it is none, or divides by zero."""
    try:
        return _worked_out(ast.parse(calculation, mode="eval").body)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError):
        return None


def _worked_out(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(node.value)
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    raise ValueError("no calculation")
