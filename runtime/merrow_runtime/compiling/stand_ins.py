"""What a program has in place of what only the runtime can hold: it stands in for it where code is cut out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.models.prices import PriceTable

GUESTS: dict[str, str] = {}
"""The sources of the modules that a sandboxed process is sent, by name; filled in where a program may run code."""

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"float": float, "int": int, "len": len, "str": str}


def title_of(node: Any) -> str:
    """For `merrow_runtime.program.titles.title_of`: the program's table has it."""
    title: str = node.title
    return title


def packaged_prices() -> PriceTable:
    """For `merrow_runtime.models.prices.packaged_prices`: a program counts tokens, and no money."""
    return PriceTable()


def guest_source(name: str) -> str:
    """For `merrow_runtime.sandbox.process.guest_source`: the program has it itself."""
    return GUESTS[name]


def read_workflow(text: str) -> str:
    """For `merrow_runtime.operators.formats.planned.read_workflow`: no compiled workflow asks for workflows."""
    raise AnswerFailure(f"A workflow ({len(text)} characters) can't be read without Merrow.")


def problem_of(text: str) -> str:
    """For `merrow_runtime.operators.formats.planned.problem_of`."""
    return f"A workflow ({len(text)} characters) can't be read without Merrow."


OFFLINE_HINT = ""
"""For `merrow_runtime.models.connections.OFFLINE_HINT`: a program has no model of its own."""
EMPTY = ""
"""For `merrow_runtime.operators.formats.planned.EMPTY`."""


def evaluate(expression: str, names: Any) -> object:
    """For `merrow_runtime.program.decision.evaluate`: Python's own evaluation. The expression was checked when it was compiled:
    it compares and calculates, and calls four functions. ``a.b`` is what ``a`` has under the name ``b``.
    """
    text = expression.strip()
    tree = _Parts().visit(ast.parse(text, mode="eval"))
    code = compile(ast.fix_missing_locations(tree), "<expression>", "eval")

    def part(value: Any, name: str) -> Any:
        try:
            return _part(value, name)
        except (KeyError, TypeError, AttributeError):
            raise LookupError(f"Attribute '{name}' does not exist in expression '{text}'") from None

    return eval(code, {"__builtins__": {}, "part of": part, **_FUNCTIONS}, _Names(names, text))  # noqa: S307 (checked)


WRONG = (NameError, SyntaxError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""For `merrow_runtime.program.decision.WRONG`: what `evaluate` raises."""


class _Names(dict[str, Any]):
    """The names of an expression. Raises ``LookupError`` for one that has no value."""

    def __init__(self, of: Any, expression: str) -> None:
        super().__init__()
        self._of, self._expression = of, expression

    def __missing__(self, name: str) -> Any:
        if name == "part of":
            raise KeyError(name)
        try:
            return self._of[name]
        except (KeyError, TypeError):
            if name in _FUNCTIONS:
                raise KeyError(name) from None
            raise LookupError(f"'{name}' is not defined for expression '{self._expression}'") from None


class _Parts(ast.NodeTransformer):
    """Has ``a.b`` ask for the part of a value."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("part of", ast.Load()), [node.value, ast.Constant(node.attr)], [])


def _part(value: Any, name: str) -> Any:
    if name.startswith("_"):
        raise KeyError(name)
    try:
        return getattr(value, name)
    except (AttributeError, TypeError):
        return value[name]
