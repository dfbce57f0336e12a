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


HEAD = """\
from __future__ import annotations
from dataclasses import dataclass, field
import dataclasses
from typing import Annotated, ClassVar, InitVar, Literal, NotRequired, Optional, Required, TypeAlias, TypedDict, Union
""".replace("InitVar, ", "")
OBJECTS = (
    HEAD
    + """
Grade = Literal["new", "used"]
Names: TypeAlias = list[str]

class Size(TypedDict, total=False):
    width: Required[int]
    depth: float

class Box(Size):
    label: "str"

@dataclass
class Part:
    name: str
    grade: Grade = "new"
    box: Optional[Box] = None

@dataclasses.dataclass(slots=True)
class Machine(Part):
    kinds: ClassVar[int] = 3
    parts: list[Part] = field(default_factory=list)
    by_name: dict[str, Part] = field(default_factory=dict)
    count: int = field(init=False, default=0)
    note: "str | None" = dataclasses.field(default=None)

def tool(machine: Machine, parts: Optional[list[Part]] = None, names: Names = [], box: Box | None = None) -> Machine:
    \'\'\'Does it.\'\'\'
    assert isinstance(machine, Machine), machine
    assert all(isinstance(part, Part) for part in [*(parts or []), *machine.parts, *machine.by_name.values()])
    machine.count = len(machine.parts)
    return machine
"""
)


def test_dataclasses_and_records_are_objects(tmp_path: Path) -> None:
    tool = written(tmp_path, OBJECTS)
    assert tool.problem == ""
    assert tool.said is not None
    text = {"type": "string"}
    box = {
        "type": "object",
        "properties": {"width": {"type": "integer"}, "depth": {"type": "number"}, "label": text},
        "required": ["width", "label"],
        "additionalProperties": False,
    }
    maybe_box = {"anyOf": [box, {"type": "null"}]}
    grade = {"type": "string", "enum": ["new", "used"]}
    given = {
        "type": "object",
        "properties": {"name": text, "grade": {**grade, "default": "new"}, "box": {**maybe_box, "default": None}},
        "required": ["name"],
        "additionalProperties": False,
    }
    schema = tool.said["inputSchema"]["properties"]
    assert schema["parts"] == {"anyOf": [{"type": "array", "items": given}, {"type": "null"}], "default": None}
    assert schema["names"] == {"type": "array", "items": text, "default": []}
    assert schema["box"] == {**maybe_box, "default": None}
    assert schema["machine"] == {
        **given,
        "properties": {
            **given["properties"],  # type: ignore[dict-item]
            "parts": {"type": "array", "items": given},
            "by_name": {"type": "object", "additionalProperties": given},
            "note": {"anyOf": [text, {"type": "null"}], "default": None},
        },
    }
    gives = {
        **given,
        "properties": {"name": text, "grade": grade, "box": maybe_box},
        "required": ["name", "grade", "box"],
    }
    assert tool.said["outputSchema"] == {
        **gives,
        "properties": {
            **gives["properties"],  # type: ignore[dict-item]
            "parts": {"type": "array", "items": gives},
            "by_name": {"type": "object", "additionalProperties": gives},
            "count": {"type": "integer"},
            "note": {"anyOf": [text, {"type": "null"}]},
        },
        "required": ["name", "grade", "box", "parts", "by_name", "count", "note"],
    }


async def test_objects_are_made_of_what_is_given_and_given_back(tmp_path: Path) -> None:
    tool = written(tmp_path, OBJECTS)
    one, other = {"name": "a"}, {"name": "b", "grade": "used", "box": {"width": 1, "label": "x"}}
    given = {"name": "m", "box": {"width": 2, "label": "y"}, "parts": [one, other], "by_name": {"b": other}}
    result = await answer(tool, machine=given, parts=[one], names=["n"], box={"width": 3, "label": "z"})
    whole = {"grade": "new", "box": None}
    assert (result.text[:1], result.is_error) == ("{", False), result.text
    assert result.structured == {
        **whole,
        **given,
        "parts": [{**whole, **one}, other],
        "by_name": {"b": other},
        "count": 2,
        "note": None,
    }
    wrong = await answer(tool, machine={"name": "m", "colour": "red"})
    assert wrong.is_error
    assert "colour" in wrong.text


