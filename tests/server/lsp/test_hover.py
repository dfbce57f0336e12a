"""Hover through the protocol: formats, positions in any encoding, places in Markdown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, Json

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE["Custom 😀<br/>"]:::CustomOp
    RETURN([Return]):::Interface
    PROBLEM --> SOLVE --> RETURN
"""


def test_markdown_where_the_client_draws_it(editor: Editor) -> None:
    uri = editor.open(FLOW)
    found = editor.request("textDocument/hover", editor.at(uri, "SOLVE[", 2))
    assert found["contents"]["kind"] == "markdown"
    assert "`SOLVE` is a `Custom`." in found["contents"]["value"]
    assert found["range"] == {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 9}}


def test_plain_text_elsewhere(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    found = editor.request("textDocument/hover", editor.at(editor.open(FLOW), "SOLVE["))
    assert found["contents"]["kind"] == "plaintext"
    assert "SOLVE is a Custom." in found["contents"]["value"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_behind_an_emoji(open_editor: Callable[..., Editor], encoding: str) -> None:
    editor = open_editor(MODERN | {"general": {"positionEncodings": [encoding]}})
    uri = editor.open(FLOW)
    found = editor.request("textDocument/hover", editor.at(uri, "CustomOp", 3))
    assert "Class `CustomOp`" in found["contents"]["value"]
    assert found["range"]["start"] == editor.find(uri, "CustomOp")


def test_in_a_fence(editor: Editor) -> None:
    uri = editor.open("# Title\n\n> ```mermaid\n> " + FLOW.replace("\n", "\n> ").rstrip("> ") + "> ```\n", "notes.md")
    found = editor.request("textDocument/hover", editor.at(uri, "SOLVE[", 1))
    assert "`SOLVE` is a" in found["contents"]["value"]
    assert found["range"]["start"] == editor.find(uri, "SOLVE[")
    assert editor.request("textDocument/hover", editor.at(uri, "Title")) is None


def test_outside_of_everything(editor: Editor) -> None:
    uri = editor.open(FLOW)
    place: Json = {"textDocument": {"uri": uri}, "position": {"line": 999, "character": 999}}
    assert editor.request("textDocument/hover", place) is None
    place["textDocument"]["uri"] = "file:///nowhere.mmd"
    assert editor.request("textDocument/hover", place) is None
