"""The language server knows a rule as soon as it is registered."""

from __future__ import annotations

from tests.new_rule import CODE, FIX, LOUD, NAME, added, loud_ids
from tests.server.lsp.editor import Editor

from merrow_analysis.rules.registry import Flags, Scope


def titles(editor: Editor, uri: str) -> list[str]:
    place = editor.find(uri, "LOUD[")
    asked = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    return [action["title"] for action in editor.request("textDocument/codeAction", asked)]


def test_it_is_published_with_its_code_actions(editor: Editor) -> None:
    with added(loud_ids, Scope.NODE):
        uri = editor.open(LOUD)
        [found] = [one for one in editor.published(uri) if one["code"] == CODE]
        assert found["message"].startswith("LOUD shouts.")
        wanted = [FIX, f"Ignore {CODE} ({NAME}) here", f"Ignore {CODE} ({NAME}) in this file"]
        assert [title for title in titles(editor, uri) if title in wanted] == wanted
        place = editor.find(uri, "LOUD[")
        end = {"line": place["line"], "character": place["character"] + 4}
        editor.change(uri, {"range": {"start": place, "end": end}, "text": "CALM"})
        [found] = [one for one in editor.published(uri) if one["code"] == CODE]
        assert found["range"]["start"]["line"] == 4, "an edge still names it"


def test_what_its_flags_forbid_is_not_offered(editor: Editor) -> None:
    for flag in (Flags.ABOUT_COMMENTS, Flags.REFUSED):
        with added(loud_ids, Scope.NODE, flag):
            uri = editor.open(LOUD, f"{flag.name}.mmd")
            assert CODE in editor.codes(uri)
            assert not any(CODE in title for title in titles(editor, uri))