async def test_a_list_of_objects_is_a_result(tmp_path: Path) -> None:
    text = "@dataclass\nclass A:\n    x: int\n    def __post_init__(self):\n        if self.x < 0: raise ValueError('low')\n"
    for returns, body, structured in (
        ("list[A]", "return [a, A(2)]", {"result": [{"x": 1}, {"x": 2}]}),
        ("Optional[A]", "return None", {"result": None}),
        ("A | None", "return a", {"result": {"x": 1}}),
    ):
        tool = written(tmp_path, f"{HEAD}{text}def tool(a: A) -> {returns}:\n    'd'\n    {body}\n")
        result = await answer(tool, a={"x": 1})
        assert (result.structured, result.is_error) == (structured, False), result.text
    refused = await answer(tool, a={"x": -1})
    assert (refused.text, refused.is_error) == ("ValueError: low", True)
    no_object = written(tmp_path, f"{HEAD}{text}def tool() -> A:\n    'd'\n    return [A]\n")
    assert "which is not what it says" in (await answer(no_object)).text


WIDE = "\n".join(
    [
        f"class A{number}(TypedDict):\n" + "".join(f"    f{field}: A{number + 1}\n" for field in range(50))
        for number in range(8)
    ]
)


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ("class A:\n    x: int\n", "the class `A` can't be used; use str"),
        ("@dataclass\nclass A(Other):\n    x: int\n", "the class `A` can't be used"),
        ("class B: pass\n@dataclass\nclass A(B):\n    x: int\n", "the class `A` can't be used"),
        ("class A(TypedDict):\n    x: bytes\n", "the type `bytes` can't be used"),
        ("class A(A): pass\n", "the class `A` can't be used"),
        ("@dataclass\nclass A:\n    x: list[A]\n", "the type `A` is part of itself; use dict"),
        ("A = list['A']\n", "the type `A` is part of itself"),
        ("@dataclass\nclass A:\n    x: InitVar[int]\n", "the field `x` of A is an InitVar"),
        ("@dataclass\nclass A:\n    x: float = max(1, 2)\n", "the default of field `x` of A must be a literal"),
        ("@dataclass\nclass A:\n    x: 'list['\n", "the type `list[` can't be read"),
        ("@dataclass\nclass A:\n    x: 'a; b'\n", "can't be read"),
        (WIDE.replace("A0", "A", 1) + "\nclass A8(TypedDict): pass\n", "its types have more than 2,000 parts"),
    ],
)
def test_types_that_a_tool_can_not_take(tmp_path: Path, types: str, problem: str) -> None:
    tool = written(tmp_path, f"{HEAD}{types}def tool(a: A) -> str:\n    'd'\n")
    assert problem in tool.problem
    assert tool.problem.count("\n") == 0


@pytest.mark.parametrize(("fields", "is_much"), [(1_998, False), (1_999, True)])
def test_types_have_so_many_parts(tmp_path: Path, fields: int, is_much: bool) -> None:
    record = "class A(TypedDict):\n" + "".join(f"    f{number}: int\n" for number in range(fields))
    tool = written(tmp_path, f"{HEAD}{record}def tool(a: A) -> str:\n    'd'\n")
    assert ("more than 2,000 parts" in tool.problem) == is_much


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that are files")
def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    os.mkfifo(tmp_path / "tools" / "pipe.py")
    (tmp_path / "tools" / "circle.py").symlink_to("circle.py")
    (tmp_path / "tools" / "zero.py").symlink_to("/dev/zero")
    tools = local_tools(tmp_path)
    assert [tool.name for tool in tools] == ["circle", "pipe", "zero"]
    for tool in tools:
        assert tool.server is None
        assert tool.problem.count("can't be read") + tool.problem.count("is a device or a pipe") == 1
        assert tool.problem.endswith(".")
        assert not tool.problem.endswith("..")


def test_a_file_may_be_called_as_a_module_is(tmp_path: Path) -> None:
    assert written(tmp_path, OBJECTS.replace("def tool(", "def dataclasses("), "dataclasses").problem == ""


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
