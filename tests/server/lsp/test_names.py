"""Definition, references, highlights, rename and linked editing as clients ask for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, ServerError
from tests.server.lsp.words import text_at

FLOW = """---
workflow:
  prompts: {solver: Solve.}
---
flowchart TD
    PROBLEM([😀 Problem]):::Interface --> A["😀 Custom<br/>(role: solver)"]:::CustomOp --> RETURN([Return]):::Interface
    A["Custom<br/>(role: solver)"]
    style A fill:#fff
    classDef CustomOp fill:#eee
    classDef Interface fill:#eee
"""
SHARED = 'flowchart TD\n    PROBLEM([P]):::Interface --> A["Custom<br/>(role: solver)"]:::CustomOp --> RETURN([R]):::Interface\n'


def test_definition_as_links_and_as_locations(any_editor: Editor) -> None:
    uri = any_editor.open(FLOW)
    answer = any_editor.request("textDocument/definition", any_editor.at(uri, "style A", 6))
    if any_editor.capabilities:
        assert [text_at(any_editor, uri, link["targetSelectionRange"]) for link in answer] == ["A", "A"]
        assert [text_at(any_editor, uri, link["targetRange"]) for link in answer] == [
            'A["😀 Custom<br/>(role: solver)"]:::CustomOp',
            'A["Custom<br/>(role: solver)"]',
        ]
        assert text_at(any_editor, uri, answer[0]["originSelectionRange"]) == "A"
    else:
        assert [text_at(any_editor, uri, place["range"]) for place in answer] == ["A", "A"]
        assert [place["range"]["start"]["line"] for place in answer] == [5, 6]
    assert any_editor.request("textDocument/definition", any_editor.at(uri, "flowchart")) is None


def test_a_prompt_file_and_its_other_users(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    module = 'X = "ü"; SOLVER = "Solve."\n'
    (tmp_path / "prompt.py").write_text(module, encoding="utf-8")
    (tmp_path / "closed.mmd").write_text(SHARED, encoding="utf-8")
    (tmp_path / "own.mmd").write_text(
        SHARED.replace("flowchart", "---\nworkflow: {prompts: {solver: x}}\n---\nflowchart", 1)
    )
    editor = open_editor(MODERN, tmp_path)
    flow = editor.open(SHARED)
    markdown = editor.open("# Two\n\n```mermaid\n" + SHARED + "```\n", "two.md")
    prompts = editor.open(module, "prompt.py")
    here = editor.at(flow, "solver")
    (target,) = editor.request("textDocument/definition", here)
    assert target["targetUri"] == prompts
    assert text_at(editor, prompts, target["targetSelectionRange"]) == "SOLVER"
    places = editor.request("textDocument/references", {**here, "context": {"includeDeclaration": True}})
    closed = (tmp_path / "closed.mmd").as_uri()
    assert sorted((place["uri"], place["range"]["start"]["line"]) for place in places) == sorted(
        [(flow, 1), (prompts, 0), (markdown, 4), (closed, 1)]
    )
    edit = editor.request("textDocument/rename", {**here, "newName": "thinker"})
    assert {change["textDocument"]["uri"] for change in edit["documentChanges"]} == {flow, prompts, markdown, closed}
    edit["documentChanges"] = [c for c in edit["documentChanges"] if c["textDocument"]["uri"] != closed]
    texts = editor.applied(edit)
    assert texts[flow] == SHARED.replace("solver", "thinker")
    assert texts[markdown] == "# Two\n\n```mermaid\n" + SHARED.replace("solver", "thinker") + "```\n"
    assert texts[prompts] == module.replace("SOLVER", "THINKER")


def test_references_without_the_declaration(editor: Editor) -> None:
    uri = editor.open(FLOW)
    here = editor.at(uri, "style A", 6)
    for include, count in ((True, 3), (False, 1)):
        answer = editor.request("textDocument/references", {**here, "context": {"includeDeclaration": include}})
        assert len(answer) == count


def test_highlights(any_editor: Editor) -> None:
    uri = any_editor.open(FLOW)
    found = any_editor.request("textDocument/documentHighlight", any_editor.at(uri, "(role: solver", 7))
    assert [(text_at(any_editor, uri, mark["range"]), mark["kind"]) for mark in found] == [
        ("solver", 3),
        ("solver", 2),
        ("solver", 2),
    ]


def test_rename(any_editor: Editor) -> None:
    uri = any_editor.open(FLOW)
    here = any_editor.at(uri, "style A", 6)
    prepared = any_editor.request("textDocument/prepareRename", here)
    assert prepared["placeholder"] == "A"
    edit = any_editor.request("textDocument/rename", {**here, "newName": "SOLVE"})
    assert ("documentChanges" in edit) == bool(any_editor.capabilities)
    text = any_editor.applied(edit)[uri]
    assert text.count("SOLVE") == 3
    assert "style SOLVE fill" in text


def test_rename_in_a_quoted_fence(editor: Editor) -> None:
    text = "> - ```mermaid\n>   flowchart TD\n>   A --> B\n>   B --> C\n>   ```\n"
    uri = editor.open(text, "a.md")
    edit = editor.request("textDocument/rename", {**editor.at(uri, "B --> C"), "newName": "NEXT"})
    assert editor.applied(edit)[uri] == text.replace("B", "NEXT")


@pytest.mark.parametrize(("new", "reason"), [("end", "word of Mermaid's own"), ("PROBLEM", "already a node")])
def test_refused_names(editor: Editor, new: str, reason: str) -> None:
    uri = editor.open(FLOW)
    with pytest.raises(ServerError, match=reason) as refusal:
        editor.request("textDocument/rename", {**editor.at(uri, "style A", 6), "newName": new})
    assert refusal.value.code == -32803


def test_what_has_no_name_or_a_fixed_one(editor: Editor) -> None:
    uri = editor.open(FLOW)
    assert editor.request("textDocument/prepareRename", editor.at(uri, "flowchart")) is None
    with pytest.raises(ServerError, match="says which operator"):
        editor.request("textDocument/prepareRename", editor.at(uri, "CustomOp fill"))
    with pytest.raises(ServerError, match="by its name"):
        editor.request("textDocument/prepareRename", editor.at(uri, "RETURN"))


def test_linked_editing(open_editor: Callable[..., Editor]) -> None:
    for capabilities in (MODERN, MINIMAL):
        editor = open_editor(capabilities)
        uri = editor.open("flowchart TD\n  A[😀] --> B\n  A --> C\n")
        found = editor.request("textDocument/linkedEditingRange", editor.at(uri, "A -->"))
        assert [text_at(editor, uri, place) for place in found["ranges"]] == ["A", "A"]
        assert editor.request("textDocument/linkedEditingRange", editor.at(uri, "C")) is None


OF_A_PLACE = [
    "definition",
    "references",
    "documentHighlight",
    "prepareRename",
    "rename",
    "linkedEditingRange",
    "prepareCallHierarchy",
    "hover",
    "completion",
    "signatureHelp",
]
OF_A_DOCUMENT = [
    "documentSymbol",
    "documentLink",
    "foldingRange",
    "documentColor",
    "semanticTokens/full",
    "semanticTokens/range",
    "codeLens",
    "inlayHint",
]


@pytest.mark.parametrize("method", OF_A_PLACE + OF_A_DOCUMENT)
def test_unknown_files_and_places_beyond_the_end(editor: Editor, method: str) -> None:
    place = {"line": 999, "character": 999}
    more = {"newName": "x", "context": {"includeDeclaration": True}, "range": {"start": place, "end": place}}
    if method == "completion":
        more["context"] = {"triggerKind": 1}
    elif method == "signatureHelp":
        del more["context"]
    gone = {"textDocument": {"uri": "file:///gone.mmd"}, "position": place, **more}
    answer = editor.request(f"textDocument/{method}", gone)
    assert not answer or not (answer.get("data") or answer.get("items"))
    uri = editor.open(FLOW)
    beyond = {"textDocument": {"uri": uri}, "position": place, **more}
    if method == "rename":
        with pytest.raises(ServerError, match="Nothing here"):
            editor.request(f"textDocument/{method}", beyond)
    elif method in OF_A_PLACE and method != "completion":
        assert not editor.request(f"textDocument/{method}", beyond)
