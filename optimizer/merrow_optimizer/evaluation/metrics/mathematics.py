r"""Whether two expressions in LaTeX are equal, by sympy and math-verify. Imported only in a `Worker`'s process.

math-verify rounds before it compares, so that it takes 1/2^99 for 1/2^98. Numbers are therefore decided here, exactly.
"""

from __future__ import annotations

import re
from typing import Any

import sympy
from math_verify import LatexExtractionConfig, parse, verify

_DECIMAL = re.compile(r"[0-9]\.[0-9]|(?<![0-9])\.[0-9]")
_DIGITS = 60
_RELATIVE = sympy.Rational(1, 1_000_000)
_CONFIG = [LatexExtractionConfig()]


def compare_expressions(gold: str, answer: str) -> bool:
    """Whether two normal texts are equal expressions. What can't be read equals nothing."""
    expected, other = _read(gold), _read(answer)
    if expected is None or other is None:
        return False
    if _is_number(expected) and _is_number(other):
        return _equal_numbers(expected, other, bool(_DECIMAL.search(gold) or _DECIMAL.search(answer)))
    if _is_number(expected) or _is_number(other):
        return _is_expression(expected) and _is_expression(other) and _is_zero(expected - other)
    if isinstance(expected, sympy.MatrixBase) or isinstance(other, sympy.MatrixBase):
        return _equal_matrices(expected, other)
    if _is_expression(expected) and _is_expression(other):
        return expected.free_symbols == other.free_symbols and _is_zero(expected - other)
    if isinstance(expected, sympy.Equality) and isinstance(other, sympy.Equality):
        return _equal_equations(expected, other)
    if isinstance(other, sympy.core.relational.Relational) and expected == other.reversed:
        return True
    if type(expected) is not type(other) and not (isinstance(expected, sympy.Set) and isinstance(other, sympy.Set)):
        return False
    if expected == other:
        return True
    return bool(verify(expected, other, strict=True, timeout_seconds=None))


def compare_published(gold: str, answer: str) -> bool:
    """The published last step: the difference simplifies to 0, or the values differ by at most 0.001."""
    expected, other = _read(gold), _read(answer)
    if expected is None or other is None or not _is_expression(expected) or not _is_expression(other):
        return expected is not None and expected == other
    difference = expected - other
    if difference.is_number:
        value = sympy.N(difference)
        return bool(value.is_number and abs(complex(value)) <= 1e-3)
    return bool(sympy.simplify(difference) == 0)


def _read(text: str) -> Any:
    parsed = parse(
        f"${text}$", extraction_config=_CONFIG, parsing_timeout=None, fallback_mode="no_fallback", raise_on_error=False
    )
    values = [value for value in parsed if not isinstance(value, str)]
    if not values:
        return None
    if not isinstance(values[0], sympy.Expr):
        return values[0]
    # The parser takes the imaginary unit for a variable.
    return values[0].subs({symbol: sympy.I for symbol in values[0].free_symbols if symbol.name == "i"})


def _is_expression(value: Any) -> bool:
    return isinstance(value, sympy.Expr)


def _is_number(value: Any) -> bool:
    return isinstance(value, sympy.Expr) and bool(value.is_number)


def _equal_numbers(gold: Any, answer: Any, is_decimal: bool) -> bool:
    difference = sympy.nsimplify(gold, rational=True) - sympy.nsimplify(answer, rational=True)
    difference = difference.doit()
    if is_decimal:
        bound = _RELATIVE * max(abs(sympy.N(gold, _DIGITS)), abs(sympy.N(answer, _DIGITS)))
        return bool(abs(sympy.N(difference, _DIGITS)) <= bound)
    return _is_zero(difference)


def _is_zero(difference: Any) -> bool:
    """Exactly: by arithmetic for rational numbers, else by algebra."""
    difference = sympy.sympify(difference)
    if difference.is_Rational:
        return bool(difference == 0)
    if difference.is_number:
        value = difference.doit()
        if value.is_Rational:
            return bool(value == 0)
        decided = value.equals(0)
        return bool(decided) if decided is not None else bool(sympy.simplify(value) == 0)
    return bool(sympy.simplify(difference) == 0) or difference.equals(0) is True


def _equal_matrices(gold: Any, answer: Any) -> bool:
    if not isinstance(gold, sympy.MatrixBase) or not isinstance(answer, sympy.MatrixBase) or gold.shape != answer.shape:
        return False
    return all(_is_zero(expected - other) for expected, other in zip(gold, answer, strict=True))


def _equal_equations(gold: Any, answer: Any) -> bool:
    """Equal up to a factor that is a number."""
    expected, other = gold.lhs - gold.rhs, answer.lhs - answer.rhs
    if expected.free_symbols != other.free_symbols:
        return False
    if _is_zero(expected) or _is_zero(other):
        return _is_zero(expected) and _is_zero(other)
    factor = sympy.simplify(expected / other)
    return bool(factor.is_number)
