"""Expressions of workflows (``if:``, ``until:``, ``best:``): what they may contain, and their values.

They compare and calculate as Python does. Each operation is paid for before it is made: whole numbers have a limit of bits, and
all texts and lists together a limit of size, so that no expression can keep a process at work.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of
from merrow_analysis.bounded.text_methods import METHODS, percent_cost, spec_cost

LONGEST = 2_000
"""Characters of an expression."""
DEEPEST = 80
"""How deep the parts of an expression may nest."""

_STEPS = 20_000_000
_MOST_BITS = 16_384
_LONGEST_NUMBER = 5_000
_TOO_MUCH = "it makes texts or lists that are too long; write a simpler one"
_TOO_LARGE = f"it makes a number of more than {_MOST_BITS:,} bits; use smaller ones"


class ExpressionError(Exception):
    """An expression has no value: a sentence without its end says why."""


PARTS: tuple[type[ast.AST], ...] = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
    ast.keyword, ast.Subscript, ast.Slice, ast.Attribute, ast.JoinedStr, ast.FormattedValue,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
"""The kinds of parts that an expression may have."""

WRONG: tuple[type[Exception], ...] = (
    ExpressionError,
    TooMuchError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    SyntaxError,
)
"""What `evaluate` raises where an expression has no value."""


def parse(text: str) -> ast.Expression:
    """The tree of an expression. Raises ``SyntaxError`` for what is none, and `TooMuchError` for one that is too long or nests
    too deep.
    """
    if len(text) > LONGEST:
        raise TooMuchError(f"it is longer than {LONGEST:,} characters; shorten it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (RecursionError, MemoryError):
        raise TooMuchError(_too_deep()) from None
    except ValueError as problem:
        raise SyntaxError(str(problem)) from None
    if any(isinstance(node, ast.Constant) and isinstance(node.value, _NO_VALUES) for node in ast.walk(tree)):
        raise SyntaxError("an expression has no bytes, imaginary numbers or dots")
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    if level:
        raise TooMuchError(_too_deep())
    return tree


def _too_deep() -> str:
    return f"its parts nest more than {DEEPEST} deep; write a simpler one"


def evaluate(expression: str, names: Any) -> object:
    """The value of an expression; ``names[name]`` gives what it names, or raises ``LookupError``. Raises what `WRONG` has."""
    return _ExpressionEvaluation(expression, names).value(parse(expression).body)


def excess_in(tree: ast.Expression) -> str | None:
    """Why an expression takes too much whatever its names are, as the end of a sentence; None where that depends on them."""
    evaluation = _ExpressionEvaluation("", {})
    for node in ast.walk(tree):
        try:
            if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                percent_cost(node.left.value if isinstance(node.op, ast.Mod) else "")
            if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
                spec_cost(str(evaluation.value(node.format_spec)))
            if isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                evaluation.value(node)
        except TooMuchError as problem:
            return str(problem)
        except WRONG:
            continue
    return None


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"float": float, "int": int, "len": len, "str": str}
FUNCTIONS = tuple(_FUNCTIONS)
"""Functions that an expression may call."""

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, of: item in of,
    ast.NotIn: lambda item, of: item not in of,
}
_COMBINED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_SIGNED: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_SEVERAL = (str, list, tuple)
_NO_VALUES = (bytes, complex, type(...))


class _ExpressionEvaluation:
    """One expression at work. Recursion is bounded, as its tree is no deeper than `DEEPEST`."""

    def __init__(self, expression: str, names: Any) -> None:
        self._expression, self._names = expression, names
        self._allowance = Allowance(_STEPS, _TOO_MUCH)

    def value(self, node: ast.AST) -> Any:
        self._allowance.take(1)
        way = _WAYS.get(type(node))
        if way is None:
            raise ExpressionError(f"an expression can't have {type(node).__name__}")
        return way(self, node)

    def constant(self, node: ast.Constant) -> Any:
        return node.value

    def name(self, node: ast.Name) -> Any:
        try:
            return self._names[node.id]
        except (KeyError, TypeError):
            raise ExpressionError(f"'{node.id}' is not defined for expression '{self._expression}'") from None

    def signed(self, node: ast.UnaryOp) -> Any:
        return _SIGNED[type(node.op)](self.value(node.operand))

    def either(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for operand in node.values:
            value = self.value(operand)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def chosen(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def compared(self, node: ast.Compare) -> Any:
        left, held = self.value(node.left), True
        for sign, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other)
            self._pay_to_compare(left, right)
            held = _COMPARED[type(sign)](left, right)
            if not held:
                break
            left = right
        return held

    def combined(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(type(node.op), left, right)
        elif isinstance(left, str) and isinstance(node.op, ast.Mod):
            size = size_of(right, self._allowance)
            self._allowance.take(percent_cost(left) + 10 * max(1, left.count("%")) * size)
        elif isinstance(node.op, ast.Mult) and (isinstance(left, _SEVERAL) or isinstance(right, _SEVERAL)):
            self._pay_to_repeat(left, right)
        elif isinstance(left, _SEVERAL) and isinstance(right, _SEVERAL):
            self._allowance.take(_extent(left) + _extent(right))
        return _COMBINED[type(node.op)](left, right)

    def called(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            of, name = self.value(node.func.value), node.func.attr
            method = METHODS.get((type(of), name))
            if method is None:
                raise ExpressionError(f"Attribute '{name}' does not exist in expression '{self._expression}'")
            given, named = self._given(node)
            return method(self._allowance, of, *given, **named)
        function = _FUNCTIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is None:
            raise ExpressionError(f"there is no such function; there are {', '.join(FUNCTIONS)}")
        given, named = self._given(node)
        for argument in (*given, *named.values()):
            if function is str:
                self._allowance.take(10 * size_of(argument, self._allowance))
            elif function is not len and isinstance(argument, str) and len(argument) > _LONGEST_NUMBER:
                raise TooMuchError(f"a number has more than {_LONGEST_NUMBER:,} characters; use a shorter one")
        return function(*given, **named)

    def item(self, node: ast.Subscript) -> Any:
        of, key = self.value(node.value), self.value(node.slice)
        if isinstance(key, slice) and isinstance(of, _SEVERAL):
            self._allowance.take(_extent(of))
        return of[key]

    def part(self, node: ast.Slice) -> slice:
        ends = (None if bound is None else self.value(bound) for bound in (node.lower, node.upper, node.step))
        return slice(*ends)

    def attribute(self, node: ast.Attribute) -> Any:
        of = self.value(node.value)
        try:
            if not node.attr.startswith("_") and not isinstance(of, (*_SEVERAL, int, float)):
                return of[node.attr]
        except (LookupError, TypeError):
            pass
        raise ExpressionError(f"Attribute '{node.attr}' does not exist in expression '{self._expression}'")

    def joined(self, node: ast.JoinedStr) -> str:
        return "".join([str(self.value(value)) for value in node.values])

    def formatted(self, node: ast.FormattedValue) -> str:
        value = self.value(node.value)
        spec = "" if node.format_spec is None else str(self.value(node.format_spec))
        self._allowance.take(10 * size_of(value, self._allowance) + spec_cost(spec))
        return format(_written(value, node.conversion), spec)

    def _given(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        given = [self.value(argument) for argument in node.args]
        return given, {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg is not None}

    def _pay_to_compare(self, left: Any, right: Any) -> None:
        if isinstance(left, str) and isinstance(right, str):
            self._allowance.take(len(right) + len(right) * min(len(left), 128) // 16)
            return
        for side in (left, right):
            if isinstance(side, (list, tuple, dict)):
                size_of(side, self._allowance)

    def _pay_to_repeat(self, left: Any, right: Any) -> None:
        several, times = (left, right) if isinstance(left, _SEVERAL) else (right, left)
        if isinstance(times, int) and times > 0:
            self._allowance.take(_extent(several) * times)


def _written(value: Any, conversion: int) -> Any:
    """A value with the conversion that an f-string names, such as ``!r``."""
    if conversion == -1:
        return value
    return repr(value) if conversion == ord("r") else ascii(value) if conversion == ord("a") else str(value)


def _extent(several: Any) -> int:
    return len(several) * (1 if isinstance(several, str) else 8)


def _check_bits(sign: type[ast.operator], left: int, right: int) -> None:
    """Refuse what is made of two whole numbers, or they themselves, where that has too many bits."""
    bits = max(left.bit_length(), right.bit_length())
    if sign is ast.Mult:
        bits = left.bit_length() + right.bit_length()
    elif sign is ast.Pow and right > 0:
        bits = left.bit_length() * right if abs(left) > 1 else 1
    elif sign is ast.LShift and right > 0:
        bits = left.bit_length() + right if left else 1
    if bits > _MOST_BITS:
        raise TooMuchError(_TOO_LARGE)


_WAYS: Mapping[type[ast.AST], Callable[[_ExpressionEvaluation, Any], Any]] = {
    ast.Constant: _ExpressionEvaluation.constant,
    ast.Name: _ExpressionEvaluation.name,
    ast.UnaryOp: _ExpressionEvaluation.signed,
    ast.BoolOp: _ExpressionEvaluation.either,
    ast.IfExp: _ExpressionEvaluation.chosen,
    ast.Compare: _ExpressionEvaluation.compared,
    ast.BinOp: _ExpressionEvaluation.combined,
    ast.Call: _ExpressionEvaluation.called,
    ast.Subscript: _ExpressionEvaluation.item,
    ast.Slice: _ExpressionEvaluation.part,
    ast.Attribute: _ExpressionEvaluation.attribute,
    ast.JoinedStr: _ExpressionEvaluation.joined,
    ast.FormattedValue: _ExpressionEvaluation.formatted,
}
