"""A file with functions in the place of tools: which function stands for which tool, and whether it takes what the tool takes.

The text is read, never imported; what it does is run in the sandbox.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.suggest import closest
from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.models.tool_servers import shown_name
from merrow_runtime.program.workflow_files import read_path
from merrow_runtime.provenance import listed

MAPPING = "TOOLS"
"""The name of a mapping of tools to functions in such a file."""
LARGEST = 200_000
"""Bytes of the file."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class FakeFile:
    """The functions of a file. ``mapping`` has those that the file itself assigns to tools, by the names of the tools."""

    path: str
    text: str
    functions: Mapping[str, _Function] = field(repr=False)
    mapping: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def function_for(self, tool: str, node: str, pin: PinnedTool | None) -> str:
        """The name of the function in the place of a ``tool`` that ``node`` calls. Raises `UsageFailure` where there is none, or
        where it does not take what the pin says.
        """
        name = self.mapping.get(tool, function_name(tool))
        function = self.functions.get(name)
        if function is None:
            near = closest(name, list(self.functions))
            hint = f"Did you mean {shown_name(near)}?" if near else f"Write: {_head(name, pin)}"
            raise UsageFailure(
                f"{self.path} has no function {shown_name(name)} for the tool {tool}, which node {node} calls. {hint}"
            )
        problem = None if pin is None else _misfit(function, pin)
        if problem is not None:
            raise UsageFailure(
                f"{self.path}, line {function.lineno}: {shown_name(name)} does not fit the tool {tool} as it is pinned:"
                f" {problem}. Write: {_head(name, pin)}"
            )
        return name


def function_name(tool: str) -> str:
    """The function that stands for a tool such as ``web-shop.get/price``: ``web_shop_get_price``."""
    name = _NOT_IN_NAMES.sub("_", tool)
    return f"_{name}" if name[:1].isdigit() else name


def read_fakes(path: Path) -> FakeFile:
    """The functions in a file. Raises `InputError`."""
    source = read_path(path, str(path), LARGEST)
    try:
        tree = parse_python(source.text, LARGEST)
    except SyntaxError as problem:
        place = f"{path}, line {problem.lineno}" if problem.lineno else str(path)
        raise InputError(f"{place}: {problem.msg.rstrip('.')}.") from None
    functions = {node.name: node for node in tree.body if isinstance(node, _Function)}
    return FakeFile(str(path), source.text, functions, _mapping(tree, str(path)))


def _mapping(tree: ast.Module, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        names = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if not any(isinstance(name, ast.Name) and name.id == MAPPING for name in names):
            continue
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(value, ast.Dict):
            raise InputError(
                f'{path}, line {node.lineno}: {MAPPING} must be written out, such as {{"shop.price": price}}.'
            )
        for key, function in zip(value.keys, value.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(function, ast.Name)):
                raise InputError(
                    f'{path}, line {value.lineno}: {MAPPING} has the names of tools and functions, such as {{"shop.price":'
                    " price}."
                )
            found[key.value] = function.id
    return found


def _misfit(function: _Function, pin: PinnedTool) -> str | None:
    """Why a function can't stand for a tool; None where it can."""
    arguments = function.args
    if arguments.posonlyargs or arguments.vararg:
        return "each parameter must be given by its name"
    given = _properties(pin)
    required = pin.input_schema.get("required")
    always = set(required) if isinstance(required, list) else set()
    taken = [*arguments.args, *arguments.kwonlyargs]
    with_default = {argument.arg for argument in arguments.args[len(arguments.args) - len(arguments.defaults) :]}
    with_default |= {
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    }
    names = [argument.arg for argument in taken]
    missing = [] if arguments.kwarg else [name for name in given if name not in names]
    if missing:
        return f"it does not take {listed(missing)}"
    unknown = [name for name in names if name not in given and name not in with_default]
    if unknown:
        return f"the tool has no parameter {listed(unknown)}"
    optional = [name for name in names if name in given and name not in always and name not in with_default]
    if optional:
        return f"{listed(optional)} may be left out, so a default is needed"
    for argument in taken:
        annotated = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
        said = given[argument.arg].get("type") if isinstance(given.get(argument.arg), Mapping) else None
        own = _TYPES.get(annotated)
        if own is not None and isinstance(said, str) and own != said and (own, said) != ("number", "integer"):
            return f"{argument.arg} is of the type {shown_name(said)}, not {annotated}"
    return None


def _properties(pin: PinnedTool) -> dict[str, Any]:
    properties = pin.input_schema.get("properties")
    return dict(properties) if isinstance(properties, Mapping) else {}


def _head(name: str, pin: PinnedTool | None) -> str:
    """The first line of a function that fits."""
    required = None if pin is None else pin.input_schema.get("required")
    always = required if isinstance(required, list) else []
    given = [] if pin is None else list(_properties(pin))
    ordered = [each for each in given if each in always] + [f"{each}=None" for each in given if each not in always]
    return f"def {name}({', '.join(ordered)}):"
