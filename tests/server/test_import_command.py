"""``merrow import``: LangGraph's drawings and plain flowcharts become workflows that check."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.program import GOOD, in_process, merrow, write

from merrow_analysis.check import analyse
from merrow_analysis.langgraph import plain_steps

STYLES = """\
	classDef default fill:#f2f0ff,line-height:1.2
	classDef first fill-opacity:0
	classDef last fill:#bfb6fc
"""
INIT = "%%{init: {'flowchart': {'curve': 'linear'}}}%%\n"
CONFIG = "---\nconfig:\n  flowchart:\n    curve: linear\n---\n"


def drawn(nodes: str, edges: list[str], head: str = CONFIG) -> str:
    """A drawing in the form of LangGraph's ``draw_mermaid()``."""
    boxes = "".join(f"\t{name}({name})\n" for name in nodes.split())
    lines = "".join(f"\t{edge};\n" for edge in edges)
    start, end = (f"\t__{word}__([<p>__{word}__</p>]):::{cls}\n" for word, cls in (("start", "first"), ("end", "last")))
    return f"{head}graph TD;\n{start}{boxes}{end}{lines}{STYLES}"


AGENT = drawn(
    "agent tools",
    [
        "__start__ --> agent",
        "agent -. &nbsp;end&nbsp; .-> __end__",
        "agent -. &nbsp;continue&nbsp; .-> tools",
        "tools --> agent",
    ],
)
ROUTE = drawn(
    "sort_letter bill praise",
    [
        "__start__ --> sort_letter",
        "sort_letter -.-> bill",
        "sort_letter -.-> praise",
        "bill --> __end__",
        "praise --> __end__",
    ],
    INIT,
)
SIDE_BY_SIDE = drawn("a b c", ["__start__ --> a", "a --> b", "a --> c", "b --> __end__", "c --> __end__"], INIT)
FIRST_CHOICE = drawn("a b", ["__start__ -.-> a", "__start__ -.-> b", "a --> __end__", "b --> __end__"])
BOXED = """\
graph TD;
	__start__(<p>__start__</p>)
	team\\3aone(one<hr/><small><em>__interrupt = before</em></small>)
	team\\3atwo(two)
	__end__(<p>__end__</p>)
	__start__ --> team\\3aone;
	team\\3atwo --> __end__;
	subgraph team
	team\\3aone --> team\\3atwo;
	end
"""
SAMPLES = {"agent": AGENT, "route": ROUTE, "side": SIDE_BY_SIDE, "first": FIRST_CHOICE, "boxed": BOXED}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("operators", [False, True], ids=["plain", "operators"])
@pytest.mark.parametrize("name", SAMPLES)
def test_drawings_of_langgraph_become_workflows_without_errors(name: str, operators: bool, capsys: Any) -> None:
    write("graph.mmd", SAMPLES[name])
    done = in_process(capsys, "import", "graph.mmd", *(["--operators"] if operators else []))
    assert done.code == 0
    assert (done.err == "") is (name != "boxed")
    analysis = analyse(done.out)
    assert analysis.is_workflow
    assert analysis.errors == []
    assert analysis.typed is not None
    assert [node.id for node in analysis.typed.inputs] == ["Start"]
    assert [node.id for node in analysis.typed.outputs] == ["End"]
    assert ("CustomOp" in done.out) is operators
    assert {one.code for one in analysis.diagnostics} <= {"MW313", "MW404", "MW408"}


def test_the_ways_that_an_agent_chooses_between_are_cases_behind_it(capsys: Any) -> None:
    write("graph.mmd", AGENT)
    done = in_process(capsys, "import", "graph.mmd")
    for line in ('agent["agent"]', "agent --> agent_next", 'agent_next -->|"continue"| tools', "tools --> agent"):
        assert f"    {line}\n" in done.out
    assert "nbsp" not in done.out
    assert "init" not in done.out


