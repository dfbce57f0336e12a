"""Prompts of the front matter, of YAML files and of ``prompt.py``, and the nodes that name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.definition_checks import check, fixed, marked, said

from merrow_analysis.check import analyse
from merrow_analysis.definitions.prompts import read_prompt_module, read_prompt_yaml
from merrow_analysis.text import apply_edits


def flow(*nodes: str, front: str = "") -> str:
    matter = f"---\n{front}---\n" if front else ""
    return matter + "flowchart TD\n" + "".join(f"  {node}\n" for node in nodes)


CUSTOM = 'A["Custom<br/>(role: simple_solver_1)"]'


@pytest.mark.parametrize(
    "files",
    [
        {"prompt.py": 'SIMPLE_SOLVER_1 = """Solve it.\n"""\n'},
        {"prompt.py": "import os\nSimple_Solver_1: str = ('Solve ' 'it' + '.')\n"},
        {"prompt.py": "x = 1\nOTHER = SIMPLE_SOLVER_1 = 'a'\n"},
    ],
)
def test_a_role_finds_its_constant_regardless_of_case(files: dict[str, str]) -> None:
    assert said(flow(CUSTOM), files) == []


def test_a_near_prompt_is_offered_in_the_style_of_the_role() -> None:
    text = flow(CUSTOM)
    [diagnostic] = check(text, {"prompt.py": "X = 'a'\nSIMPLE_SOLVER = 'a'\n"})
    assert "did you mean `SIMPLE_SOLVER`?" in diagnostic.message
    assert [(related.file, related.range.start.line) for related in diagnostic.related] == [("prompt.py", 1)]
    assert "(role: simple_solver)" in fixed(text, diagnostic)
    assert check(fixed(text, diagnostic), {"prompt.py": "SIMPLE_SOLVER = 'a'\n"}) == []


def test_a_constant_that_is_no_plain_text_is_said_to_be_none() -> None:
    [diagnostic] = check(flow(CUSTOM), {"prompt.py": "SIMPLE_SOLVER_1 = f'{x}'\nOTHER = 'a'\n"})
    assert diagnostic.code == "MW301"
    assert "is not plain text" in diagnostic.message
    assert said(flow(CUSTOM), {"prompt.py": "SIMPLE_SOLVER_1 = f'{x}'\n"}) == [("MW301", "simple_solver_1")]


@pytest.mark.parametrize(
    "front", ["", "workflow:\n  version: 1\n", "workflow: {version: 1}\n", "workflow: {}\n", "title: x\n"]
)
def test_one_fix_adds_the_prompts_of_all_roles_in_their_order(front: str) -> None:
    names = [f"role {number}: #x" if number % 3 == 0 else f"role_{number}" for number in range(30)]
    nodes = [f"N{number}@{{ op: Custom, role: '{name}' }}" for number, name in enumerate(names)]
    text = flow(*nodes, front=front)
    (hint,) = [one for one in check(text) if one.code == "MW302"]
    (added,) = hint.fixes
    assert added.title == "Add a prompt for each role to the front matter"
    after = analyse(apply_edits(text, added.edits))
    assert list(after.settings.prompts) == names
    assert "MW302" not in [one.code for one in after.diagnostics]


@pytest.mark.parametrize(
    ("prompts", "after"),
    [
        ("{left: a, simple_solver_1: b}", "{simple_solver_1: b}"),
        ("{simple_solver_1: b, left: a}", "{simple_solver_1: b}"),
    ],
)
def test_an_unused_prompt_leaves_an_inline_mapping_with_its_comma(prompts: str, after: str) -> None:
    text = flow(CUSTOM, front=f"workflow:\n  prompts: {prompts}\n")
    [diagnostic] = check(text)
    assert fixed(text, diagnostic) == text.replace(prompts, after)


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({}, "There is no file"),
        ({"p.yaml": "a: [b"}, "line 1"),
        ({"p.yaml": "- a"}, "mapping"),
    ],
)
def test_a_prompt_file_that_cannot_be_used_is_told_once(files: dict[str, str], word: str) -> None:
    text = flow(CUSTOM, front="workflow:\n  prompts: ./p.yaml\n")
    [diagnostic] = check(text, files)
    assert (diagnostic.code, marked(text, diagnostic.range)) == ("MW502", "./p.yaml")
    assert word in diagnostic.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50_000,
        "A = " + "-" * 50_000 + "1",
        "A = " + "'a' + " * 5_000 + "'b'",
        "\0",
        "A = '\ud800'",
        "A = [" * 80,
        "if 1:\n",
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_hostile_modules_are_survived(text: str) -> None:
    found = read_prompt_module(text)
    assert found.problem is None or found.problem.endswith((".", "..."))


@given(st.text(max_size=60))
def test_any_text_is_survived_as_module_and_as_yaml(text: str) -> None:
    read_prompt_module(text)
    read_prompt_yaml(text, "p.yaml")


def test_nothing_is_executed() -> None:
    found = read_prompt_module("raise SystemExit\nA = print('x')\nB = 'b'\n")
    assert list(found.prompts) == ["b"]


@pytest.mark.parametrize("library", ["a: [", "- a", "operators: {P: {}}", "operators: 3"])
def test_a_library_that_cannot_be_used(library: str) -> None:
    text = flow(front="workflow:\n  libraries: [lib.yaml]\n")
    assert said(text, {"lib.yaml": library}) == [("MW502", "lib.yaml")]
