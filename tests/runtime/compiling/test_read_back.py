"""A compiled program read back is the workflow that it was made of; a file that is none is refused by its line, and never run."""

from __future__ import annotations

import contextlib
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.runtime.compiling.test_same_as_a_run import EXAMPLES
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.workflows import workflows

from merrow_analysis.edits.yaml_write import quoted
from merrow_analysis.graph.boxes.composites import loop_settings
from merrow_analysis.tools.pins import PINS_FILE, text_of_entries
from merrow_runtime import RunOptions, UsageFailure, Workflow, check_workflow
from merrow_runtime.compiled.handles import PlainEdge
from merrow_runtime.compiled.mermaid import mermaid_text
from merrow_runtime.compiling.compiler import SOURCE, compile_workflow
from merrow_runtime.compiling.program_reader import NotReadError, is_compiled, parse, read_program
from merrow_runtime.compiling.published import read_published
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.loading import load


def readable(workflow: Workflow) -> str:
    """The part that a person reads, without the line that has the hash."""
    above = compile_workflow(workflow)
    return "\n".join(line for line in above.splitlines() if not line.startswith(SOURCE))


def read_back(workflow: Workflow, folder: Path) -> Workflow:
    functions = read_program(compile_workflow(workflow))
    files = {one.name: Path(one.flow.name).name for one in functions}
    main = files["workflow"] = Path(workflow.name).with_suffix(".mmd").name  # one that calls itself names it
    for one in functions:
        folder.joinpath(files[one.name]).write_text(mermaid_text(one.title, one.flow, files))
    pins = {name: pin for one in functions for name, pin in one.flow.tools.items() if pin is not None}
    if pins:
        folder.joinpath(PINS_FILE).write_text(text_of_entries(pins))
    found = load(folder / main)
    object.__setattr__(found, "name", workflow.name)
    return found


@pytest.mark.thinned(24)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_comes_back(path: Path, tmp_path: Path) -> None:
    workflow = load(path)
    assert readable(read_back(workflow, tmp_path)) == readable(workflow)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_loops_and_maps_come_back(part: int, tmp_path: Path) -> None:
    for seed in range(part, 15, 2):
        try:
            workflow = check_workflow(nested_workflow(seed, records=True), name="nested.mmd")
        except UsageFailure:
            continue
        assert readable(read_back(workflow, tmp_path)) == readable(workflow), seed


ASKED = """---
workflow:
  model: m
---
flowchart TD
    PROBLEM([Problem]):::Interface --> W{QUESTION}
    W -->|math| A["Solve it"] --> RETURN([Answer]):::Interface
    W -->|other| B["Answer it"] --> RETURN
    classDef Interface fill:#eee
"""


@pytest.mark.parametrize(
    "question",
    ["Which way should it go?", '"Is it math<br/>or something else?"', '"#quot;math#quot; or not?"', "Review?"],
)
def test_a_question_in_a_diamond_keeps_its_label(tmp_path: Path, question: str) -> None:
    workflow = check_workflow(ASKED.replace("QUESTION", question), name="asked.mmd")
    again = read_back(workflow, tmp_path)
    assert readable(again) == readable(workflow)
    assert [node.resolution.title for node in again.graph.decisions] == [
        node.resolution.title for node in workflow.graph.decisions
    ]


