"""The ``until`` and ``best`` of Loops: expressions over the outputs of members, such as ``REVIEW.result``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from merrow_analysis.bounded.expressions import parse
from merrow_analysis.definitions.if_expressions import read_expression


@dataclass(frozen=True, slots=True)
class BoxExpression:
    """What an expression reads: a node, one of its outputs, and fields of that, by name. ``bare`` are names without an output.

    ``problem`` is a sentence that says why it can't be used; ``single`` that it is one such path and nothing else.
    """

    paths: tuple[tuple[str, ...], ...] = ()
    bare: tuple[str, ...] = ()
    single: bool = False
    problem: str | None = None


@lru_cache(maxsize=512)
def read_box_expression(text: str, key: str) -> BoxExpression:
    """Read the expression that a Loop gives as ``key``. Never raises."""
    problem = read_expression(text).problem
    if problem is not None:
        return BoxExpression(problem=problem.replace("`if:`", f"`{key}`").replace("score > 3", "REVIEW.result"))
    tree = parse(text)
    paths: dict[tuple[str, ...], None] = {}
    inner: set[ast.AST] = set()
    called: set[ast.AST] = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    bare: dict[str, None] = {}
    for node in ast.walk(tree):  # an attribute comes before what it is of
        if node in inner or node in called:
            continue
        if isinstance(node, ast.Name):
            bare[node.id] = None
        elif isinstance(node, ast.Attribute):
            names: list[str] = []
            at: ast.expr = node
            while isinstance(at, ast.Attribute):
                names.append(at.attr)
                at = at.value
                inner.add(at)
            if isinstance(at, ast.Name):
                paths[at.id, *reversed(names)] = None
    return BoxExpression(tuple(paths), tuple(bare), isinstance(tree.body, ast.Attribute) and len(paths) == 1)


def read_nodes(text: object) -> tuple[str, ...]:
    """The ids of the nodes that an expression reads; none for what is not a text or no expression."""
    if not isinstance(text, str):
        return ()
    return tuple(dict.fromkeys(path[0] for path in read_box_expression(text, "until").paths))
