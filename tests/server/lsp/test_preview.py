"""``merrow/graph``: the drawing joined with the text, in files and fences, in each encoding, with ids as Mermaid makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.server.lsp.editor import MODERN, Editor
from tests.server.lsp.words import text_at

FLOW = """---
title: 😀
---
flowchart LR
    PROBLEM([Problem 😀]):::Interface --> A["Custom<br/>(role: solver)"] --> V
    A & B -->|solution| V["ScEnsemble"]
    A --> V
    A ~~~ V
    subgraph work [Work]
        B@{
          op: Custom
        }
    end
    V e1@--> RETURN
    class A,B CustomOp
    V --> NOWHERE["Nonesuch<br/>"]
"""


def graph(editor: Editor, uri: str, **more: Any) -> Any:
    return editor.request("merrow/graph", {"textDocument": {"uri": uri}} | more)


def test_nodes_with_all_their_places(editor: Editor) -> None:
    uri = editor.open(FLOW)
    answer = graph(editor, uri)
    assert answer["text"] == FLOW
    assert (answer["version"], answer["diagram"], answer["diagrams"], answer["direction"]) == (1, 1, 1, "LR")
    assert (answer["kind"], answer["workflow"]) == ("flowchart", True)
    nodes = {node["id"]: node for node in answer["nodes"]}
    assert list(nodes) == ["PROBLEM", "A", "V", "B", "RETURN", "NOWHERE"]
    assert [(node["kind"], node["operator"]) for node in nodes.values()][:4] == [
        ("input", "Interface"),
        ("operator", "Custom"),
        ("operator", "ScEnsemble"),
        ("operator", "Custom"),
    ]
    styles = ("fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px", "fill:#d0e1f9,stroke:#4378a2,stroke-width:2px")
    assert [nodes[name]["style"] for name in ("PROBLEM", "A", "B", "RETURN")] == [
        styles[0],
        styles[1],
        styles[1],
        styles[0],
    ]
    assert nodes["A"]["label"] == "Custom<br/>(role: solver)"
    for name, node in nodes.items():
        assert text_at(editor, uri, node["range"]) == name
    assert [text_at(editor, uri, place) for place in nodes["A"]["places"]] == [
        'A["Custom<br/>(role: solver)"]',
        "A",
        "A",
        "A",
        "A",
    ]
    assert text_at(editor, uri, nodes["B"]["places"][0]).endswith("op: Custom\n        }")
    assert [(part["id"], part["title"]) for part in answer["subgraphs"]] == [("work", "Work")]
    assert text_at(editor, uri, answer["subgraphs"][0]["range"]) == "work"
    assert text_at(editor, uri, answer["range"]) == FLOW


BOXES = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    subgraph REFINE["Loop (max: 2)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
    end
    PROBLEM --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    REVIEW -->|again:feedback:input| WRITE
    REVIEW -->|feedback:input| READ["Custom<br/>(role: reader)"]
    WRITE --> READ
    READ --> RETURN
    classDef Interface fill:#eee
"""


def test_edges_back_are_drawn_and_belong_to_their_loop(editor: Editor) -> None:
    uri = editor.open(BOXES)
    answer = graph(editor, uri)
    edges = {edge["id"]: edge for edge in answer["edges"]}
    again = edges["L_REVIEW_WRITE_0"]
    shown = {key: again[key] for key in ("word", "box", "output", "port", "type", "drawn")}
    assert shown == {
        "word": "again",
        "box": "REFINE",
        "output": "feedback",
        "port": "input",
        "type": "Feedback",
        "drawn": True,
    }
    assert (edges["L_PROBLEM_WRITE_0"]["word"], edges["L_PROBLEM_WRITE_0"]["box"]) == (None, None)
    assert [(part["id"], part["operator"]) for part in answer["subgraphs"]] == [("REFINE", "Loop")]


def test_edges_in_mermaids_order_with_its_ids(editor: Editor) -> None:
    uri = editor.open(FLOW)
    answer = graph(editor, uri)
    edges = [(edge["id"], edge["source"], edge["target"], edge["drawn"]) for edge in answer["edges"]]
    assert edges == [
        ("L_PROBLEM_A_0", "PROBLEM", "A", True),
        ("L_A_V_0", "A", "V", True),
        ("L_A_V_2", "A", "V", True),
        ("L_B_V_0", "B", "V", True),
        ("L_A_V_3", "A", "V", True),
        ("L_A_V_4", "A", "V", False),
        ("e1", "V", "RETURN", True),
        ("L_V_NOWHERE_0", "V", "NOWHERE", True),
    ]
    labelled = answer["edges"][2]
    assert text_at(editor, uri, labelled["range"]) == "-->|solution|"
    assert labelled["label"] == "solution"
    assert (answer["edges"][0]["port"], answer["edges"][0]["type"]) == ("input", "Problem")
    assert (answer["edges"][6]["output"], answer["edges"][6]["type"]) == ("response", "Text")
    assert answer["edges"][5]["type"] is None