NASTY = st.text(st.sampled_from(tuple('"""\'\\\n\n\r\t {}#%abé\u2028\x0c\x1b\U0001f600')), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(NASTY, NASTY)
@example('Write a docstring, as\n"""', 'a\n\\"')
@example('\n""""', '""\n""\\')
def test_every_prompt_is_python_that_means_the_same(first: str, second: str) -> None:
    quote = partial(quoted, in_statement=True)
    text = (
        ASKED.replace("QUESTION", "Which?")
        .replace(
            "  model: m\n", f"  model: m\n  prompts:\n    one: {quote('x' + first)}\n    two: {quote('x' + second)}\n"
        )
        .replace('A["Solve it"]', 'A["Custom<br/>(role: one)"]')
        .replace('B["Answer it"]', 'B["Custom<br/>(role: two)"]')
    )
    workflow = check_workflow(text, name="nasty.mmd")
    module: dict[str, Any] = {}
    exec(compile_workflow(workflow), module)  # noqa: S102 (what is tested)
    found = [module["NODES"][name]["prompt"] for name in ("A", "B")]
    steps = make_steps(workflow, RunOptions(), "m")
    assert found == [steps[workflow.graph.by_id[name].index].definition.prompt for name in ("A", "B")]


def test_what_python_can_not_parse_is_never_a_program() -> None:
    """Python nests at most 20 blocks; a program has one for each Loop."""
    opened = "".join(f'    subgraph L{n} ["Loop (max: 2)"]\n' for n in range(21))
    closed = "    end\n" * 21
    text = (
        f"---\nworkflow:\n  model: m\n---\nflowchart TD\n    PROBLEM([P]):::Interface -->|input| A\n{opened}"
        "    A@{op: Custom, prompt: x}\n    A -->|again:input| A\n"
        f"{closed}    A --> RETURN([R]):::Interface\n    classDef Interface fill:#eee\n"
    )
    with pytest.raises(UsageFailure, match="can't be compiled"):
        compile_workflow(check_workflow(text, name="deep.mmd"))


TYPES_OF_INPUTS = """---
workflow:
  model: m
  types: {Idea: {title: Text, size: Number}}
---
flowchart TD
    A@{op: Custom, prompt: ideas, returns: "list[Idea]"}
    S@{op: Select, by: size}
    P@{op: Pass}
    R@{op: Pass, returns: Idea}
    PROBLEM([Problem]):::Interface --> A --> S --> P --> RETURN([Answer]):::Interface
    PROBLEM -->|title| R
    S -->|score:size| R
    R --> END([End]):::Interface
"""


def test_a_type_that_follows_from_inputs_is_not_written(tmp_path: Path) -> None:
    workflow = check_workflow(TYPES_OF_INPUTS, name="ideas.mmd")
    assert readable(read_back(workflow, tmp_path)) == readable(workflow)
    lines = (tmp_path / "ideas.mmd").read_text().splitlines()
    assert [line.split("@")[0].strip() for line in lines if "returns:" in line] == ["A", "R"]


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows())
def test_workflows_of_all_operators_come_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    workflow = check_workflow(text, name="made.mmd")
    assert readable(read_back(workflow, tmp_path_factory.mktemp("made"))) == readable(workflow)


BRACES = """---
workflow:
  model: m
---
flowchart TD
    PROBLEM([Problem]):::Interface
    subgraph L ["Loop (max: 3)"]
        A@{
          op: Custom
          prompt: "x"
          memory:
            last: 2
          format:
            type: object
            properties:
              a:
                type: string
            required: [a]
        }
    end
    L@{
      budget:
        tokens: 500
    }
    W{"Is it so?"}
    PROBLEM -->|input| A
    A -.->|again:input| A
    A -->|over:input| W
    W -->|"no: not yet"| RETURN([Answer]):::Interface
    W -->|yes| RETURN
    classDef Interface fill:#eee
"""


def test_values_with_braces_and_cases_with_colons_come_back(tmp_path: Path) -> None:
    workflow = check_workflow(BRACES, name="braces.mmd")
    again = read_back(workflow, tmp_path)
    assert readable(again) == readable(workflow)
    (node,) = (step.memory for step in make_steps(again, RunOptions()).values() if step.memory.kind == "last")
    assert node.amount == 2
    (limits,) = (loop_settings(box).budget for box in again.graph.composites)
    assert limits is not None
    assert limits.tokens == 500


def calls(name: str) -> str:
    return f"`{name}` is nothing that a line of a workflow calls."


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


