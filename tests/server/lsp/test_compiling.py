"""The command ``merrow.compile``: the program of a workflow as it is in the editor, and where each node is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.lsp.editor import MODERN, Editor, Json, ServerError
from tests.server.program import GOOD, markdown

from merrow_runtime import check_workflow
from merrow_runtime.compiling.compiler import compile_workflow


@pytest.fixture
def editor() -> Iterator[Editor]:
    made = Editor(copy.deepcopy(MODERN))
    yield made
    made.close()


def compiled(editor: Editor, **asked: object) -> Json:
    found: Json = editor.request("workspace/executeCommand", {"command": "merrow.compile", "arguments": [asked]})
    return found


@pytest.mark.slow
def test_a_program_and_the_lines_of_each_node(editor: Editor) -> None:
    uri = editor.open(GOOD)
    answer = compiled(editor, uri=uri)
    lines = answer["text"].splitlines()
    nodes = {node["id"]: node for node in answer["nodes"]}
    assert [lines[number].strip().partition(" = ")[0] for number in nodes["A"]["lines"]][-1] == "a"
    assert len(nodes["A"]["lines"]) == 2
    assert [lines[number].strip() for number in nodes["RETURN"]["lines"]] == ['flow.output("RETURN", a)']
    assert nodes["A"]["range"]["start"]["line"] == 2
    own = compile_workflow(check_workflow(GOOD, name=uri))
    assert answer["text"].partition("from __future__")[2] == own.partition("from __future__")[2]


@pytest.mark.slow
def test_the_answer_names_the_file_and_all_places(editor: Editor) -> None:
    def place(line: int, end: int) -> Json:
        return {"start": {"line": line, "character": 4}, "end": {"line": line, "character": end}}

    for name, diagram, file in (
        ("/f/answers.mmd", 1, "answers.py"),
        ("/f/notes.md", 2, "notes.py"),
        (None, 1, "workflow.py"),
    ):
        uri = "untitled:Flow-1" if name is None else f"file://{name}"
        text = markdown("flowchart TD\n    X --> Y\n" * 3, GOOD) if diagram == 2 else GOOD
        language = "markdown" if diagram == 2 else "mermaid"
        opened = {"uri": uri, "languageId": language, "version": 1, "text": text}
        editor.notify("textDocument/didOpen", {"textDocument": opened})
        first = text.split("\n").index("    PROBLEM([Problem]):::Interface") - 1
        answer = compiled(editor, uri=uri, diagram=diagram)
        assert {key: value for key, value in answer.items() if key != "text"} == {
            "name": file,
            "nodes": [
                {"id": "PROBLEM", "lines": [22], "range": place(first + 1, 11)},
                {"id": "A", "lines": [15, 23], "range": place(first + 2, 5)},
                {"id": "RETURN", "lines": [24], "range": place(first + 3, 10)},
            ],
        }


def test_the_second_diagram_of_a_markdown_file(editor: Editor) -> None:
    second = (
        GOOD.replace("    A[", "    SECOND[").replace("A --> RETURN", "SECOND --> RETURN").replace("| A", "| SECOND")
    )
    uri = editor.open(markdown(GOOD, second), language="markdown")
    assert "SECOND" not in compiled(editor, uri=uri)["text"]
    assert 'flow("SECOND"' in compiled(editor, uri=uri, diagram=2)["text"]


CALLED = """\
flowchart TD
    PROBLEM([P]):::Interface
    A@{ op: Custom, prompt: "inside" }
    RETURN([R]):::Interface
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
"""
CALLS = """\
---
workflow:
  prompts:
    says: |
      Say
          "PASS": {
          flow("PASS")
---
flowchart TD
    PROBLEM([P]):::Interface
    A@{ op: Custom, role: says, returns: Problem }
    PART@{ op: Call, workflow: ./nodes.mmd }
    PASS@{ op: Custom, prompt: "pass" }
    RETURN([R]):::Interface
    PROBLEM -->|input| A
    A --> PART
    PART -->|input| PASS
    PASS --> RETURN
    classDef Interface fill:#eee
"""


def test_the_lines_of_a_node_are_neither_those_of_called_workflows_nor_of_prompts(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "nodes.mmd").write_text(CALLED)
    editor = open_editor(MODERN, tmp_path)
    answer = compiled(editor, uri=editor.open(CALLS))
    lines = answer["text"].splitlines()
    assert {node["id"]: [lines[number].strip() for number in node["lines"]] for node in answer["nodes"]} == {
        "PROBLEM": ['problem = flow.input("PROBLEM", problem)'],
        "A": [
            '"A": {"operator": "Custom", "prompt": A, "outputs": {"response": "Problem"}, "title": "says"},',
            'a = flow("A", input=[problem])',
        ],
        "PART": [
            '"PART": {"operator": "Call", "outputs": {"RETURN": "Text"}, "parameters": {"workflow": "./nodes.mmd"}},',
            'part = flow.call("PART", nodes_mmd, PROBLEM=a)',
        ],
        "PASS": [
            '"PASS": {"operator": "Custom", "prompt": PASS, "outputs": {"response": "Text"}},',
            'pass_2 = flow("PASS", input=[part])',
        ],
        "RETURN": ['flow.output("RETURN", pass_2)'],
    }
    assert [line for line in lines if line.endswith("NODES = {")] == ["NODES = {", "NODES_MMD_NODES = {"]


def test_what_cannot_be_compiled_is_refused_in_a_sentence(editor: Editor) -> None:
    uri = editor.open(GOOD.replace("--> RETURN", "--> NOWHERE"))
    with pytest.raises(ServerError, match="and is not run"):
        compiled(editor, uri=uri)
