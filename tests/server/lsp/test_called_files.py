"""Calls in an editor: files that change, links, definitions, hovers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.runtime.engine.fakes import flowchart
from tests.server.lsp.editor import MODERN, Editor
from tests.server.lsp.wire import Wire, message

SIMPLE = flowchart('A@{op: Custom, prompt: "think"}', "PROBLEM --> A --> RETURN")
CALLS = flowchart('C@{op: Call, workflow: "./f.mmd"}', "PROBLEM -->|PROBLEM| C -->|RETURN:result| RETURN")
BETWEEN = flowchart('C@{op: Call, workflow: "g.mmd"}', "PROBLEM --> C --> RETURN")


def test_a_called_file_that_changes_on_disk_or_in_the_editor_is_noticed(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "f.mmd").write_text(BETWEEN)
    (tmp_path / "g.mmd").write_text(SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    assert "MW227" not in editor.codes(uri)
    (tmp_path / "g.mmd").unlink()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("g.mmd"), "type": 3}]})
    assert "MW227" in editor.codes(uri)
    inner = editor.open(SIMPLE, "g.mmd")
    assert "MW227" not in editor.codes(uri)
    editor.change(inner, {"text": SIMPLE.replace("Custom", "Custm")})
    assert "MW227" in editor.codes(uri)
    editor.change(inner, {"text": SIMPLE})
    assert "MW227" not in editor.codes(uri)
    editor.close_document(inner)
    assert "MW227" in editor.codes(uri)


def test_an_error_leads_into_the_called_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text("%% 😀\n" + SIMPLE.replace("Custom", "Custm"))
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    (found,) = [item for item in editor.published(uri) if item["code"] == "MW227"]
    (place,) = [part["location"] for part in found["relatedInformation"]]
    assert place["uri"] == editor.uri("f.mmd")
    assert place["range"]["start"]["line"] == 4


def test_the_path_and_the_ports_lead_into_the_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text(SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    (link,) = editor.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert link["target"] == editor.uri("f.mmd")
    assert link["range"]["start"] == editor.find(uri, "./f.mmd")
    for word, offset, line in (("./f.mmd", 2, 0), ("|PROBLEM|", 3, 1), ("|RETURN:", 3, 2)):
        (found,) = editor.request("textDocument/definition", editor.at(uri, word, offset))
        assert found["targetUri"] == editor.uri("f.mmd")
        assert found["targetSelectionRange"]["start"]["line"] == line
    assert not editor.request("textDocument/definition", editor.at(uri, ":result|", 3))


def test_a_hover_shows_the_signature_and_the_title(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text("---\ntitle: Thinks hard\n---\n" + SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    for word, offset in (("C@{", 0), ("workflow:", 3)):
        said = editor.request("textDocument/hover", editor.at(uri, word, offset))["contents"]["value"]
        assert "PROBLEM*: Problem" in said
        assert "RETURN: Text" in said
        assert "Thinks hard" in said
        assert "f.mmd" in said


def test_ports_of_the_file_are_completed(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    wants = SIMPLE.replace("RETURN(", "LEVEL([Level]):::Interface\n    RETURN(", 1) + "    LEVEL --> A\n"
    (tmp_path / "f.mmd").write_text(wants)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS.replace("|PROBLEM|", "|P|"), "main.mmd")
    answer = editor.request("textDocument/completion", editor.at(uri, "|P|", 2))
    items = answer["items"] if isinstance(answer, dict) else answer
    assert {"PROBLEM", "LEVEL"} <= {item["label"] for item in items}


def test_a_server_in_a_process_of_its_own_notices_a_changed_file(tmp_path: Path) -> None:
    main, called = tmp_path / "main.mmd", tmp_path / "f.mmd"
    called.write_text(SIMPLE)
    with Wire() as wire:
        wire.initialize()
        item = {"uri": main.as_uri(), "languageId": "mermaid", "version": 1, "text": CALLS}
        wire.send(message("textDocument/didOpen", {"textDocument": item}))
        told = wire.notification("textDocument/publishDiagnostics")
        assert "MW227" not in {one["code"] for one in told["diagnostics"]}
        called.write_text(SIMPLE.replace("Custom", "Custm"))
        wire.send(message("workspace/didChangeWatchedFiles", {"changes": [{"uri": called.as_uri(), "type": 2}]}))
        told = wire.notification("textDocument/publishDiagnostics")
        assert "MW227" in {one["code"] for one in told["diagnostics"]}
