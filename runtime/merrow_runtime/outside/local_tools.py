"""Tools that are files: each ``tools/NAME.py`` beside a workflow with one typed public function is the tool ``local.NAME``.

What a tool takes and gives is read from the text of its file, which is never imported into this process.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.python_source import literal, parse_python
from merrow_analysis.tools.pins import LOCAL
from merrow_runtime.errors import InputError
from merrow_runtime.models.tool_servers import VARIABLE, ToolServer, shown_name
from merrow_runtime.outside.scripts import script
from merrow_runtime.program.workflow_files import read_path

FOLDER = "tools"
LARGEST = 200_000
"""Bytes of a tool's file."""
MOST_FILES = 200
_RUNNER = "local_runner.py"
_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_DEEPEST = 10
_TYPES = "use str, int, float, bool, list[...], dict, Literal[...], Optional[...] or a TypedDict of the same file"


@dataclass(frozen=True, slots=True)
class LocalTool:
    """A tool that is a file. ``said`` is what a server would list of it, None where it can't be used: ``problem`` says why.
    ``sha256`` is that of the file, ``text`` what is in it, ``server`` what runs it.
    """

    name: str
    file: Path
    sha256: str
    said: Mapping[str, Any] | None
    server: ToolServer | None
    problem: str = ""
    text: str = ""


def local_tools(folder: Path) -> list[LocalTool]:
    """The tools beside the workflows in ``folder``, by name. Raises nothing."""
    try:
        files = sorted(entry for entry in (folder / FOLDER).iterdir() if entry.suffix == ".py")[:MOST_FILES]
    except OSError:
        return []
    return [read_tool(file) for file in files if not file.name.startswith("_") and VARIABLE.fullmatch(file.stem)]


def read_tool(file: Path) -> LocalTool:
    """The tool in a file."""
    try:
        source = read_path(file, str(file), LARGEST)
        data = file.read_bytes()
    except (InputError, OSError) as problem:
        return LocalTool(file.stem, file, "", None, None, f"{file} can't be read: {problem}.")
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        said, returns = _described(file.stem, source.text)
    except (SyntaxError, ValueError) as problem:
        line = problem.lineno if isinstance(problem, SyntaxError) else None
        why = (problem.msg if isinstance(problem, SyntaxError) else str(problem)).rstrip(".")
        place = f"{file}, line {line}" if line else str(file)
        return LocalTool(file.stem, file, sha256, None, None, f"{place}: {why}.")
    job = json.dumps({"file": str(file), "sha256": sha256, "tool": said, "returns": returns})
    # -I: what it imports comes from this Python, and not from the folder, which the hash doesn't cover.
    server = ToolServer(LOCAL, (sys.executable, "-I", *script(_RUNNER), job), cwd=str(file.parent))
    return LocalTool(file.stem, file, sha256, said, server, text=source.text)


def _described(name: str, text: str) -> tuple[dict[str, Any], str]:
    """What a server would list of the tool in a text, and how its result is told: ``text``, ``object`` or ``result``."""
    tree = parse_python(text, LARGEST)
    functions = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
    ]
    if len(functions) != 1:
        raise ValueError(
            f"it must have one public function, and has {len(functions)}; begin the names of others with `_`"
        )
    function = functions[0]
    if function.name != name:
        raise ValueError(f"its function must be called `{name}` as the file is, not {shown_name(function.name)}")
    description = ast.get_docstring(function)
    if not description:
        raise ValueError(f"`{name}` has no docstring, which tells models what it does")
    records = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and _is_record(node)}
    types = _Annotations(records)
    said: dict[str, Any] = {"name": name, "description": description, "inputSchema": _input(function, types)}
    returns = function.returns
    if returns is None or (isinstance(returns, ast.Constant) and returns.value is None):
        raise ValueError(f"`{name}` does not say what it returns; write -> str, for example")
    schema = types.schema(returns)
    if schema == {"type": "string"}:
        return said, "text"
    if schema.get("type") == "object":
        return {**said, "outputSchema": schema}, "object"
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {**said, "outputSchema": wrapped}, "result"


