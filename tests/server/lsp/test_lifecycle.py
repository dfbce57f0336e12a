"""The start: what is registered, what is imported when, and pytest-lsp's client with a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.patience import PATIENCE
from tests.server.lsp.client import message
from tests.server.lsp.editor import MINIMAL, MODERN, Editor
from tests.server.lsp.test_sync import BROKEN, GOOD

from merrow_server import features
from merrow_server.lsp import memory


@pytest.mark.slow
async def test_a_client_of_another_make(client: LanguageClient) -> None:
    uri = "untitled:flow.mmd"
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mermaid", 1, BROKEN)))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert "MW006" in [diagnostic.code for diagnostic in client.diagnostics[uri]]
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(uri=uri, version=2),
            [types.TextDocumentContentChangeWholeDocument(GOOD)],
        )
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert "MW006" not in [diagnostic.code for diagnostic in client.diagnostics[uri]]


@pytest.mark.parametrize(
    ("capabilities", "methods"),
    [
        (MODERN, {"workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"}),
        (MINIMAL, set()),
    ],
    ids=["modern", "minimal"],
)
def test_what_is_registered_later(
    open_editor: Callable[..., Editor], capabilities: dict[str, object], methods: set[str]
) -> None:
    editor = open_editor(capabilities)
    registered = {
        registration["method"]
        for request in editor.requests
        if request["method"] == "client/registerCapability"
        for registration in request["params"]["registrations"]
    }
    assert registered == methods


def test_settings_files_of_any_name_and_what_workflows_name_are_watched(editor: Editor) -> None:
    [files] = (
        registration["registerOptions"]["watchers"]
        for request in editor.requests
        if request["method"] == "client/registerCapability"
        for registration in request["params"]["registrations"]
        if registration["method"] == "workspace/didChangeWatchedFiles"
    )
    endings = [watcher["globPattern"].removeprefix("**/*.").strip("{}").split(",") for watcher in files]
    assert {ending for some in endings for ending in some} == {
        "toml",
        "py",
        "yaml",
        "yml",
        "mmd",
        "mermaid",
        "**/merrow.tools.json",
    }


def imported(*after: bytes) -> set[str]:
    """The modules that a server has imported after messages; every test process has imported more."""
    program = (
        "import json, sys; from merrow_server.cli import main\n"
        "import atexit; atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))\n"
        "sys.exit(main(['serve']))"
    )
    start = message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"".join([start, *after]), capture_output=True, timeout=PATIENCE
    )
    return set(json.loads(done.stderr))


@pytest.mark.slow
def test_initialize_needs_no_analysis() -> None:
    modules = imported()
    assert "merrow_server.features.hover" in modules
    heavy = {
        "merrow_analysis.check",
        "merrow_analysis.syntax.parser",
        "merrow_analysis.graph.flow",
        "merrow_analysis.graph.nodes",
        "merrow_analysis.definitions.operators",
        "merrow_analysis.definitions.schema",
        "lark",
        "yaml",
        "nh3",
        "markdown_it",
        "openai",
        "aiohttp",
        "rich",
    }
    assert not heavy & modules


@pytest.mark.slow
def test_checking_needs_no_model() -> None:
    item = {"uri": "untitled:a.mmd", "languageId": "mermaid", "version": 1, "text": GOOD}
    opened = message("textDocument/didOpen", {"textDocument": item})
    # The input ends right behind: only what is asked is sure to be worked out before the server leaves.
    asked = message("textDocument/documentSymbol", {"textDocument": {"uri": "untitled:a.mmd"}}, 2)
    modules = imported(message("initialized", {}), opened, asked)
    assert "merrow_analysis.check" in modules
    assert not {"openai", "httpx2", "aiohttp", "rich"} & modules


def test_features_are_found_by_their_files() -> None:
    names = features.names()
    assert names == sorted(names)
    assert {"diagnostics", "lifecycle", "formatting"} <= set(names)


@pytest.mark.parametrize("names_folders", [True, False])
def test_the_root_is_the_folder_of_a_client_that_names_none(
    open_editor: Callable[..., Editor], tmp_path: Path, names_folders: bool
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "merrow.toml").write_text('ignore = ["MW0"]\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path, names_folders=names_folders)
    assert editor.server.surroundings.folders == [tmp_path]
    assert editor.codes(editor.open("flowchart TD\n    A -->\n", "sub/flow.mmd")) == []


def test_folders_come_and_go(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    editor = open_editor(MODERN, first)
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        {
            "event": {
                "added": [{"uri": second.as_uri(), "name": "two"}],
                "removed": [{"uri": first.as_uri(), "name": "one"}],
            }
        },
    )
    editor.run(0.02)
    assert editor.server.surroundings.folders == [second]
    assert editor.requests[-1]["params"]["items"][0]["scopeUri"] == second.as_uri()


def test_garbage_is_collected_when_nobody_types(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    now = editor.loop.time()
    # A clock of its own: on a busy machine the pauses between two keys could be as long as being idle is.
    monkeypatch.setattr(editor.loop, "time", lambda: now)
    collected: list[float] = []
    monkeypatch.setattr(memory, "collect", lambda: collected.append(now))
    monkeypatch.setattr(memory, "IDLE", 0.05)
    collector = memory.IdleCollector(editor.loop)
    for _ in range(5):
        collector.active()
        now += 0.02
        editor.run()
        assert not collected
    for _ in range(10):
        now += 0.02
        editor.run()
    assert len(collected) == 1


@pytest.mark.parametrize("longest", [0.1, 60.0])
def test_garbage_is_collected_at_times_also_while_somebody_types(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, longest: float
) -> None:
    now = editor.loop.time()
    monkeypatch.setattr(editor.loop, "time", lambda: now)
    collected: list[float] = []
    monkeypatch.setattr(memory, "collect", lambda: collected.append(now))
    monkeypatch.setattr(memory, "IDLE", 0.2)
    monkeypatch.setattr(memory, "LONGEST_WITHOUT", longest)
    collector = memory.IdleCollector(editor.loop)
    for _ in range(30):
        collector.active()
        now += 0.02
        editor.run()
    assert bool(collected) == (longest < 1)
