"""Signature help through the protocol."""

from __future__ import annotations

from collections.abc import Callable

from tests.server.lsp.editor import MINIMAL, Editor

FLOW = 'flowchart TD\nPROBLEM([P]):::Interface\nPROBLEM --> A --> RETURN\nA["Custom<br/>(role: x, seed: 1)"]\n'


def test_the_active_parameter(editor: Editor) -> None:
    found = editor.request("textDocument/signatureHelp", editor.at(editor.open(FLOW), "seed: 1", 7))
    signature = found["signatures"][found["activeSignature"]]
    start, end = signature["parameters"][found["activeParameter"]]["label"]
    assert signature["label"][start:end] == "seed"


def test_an_old_client_gets_words(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    found = editor.request("textDocument/signatureHelp", editor.at(editor.open(FLOW), "role: x", 7))
    assert found["signatures"][0]["parameters"][found["activeParameter"]]["label"] == "role"


def test_none_outside(editor: Editor) -> None:
    uri = editor.open(FLOW)
    assert editor.request("textDocument/signatureHelp", editor.at(uri, "PROBLEM -")) is None
    assert (
        editor.request(
            "textDocument/signatureHelp", {"textDocument": {"uri": "x:y"}, "position": {"line": 0, "character": 0}}
        )
        is None
    )
