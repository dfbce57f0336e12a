"""An ``if:`` expression as it is written: whether it can be used, and which inputs it names."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from merrow_analysis.bounded.allowance import TooMuchError
from merrow_analysis.bounded.expressions import FUNCTIONS, PARTS, excess_in, parse


@dataclass(frozen=True, slots=True)
class Expression:
    """An ``if:`` expression: the names it reads, or in ``problem`` a sentence that says why it can't be used."""

    names: tuple[str, ...] = ()
    problem: str | None = None


@lru_cache(maxsize=1024)
def read_expression(text: str) -> Expression:
    """Check the syntax of an ``if:`` expression and list the inputs it names, in the order of their first
    appearance.
    """
    try:
        tree = parse(text)
    except TooMuchError as problem:
        return Expression(problem=f"The `if:` expression can't be used: {problem}.")
    except SyntaxError:
        return Expression(problem=f"`{_short(text)}` is not an expression; write one such as `score > 3`.")
    names: dict[str, None] = {}
    called: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, PARTS):
            return Expression(problem=f"`{_short(text)}` uses what an `if:` expression can't; compare values only.")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(id(node.func))
            if node.func.id not in FUNCTIONS:
                known = ", ".join(FUNCTIONS)
                return Expression(problem=f"`if:` has no function `{node.func.id}`; it has {known}.")
        elif isinstance(node, ast.Name) and id(node) not in called:
            names[node.id] = None
    excess = excess_in(tree)
    if excess is not None:
        return Expression(problem=f"`{_short(text)}` can't be used: {excess}.")
    return Expression(tuple(names))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
