"""The places in Merrow's source that compute on text: where patterns, schemas, expressions, numbers or programs are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("analysis", "runtime", "optimizer", "server")
LIBRARIES = frozenset(
    ("fnmatch", "glob", "html5lib", "json_repair", "jsonschema", "latex2sympy2_extended", "lark", "math_verify",
     "multiprocessing", "nh3", "pathspec", "referencing", "simpleeval", "sympy", "tomllib", "yaml")
)  # fmt: skip
"""Modules whose time or memory may be decided by the text that they are given."""
FUNCTIONS = frozenset(("eval", "exec", "compile", "pow", "Fraction", "Decimal", "read_yaml"))
METHODS = frozenset(("format_map", "rglob", "literal_eval", "glob"))
OF_MODULES = frozenset((("ast", "parse"), ("math", "factorial"), ("math", "comb"), ("math", "perm")))
PATTERNS = frozenset(("compile", "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"))


def doors() -> Iterator[tuple[str, str]]:
    """Each place: the file, from the root on, and what is used there."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            name = file.relative_to(ROOT / package).as_posix()
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                for used in _used(node):
                    yield name, used


def _used(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names if one.name.partition(".")[0] in LIBRARIES)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").partition(".")[0] in LIBRARIES:
        yield str(node.module)
    elif (
        isinstance(node, ast.ImportFrom)
        and node.module == "re"
        and not PATTERNS.isdisjoint(one.name for one in node.names)
    ):
        yield "re"
    elif isinstance(node, ast.Call):
        yield from _called(node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant):
        yield "**"
    elif isinstance(node, ast.FormattedValue) and node.format_spec is not None and not _is_fixed(node.format_spec):
        yield "a width in an f-string"


def _called(call: ast.Call) -> Iterator[str]:
    if isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS:
        yield call.func.id
    if not isinstance(call.func, ast.Attribute):
        return
    name, of = call.func.attr, call.func.value
    module = of.id if isinstance(of, ast.Name) else ""
    if (module, name) in OF_MODULES or name in METHODS:
        yield f"{module}.{name}".lstrip(".") if module == "ast" else name
    if module == "re" and name in PATTERNS and call.args and not _is_fixed(call.args[0]):
        yield "re"
    if name == "format" and isinstance(of, ast.Name) and of.id.islower():
        yield "format"


def _is_fixed(node: ast.AST) -> bool:
    """Whether a text is written in the source: of literals, constants of modules, and escaped words."""
    if isinstance(node, ast.JoinedStr):
        return all(map(_is_fixed, node.values))
    if isinstance(node, ast.FormattedValue):
        return _is_fixed(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_fixed(node.left) and _is_fixed(node.right)
    if isinstance(node, ast.Attribute):
        return node.attr == "pattern" and _is_fixed(node.value)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "re.escape"
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())
