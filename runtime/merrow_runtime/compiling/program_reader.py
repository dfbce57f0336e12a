"""A compiled program read back: its readable part carried out in thought, from its syntax tree. Nothing of it is ever run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from merrow_analysis.bounded.python_source import parse_python
from merrow_runtime.compiled.handles import Handle, each, either, first, over
from merrow_runtime.compiled.lines import MISSING, FunctionLines
from merrow_runtime.errors import UsageFailure

_WORDS: Mapping[str, Any] = {
    "each": each,
    "either": either,
    "first": first,
    "over": over,
}
_METHODS = ("input", "output", "result", "call", "again", "loop", "map")
_MOST = 5_000_000
_IMPORTED = ("__future__", "merrow_optimizer.revising.model", "merrow_runtime.compiled")


class NotReadError(UsageFailure):
    """A Python file that is no workflow; the sentence names the line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"Line {line}: {what}")


@dataclass(slots=True)
class ReadFunction:
    """A function of a program: its title, its workflow, and the titles and defaults of its inputs."""

    name: str
    title: str
    flow: FunctionLines


def parse(text: str) -> ast.Module:
    """The syntax tree of a Python file. Raises `NotReadError`."""
    if len(text) > _MOST:
        raise NotReadError(1, f"it has more than {_MOST:,} characters.")
    try:
        return parse_python(text, _MOST)
    except SyntaxError as problem:
        why = "is not Python" if problem.lineno else "can't be parsed as Python"
        raise NotReadError(problem.lineno or 1, f"it {why} ({problem.msg}).") from None


