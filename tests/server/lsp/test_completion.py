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


def test_an_item_is_whole_for_each_kind_of_client(open_editor: Callable[..., Editor]) -> None:
    for capabilities, described, kind in (
        (None, {"detail": "Programmer", "labelDetails": {"description": "into problem"}}, "markdown"),
        (MINIMAL, {"detail": "Programmer (into problem)"}, "plaintext"),
    ):
        editor = open_editor(capabilities)
        uri = editor.open(FLOW)
        answer = editor.request("textDocument/completion", editor.at(uri, "--> PRO", 6))
        assert not answer["isIncomplete"]
        item = answer["items"][0]
        place = {"start": {"line": 4, "character": 16}, "end": {"line": 4, "character": 19}}
        assert item == described | {
            "label": "P",
            "kind": 6,
            "sortText": "00000",
            "insertTextFormat": 1,
            "textEdit": {"range": place, "newText": "P"},
            "data": {"uri": uri, "position": {"line": 4, "character": 18}, "subject": ["node", "P"]},
        }
        resolved = editor.request("completionItem/resolve", item)
        documentation = resolved.pop("documentation")
        assert resolved == item
        assert documentation["kind"] == kind
        first = "`P` is a `Programmer`." if kind == "markdown" else "P is a Programmer."
        assert documentation["value"].split("\n")[0] == first
        label = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 9}}
        details = {one["label"]: one["detail"] for one in editor.request("textDocument/completion", label)["items"]}
        assert details["Custom"] == "One model call: its prompt, then its inputs in edge order. …"
        assert max(len(detail) for detail in details.values()) == 60
        assert all(detail.endswith("…") or len(detail) < 60 for detail in details.values())


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
