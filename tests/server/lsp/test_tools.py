"""Tools in an editor, through the protocol: the pins beside a workflow count, as the editor has them and as they are on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.lsp.client import Json
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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_step_of_a_drawing_is_bound_to_a_tool_in_one_edit(
    open_editor: Callable[..., Editor], tmp_path: Path, ending: str
) -> None:
    (tmp_path / PINS_FILE).write_text(PINS.text())
    (tmp_path / "merrow.toml").write_text("")
    editor = open_editor(MODERN, tmp_path)
    text = "flowchart TD\n    A([Article]) --> B[Order the price list]\n    B --> C([Answer])\n".replace("\n", ending)
    uri = editor.open(text, "flow.mmd")
    asked = editor.at(uri, "B[Order")
    place = {"start": asked["position"], "end": asked["position"]}

    def menu(trigger: int) -> list[Json]:
        context = {"diagnostics": [], "triggerKind": trigger}
        params = {"textDocument": {"uri": uri}, "range": place, "context": context}
        found = editor.request("textDocument/codeAction", params)
        return [action for action in found if action.get("kind") == "refactor.rewrite.tool"]

    assert menu(2) == []  # Not while the cursor moves.
    (price,) = [action for action in menu(1) if action["title"] == "Bind to the tool shop.price"]
    after = editor.applied(price["edit"])[uri]
    assert after.endswith(f'    B@{{ op: Tool, tool: "shop.price" }}{ending}')
    assert "tools: [shop.price]" in after
    assert after.count("\n") == after.count(ending)
    editor.change(uri, {"text": after})
    assert [one["code"] for one in editor.published(uri) if one["severity"] == 1] == []
