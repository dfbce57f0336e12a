"""Tools that are files: read without being run, and run in a process of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from merrow_runtime.errors import ToolFailure
from merrow_runtime.outside.local_tools import LocalTool, local_tools, read_tool
from merrow_runtime.outside.sessions import Sessions

ALL_TYPES = '''\
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict
raise SystemExit("nobody imports this")

class Place(TypedDict):
    name: str
    size: NotRequired[int]

def _helper(x): return x

async def tool(
    a: str, b: int, c: float, d: bool, e: list[str], f: Literal["new", "used"], g: Optional[int], h: dict[str, Any],
    i: Place, j: "str" = "x", k: list[list[int]] = [[1, 2]], *, l: int | None = None, m: Annotated[str, "any"] = "-",
) -> Place:
    """Does it.

    All of it.
    """
    return {"name": a}
'''.replace('j: "str"', "j: str")
PLACE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


def written(folder: Path, text: str, name: str = "tool") -> LocalTool:
    file = folder / "tools" / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return read_tool(file)


def test_a_tool_is_read_from_its_text(tmp_path: Path) -> None:
    tool = written(tmp_path, ALL_TYPES)
    assert tool.problem == ""
    assert tool.said is not None
    assert tool.said["description"] == "Does it.\n\nAll of it."
    assert tool.said["outputSchema"] == PLACE
    schema = tool.said["inputSchema"]
    assert schema["required"] == ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    assert schema["additionalProperties"] is False
    assert schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"type": "boolean"},
        "e": {"type": "array", "items": {"type": "string"}},
        "f": {"type": "string", "enum": ["new", "used"]},
        "g": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "h": {"type": "object", "additionalProperties": {}},
        "i": PLACE,
        "j": {"type": "string", "default": "x"},
        "k": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "default": [[1, 2]]},
        "l": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "m": {"type": "string", "default": "-"},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it must have one public function, and has 0"),
        ('def tool(a: str) -> str:\n    "d"\ndef other(): pass\n', "it must have one public function, and has 2"),
        ('def other() -> str:\n    "d"\n', "its function must be called `tool` as the file is, not `other`"),
        ("def tool() -> str: return ''\n", "`tool` has no docstring"),
        ('def tool(a) -> str:\n    "d"\n', "parameter `a` has no type"),
        ('def tool(a: str):\n    "d"\n', "`tool` does not say what it returns"),
        ('def tool(*a: str) -> str:\n    "d"\n', "takes any number of arguments"),
        ('def tool(a: str, /) -> str:\n    "d"\n', "or some by place only"),
        ('def tool(a: bytes) -> str:\n    "d"\n', "the type `bytes` can't be used; use str, int"),
        ('def tool(a: int | str) -> str:\n    "d"\n', "only a type or None can be chosen between"),
        ('def tool(a: Literal[1]) -> str:\n    "d"\n', "the type `Literal[1]` can't be used"),
        ('def tool(a: int = len("x")) -> str:\n    "d"\n', "the default of parameter `a` must be a literal"),
        (f'def tool(a: {"list[" * 12}int{"]" * 12}) -> str:\n    "d"\n', "a type nests more than 10 levels"),
        ("def tool(:\n", "tool.py, line 1: "),
        ("(" * 3_000, "tool.py"),
    ],
)
def test_what_is_not_a_tool(tmp_path: Path, text: str, problem: str) -> None:
    tool = written(tmp_path, text)
    assert problem in tool.problem
    assert (tool.said, tool.server) == (None, None)


def test_the_tools_of_a_folder(tmp_path: Path) -> None:
    assert local_tools(tmp_path) == []
    for name in ("b", "a", "_private", "not-a-name"):
        written(tmp_path, f'def {name.replace("-", "_")}() -> str:\n    "d"\n    return ""\n', name)
    assert [tool.name for tool in local_tools(tmp_path)] == ["a", "b"]


async def answer(tool: LocalTool, **arguments: Any) -> Any:
    assert tool.server is not None
    async with Sessions(os.environ) as sessions:
        (listed,) = await sessions.tools(tool.server)
        assert listed == tool.said
        result = await sessions.call(tool.server, tool.name, arguments)
        assert result.is_whole
        return result


@pytest.mark.parametrize(
    ("types", "body", "text", "structured"),
    [
        ("-> str", "return a * n", "xx", None),
        (
            "-> int",
            "[print('no message', flush=True) for _ in range(9)]; import http.client; return n",
            "2",
            {"result": 2},
        ),
        ("-> dict", "return {'a': [a, None]}", '{"a": ["x", null]}', {"a": ["x", None]}),
    ],
)
async def test_a_tool_runs(tmp_path: Path, types: str, body: str, text: str, structured: object) -> None:
    word = "async def" if types == "-> int" else "def"
    tool = written(tmp_path, f'{word} tool(a: str, n: int = 2) {types}:\n    "d"\n    {body}\n')
    result = await answer(tool, a="x")
    assert (result.text, result.structured, result.is_error) == (text, structured, False)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise ValueError('no such article')", "ValueError: no such article"),
        ("return 7", "TypeError: the tool returned a value of type int, which is not what it says"),
        ("import helper; return ''", "ModuleNotFoundError: No module named 'helper'"),
    ],
)
async def test_a_tool_that_fails_says_why(tmp_path: Path, body: str, text: str) -> None:
    tool = written(tmp_path, f'def tool() -> str:\n    "d"\n    {body}\n')
    # What is beside a tool is nothing that anybody agreed to.
    (tmp_path / "tools" / "helper.py").write_text("")
    result = await answer(tool)
    assert (result.text, result.is_error) == (text, True)


async def test_a_file_that_changed_is_not_run(tmp_path: Path) -> None:
    tool = written(tmp_path, 'def tool() -> str:\n    "d"\n    return ""\n')
    tool.file.write_text(f'open({str(tmp_path / "owned")!r}, "w")\n')
    with pytest.raises(ToolFailure, match=r"The server `local` ended with exit code 1") as failure:
        await answer(tool)
    assert failure.value.told == f"{tool.file} has changed since it was looked at."
    assert not (tmp_path / "owned").exists()
    assert "tool" not in sys.modules
