"""A rename that reaches other files: they are named as the client names them, and nothing is changed under its hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.lsp.editor import MODERN, Editor, ServerError
from tests.server.lsp.test_names import SHARED
from tests.server.lsp.test_renaming_across_files import BESIDE, CALLED

MODULE = 'SOLVER = "Solve."\n'


def test_an_open_file_is_named_as_the_client_opened_it(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "prompt.py").write_text(MODULE, encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    flow = editor.open(SHARED)
    odd = editor.uri("prompt.py").replace("/prompt.py", "/%70rompt.py")
    item = {"uri": odd, "languageId": "python", "version": 7, "text": MODULE}
    editor.notify("textDocument/didOpen", {"textDocument": item})
    edit = editor.request("textDocument/rename", {**editor.at(flow, "solver"), "newName": "thinker"})
    named = {change["textDocument"]["uri"]: change["textDocument"]["version"] for change in edit["documentChanges"]}
    assert named == {flow: 1, odd: 7}


@pytest.mark.parametrize("changed", ["flow.mmd", "two.mmd", None])
def test_a_text_that_changes_meanwhile_is_not_renamed(
    open_editor: Callable[..., Editor], tmp_path: Path, changed: str | None
) -> None:
    (tmp_path / "prompt.py").write_text(MODULE, encoding="utf-8")
    for number in range(20):
        (tmp_path / f"closed{number}.mmd").write_text(SHARED, encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    flow = editor.open(SHARED)
    editor.open(SHARED, "two.mmd")
    asked = editor.begin("textDocument/rename", {**editor.at(flow, "solver"), "newName": "thinker"})
    if changed is None:
        assert len(editor.result(asked)["documentChanges"]) == 23
        return
    start = {"line": 0, "character": 0}
    editor.change(editor.uri(changed), {"range": {"start": start, "end": start}, "text": "%% new\n"})
    with pytest.raises(ServerError, match="changed meanwhile") as refusal:
        editor.result(asked)
    assert refusal.value.code == -32801


@pytest.mark.parametrize("changed", ["main.mmd", "f.mmd", "other.mmd", None])
def test_an_input_of_a_called_file_is_not_renamed_in_texts_that_change_meanwhile(
    open_editor: Callable[..., Editor], tmp_path: Path, changed: str | None
) -> None:
    for number in range(20):
        (tmp_path / f"closed{number}.mmd").write_text(BESIDE, encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    uris = {
        name: editor.open(text, name) for name, text in (("main.mmd", BESIDE), ("f.mmd", CALLED), ("other.mmd", BESIDE))
    }
    asked = editor.begin("textDocument/rename", {**editor.at(uris["main.mmd"], "|LEVEL|", 2), "newName": "DEPTH"})
    if changed is None:
        assert len(editor.result(asked)["documentChanges"]) == 23
        return
    editor.do(asyncio.sleep(0))
    start = {"line": 0, "character": 0}
    editor.change(uris[changed], {"range": {"start": start, "end": start}, "text": "%% new\n"})
    with pytest.raises(ServerError, match="The text changed meanwhile; rename again") as refusal:
        editor.result(asked)
    assert refusal.value.code == -32801