def test_names_are_words_and_metadata_of_nodes_is_left_out(capsys: Any) -> None:
    write("graph.mmd", ROUTE)
    assert 'sort_letter["sort letter"]' in in_process(capsys, "import", "graph.mmd").out
    write("boxed.mmd", BOXED)
    out = in_process(capsys, "import", "boxed.mmd").out
    assert "interrupt" not in out
    assert 'subgraph team["team"]' in out


@pytest.mark.parametrize("again", [(), ("generate -.-> generate",)], ids=["once", "and to itself"])
def test_a_cycle_that_is_entered_at_two_nodes_needs_no_box(again: tuple[str, ...], capsys: Any) -> None:
    edges = [
        "__start__ --> grade",
        "grade -.-> generate",
        "grade -.-> search",
        "search --> generate",
        "generate -.-> __end__",
        *again,
        "generate -.-> search",
    ]
    write("graph.mmd", drawn("search grade generate", edges))
    done = in_process(capsys, "import", "graph.mmd")
    assert (done.code, done.err) == (0, "")
    analysis = analyse(done.out)
    assert analysis.errors == []
    assert "subgraph" not in done.out
    joins = {(edge.source.id, edge.target.id) for edge in analysis.flow.edges}
    expected = {
        ("grade_next", "generate"),
        ("grade_next", "search"),
        ("search", "generate"),
        ("generate_next", "search"),
    }
    assert expected | {("generate_next", "generate") for _ in again} <= joins


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("before", "before"),
        ("after", "after"),
        ("before,after", "before and after"),
        ("before, after", "before and after"),
    ],
)
def test_where_langgraph_stops_for_a_person_is_told(written: str, said: str, capsys: Any) -> None:
    write("boxed.mmd", BOXED.replace("= before", f"= {written}"))
    done = in_process(capsys, "import", "boxed.mmd")
    assert (done.code, done.err) == (0, f"Note: LangGraph stops {said} one for a person; the workflow does not.\n")


def test_a_plain_flowchart_is_a_workflow_that_says_so_and_else_unchanged(capsys: Any) -> None:
    text = "flowchart TD\n    A([Mail]) --> B[Sum it up]\n    B --> C([Summary])\n"
    write("plain.mmd", text)
    done = in_process(capsys, "import", "plain.mmd")
    assert (done.code, done.out) == (0, f"---\nworkflow: true\n---\n{text}")
    written = in_process(capsys, "import", "plain.mmd", "--operators", "-o", "flow.mmd")
    assert (written.code, written.out) == (0, "flow.mmd is written.\n")
    assert "class B CustomOp" in Path("flow.mmd").read_text()
    again = in_process(capsys, "import", "plain.mmd", "-o", "flow.mmd")
    assert again.code == 2
    assert "flow.mmd is there already" in again.err


def test_a_block_of_markdown_is_imported_alone(capsys: Any) -> None:
    write("notes.md", f"# Notes\n\n```mermaid\n{AGENT}```\n")
    done = in_process(capsys, "import", "notes.md")
    assert done.code == 0
    assert "# Notes" not in done.out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD, "is a workflow already"),
        ("sequenceDiagram\n  A->>B: hi\n", "it is not a flowchart"),
        ("---\nworkflow: false\n---\nflowchart TD\n  A --> B\n", "its front matter says `workflow: false`"),
        ("flowchart TD\n", "it has no nodes"),
        ("flowchart TD\n  A --> [\n", "Line 2:"),
        ("---\n{title: x}\n---\nflowchart TD\n  A --> B\n", "write `workflow: true` into its front matter yourself"),
    ],
)
def test_what_can_not_be_imported_is_refused_in_a_sentence(text: str, sentence: str, capsys: Any) -> None:
    write("graph.mmd", text)
    done = in_process(capsys, "import", "graph.mmd")
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err