CALCULATED = "a value must be written as it is, not calculated."
NO_LINE = "a line of a workflow gives a name to a node, or is inside a Loop or a Map."
BY_NAME = "`workflow` takes its inputs by name alone."
NO_MORE = "only constants and functions make a workflow here."
BY_PORT = "ports are given by name."


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ('"Custom"', '__import__("os").mkdir("made")', 1, CALCULATED),
        ("a = flow(", "a = open('made', 'w') or flow(", 6, CALCULATED),
        ("    a =", "    import os\n    a =", 6, NO_LINE),
        ("input=[problem]", "input=[x for x in problem]", 6, CALCULATED),
        ("    a =", "    flow.__class__.__init__(flow)\n    a =", 6, calls("flow.__class__.__init__")),
        ("    a =", "    flow.__init__('b.mmd', NODES)\n    a =", 6, calls("flow.__init__")),
        ("    a =", "    if problem:\n        pass\n    a =", 6, NO_LINE),
        ('flow("A"', 'flow("B"', 6, "it can't be read as a line of a workflow ('B')."),
        ("    a =", "    a = b =", 6, NO_LINE),
        ("    a =", "    a.b =", 6, NO_LINE),
        ("input=[problem]", "input=[missing]", 6, "there is no constant `missing` above."),
        ("NODES = {", "while True: pass\nNODES = {", 1, NO_MORE),
        ("flow.output", "flow.graph.add", 7, calls("flow.graph.add")),
        ("flow.output", "flows.output", 7, calls("flows.output")),
        ("flow.output", "flow.inputs", 7, calls("flow.inputs")),
        ("async def", "async def def", 3, "it is not Python (invalid syntax)."),
        ("problem: str", "other, /, problem: str", 3, BY_NAME),
        ("problem: str", "*, problem: str", 3, BY_NAME),
        ("problem: str", "problem: str, *others", 3, BY_NAME),
        ("problem: str", "problem: str, **others", 3, BY_NAME),
        ("problem: str", "problem: str = x()", 3, CALCULATED),
        ("NODES = {", "X = Y = 3\nNODES = {", 1, "a constant has one name."),
        ("NODES = {", "\nX.y = 3\nNODES = {", 2, "a constant has one name."),
        ("NODES = {", "X = Y\nNODES = {", 1, "there is no constant `Y` above."),
        ("NODES = {", "X = 3\nY = [X]\nNODES = {", 2, "`X` is not a text, and only a text is named in a value."),
        ("NODES = {", "X = {**Y}\nNODES = {", 1, "a key must be written as it is."),
        ("NODES = {", "X = {1: 2, Y: 3}\nNODES = {", 1, "a key must be written as it is."),
        ("NODES = {", "import os\nNODES = {", 1, NO_MORE),
        ("NODES = {", "from os import path\nNODES = {", 1, NO_MORE),
        ("NODES = {", "print(1)\nNODES = {", 1, NO_MORE),
        ("workflow(", "other(", 1, "it has no function `workflow`."),
        ("    flow = Flow(", "    x = dict(", 4, calls("dict")),
        ("    flow = Flow(", "    flow('A')\n    flow = Flow(", 4, calls("flow")),
        ("    flow = Flow(", "    flow.input('A')\n    flow = Flow(", 4, calls("flow.input")),
        ("input=[problem]", "**{x: [problem]}", 6, BY_PORT),
        ("input=[problem]", "\n        **problem", 6, BY_PORT),
        ("input=[problem]", "*problem", 6, CALCULATED),
        ("input=[problem]", "input=either([problem])", 6, calls("either")),
        ("input=[problem]", "input=others(problem)", 6, calls("others")),
        ("input=[problem]", f"input={'x' * 61}(problem)", 6, calls("x" * 60)),
        (
            "input=[problem]",
            "input=problem['x'][1]",
            6,
            "in brackets behind a node is the name of an output or a case.",
        ),
        ("input=[problem]", "input=NODES['x']", 6, "in brackets behind a node is the name of an output or a case."),
        ("input=[problem]", "input=problem[problem]", 6, "there is no constant `problem` above."),
        ("input=[problem]", "input=problem.x", 6, CALCULATED),
        ("    a =", "    with flow.loop('L') as x:\n        pass\n    a =", 6, NO_LINE),
        ("    a =", "    with flow.loop('L'), flow.map('M'):\n        pass\n    a =", 6, NO_LINE),
        ("    a =", "    with flow.loop('L'):\n        import os\n    a =", 7, NO_LINE),
    ],
)
def test_what_is_no_line_of_a_workflow_is_refused_by_its_line(
    old: str, new: str, line: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_program(PROGRAM)[0].flow.graph.by_id["A"].kind == "operator"
    with pytest.raises(NotReadError) as refused:
        read_program(PROGRAM.replace(old, new, 1))
    assert str(refused.value) == f"Line {line}: {sentence}"
    assert list(tmp_path.iterdir()) == []


FULL = """from __future__ import annotations

"What is said in passing."
ASK = "ask"
NODES = {
    "A": {"operator": "Custom", "prompt": ASK, "outputs": {"response": "Text"}, "parameters": {"tests": ["x", ASK]}},
    "B": {"operator": "Call", "outputs": {"RETURN": "Text"}, 1: (-2.5, None, True, ASK)},
}
PART_NODES = {}

def part(problem):
    "A part."
    flow = Flow("p.mmd", PART_NODES)
    problem = flow.input("PROBLEM", problem)
    flow.output("RETURN", problem)
    return flow

async def workflow(problem: str, style: str = "plain", many = 3):
    'Its title.'
    flow = Flow("a.mmd", NODES, model="m", tokens=5)
    problem = flow.input("PROBLEM", problem)
    style = flow.input("STYLE", style)
    "The loop."
    with flow.loop("L", max=3, until="B.done"):
        a = flow("A", input=[problem, style], **{"a b": either(problem, style)})
        with flow.map("M"):
            b = flow.call("B", part, PROBLEM=each(a["response"]), after=first(a))
    flow.again(a, a, "input")
    flow.output("RETURN", b, over(a))
    return await flow.run()

def main():
    import os

X = Y = 1
"""


def shown(edge: PlainEdge) -> tuple[object, ...]:
    one = edge.handle
    return edge.port, one.node.id, one.output, one.word


def test_each_line_of_a_program_says_what_it_says_when_it_is_run() -> None:
    main, part = read_program(FULL)
    assert [(one.name, one.title, one.flow.name) for one in (main, part)] == [
        ("workflow", "Its title.", "a.mmd"),
        ("part", "A part.", "p.mmd"),
    ]
    flow, graph = main.flow, main.flow.graph
    assert (flow.model, flow.tokens, flow.seconds) == ("m", 5, None)
    assert (flow.inputs, part.flow.inputs) == ({"STYLE": "plain"}, {})
    assert flow.nodes == {
        "A": {
            "operator": "Custom", "prompt": "ask", "outputs": {"response": "Text"}, "parameters": {"tests": ["x", "ask"]}
        },
        "B": {"operator": "Call", "outputs": {"RETURN": "Text"}, 1: (-2.5, None, True, "ask")},
    }  # fmt: skip
    assert {name: made.__name__ for name, made in flow.functions.items()} == {"B": "part"}
    boxes = {box.id: (box.kind, box.parent) for box in graph.boxes.values()}
    assert boxes == {"L": ("loop", None), "M": ("map", "L")}
    assert graph.inside == {"A": "L", "B": "M"}
    assert graph.boxes["L"].parameters == {"max": 3, "until": "B.done"}
    assert {node.id: (node.kind, list(map(shown, node.incoming))) for node in graph.nodes} == {
        "PROBLEM": ("input", []),
        "STYLE": ("input", []),
        "A": (
            "operator",
            [
                ("input", "PROBLEM", None, None),
                ("input", "STYLE", None, None),
                ("a b", "PROBLEM", None, None),
                ("a b", "STYLE", None, None),
            ],
        ),
        "B": (
            "operator",
            [("PROBLEM", "A", "response", "each"), (None, "A", None, "first")],
        ),
        "RETURN": (
            "output",
            [
                ("result", "B", None, None),
                ("result", "A", None, "over"),
            ],
        ),
    }
    assert [list(map(shown, node.again_in)) for node in graph.nodes if node.again_in] == [[("input", "A", None, None)]]


def test_a_text_that_is_too_large_or_nested_too_deeply_is_refused() -> None:
    for text, sentence in (
        ("x" * 5_000_001, "it has more than 5,000,000 characters."),
        ("x" * 5_000_000, "it has neither a class `Workflow` nor what merrow compile writes."),
        ("-" * 50_000 + "1", "it can't be parsed as Python ("),  # and why, in words of Python's version
    ):
        with pytest.raises(NotReadError, match=f"^Line 1: {re.escape(sentence)}"):
            read_published(text)
    # Each use of a name is written out: 25,000,000 characters at most.
    for uses, fits in ((23, True), (26, False)):
        text = f"X = {'x' * 1_000_000!r}\nNODES = [{'X, ' * uses}]\n"
        with pytest.raises(NotReadError) as refused:
            read_program(text)
        wrong = (
            "Line 1: it has no function `workflow`."
            if fits
            else "Line 2: what it means is too large to be written out."
        )
        assert str(refused.value) == wrong


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        (PROGRAM, True),
        (PROGRAM.replace("async def workflow", "def workflow"), True),
        (PROGRAM.replace("NODES = ", "OTHER = NODES = "), True),
        (PROGRAM.replace("NODES = ", "OTHER = "), False),
        (PROGRAM.replace("def main", "def other"), False),
        (PROGRAM.replace("def workflow", "def other"), False),
        ("NODES = 1\n", False),
    ],
)
def test_a_compiled_program_is_known_by_its_table_and_its_two_functions(text: str, compiled: bool) -> None:
    assert is_compiled(parse(text)) == compiled


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=200), st.integers(0, len(PROGRAM)))
def test_any_text_is_read_or_refused(text: str, place: int) -> None:
    for given_ in (text, PROGRAM[:place] + text + PROGRAM[place:]):
        for read in (read_program, read_published):
            with contextlib.suppress(NotReadError):
                read(given_)
