"""Writes the file of a tool that is a Python function."""

from __future__ import annotations

import keyword
from pathlib import Path

from merrow_runtime.models.tool_servers import VARIABLE
from merrow_runtime.outside.local_tools import FOLDER
from merrow_server.errors import InputError
from merrow_server.files import create

_TEMPLATE = '''"""The tool local.NAME: its types say what it takes and gives, and its docstring tells models what it does."""


def NAME(text: str, times: int = 1) -> str:
    """Repeat a text."""
    return text * times
'''


def new_tool(name: str, folder: Path) -> Path:
    """Write ``tools/NAME.py`` in a folder; its path. Raises `InputError`, also where it is there."""
    if not VARIABLE.fullmatch(name) or name.startswith("_") or keyword.iskeyword(name):
        raise InputError("A tool is a Python function: name it with letters, digits and `_`, such as convert_units.")
    path = folder / FOLDER / f"{name}.py"
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as problem:
        raise InputError(f"{path.parent} can't be made: {problem.strerror}.") from None
    create(path, _TEMPLATE.replace("NAME", name))
    return path