def test_the_check_of_what_is_a_workflow_already_can_be_pasted(capsys: Any) -> None:
    write("my flow.mmd", GOOD)
    assert in_process(capsys, "import", "my flow.mmd").err.endswith("check it with: merrow check 'my flow.mmd'\n")
    assert merrow("import", "-", stdin=GOOD).err.endswith("check it with: merrow check -\n")


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_half_a_file_does_not_stay(capsys: Any) -> None:
    """A limit of a file's size, which anybody can set, ends a write as a full disk does."""
    import resource

    write("plain.mmd", "flowchart TD\n  A([In]) --> B[Do it] --> D([Out])\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, before[1]))
    try:
        done = in_process(capsys, "import", "plain.mmd", "-o", "flow.mmd")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (done.code, done.out) == (2, "")
    assert done.err == "merrow: flow.mmd can't be written: file too large.\n"
    assert not Path("flow.mmd").exists()
    assert in_process(capsys, "import", "plain.mmd", "-o", "flow.mmd").out == "flow.mmd is written.\n"
    there = in_process(capsys, "import", "plain.mmd", "-o", "flow.mmd")
    assert there.err == "merrow: flow.mmd is there already and is not written over.\n"
    assert Path("flow.mmd").read_text().startswith("---\nworkflow: true\n")


def test_what_reaches_one_end_on_two_ways_is_joined(capsys: Any) -> None:
    write("plain.mmd", "flowchart TD\n  A([In]) --> B[Do it] & C[Do that]\n  B & C --> D([Out])\n")
    done = in_process(capsys, "import", "plain.mmd")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("---\nworkflow: true\n")


def test_errors_that_are_left_are_told_and_the_text_is_printed(capsys: Any) -> None:
    write("plain.mmd", "flowchart TD\n  A([In]) --> B[Do it] --> PROBLEM\n")
    done = in_process(capsys, "import", "plain.mmd")
    assert done.code == 1
    assert done.out.startswith("---\nworkflow: true\n")
    assert "MW112" in done.err


NAMES = st.sampled_from(["agent", "end", "x", "graph", "End", "Start", "PROBLEM", "a-b", "1st", "Review", "команда"])


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.data())
def test_any_drawing_is_written_so_that_mermaid_reads_it_with_all_its_nodes(
    names: list[str], data: st.DataObject
) -> None:
    ids = [f"n{number}" for number in range(len(names))]
    texts = data.draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=5, max_size=5))
    ends = st.sampled_from([*ids, "__end__"])
    rows = data.draw(st.lists(st.tuples(st.sampled_from(["__start__", *ids]), ends, st.booleans()), max_size=8))
    shown = [re.sub(r'["\\]', "", text) for text in texts]
    lines = [f'{one}["{name} {shown[number]}"]' for number, (one, name) in enumerate(zip(ids, names, strict=True))]
    lines += [f"{a} {'-.->' if dotted else '-->'} {b}" for a, b, dotted in rows]
    text = "graph TD\n__start__([s])\n__end__([e])\n" + "".join(f"{line}\n" for line in lines)
    flow = analyse(text).flow
    after = analyse(plain_steps(flow))
    assert after.refusals == []
    assert len(after.flow.chart.nodes) >= len(flow.chart.nodes)


def test_a_caller_is_never_written_over_the_file_that_it_calls(capsys: Any) -> None:
    write("sub.mmd", GOOD)
    caller = (
        "flowchart TD\n    PROBLEM([P]):::Interface\n    RETURN([R]):::Interface\n    classDef Interface fill:#eee\n"
        "    C@{ op: Call, workflow: ./sub.mmd }\n    PROBLEM -->|PROBLEM| C --> RETURN\n"
    )
    write("main.mmd", caller)
    assert in_process(capsys, "compile", "main.mmd", "-o", "main.py").code == 0
    Path("new").mkdir()
    refused = in_process(capsys, "import", "main.py", "-o", "new/sub.mmd")
    assert refused.code == 2
    assert "sub.mmd is the name of a workflow that main.py calls" in refused.err
    assert not any(Path("new").iterdir())
