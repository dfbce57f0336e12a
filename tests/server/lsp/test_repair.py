"""Repairs in the menu and the command ``merrow.repair``."""

from __future__ import annotations

import copy

import pytest
from tests.optimizer.test_repair import PLAN
from tests.server.lsp.editor import MODERN, Editor, Json, ServerError

from merrow_analysis.check import analyse

DEFECT = PLAN.replace("|analysis|", "|analyse|")
DEAD_END = PLAN.replace("    PLAN -->|analysis| PY\n", "    PY -->|input| PLAN\n")
INVOKED, AUTOMATIC = 1, 2
REPAIR = "Repair this workflow"


def menu(editor: Editor, uri: str, line: int, trigger: int = INVOKED) -> list[Json]:
    place = {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 4}}
    context = {"diagnostics": [], "triggerKind": trigger}
    asked = {"textDocument": {"uri": uri}, "range": place, "context": context}
    return editor.request("textDocument/codeAction", asked) or []


def execute(editor: Editor, **asked: object) -> Json:
    found: Json = editor.request("workspace/executeCommand", {"command": "merrow.repair", "arguments": [asked]})
    return found


@pytest.fixture
def editor():  # type: ignore[no-untyped-def]
    made = Editor(copy.deepcopy(MODERN))
    yield made
    made.close()


def test_the_repair_is_offered_where_there_are_errors_and_the_menu_is_asked_for(editor: Editor) -> None:
    uri = editor.open(DEFECT)
    offered = [action["title"] for action in menu(editor, uri, 7)]
    assert REPAIR in offered
    suppressing = [number for number, title in enumerate(offered) if title.startswith("Ignore ")]
    assert all(offered.index(REPAIR) < number for number in suppressing)
    assert REPAIR not in [action["title"] for action in menu(editor, uri, 7, AUTOMATIC)]
    valid = editor.open(PLAN)
    assert REPAIR not in [action["title"] for action in menu(editor, valid, 7)]


def test_searched_fixes_repair_what_no_rule_does(editor: Editor) -> None:
    uri = editor.open(DEAD_END)
    (finding,) = [one for one in analyse(DEAD_END).diagnostics if one.code == "MW102"]
    known = {fix.title for fix in finding.fixes}
    offered = [
        one for one in menu(editor, uri, finding.range.start.line) if "edit" in one and one["kind"] == "quickfix"
    ]
    searched = [one for one in offered if one["title"] not in known and not one["title"].startswith("Ignore")]
    for action in searched:
        after = editor.applied(action["edit"])[uri]
        assert "MW102" not in {one.code for one in analyse(after).diagnostics}, action["title"]


def test_the_preview_applies_nothing(editor: Editor) -> None:
    uri = editor.open(DEFECT)
    shown = execute(editor, uri=uri, preview=True)
    assert shown["valid"]
    assert shown["diagramText"] == PLAN
    assert shown["effect"] == "Write |analysis|."
    assert execute(editor, uri=editor.open(PLAN), preview=True) is None


def test_a_repair_is_sent_as_one_step_and_answered_whole(editor: Editor) -> None:
    uri = editor.open(DEFECT)
    line = editor.find(uri, "|analyse|")["line"]
    place = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
    edit = {"range": place, "newText": "    PLAN -->|analysis| PY\n"}
    nothing = ("addedNodes", "removedNodes", "changedNodes", "addedPrompts", "removedPrompts", "changedMemories")
    assert execute(editor, uri=uri) == {
        "valid": True,
        "smallest": True,
        "weight": 10,
        "repairs": [{"title": "Write |analysis|", "weight": 10, "codes": ["MW201"]}],
        "left": [],
        "edits": [edit],
        "effect": "Write |analysis|.",
        "delta": {
            "addedEdges": [{"source": "PLAN", "output": "response", "target": "PY", "port": "analysis"}],
            "removedEdges": [{"source": "PLAN", "output": "", "target": "PY", "port": ""}],
        }
        | {name: [] for name in nothing},
        "diagramText": PLAN,
    }
    (asked,) = [message["params"] for message in editor.requests if message["method"] == "workspace/applyEdit"]
    assert asked["label"] == "Repair this workflow"
    assert asked["edit"]["documentChanges"] == [{"textDocument": {"uri": uri, "version": 1}, "edits": [edit]}]


def test_an_older_version_is_not_repaired(editor: Editor) -> None:
    uri = editor.open(DEFECT)
    with pytest.raises(ServerError, match="changed meanwhile"):
        execute(editor, uri=uri, version=99, preview=True)
