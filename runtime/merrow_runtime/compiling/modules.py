"""Merrow's own modules as they are installed, read and never run: what each defines, and what each definition names."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

OWN = ("merrow_analysis", "merrow_runtime")
"""The packages that code is cut out of."""

_TYPING_ONLY = frozenset({"Generic", "Protocol"})
_IN_FUNCTION = re.compile(rb"^[ \t]+from merrow_", re.MULTILINE)
_CONTAINERS = frozenset({"defaultdict", "deque", "dict", "frozenset", "list", "set", "tuple"})


class Imported(NamedTuple):
    """What a name in a module stands for: ``name`` in ``module``, or the module itself where ``name`` is None."""

    module: str
    name: str | None

    @property
    def is_own(self) -> bool:
        """Whether it is of Merrow's packages."""
        return self.module.partition(".")[0] in OWN


class Edit(NamedTuple):
    """A replacement in a definition's text, by byte offsets from its beginning."""

    start: int
    end: int
    text: bytes


@dataclass(slots=True)
class Use:
    """A place in a definition where a name of its module stands: renamed there if need be. ``attribute`` is the one that follows
    with a dot where the name is that of a module.
    """

    name: str
    start: int
    end: int
    attribute: str | None = None


class Formatted(NamedTuple):
    """An f-string, which is written again where a name in it is another one: Python 3.11 does not say where that stands."""

    start: int
    end: int
    node: ast.JoinedStr
    uses: list[Use]


@dataclass(slots=True)
class Definition:
    """A statement of a module that binds ``names``: its text without annotations, as edits, and the names that it uses,
    its own among them.
    """

    module: str
    names: tuple[str, ...]
    text: bytes
    edits: list[Edit] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    formatted: list[Formatted] = field(default_factory=list)
    inner: set[str] = field(default_factory=set)
    """Names that its functions bind for themselves."""