def test_findings_are_on_what_they_are_about(editor: Editor) -> None:
    text = (
        "flowchart LR\n PROBLEM([P]):::Interface --> V\n V[ScEnsemble]:::ScEnsembleOp\n V -->|nonesuch| RETURN([R])\n"
    )
    answer = graph(editor, editor.open(text))
    nodes = {node["id"]: node["diagnostics"] for node in answer["nodes"]}
    assert "MW105" in [found["code"] for found in nodes["V"]]
    found = next(found for found in nodes["V"] if found["code"] == "MW105")
    assert found["severity"] == "error"
    assert found["message"]
    assert [found["code"] for found in answer["edges"][1]["diagnostics"]] != []
    assert [found["code"] for found in nodes["PROBLEM"]] == ["MW114"]


def test_every_finding_is_somewhere(editor: Editor) -> None:
    texts = [
        FLOW,
        "flowchart LR\n A --> \n B[[[\n",
        "---\nworkflow: {nonesuch: 1}\n---\nflowchart TD\n A:::x --> RETURN\n",
    ]
    for number, text in enumerate(texts):
        uri = editor.open(text, f"{number}.mmd")
        answer = graph(editor, uri)
        parts = [answer, *answer["nodes"], *answer["edges"]]
        shown = {
            (found["code"], found["message"], str(found["range"])) for part in parts for found in part["diagnostics"]
        }
        told = {(found["code"], found["message"], str(found["range"])) for found in editor.published(uri)}
        assert shown == told
        assert told


def test_cases_of_a_decision(editor: Editor) -> None:
    text = (
        "flowchart TD\n PROBLEM([P]):::Interface --> C{ok?}:::DecisionOp\n"
        " C -- Yes --> RETURN([R]):::Interface\n C -- No --> RETURN\n"
    )
    answer = graph(editor, editor.open(text))
    assert [edge["case"] for edge in answer["edges"]] == [None, "Yes", "No"]
    assert [node["kind"] for node in answer["nodes"]] == ["input", "decision", "output"]


MARKDOWN = """# 😀

> ```mermaid
> flowchart TD
>   A[😀] --> B
> ```

text

```mermaid
sequenceDiagram
  A->>B: x
```
"""


def test_the_inner_text_of_a_fence(editor: Editor) -> None:
    uri = editor.open(MARKDOWN, "a.md")
    first = graph(editor, uri)
    assert first["text"] == "flowchart TD\n  A[😀] --> B\n"
    assert (first["diagram"], first["diagrams"]) == (1, 2)
    assert [text_at(editor, uri, node["range"]) for node in first["nodes"]] == ["A", "B"]
    assert text_at(editor, uri, first["nodes"][0]["places"][0]) == "A[😀]"
    assert text_at(editor, uri, first["range"]).startswith("```mermaid\n> flowchart")
    second = graph(editor, uri, diagram=2)
    assert (second["kind"], second["workflow"], second["nodes"]) == ("other", False, [])
    assert graph(editor, uri, diagram=3) is None


@pytest.mark.parametrize(("line", "number"), [(0, 1), (3, 1), (7, 1), (9, 2), (11, 2), (99, 2)])
def test_the_diagram_at_the_cursor(editor: Editor, line: int, number: int) -> None:
    uri = editor.open(MARKDOWN, "a.md")
    assert graph(editor, uri, position={"line": line, "character": 0})["diagram"] == number


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_each_encoding(open_editor: Callable[..., Editor], encoding: str) -> None:
    editor = open_editor(MODERN | {"general": {"positionEncodings": [encoding]}})
    text = "flowchart LR\n  A[😀é] --> B\n"
    answer = graph(editor, editor.open(text))
    assert answer["nodes"][1]["range"]["start"] == editor.find(editor.uri("flow.mmd"), "B")


def test_the_text_as_it_is_now(editor: Editor) -> None:
    uri = editor.open("flowchart LR\n  A --> B\n")
    end = {"line": 2, "character": 0}
    editor.change(uri, {"range": {"start": end, "end": end}, "text": "  B --> C\n"})
    answer = graph(editor, uri)
    assert (answer["version"], [node["id"] for node in answer["nodes"]]) == (2, ["A", "B", "C"])


def test_what_is_not_there(editor: Editor) -> None:
    assert graph(editor, "untitled:nonesuch") is None
    assert graph(editor, editor.open("no fences\n", "a.md")) is None
    assert graph(editor, editor.open("", "empty.mmd"))["kind"] == "unknown"


