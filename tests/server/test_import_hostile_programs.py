"""``merrow import`` of programs that somebody has changed to do harm: refused in a sentence that names the line, or harmless."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import in_process, write

from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.program.loading import load

PART = """\
flowchart TD
    PROBLEM([P]):::Interface --> A@{op: Custom, prompt: "x"} --> RETURN([R]):::Interface
    classDef Interface fill:#eee
"""
FLOW = """\
flowchart TD
    PROBLEM([P]):::Interface
    DEEP@{ op: Call, workflow: ./part.mmd }
    PROBLEM --> DEEP --> RETURN([R]):::Interface
    classDef Interface fill:#eee
"""
TABLE = "\nNODES = {"
LISTS = "X0 = ['x']\n" + "".join(f"X{n} = [{f'X{n - 1}, ' * 10}]\n" for n in range(1, 30))
TEXTS = f"X = {'x' * 10_000!r}\nY = [{'X, ' * 10_000}]\n"
LINES = f"X = {['x' * 100_000]!r}\n"
OURS = "a table in it is not as `merrow compile` writes it"
HOSTILE = {
    "a value too deep to be parsed": (TABLE, f"\nX = {'-' * 100_000}1{TABLE}", "it can't be parsed as Python (it"),
    "a list for a key": (TABLE, f"\nX = {{[1]: 2}}{TABLE}", "Line 14: a key must be written as it is."),
    "lists of lists without end": (TABLE, f"\n{LISTS}{TABLE}", "`X0` is not a text"),
    "a text again and again": (TABLE, f"\n{TEXTS}{TABLE}", "too large to be written out"),
    "a table again and again": ("PROBLEM=problem", f"PROBLEM=[{'X, ' * 600}]", "too large to be written out"),
    "an operator that is a list": ('"operator": "Custom"', '"operator": ["Custom"]', OURS),
    "parameters that are a number": ('"parameters": {"workflow": "./part.mmd"}', '"parameters": 5', OURS),
    "ports of another value": ('flow.call("DEEP", ', 'flow.call("DEEP", **{**problem}, x=', "ports are given by name"),
}  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A program of two files."""
    (tmp_path / "part.mmd").write_text(PART, "utf-8")
    (tmp_path / "flow.mmd").write_text(FLOW, "utf-8")
    return compile_workflow(load(str(tmp_path / "flow.mmd")), "flow.mmd")


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_in_a_sentence(program: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, sentence = HOSTILE[name]
    assert program.count(old) == 1
    changed = program.replace(old, new)
    if "again and again" in name:
        changed = changed.replace(TABLE, f"\n{LINES}{TABLE}", 1)
    Path("hostile.py").write_text(changed, "utf-8")
    done = in_process(capsys, "import", "hostile.py", "-o", "new.mmd")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("merrow: hostile.py can't be imported")
    assert sentence in done.err
    assert not Path("new.mmd").exists()


@pytest.mark.parametrize(
    "name", ["..", "", ".bashrc", "../../.bash_aliases", "x\\x1b[2J.mmd", "..\\\\x.mmd", "run.py", "a/../part.mmd"]
)
def test_what_is_called_is_written_beside_it_as_a_workflow(
    program: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("hostile.py").write_text(program.replace('Flow("part.mmd"', f'Flow("{name}"'), "utf-8")
    Path("in/side").mkdir(parents=True)
    before = set(Path().rglob("*"))
    done = in_process(capsys, "import", "hostile.py", "-o", "in/side/new.mmd")
    assert done.code == 0, done.err
    called = "part.mmd" if name == "a/../part.mmd" else "part_mmd.mmd"
    assert {str(path) for path in set(Path().rglob("*")) - before} == {"in/side/new.mmd", f"in/side/{called}"}
    assert "\x1b" not in done.out


@pytest.mark.parametrize("name", ["graph.py", "prompt.py"])
def test_files_of_up_to_10_mb_are_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The program itself, and the module of prompts beside it."""
    write("graph.py", "x = 1\n")
    for size, is_refused in ((10_000_000, False), (10_000_001, True)):
        write(name, "#" * size)
        done = in_process(capsys, "import", "graph.py")
        assert (done.code, done.out) == (2, "")
        assert (f"{name} is too large: at most 10 MB are read." in done.err) is is_refused
