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

from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.tools.pins import LOCAL
from merrow_runtime.errors import InputError
from merrow_runtime.models.tool_servers import VARIABLE, ToolServer, shown_name
from merrow_runtime.outside.local_types import TYPES, Annotations, with_default
from merrow_runtime.outside.scripts import script
from merrow_runtime.program.workflow_files import read_path

FOLDER = "tools"
LARGEST = 200_000
"""Bytes of a tool's file."""
MOST_FILES = 200
_RUNNER = "local_runner.py"


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
    except InputError as problem:
        return LocalTool(file.stem, file, "", None, None, str(problem))
    except OSError as problem:
        return LocalTool(file.stem, file, "", None, None, f"{file} can't be read: {problem.strerror}.")
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        said, returns, makes = _described(file.stem, source.text)
    except (SyntaxError, ValueError) as problem:
        line = problem.lineno if isinstance(problem, SyntaxError) else None
        why = (problem.msg if isinstance(problem, SyntaxError) else str(problem)).rstrip(".")
        place = f"{file}, line {line}" if line else str(file)
        return LocalTool(file.stem, file, sha256, None, None, f"{place}: {why}.")
    job = json.dumps({"file": str(file), "sha256": sha256, "tool": said, "returns": returns, "makes": makes})
    # -I: what it imports comes from this Python, and not from the folder, which the hash doesn't cover.
    server = ToolServer(LOCAL, (sys.executable, "-I", *script(_RUNNER), job), cwd=str(file.parent))
    return LocalTool(file.stem, file, sha256, said, server, text=source.text)


def _described(name: str, text: str) -> tuple[dict[str, Any], str, bool]:
    """What a server would list of the tool in a text, how its result is told (``text``, ``object`` or ``result``), and whether
    it takes dataclasses.
    """
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
    types = Annotations(tree)
    said: dict[str, Any] = {"name": name, "description": description, "inputSchema": _input(function, types)}
    returns = function.returns
    if returns is None or (isinstance(returns, ast.Constant) and returns.value is None):
        raise ValueError(f"`{name}` does not say what it returns; write -> str, for example")
    makes = types.has_objects
    schema = types.result(returns)
    if schema == {"type": "string"}:
        return said, "text", makes
    if schema.get("type") == "object":
        return {**said, "outputSchema": schema}, "object", makes
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {**said, "outputSchema": wrapped}, "result", makes


def _input(function: ast.FunctionDef | ast.AsyncFunctionDef, types: Annotations) -> dict[str, Any]:
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise ValueError(f"`{function.name}` takes any number of arguments, or some by place only; name each of them")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for argument, default in _with_defaults(arguments):
        if argument.annotation is None:
            raise ValueError(f"parameter `{argument.arg}` has no type; {TYPES}")
        schema = types.given(argument.annotation)
        if default is None:
            required.append(argument.arg)
        else:
            schema = with_default(schema, default, f"parameter `{argument.arg}`")
        properties[argument.arg] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    missing = len(arguments.args) - len(arguments.defaults)
    yield from zip(arguments.args, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