_LINES = st.sampled_from(
    [
        "flowchart TD",
        "A --> B",
        "A[x] -->|y| B & C",
        "class A CustomOp",
        "e1@--> x",
        "A e1@--> B",
        "subgraph s",
        "end",
        "A ~~~ B",
        "😀",
        "A@{ op: Custom }",
        "```mermaid",
        "```",
        "---",
        "style A fill:#fff",
        "B -- z",
    ]
)


@settings(max_examples=8, deadline=None)
@given(lines=st.lists(_LINES, max_size=14), markdown=st.booleans())
def test_any_text_has_an_answer_or_none(lines: list[str], markdown: bool) -> None:
    editor = Editor()
    text = "\n".join(["```mermaid", "flowchart LR", *lines] if markdown else ["flowchart LR", *lines])
    try:
        answer = graph(editor, editor.open(text, "a.md" if markdown else "a.mmd"))
        assert answer["text"] in text
        names = [edge["id"] for edge in answer["edges"]]
        assert len(names) == len(set(names))
        ids = {node["id"] for node in answer["nodes"]}
        assert {end for edge in answer["edges"] for end in (edge["source"], edge["target"])} <= ids
    finally:
        editor.close()


@pytest.mark.parametrize(
    ("front", "runs"), [("", True), ("---\nworkflow: false\n---\n", False), ("---\nworkflow: true\n---\n", False)]
)
def test_it_says_whether_a_flowchart_that_is_no_workflow_runs_as_it_is_drawn(
    editor: Editor, front: str, runs: bool
) -> None:
    answer = graph(editor, editor.open(f"{front}flowchart TD\n    A([Mail]) --> B[Reply to it]\n"))
    assert answer["asDrawn"] is runs


@pytest.mark.slow
async def test_over_a_pipe(client: LanguageClient) -> None:
    """A real process answers the request, whose name is none of the protocol's own."""
    folder: Path = client.folder  # type: ignore[attr-defined]
    uri = (folder / "a.mmd").as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mermaid", 1, "flowchart LR\n A --> B\n"))
    )
    answer = await client.protocol.send_request_async("merrow/graph", {"textDocument": {"uri": uri}})
    assert [node["id"] for node in answer["nodes"]] == ["A", "B"]


STEPS = """---
workflow:
  prompts:
    billing: Answer about the bill.
    invoices: Answer about the bill.
    delivery: Say when it comes.
---
flowchart TD
    PROBLEM([Mail]):::Interface
    RETURN([Answer]):::Interface
    B["Custom<br/>(role: billing, returns: 'list[Text]')"]
    subgraph work [Work]
        subgraph inner [Inner]
            I@{ op: Custom, role: invoices, returns: "list[Text]" }
        end
        D["Custom<br/>(role: delivery, returns: 'list[Text]')"]
    end
    S1["Custom<br/>(role: simple_solver_1)"]
    S2["Custom<br/>(role: simple_solver_12)"]
    S3["Custom<br/>(role: simple_solver_2, memory: all)"]
    T1@{ op: Custom, role: billing, label: "Draft 1" }
    T2@{ op: Custom, role: invoices, label: "Draft 2" }
    T3@{ op: Custom, role: invoices, label: "Letter" }
    V["ScEnsemble<br/>"]
    PROBLEM --> B & I & D & S1 & S2 & S3 & T1 & T2 & T3 --> V --> RETURN
"""


def test_steps_say_what_they_are_about_and_which_do_the_same(editor: Editor) -> None:
    answer = graph(editor, editor.open(STEPS))
    nodes = {node["id"]: node for node in answer["nodes"]}
    assert {name: node["title"] for name, node in nodes.items() if node["title"] is not None} == {
        "B": "billing",
        "I": "invoices",
        "D": "delivery",
        "S1": "simple_solver_1",
        "S2": "simple_solver_12",
        "S3": "simple_solver_2",
    }
    assert (nodes["B"]["settings"], nodes["I"]["settings"], nodes["S3"]["settings"]) == (
        "returns: list[Text]",
        "",
        "memory: all",
    )
    assert (nodes["B"]["subgraph"], nodes["D"]["subgraph"], nodes["I"]["subgraph"]) == (None, "work", "inner")
    doing = {name: node["doing"] for name, node in nodes.items()}
    assert (doing["PROBLEM"], doing["RETURN"]) == (None, None)
    assert doing["V"]
    same = [{one for one in doing if doing[one] == doing[name]} for name in ("B", "D", "S1", "S3", "T1", "T3")]
    assert same == [{"B"}, {"D"}, {"S1", "S2"}, {"S3"}, {"T1", "T2"}, {"T3"}]