def is_compiled(tree: ast.Module) -> bool:
    """Whether a file has what `merrow compile` writes."""
    names = {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    functions = {
        statement.name for statement in tree.body if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    return "NODES" in names and {"workflow", "main"} <= functions


def read_program(text: str) -> list[ReadFunction]:
    """The workflows of a compiled program, that of ``workflow`` first. Raises `NotReadError`."""
    tree = parse(text)
    constants = _Constants()
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name == "main":
                break  # From here on it says how it is run.
            functions[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            (target,) = statement.targets[:1]
            if not isinstance(target, ast.Name) or len(statement.targets) > 1:
                raise NotReadError(statement.lineno, "a constant has one name.")
            before = constants.left
            constants[target.id] = _constant(statement.value, constants)
            constants.sizes[target.id] = before - constants.left
        elif not _says_nothing(statement):
            raise NotReadError(statement.lineno, "only constants and functions make a workflow here.")
    if "workflow" not in functions:
        raise NotReadError(1, "it has no function `workflow`.")
    order = ["workflow", *(name for name in functions if name != "workflow")]
    return [_Function(functions[name], constants, set(functions)).read() for name in order]


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.ImportFrom) and statement.module in _IMPORTED


class _Constants(dict[str, Any]):
    """What names stand for. Each use is written out, so a short program may mean a text without end: ``left`` is what there may
    still be of it, in characters of texts and other values.
    """

    def __init__(self) -> None:
        self.left = 5 * _MOST
        self.sizes: dict[str, int] = {}

    def use(self, node: ast.Name, *, within: bool) -> Any:
        """What a name stands for; ``within`` another constant that is a text. Raises `NotReadError`."""
        if node.id not in self:
            raise NotReadError(node.lineno, f"there is no constant `{node.id}` above.")
        if within and not isinstance(self[node.id], str):
            raise NotReadError(node.lineno, f"`{node.id}` is not a text, and only a text is named in a value.")
        self.count(node, self.sizes[node.id])
        return self[node.id]

    def count(self, node: ast.expr, size: int) -> None:
        """Count what is written out. Raises `NotReadError` where it is too much."""
        self.left -= size
        if self.left < 0:
            raise NotReadError(node.lineno, "what it means is too large to be written out.")


def _constant(node: ast.expr, known: _Constants) -> Any:
    """The value of a literal, in which names of texts may stand."""
    if isinstance(node, ast.Name):
        return known.use(node, within=True)
    if isinstance(node, ast.Dict):
        if not all(isinstance(key, ast.Constant) for key in node.keys):
            raise NotReadError(node.lineno, "a key must be written as it is.")
        return {
            ast.literal_eval(key): _constant(value, known)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }
    if isinstance(node, (ast.List, ast.Tuple)):
        values = [_constant(element, known) for element in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise NotReadError(node.lineno, "a value must be written as it is, not calculated.") from None
    known.count(node, len(value) if isinstance(value, str) else 1)
    return value


class _Function:
    """Reads one function."""

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, constants: _Constants, functions: set[str]
    ) -> None:
        self._node, self._constants, self._functions = node, constants, functions
        self._values: dict[str, Any] = {}
        arguments = node.args
        names = [argument.arg for argument in arguments.args]
        if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
            raise NotReadError(node.lineno, f"`{node.name}` takes its inputs by name alone.")
        defaults = [_constant(default, constants) for default in arguments.defaults]
        self._values.update(dict.fromkeys(names, MISSING))
        self._values.update(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        self._flow: FunctionLines | None = None

    def read(self) -> ReadFunction:
        """The function's workflow."""
        self._body(self._node.body)
        if self._flow is None:
            raise NotReadError(self._node.lineno, f"`{self._node.name}` makes no `Flow`.")
        title = ast.get_docstring(self._node) or ""
        return ReadFunction(self._node.name, title, self._flow)

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            try:
                self._statement(statement)
            except (KeyError, TypeError, AttributeError, ValueError, LookupError) as problem:
                raise NotReadError(statement.lineno, f"it can't be read as a line of a workflow ({problem}).") from None

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self._values[target.id] = self._value(statement.value)
                return
        elif isinstance(statement, ast.Expr):
            self._value(statement.value)
            return
        elif isinstance(statement, ast.With) and len(statement.items) == 1 and statement.items[0].optional_vars is None:
            with ExitStack() as stack:
                made = self._value(statement.items[0].context_expr)
                stack.enter_context(made)
                self._body(statement.body)
            return
        elif isinstance(statement, ast.Return):
            return
        raise NotReadError(
            statement.lineno, "a line of a workflow gives a name to a node, or is inside a Loop or a Map."
        )

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id in self._values:
                return self._values[node.id]
            if node.id in self._functions:
                return _named(node.id)
            return self._constants.use(node, within=False)
        if isinstance(node, ast.Subscript):
            handle, key = self._value(node.value), _constant(node.slice, self._constants)
            if not isinstance(handle, Handle) or not isinstance(key, str):
                raise NotReadError(node.lineno, "in brackets behind a node is the name of an output or a case.")
            return handle[key]
        if isinstance(node, ast.List):
            return [self._value(element) for element in node.elts]
        if isinstance(node, ast.Call):
            return self._call(node)
        return _constant(node, self._constants)

    def _call(self, node: ast.Call) -> Any:
        given = [self._value(argument) for argument in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                named[keyword.arg] = self._value(keyword.value)
            elif isinstance(keyword.value, ast.Dict):
                for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                    if not isinstance(key, ast.Constant):
                        raise NotReadError(keyword.value.lineno, "ports are given by name.")
                    named[str(key.value)] = self._value(value)
            else:
                raise NotReadError(node.lineno, "ports are given by name.")
        function = node.func
        if isinstance(function, ast.Name):
            if function.id == "Flow":
                self._flow = self._values["flow"] = FunctionLines(*given, **named)
                return self._flow
            if function.id == "flow" and self._flow is not None:
                return self._flow(*given, **named)
            if function.id in _WORDS and all(isinstance(argument, Handle) for argument in given):
                return _WORDS[function.id](*given, **named)
        elif (
            (
                isinstance(function, ast.Attribute)
                and isinstance(function.value, ast.Name)
                and function.value.id == "flow"
            )
            and self._flow is not None
            and function.attr in _METHODS
        ):
            return getattr(self._flow, function.attr)(*given, **named)
        raise NotReadError(node.lineno, f"`{ast.unparse(function)[:60]}` is nothing that a line of a workflow calls.")


def _named(name: str) -> Any:
    def function() -> FunctionLines:
        raise AssertionError(name)  # it is only named

    function.__name__ = name
    return function
