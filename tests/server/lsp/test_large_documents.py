"""Documents that are too large, and many of them at once: one sentence, and a bounded number of steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.growth.steps import steps
from tests.server.lsp.editor import Editor

from merrow_analysis.text import LARGEST_TEXT

SMALL = "flowchart TD\nA --> \n"
LARGE = "flowchart TD\n" + "%% filler\n" * (LARGEST_TEXT // 10)
SENTENCE = (
    "Merrow does not check documents of more than 10 million characters."
    " Make this one smaller, then close it and open it again."
)


def _messages(editor: Editor, uri: str) -> list[str]:
    return [one["message"] for one in editor.published(uri)]


@pytest.mark.parametrize("name", ["flow.mmd", "flow.md"])
def test_a_document_that_is_too_large_gets_one_sentence(name: str) -> None:
    editor = Editor()
    uri = editor.open(LARGE, name)
    assert _messages(editor, uri) == [SENTENCE]
    document = editor.server.document(uri)
    assert document is not None
    assert document.text == "", "the text is kept"
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 0}}
    assert editor.request("textDocument/hover", place) is None
    assert not editor.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    editor.close()


def test_a_document_grows_beyond_the_limit_and_is_sent_again() -> None:
    editor = Editor()
    uri = editor.open(SMALL)
    assert _messages(editor, uri) != [SENTENCE]
    end = {"line": 2, "character": 0}
    editor.change(uri, {"range": {"start": end, "end": end}, "text": "%%" + "x" * (LARGEST_TEXT - len(SMALL) - 2)})
    assert _messages(editor, uri) != [SENTENCE], "the limit itself is allowed"
    editor.change(uri, {"range": {"start": end, "end": end}, "text": "x"})
    assert _messages(editor, uri) == [SENTENCE]
    editor.change(uri, {"text": SMALL})
    found = _messages(editor, uri)
    assert found
    assert found != [SENTENCE]
    editor.close()


def test_taking_text_away_makes_room() -> None:
    editor = Editor()
    uri = editor.open("flowchart TD\n" + "%% filler\n" * 100 + "%%")
    document = editor.server.document(uri)
    assert document is not None
    for start, end, text in (((1, 2), (50, 3), "x\ny"), ((0, 0), (1, 0), "flowchart LR\n"), ((3, 0), (999, 0), "")):
        place = {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        }
        editor.change(uri, {"range": place, "text": text})
        assert document._size == len(document.text) == len(editor.texts[uri])
    editor.close()


@pytest.mark.slow
def test_the_command_line_refuses_a_file_that_is_too_large(tmp_path: Path) -> None:
    file = tmp_path / "flow.mmd"
    file.write_text(LARGE + "%%\n")
    for arguments, given in (([str(file)], None), (["-"], file.read_bytes())):
        command = [sys.executable, "-m", "merrow_server", "check", *arguments]
        done = subprocess.run(command, input=given, capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert b"is too large: at most 10 MB are read." in done.stderr


def _opening_steps(folder: Path, count: int) -> int:
    editor = Editor(folder=folder)

    def open_and_close() -> None:
        for number in range(count):
            editor.open(SMALL, f"flow{number}.mmd")
        for number in range(count):
            editor.change(editor.uri(f"flow{number}.mmd"), {"text": SMALL + "%%\n"})
        for number in range(count):
            editor.close_document(editor.uri(f"flow{number}.mmd"))

    found = steps(open_and_close)
    editor.close()
    return found


@pytest.mark.slow
def test_opening_many_documents_takes_steps_in_proportion(tmp_path: Path) -> None:
    _opening_steps(tmp_path, 10)
    small, large = (_opening_steps(tmp_path, count) for count in (50, 200))
    assert large < 4.6 * small