def _input(function: ast.FunctionDef | ast.AsyncFunctionDef, types: _Annotations) -> dict[str, Any]:
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise ValueError(f"`{function.name}` takes any number of arguments, or some by place only; name each of them")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for argument, default in _with_defaults(arguments):
        if argument.annotation is None:
            raise ValueError(f"parameter `{argument.arg}` has no type; {_TYPES}")
        schema = types.schema(argument.annotation)
        if default is None:
            required.append(argument.arg)
        else:
            try:
                schema = {**schema, "default": literal(ast.unparse(default))}
                json.dumps(schema["default"], allow_nan=False)
            except (SyntaxError, ValueError, TypeError):
                raise ValueError(f"the default of parameter `{argument.arg}` must be a literal") from None
        properties[argument.arg] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    missing = len(arguments.args) - len(arguments.defaults)
    yield from zip(arguments.args, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _is_record(node: ast.ClassDef) -> bool:
    return any(_name(base) == "TypedDict" for base in node.bases)


def _name(node: ast.expr | None) -> str:
    """The last name of a dotted one; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class _Annotations:
    """JSON Schemas of annotations; ``records`` has the TypedDicts of the file."""

    def __init__(self, records: Mapping[str, ast.ClassDef]) -> None:
        self._records = records

    def schema(self, node: ast.expr, depth: int = 0) -> dict[str, Any]:
        """The schema of an annotation. Raises `ValueError` for a type that has none here."""
        if depth > _DEEPEST:
            raise ValueError(f"a type nests more than {_DEEPEST} levels")
        name = _name(node)
        if name in _PLAIN:
            return {"type": _PLAIN[name]}
        if name in self._records:
            return self._record(self._records[name], depth)
        if name in ("dict", "list"):
            return {"type": "object" if name == "dict" else "array"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._or_none([node.left, node.right], depth)
        if isinstance(node, ast.Subscript):
            return self._of_parts(node, depth)
        raise ValueError(f"the type {shown_name(ast.unparse(node))} can't be used; {_TYPES}")

    def _of_parts(self, node: ast.Subscript, depth: int) -> dict[str, Any]:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match _name(node.value):
            case "list" | "List" if len(parts) == 1:
                return {"type": "array", "items": self.schema(parts[0], depth + 1)}
            case "dict" | "Dict" if len(parts) == 2 and _name(parts[0]) == "str":
                values = {} if _name(parts[1]) == "Any" else self.schema(parts[1], depth + 1)
                return {"type": "object", "additionalProperties": values}
            case "Literal":
                words = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                if len(words) == len(parts):
                    return {"type": "string", "enum": words}
            case "Optional" if len(parts) == 1:
                return self._or_none([parts[0], ast.Constant(None)], depth)
            case "Annotated" if parts:
                return self.schema(parts[0], depth + 1)
            case "NotRequired" | "Required" if len(parts) == 1:
                return self.schema(parts[0], depth + 1)
        raise ValueError(f"the type {shown_name(ast.unparse(node))} can't be used; {_TYPES}")

    def _or_none(self, parts: list[ast.expr], depth: int) -> dict[str, Any]:
        rest = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
        if len(rest) != 1:
            raise ValueError(f"only a type or None can be chosen between; {_TYPES}")
        return {"anyOf": [self.schema(rest[0], depth + 1), {"type": "null"}]}

    def _record(self, node: ast.ClassDef, depth: int) -> dict[str, Any]:
        fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
        is_partial = any(
            word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
            for word in node.keywords
        )
        properties = {_name(part.target): self.schema(part.annotation, depth + 1) for part in fields}
        optional = {
            _name(part.target)
            for part in fields
            if isinstance(part.annotation, ast.Subscript) and _name(part.annotation.value) == "NotRequired"
        }
        required = [] if is_partial else [name for name in properties if name not in optional]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
