"""Tools in an editor, through the protocol: the pins beside a workflow count, as the editor has them and as they are on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.lsp.editor import MODERN, Editor
from tests.tools.flows import price
from tests.tools.pinned import PINS

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE


def test_an_edit_of_the_pins_checks_open_workflows_again(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    pins = tmp_path / PINS_FILE
    (tmp_path / "merrow.toml").write_text("")
    (tmp_path / "flows").mkdir()
    pins.write_text(NO_PINS.text())
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(price(""), "flows/flow.mmd")
    assert "MW503" in editor.codes(uri)
    pins.write_text(PINS.text())
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": pins.as_uri(), "type": 2}]})
    assert "MW503" not in editor.codes(uri)
    opened = editor.open(NO_PINS.text(), PINS_FILE, "json")
    assert "MW503" in editor.codes(uri)
    editor.close_document(opened)
    assert "MW503" not in editor.codes(uri)


def test_definition_opens_the_pin(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / PINS_FILE).write_text(PINS.text())
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(price(""), "flow.mmd")
    [link] = editor.request("textDocument/definition", editor.at(uri, "tool: shop.price", 10))
    assert link["targetUri"] == (tmp_path / PINS_FILE).as_uri()
    line = PINS.text().split("\n")[link["targetSelectionRange"]["start"]["line"]]
    assert line.strip() == '"price": {'


def test_what_the_users_settings_allow_is_not_hinted_at(
    open_editor: Callable[..., Editor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path))
    (tmp_path / PINS_FILE).write_text(PINS.text())
    (tmp_path / "merrow.toml").write_text("")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(price(""), "flow.mmd")
    assert "MW507" in editor.codes(uri)
    (tmp_path / "config.toml").write_text('[servers.shop]\ncommand = ["shop"]\nallow = ["price"]\n')
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("merrow.toml"), "type": 2}]})
    assert "MW507" not in editor.codes(uri)
