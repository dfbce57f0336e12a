"""Symbols, call hierarchy, links, folding and selections as clients ask for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, Editor
from tests.server.lsp.words import text_at

from merrow_server.lsp import sharing

FLOW = """---
workflow:
  prompts: prompts.yaml
  libraries: [lib.yaml]
---
flowchart TD
    %% 😀 one
    %% two
    PROBLEM([Problem]):::Interface
    subgraph work [😀 Work]
        PROBLEM --> A["Custom<br/>(role: solver)"] --> B
    end
    A:::CustomOp -->|x| RETURN
    click A "https://example.org/a" "tip"
    click B "notes.md#there"
"""


def outline_of(symbols: list[dict[str, Any]]) -> list[Any]:
    return [(symbol["name"], outline_of(symbol.get("children") or [])) for symbol in symbols]


def test_symbols_as_a_tree(editor: Editor) -> None:
    answer = editor.request("textDocument/documentSymbol", {"textDocument": {"uri": editor.open(FLOW)}})
    assert outline_of(answer)[1:] == [("work", [("PROBLEM", []), ("A", []), ("B", [])]), ("RETURN", [])]
    assert outline_of(answer)[0][0] == "front matter"
    work = answer[1]
    assert work["selectionRange"]["start"] == {"line": 9, "character": 13}
    assert work["children"][1]["detail"] == "Custom (solver)"


def test_symbols_of_subgraphs_that_nest_deeper_than_anyone_reads(editor: Editor) -> None:
    deep = 3000
    text = "flowchart TD\n" + "".join(f"subgraph s{number}\n" for number in range(deep)) + "A\n" + "end\n" * deep
    uri = editor.open(text)
    level = editor.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    names: list[str] = []
    depth = 0
    while level:
        depth += 1
        names += [symbol["name"] for symbol in level]
        level = [child for symbol in level for child in symbol.get("children") or []]
    assert (depth, len(names)) == (50, deep + 1)
    assert names == [*(f"s{number}" for number in range(deep)), "A"]


def test_symbols_of_fences(editor: Editor) -> None:
    uri = editor.open("# a\n\n```mermaid\nflowchart TD\n  A --> B\n```\n\n~~~mermaid\nflowchart TD\n  C\n~~~\n", "a.md")
    answer = editor.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert outline_of(answer) == [("Diagram 1", [("A", []), ("B", [])]), ("Diagram 2", [("C", [])])]
    assert answer[0]["children"][1]["selectionRange"]["start"] == {"line": 4, "character": 8}


def test_workspace_symbols(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "closed.mmd").write_text("flowchart TD\n  SOLVE_AGAIN --> B\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("```mermaid\nflowchart TD\n  solve_in_notes\n```\n", encoding="utf-8")
    (tmp_path / "bad.mmd").write_bytes(b"\xff\xfe\x00")
    for capabilities in (MODERN, MINIMAL):
        editor = open_editor(capabilities, tmp_path)
        uri = editor.open("flowchart TD\n  SOLVE\n", "open.mmd")
        found = editor.request("workspace/symbol", {"query": "slv"})
        assert {symbol["name"] for symbol in found} == {"SOLVE", "SOLVE_AGAIN", "solve_in_notes"}
        assert found[0]["location"]["uri"] == uri
        notes = next(symbol for symbol in found if symbol["name"] == "solve_in_notes")
        assert notes["location"]["range"]["start"] == {"line": 2, "character": 2}
        (tmp_path / "notes.md").write_text("```mermaid\nflowchart TD\n  solve_in_other_notes\n```\n", encoding="utf-8")
        again = editor.request("workspace/symbol", {"query": "other"})
        assert [symbol["name"] for symbol in again] == ["solve_in_other_notes"]
        (tmp_path / "notes.md").write_text("```mermaid\nflowchart TD\n  solve_in_notes\n```\n", encoding="utf-8")


def test_symbols_in_a_list_say_what_they_are_in_and_what_they_are(open_editor: Callable[..., Editor]) -> None:
    package, key, namespace, interface, method = 4, 7, 3, 11, 6
    of_nodes = [
        ("work", namespace, None, (9, 4), (11, 7)),
        ("PROBLEM", interface, "work", (10, 8), (10, 15)),
        ("A", method, "work", (10, 20), (10, 50)),
        ("B", method, "work", (10, 55), (10, 56)),
        ("RETURN", interface, None, (12, 24), (12, 30)),
    ]
    of_front_matter = [
        ("front matter", package, None, (0, 0), (5, 0)),
        ("workflow", key, "front matter", (1, 0), (3, 23)),
        ("prompts", key, "workflow", (2, 2), (2, 23)),
        ("libraries", key, "workflow", (3, 2), (3, 23)),
    ]
    editor = open_editor(MINIMAL)
    uri = editor.open(FLOW)
    for asked, params, listed in (
        ("textDocument/documentSymbol", {"textDocument": {"uri": uri}}, of_front_matter + of_nodes),
        ("workspace/symbol", {"query": ""}, of_nodes),
    ):
        assert editor.request(asked, params) == [
            {
                "name": name,
                "kind": kind,
                "location": {
                    "uri": uri,
                    "range": {
                        "start": {"line": start[0], "character": start[1]},
                        "end": {"line": end[0], "character": end[1]},
                    },
                },
            }
            | ({} if above is None else {"containerName": above})
            for name, kind, above, start, end in listed
        ]


def test_workspace_symbols_of_much_are_some(
    open_editor: Callable[..., Editor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.mmd").write_text(f"flowchart TD\n  NODE_{name}\n", encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    monkeypatch.setattr(sharing, "MOST_FILES", 2)
    names = [symbol["name"] for symbol in editor.request("workspace/symbol", {"query": "node"})]
    assert names == ["NODE_a", "NODE_b"]
    editor.open("flowchart TD\n" + "".join(f"  NODE{number}\n" for number in range(600)), "many.mmd")
    assert len(editor.request("workspace/symbol", {"query": "node"})) == 500


def test_workspace_symbols_without_a_folder(editor: Editor) -> None:
    editor.open("flowchart TD\n  SOLVE\n")
    assert [symbol["name"] for symbol in editor.request("workspace/symbol", {"query": ""})] == ["SOLVE"]


def test_call_hierarchy(editor: Editor) -> None:
    uri = editor.open(FLOW)
    (item,) = editor.request("textDocument/prepareCallHierarchy", editor.at(uri, "A:::"))
    assert (item["name"], item["detail"]) == ("A", "Custom")
    (fed_by,) = editor.request("callHierarchy/incomingCalls", {"item": item})
    assert fed_by["from"]["name"] == "PROBLEM"
    assert [text_at(editor, uri, place) for place in fed_by["fromRanges"]] == ["-->"]
    feeds = editor.request("callHierarchy/outgoingCalls", {"item": item})
    assert [call["to"]["name"] for call in feeds] == ["B", "RETURN"]
    editor.change(uri, {"text": "flowchart TD\n  C\n"})
    assert editor.request("callHierarchy/outgoingCalls", {"item": item}) is None


def test_links(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    for capabilities in (MODERN, MINIMAL):
        editor = open_editor(capabilities, tmp_path)
        uri = editor.open(FLOW)
        found = editor.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
        assert [link["target"] for link in found] == [
            (tmp_path / "prompts.yaml").as_uri(),
            (tmp_path / "lib.yaml").as_uri(),
            "https://example.org/a",
            (tmp_path / "notes.md").as_uri() + "#there",
        ]
        assert ("tooltip" in found[2]) == bool(capabilities)
    untitled = open_editor()
    uri = untitled.open(FLOW)
    assert len(untitled.request("textDocument/documentLink", {"textDocument": {"uri": uri}})) == 1


def test_folding(any_editor: Editor) -> None:
    text = "# a\n\n```mermaid\n" + FLOW + "```\n"
    uri = any_editor.open(text, "a.md")
    found = any_editor.request("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    assert [(fold["startLine"], fold["endLine"], fold.get("kind")) for fold in found] == [
        (2, 18, "region"),
        (3, 7, "region"),
        (9, 10, "comment"),
        (12, 13, None),
    ]


def test_folds_are_no_more_than_the_client_likes(open_editor: Callable[..., Editor]) -> None:
    folding = {"foldingRange": {"rangeLimit": 2}}
    editor = open_editor(MODERN | {"textDocument": MODERN["textDocument"] | folding})
    uri = editor.open("# a\n\n```mermaid\n" + FLOW + "```\n", "a.md")
    found = editor.request("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    assert [(fold["startLine"], fold["endLine"]) for fold in found] == [(2, 18), (3, 7)]


def test_selections_that_grow(any_editor: Editor) -> None:
    uri = any_editor.open("# a\n\n```mermaid\n" + FLOW + "```\n", "a.md")
    positions = [any_editor.find(uri, "solver"), {"line": 0, "character": 0}]
    inside, outside = any_editor.request(
        "textDocument/selectionRange", {"textDocument": {"uri": uri}, "positions": positions}
    )
    assert text_at(any_editor, uri, inside["range"]) == "solver"
    count = 0
    step: dict[str, Any] | None = inside
    while step is not None:
        last, step, count = step, step.get("parent"), count + 1
    assert count >= 5
    assert last["range"]["start"] == {"line": 3, "character": 0}
    assert outside == {"range": {"start": positions[1], "end": positions[1]}}
    gone = {"textDocument": {"uri": "file:///gone"}, "positions": positions}
    assert any_editor.request("textDocument/selectionRange", gone) is None


def test_selections_in_subgraphs_that_nest_deeper_than_anyone_reads(editor: Editor) -> None:
    depth = 1500
    text = "flowchart TD\n" + "subgraph part\n" * depth + "A --> B\n" + "end\n" * depth
    uri = editor.open(text)
    position = {"line": depth + 1, "character": 0}
    [inside] = editor.request("textDocument/selectionRange", {"textDocument": {"uri": uri}, "positions": [position]})
    assert text_at(editor, uri, inside["range"]) == "A"
    found = []
    step: dict[str, Any] | None = inside
    while step is not None:
        found.append(step["range"])
        step = step.get("parent")
    assert len(found) == 100
    assert found[-1] == {"start": {"line": 0, "character": 0}, "end": {"line": 2 * depth + 1, "character": 3}}
    starts = [one["start"]["line"] for one in found]
    assert starts == sorted(starts, reverse=True), "each is inside the next one"
