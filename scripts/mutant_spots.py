"""Where a program can be broken by one token: every spot of a source file, with the text that would stand there instead.

A break keeps the file readable for Python and changes what the program does, if only for some inputs. Nothing is broken
that only types, documents or lays out: annotations, docstrings, decorators, assertions, the words of messages, indents of JSON.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_GUARDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Spot:
    """One break of one file: the text from ``start`` to ``end`` (code points) becomes ``new``.

    ``scope`` is the qualified name of the function or class around it, ``kind`` the sort of break; ``line`` counts from 1.
    """

    path: str
    line: int
    scope: str
    kind: str
    start: int
    end: int
    old: str
    new: str
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the break however the lines around it move."""
        return self.path, self.scope, self.before, self.after

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.scope}, {self.kind}): `{self.before}` -> `{self.after}`"


def spots(path: str, text: str) -> list[Spot]:
    """All breaks of a file, in the order of the text."""
    return sorted(_Finder(path, text).found, key=lambda spot: (spot.start, spot.end, spot.new))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.found: list[Spot] = []
        self._scope: list[str] = []
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self.visit(ast.parse(text))

    # What is left alone

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """The parts of an f-string have no reliable places before Python 3.12."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion only documents."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Mostly words; that the exception is raised is broken by its guard."""

    def visit_keyword(self, node: ast.keyword) -> None:
        """JSON and XML mean the same however far they are indented."""
        if node.arg != "indent":
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        self._inside(node.name, [*defaults, *node.body])

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def _inside(self, name: str, body: Sequence[ast.AST]) -> None:
        self._scope.append(name)
        for statement in body:
            self.visit(statement)
        self._scope.pop()

    # Conditions

    def visit_If(self, node: ast.If) -> None:
        words = ast.unparse(node.test)
        if words in ("TYPE_CHECKING", "__name__ == '__main__'"):
            return
        guard = not node.orelse and all(isinstance(statement, _GUARDS) for statement in node.body)
        self._replace(node.test, "False", "deleted guard" if guard else "branch never taken")
        if not guard:
            self._replace(node.test, "True", "branch always taken")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace(node.test, "True", "branch always taken")
        self._replace(node.test, "False", "branch never taken")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._replace(condition, "True", "deleted filter")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for (left, right), operator in zip(pairwise(operands), node.ops, strict=True):
            for new in _COMPARISONS[type(operator)]:
                self._between(left, right, r"[<>=!]=|[<>]|not\s+in|is\s+not|in\b|is\b", new, "comparison")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self._between(left, right, rf"\b{old}\b", new, "and/or")
            self._add(self._place(left)[1], self._place(right)[1], "", "deleted condition")
        first, second = node.values[:2]
        self._add(self._place(first)[0], self._place(second)[0], "", "deleted condition")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, self._source(node.operand), "deleted not")
        self.generic_visit(node)

    # Values

    def visit_BinOp(self, node: ast.BinOp) -> None:
        known = _ARITHMETIC.get(type(node.op))
        if known is not None and not (_is_text(node.left) or _is_text(node.right)):
            self._between(node.left, node.right, re.escape(known[0]), known[1], "arithmetic")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        known = _ARITHMETIC.get(type(node.op))
        if known is not None and not _is_text(node.value):
            self._between(node.target, node.value, re.escape(known[0] + "="), f"{known[1]}=", "arithmetic")
        self._replace(node, "pass", "deleted statement")
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value), "constant")
        elif isinstance(node.value, int | float):
            self._replace(node, repr(node.value + 1), "constant")
            if node.value > 0:
                self._replace(node, repr(node.value - 1), "constant")

    def visit_Return(self, node: ast.Return) -> None:
        # None says no as well as False does.
        says_no = isinstance(node.value, ast.Constant) and (node.value.value is None or node.value.value is False)
        if node.value is not None and not says_no:
            self._replace(node.value, "None", "returned value")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper):
                if bound is not None:
                    self._replace(bound, "", "slice")
        self.generic_visit(node)

    # Calls and statements

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
            self._replace(node.func, _TWINS[node.func.id], "min/max, any/all")
        if isinstance(node.func, ast.Name) and node.func.id in ("register", "cast", "TypeVar", "isinstance"):
            return
        first, second, *_ = (*node.args, None, None)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            first = None  # Their arguments have no order.
        if first is not None and second is not None and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
            start, end = self._place(first)[0], self._place(second)[1]
            middle = self.text[self._place(first)[1] : self._place(second)[0]]
            self._add(start, end, self._source(second) + middle + self._source(first), "swapped arguments")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call | ast.Await):
            self._replace(node, "pass", "deleted statement")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets) and self._scope[-1:] != [
            "__init__"
        ]:
            self._replace(node, "pass", "deleted statement")
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        # That a name is done with only documents.
        if not all(isinstance(target, ast.Name) for target in node.targets):
            self._replace(node, "pass", "deleted statement")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "pass", "deleted statement")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "pass", "deleted statement")

    # Places

    def _offset(self, line: int, column: int) -> int:
        """Code points from the text's start; ``column`` counts UTF-8 bytes, as `ast` does."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return self._offset(node.lineno, node.col_offset), end

    def _source(self, node: ast.expr) -> str:
        start, end = self._place(node)
        return self.text[start:end]

    def _replace(self, node: ast.expr | ast.stmt, new: str, kind: str) -> None:
        self._add(*self._place(node), new, kind)

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, new: str, kind: str) -> None:
        """Replace the operator between two operands, whatever brackets and line ends stand around it."""
        start, end = self._place(left)[1], self._place(right)[0]
        match = re.search(pattern, self.text[start:end])
        if match is not None:
            self._add(start + match.start(), start + match.end(), new, kind)

    def _add(self, start: int, end: int, new: str, kind: str) -> None:
        old = self.text[start:end]
        line = self.text.count("\n", 0, start) + 1
        if old == new or (not new and old.count("(") != old.count(")")):
            return
        first = self._starts[line - 1]
        last = self.text.find("\n", end)
        last = len(self.text) if last < 0 else last
        before, after = _one_line(self.text[first:last]), _one_line(self.text[first:start] + new + self.text[end:last])
        scope = ".".join(self._scope) or "module"
        self.found.append(Spot(self.path, line, scope, kind, start, end, old, new, before, after))


def _is_text(node: ast.expr) -> bool:
    """Whether an operand is a text or a list, where another operator would fail at once."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def compiles(text: str) -> bool:
    """Whether Python can read a file as it would be with a break."""
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
