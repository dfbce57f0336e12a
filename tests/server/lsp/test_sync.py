"""Text synchronisation: what is open, how it changes, and what the editor is shown of it."""

from __future__ import annotations

import pytest
from tests.server.lsp.editor import Editor

GOOD = """flowchart TD
    P([Problem]) --> A["Custom<br/>(role: r)"] --> R([Return])
    class P,R Interface
    class A CustomOp
"""
BROKEN = GOOD.replace('"Custom<br/>(role: r)"', "Bad(")


def test_a_change_is_checked(any_editor: Editor) -> None:
    editor = any_editor
    uri = editor.open(BROKEN)
    pulls = "diagnostic" in editor.capabilities.get("textDocument", {})
    if pulls:
        report = editor.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert "MW006" in [item["code"] for item in report["items"]]
        assert not editor.messages("textDocument/publishDiagnostics")
    else:
        assert "MW006" in editor.codes(uri)
    editor.change(uri, {"text": GOOD})
    if pulls:
        report = editor.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert "MW006" not in [item["code"] for item in report["items"]]
        assert not editor.messages("textDocument/publishDiagnostics")
    else:
        assert "MW006" not in editor.codes(uri)


def test_closing_clears_what_was_pushed(editor: Editor) -> None:
    uri = editor.open(BROKEN)
    assert editor.codes(uri)
    editor.close_document(uri)
    assert editor.published(uri) == []


@pytest.mark.parametrize(("version", "warned"), [(1, 1), (0, 1), (2, 0), (7, 0)])
def test_a_change_that_comes_late_is_noted_in_the_log(
    editor: Editor, caplog: pytest.LogCaptureFixture, version: int, warned: int
) -> None:
    uri = editor.open(BROKEN)
    document = editor.server.document(uri)
    assert document is not None
    assert document.version == 1
    changes = [{"text": GOOD}]
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
    )
    assert "MW006" not in editor.codes(uri)
    assert sum("came after version" in one.getMessage() for one in caplog.records) == warned