class Module:
    """One module of Merrow's, parsed. ``definitions`` are by name, ``imports`` say what imported names stand for."""

    def __init__(self, name: str) -> None:
        spec = find_spec(name)
        assert spec is not None  # noqa: S101 (it is installed: this is part of it)
        assert spec.origin is not None  # noqa: S101 (as above)
        self.name = name
        self.is_package = spec.submodule_search_locations is not None
        self._source = Path(spec.origin).read_bytes()
        self._tree = ast.parse(self._source)
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.imports: dict[str, Imported] = {}
        self.definitions: dict[str, Definition] = {}
        self._nodes: dict[str, ast.stmt] = {}
        self.order: dict[str, int] = {}
        self._read(self._tree.body)
        if _IN_FUNCTION.search(self._source):
            for node in ast.walk(self._tree):
                if isinstance(node, ast.ImportFrom):
                    self._import(node)

    def _read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.If):
                if isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING":
                    self._read(statement.orelse)
                continue
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(statement)
                continue
            for name in _bound_by(statement):
                if name != "__all__":
                    self._nodes[name] = statement
                    self.order[name] = statement.lineno

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Take in what is imported."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports[alias.asname or name] = Imported(name, None)
            return
        module = node.module or ""
        for alias in node.names:
            self.imports[alias.asname or alias.name] = Imported(module, alias.name)

    def defines(self, name: str) -> bool:
        """Whether the name is bound in the module itself."""
        return name in self._nodes

    def definition(self, name: str) -> Definition:
        """What binds a name."""
        known = self.definitions.get(name)
        if known is None:
            node = self._nodes[name]
            known = _Reader(self, node).read()
            for one in known.names:
                self.definitions[one] = known
        return known

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a place as `ast` gives it."""
        return self._starts[line - 1] + column

    @property
    def source(self) -> bytes:
        """Its text."""
        return self._source


def _bound_by(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


class _Reader(ast.NodeVisitor):
    """Reads one definition: where annotations stand, which are left out, and where names of the module do."""

    def __init__(self, module: Module, node: ast.stmt) -> None:
        self._module, self._node = module, node
        first = node
        start = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        assert node.end_lineno is not None  # noqa: S101 (a parsed statement has its end)
        assert node.end_col_offset is not None  # noqa: S101 (as above)
        self._base = module.offset(start, 0 if first.col_offset == 0 else first.col_offset)
        self._end = module.offset(node.end_lineno, node.end_col_offset)
        self._indent = first.col_offset
        self.definition = Definition(module.name, tuple(_bound_by(node)), module.source[self._base : self._end])
        self._locals: list[set[str]] = []
        self._in_class: list[bool] = []

    def read(self) -> Definition:
        node, found = self._node, self.definition
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._note_definition_name(node)
        self.visit(node)
        if self._indent:
            self._dedent()
        return found

    def _note_definition_name(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        place = self._module.source.index(node.name.encode(), self._module.offset(node.lineno, node.col_offset) + 4)
        start = place - self._base
        self.definition.uses.append(Use(node.name, start, start + len(node.name.encode())))

    def _dedent(self) -> None:
        """Of a definition that stands in a block: each line further left."""
        at = 0
        for line in self.definition.text.splitlines(keepends=True):
            if line.startswith(b" " * self._indent):
                self.definition.edits.append(Edit(at, at + self._indent, b""))
            at += len(line)

    # Places

    def _start(self, node: ast.AST) -> int:
        return self._module.offset(node.lineno, node.col_offset) - self._base  # type: ignore[attr-defined]

    def _stop(self, node: ast.AST) -> int:
        return self._module.offset(node.end_lineno, node.end_col_offset) - self._base  # type: ignore[attr-defined]

    def _replace(self, start: int, end: int, text: str) -> None:
        self.definition.edits.append(Edit(start, end, text.encode()))

    # Names

    def _is_local(self, name: str) -> bool:
        innermost = len(self._locals) - 1
        return any(
            name in names and (not self._in_class[number] or number == innermost)
            for number, names in enumerate(self._locals)
        )

    def visit_Name(self, node: ast.Name) -> None:
        if not self._is_local(node.id):
            self.definition.uses.append(Use(node.id, self._start(node), self._stop(node)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        value = node.value
        if isinstance(value, ast.Name) and not self._is_local(value.id):
            known = self._module.imports.get(value.id)
            if known is not None and known.is_own and known.name is not None:
                self.definition.uses.append(Use(value.id, self._start(node), self._stop(node), node.attr))
                return
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        own = self.definition
        uses, edits, formatted = own.uses, own.edits, own.formatted
        own.uses, own.edits, own.formatted = [], [], []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.generic_visit(part)
        found = [*own.uses, *(use for inner in own.formatted for use in inner.uses)]
        own.uses, own.edits, own.formatted = uses, edits, formatted
        own.formatted.append(Formatted(self._start(node), self._stop(node), node, found))

    def visit_Global(self, node: ast.Global) -> None:
        raise NotImplementedError(f"{self._module.name}: `global` in what is cut out, line {node.lineno}")

    # Scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        arguments = node.args
        for default in (*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)):
            self.visit(default)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        for one in every:
            if one.annotation is not None:
                start = self._start(one) + len(one.arg.encode())
                self._replace(start, self._stop(one.annotation), "")
        if node.returns is not None:
            end = self._stop(node.returns)
            start = self.definition.text.rindex(b"->", 0, self._start(node.returns))
            while self.definition.text[start - 1 : start] == b" ":
                start -= 1
            self._replace(start, end, "")
        names = {one.arg for one in every} | _assigned(node.body)
        self._scope(names, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        arguments = node.args
        for default in (*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)):
            self.visit(default)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        self._scope({one.arg for one in every}, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        kept = [base for base in node.bases if not _is_for_types(base)]
        if len(kept) < len(node.bases):
            self._leave_out_bases(node, kept)
        for base in (*kept, *(one.value for one in node.keywords)):
            self.visit(base)
        self._scope(_assigned(node.body), node.body, in_class=True)

    def _leave_out_bases(self, node: ast.ClassDef, kept: list[ast.expr]) -> None:
        if kept or node.keywords:
            for base in node.bases:
                if base not in kept:
                    start, end = self._start(base), self._stop(base)
                    text = self.definition.text
                    while text[end : end + 1] in (b" ", b","):
                        end += 1
                    if text[end : end + 1] == b")":
                        while text[start - 1 : start] in (b" ", b","):
                            start -= 1
                    self._replace(start, end, "")
            return
        text = self.definition.text
        start = text.rindex(b"(", 0, self._start(node.bases[0]))
        end = text.index(b")", self._stop(node.bases[-1])) + 1
        self._replace(start, end, "")

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        # The first list is worked out in the scope around it.
        self.visit(node.generators[0].iter)
        names: set[str] = set()
        for generator in node.generators:
            names |= {one.id for one in ast.walk(generator.target) if isinstance(one, ast.Name)}
        self._locals.append(names)
        self._in_class.append(False)
        for number, generator in enumerate(node.generators):
            if number:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self._locals.pop()
        self._in_class.pop()

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node)

    def _scope(self, names: set[str], body: list[ast.stmt] | list[ast.expr], *, in_class: bool = False) -> None:
        if not in_class:
            self.definition.inner |= names
        self._locals.append(names)
        self._in_class.append(in_class)
        for one in body:
            self.visit(one)
        self._locals.pop()
        self._in_class.pop()

    # What only type checkers read

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        in_class = bool(self._in_class) and self._in_class[-1]
        annotation = ast.unparse(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        if in_class and not annotation.startswith("ClassVar"):
            self._replace(self._start(node.annotation), self._stop(node.annotation), "object")
        elif node.value is not None:
            self._replace(self._stop(node.target), self._stop(node.annotation), "")
        else:
            self._replace(self._start(node), self._stop(node), "pass")
        self.visit(node.target)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if (
            isinstance(function, ast.Subscript)
            and isinstance(function.value, ast.Name)
            and function.value.id in _CONTAINERS
        ):
            self.visit(function.value)
            self._replace(self._stop(function.value), self._stop(function), "")
            for one in (*node.args, *node.keywords):
                self.visit(one)
            return
        if isinstance(function, ast.Name) and function.id == "cast" and len(node.args) == 2:
            # The first argument is for type checkers.
            self._replace(self._start(node), self._start(node.args[1]), "(")
            self.visit(node.args[1])
            return
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        # One inside a function: what it names is found as if it were imported by the module.
        if (node.module or "").partition(".")[0] in OWN:
            self._replace(self._start(node), self._stop(node), "pass")


def _is_for_types(base: ast.expr) -> bool:
    return isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name) and base.value.id in _TYPING_ONLY


def _assigned(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind in their own scope; not what they import from Merrow's packages."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            waiting += node.decorator_list
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            # Only what `:=` binds in there is bound out here.
            found |= {
                one.target.id
                for one in ast.walk(node)
                if isinstance(one, ast.NamedExpr) and isinstance(one.target, ast.Name)
            }
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in OWN:
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        waiting += ast.iter_child_nodes(node)
    return found
