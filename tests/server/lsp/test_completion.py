"""Completion through the protocol: snippets, ranges, documentation on resolve."""

from __future__ import annotations

from collections.abc import Callable

from tests.server.lsp.editor import MINIMAL, Editor, Json

FLOW = """flowchart TD
    PROBLEM([Problem 😀]):::Interface
    P["Programmer"]:::ProgrammerOp
    RETURN([Return]):::Interface
    PROBLEM --> PRO; RETURN
"""


def items(editor: Editor, uri: str, word: str, offset: int) -> list[Json]:
    answer = editor.request("textDocument/completion", editor.at(uri, word, offset))
    return list(answer["items"])


def test_the_items_in_their_order(editor: Editor) -> None:
    uri = editor.open(FLOW)
    found = items(editor, uri, "--> PRO", 6)
    first = min(found, key=lambda item: item["sortText"])
    assert first["label"] == "P"
    assert first["labelDetails"] == {"description": "into problem"}
    assert editor.edited(uri, [first["textEdit"]]) == FLOW.replace("PRO;", "P;")


def test_documentation_comes_with_resolve(editor: Editor) -> None:
    uri = editor.open(FLOW)
    item = next(item for item in items(editor, uri, "--> PRO", 6) if item["label"] == "P")
    assert "documentation" not in item
    resolved = editor.request("completionItem/resolve", item)
    assert resolved["documentation"]["kind"] == "markdown"
    assert "`P` is a `Programmer`." in resolved["documentation"]["value"]


def test_resolve_after_the_document_was_closed(editor: Editor) -> None:
    uri = editor.open(FLOW)
    item = items(editor, uri, "--> PRO", 6)[0]
    editor.close_document(uri)
    assert editor.request("completionItem/resolve", item)["label"] == item["label"]
    assert editor.request("completionItem/resolve", {"label": "x"}) == {"label": "x"}
    assert editor.request("completionItem/resolve", {"label": "x", "data": {"position": {}, "uri": 3}})["label"] == "x"


def test_snippets_only_where_they_are_known(open_editor: Callable[..., Editor]) -> None:
    for capabilities, wanted in ((None, 2), (MINIMAL, 1)):
        editor = open_editor(capabilities)
        uri = editor.open(FLOW + "    ")
        place = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 4}}
        found = editor.request("textDocument/completion", place)["items"]
        custom = next(item for item in found if item["label"] == "Custom")
        assert custom["insertTextFormat"] == wanted
        assert ("${1:CUSTOM}" in custom["textEdit"]["newText"]) == (wanted == 2)
        assert "\n    class " in custom["textEdit"]["newText"]


def test_new_lines_in_a_fence_keep_its_marks(editor: Editor) -> None:
    text = "> ```mermaid\n> " + FLOW.replace("\n", "\n> ") + "    \n> ```\n"
    uri = editor.open(text, "notes.md")
    place = {"textDocument": {"uri": uri}, "position": {"line": 6, "character": 6}}
    found = editor.request("textDocument/completion", place)["items"]
    custom = next(item for item in found if item["label"] == "Custom")
    assert "\n>     class " in custom["textEdit"]["newText"]


def test_while_the_front_matter_is_typed(editor: Editor) -> None:
    uri = editor.open("---\nworkflow:\n  me")
    found = items(editor, uri, "  me", 4)
    memory = next(item for item in found if item["label"] == "memory")
    assert editor.edited(uri, [memory["textEdit"]]) == "---\nworkflow:\n  memory: "


def test_outside_of_every_diagram(editor: Editor) -> None:
    uri = editor.open("# no diagram\n", "notes.md")
    assert editor.request("textDocument/completion", editor.at(uri, "no")) is None
