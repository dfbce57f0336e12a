"""A compiled program read back is the workflow that it was made of; a file that is none is refused by its line, and never run."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.runtime.compiling.test_same_as_a_run import EXAMPLES, FIRST, ONLY_FOR_THE_RUNTIME
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.workflows import workflows

from merrow_runtime import UsageFailure, Workflow, check_workflow
from merrow_runtime.compiling.compiler import MARK, SOURCE, compile_workflow
from merrow_runtime.compiling.mermaid import mermaid_text
from merrow_runtime.compiling.published import read_published
from merrow_runtime.compiling.reading import NotReadError, read_program
from merrow_runtime.program.loading import load


def readable(workflow: Workflow) -> str:
    """The part that a person reads, without the line that has the hash."""
    above = compile_workflow(workflow, "runtime").text.partition(MARK)[0]
    return "\n".join(line for line in above.splitlines() if not line.startswith(SOURCE))


def read_back(workflow: Workflow, folder: Path) -> Workflow:
    functions = read_program(compile_workflow(workflow, "runtime").text)
    files = {one.name: Path(one.flow.name).name for one in functions}
    files["workflow"] = "main.mmd"
    for one in functions:
        folder.joinpath(files[one.name]).write_text(mermaid_text(one, files))
    found = load(folder / "main.mmd")
    object.__setattr__(found, "name", workflow.name)
    return found


@pytest.mark.thinned(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_comes_back(path: Path, tmp_path: Path) -> None:
    if path.name not in ONLY_FOR_THE_RUNTIME:
        workflow = load(path)
        assert readable(read_back(workflow, tmp_path)) == readable(workflow)


@pytest.mark.parametrize("part", range(2))
def test_loops_and_maps_come_back(part: int, tmp_path: Path) -> None:
    for seed in range(FIRST + part, FIRST + examples(60), 2):
        try:
            workflow = check_workflow(nested_workflow(seed, records=True), name="nested.mmd")
        except UsageFailure:
            continue
        assert readable(read_back(workflow, tmp_path)) == readable(workflow), seed


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows())
def test_workflows_of_all_operators_come_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    workflow = check_workflow(text, name="made.mmd")
    assert readable(read_back(workflow, tmp_path_factory.mktemp("made"))) == readable(workflow)


PROGRAM = """NODES = {"A": {"operator": "Custom", "outputs": {"response": "Text"}}}

async def workflow(problem: str):
    flow = Flow("a.mmd", NODES)
    problem = flow.input("PROBLEM", problem)
    a = flow("A", input=[problem])
    flow.output("RETURN", a)
    return await flow.run()

def main():
    pass
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"Custom"', '__import__("os").mkdir("made")', 1),
        ("a = flow(", "a = open('made', 'w') or flow(", 6),
        ("    a =", "    import os\n    a =", 6),
        ("input=[problem]", "input=[x for x in problem]", 6),
        ("    a =", "    flow.__class__.__init__(flow)\n    a =", 6),
        ("    a =", "    flow.__init__('b.mmd', NODES)\n    a =", 6),
        ("    a =", "    if problem:\n        pass\n    a =", 6),
        ('flow("A"', 'flow("B"', 6),
        ("    a =", "    a = b =", 6),
        ("input=[problem]", "input=[missing]", 6),
        ("NODES = {", "while True: pass\nNODES = {", 1),
        ("flow.output", "flow.graph.add", 7),
        ("async def", "async def def", 3),
        ("problem: str", "other, /, problem: str", 3),
        ("problem: str", "*, problem: str", 3),
        ("problem: str", "problem: str, *others", 3),
        ("problem: str", "problem: str, **others", 3),
    ],
)
def test_what_is_no_line_of_a_workflow_is_refused_by_its_line(
    old: str, new: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_program(PROGRAM)[0].flow.graph.by_id["A"].kind == "operator"
    with pytest.raises(NotReadError, match=f"^Line {line}: "):
        read_program(PROGRAM.replace(old, new, 1))
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=200), st.integers(0, len(PROGRAM)))
def test_any_text_is_read_or_refused(text: str, place: int) -> None:
    for given_ in (text, PROGRAM[:place] + text + PROGRAM[place:]):
        for read in (read_program, read_published):
            with contextlib.suppress(NotReadError):
                read(given_)
