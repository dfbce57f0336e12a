"""Code actions through the protocol: literals or commands, at once or on resolve, with versions or without."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, Json

FLOW = """flowchart TD
    PROBLEM([Problem 😀]):::Interface
    P["Programmer<br/>(role: x)"]
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    PROBLEM --> P --> RETURN
"""
FIXED = FLOW.replace("PROBLEM -->", "PROBLEM -->|problem|")


def without(capabilities: Json, *path: str) -> Json:
    """Capabilities without one of them."""
    changed = copy.deepcopy(capabilities)
    part = changed
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    return changed


def asked(editor: Editor, uri: str, word: str, offset: int = 0, **context: Any) -> list[Json]:
    place = editor.find(uri, word, offset)
    context.setdefault("diagnostics", [])
    params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": context}
    return list(editor.request("textDocument/codeAction", params))


def named(actions: list[Json], title: str) -> Json:
    return next(action for action in actions if action["title"].startswith(title))


def test_a_quick_fix_of_a_diagnostic(editor: Editor) -> None:
    uri = editor.open(FLOW)
    diagnostic = next(one for one in editor.published(uri) if one["code"] == "MW202")
    actions = asked(editor, uri, "--> P", diagnostics=[diagnostic], only=["quickfix"])
    assert [action["title"] for action in actions] == [
        "Write |problem|",
        "Ignore MW202 (missing-port-label) here",
        "Ignore MW202 (missing-port-label) in this file",
    ]
    fix = actions[0]
    assert fix["isPreferred"] is True
    assert fix["diagnostics"] == [diagnostic]
    assert fix["edit"]["documentChanges"][0]["textDocument"]["version"] == 1
    assert editor.applied(fix["edit"]) == {uri: FIXED}
    assert not any(action.get("isPreferred") for action in actions[1:])


def test_without_diagnostics_they_are_found_again(editor: Editor) -> None:
    uri = editor.open(FLOW)
    fix = named(asked(editor, uri, "--> P", 1), "Write |problem|")
    assert editor.applied(fix["edit"]) == {uri: FIXED}


def test_two_findings_of_a_rule_at_one_place_have_fixes_of_their_own(editor: Editor) -> None:
    node = '    T["Test<br/>"]\n    PROBLEM -->|problem| T\n    T -->|solution:| RETURN\n'
    uri = editor.open(
        FLOW.replace("    PROBLEM --> P --> RETURN\n", node).replace('    P["Programmer<br/>(role: x)"]\n', "")
    )
    needed = {one["message"].split("`")[1]: one for one in editor.published(uri) if one["code"] == "MW204"}
    assert needed["entry_point"]["range"] == needed["solution"]["range"]
    titles = {
        port: [action["title"] for action in asked(editor, uri, "T[", diagnostics=[one], only=["quickfix"])]
        for port, one in needed.items()
    }
    assert titles["entry_point"][0] == "Add ENTRY_POINT and lead it to T"
    assert "Add ENTRY_POINT and lead it to T" not in titles["solution"]


def test_a_diagnostic_of_an_older_text_brings_nothing(editor: Editor) -> None:
    uri = editor.open(FLOW)
    diagnostic = next(one for one in editor.published(uri) if one["code"] == "MW202")
    editor.change(uri, {"text": FIXED})
    actions = asked(editor, uri, "-->|problem|", diagnostics=[diagnostic], only=["quickfix"])
    assert actions == []


def test_repair_of_the_whole_on_resolve(editor: Editor) -> None:
    uri = editor.open(FLOW)
    (action,) = asked(editor, uri, "flowchart", only=["source.fixAll"])
    assert action["kind"] == "source.fixAll.merrow"
    assert "edit" not in action
    resolved = editor.request("codeAction/resolve", action)
    assert editor.applied(resolved["edit"]) == {uri: FIXED}
    assert asked(editor, uri, "flowchart", only=["source.organizeImports"]) == []


def test_repair_of_the_one_diagram_that_needs_it(editor: Editor) -> None:
    text = "# One\n\n```mermaid\n{}```\n\n# Two\n\n```mermaid\nflowchart TD\n    A --> B\n```\n"
    uri = editor.open(text.format(FLOW), "notes.md")
    (action,) = asked(editor, uri, "# Two", only=["source.fixAll"])
    resolved = editor.request("codeAction/resolve", action)
    assert editor.applied(resolved["edit"]) == {uri: text.format(FIXED)}
    editor.change(uri, {"text": text.format(FIXED)})
    assert asked(editor, uri, "# Two", only=["source.fixAll"]) == []


def shown(actions: list[Json]) -> list[tuple[Any, ...]]:
    """Of each action: title, whether it is preferred, whether its edit is there, the codes of what it is about."""
    return [
        (
            one["title"],
            one.get("isPreferred", False),
            "edit" in one,
            [each["code"] for each in one.get("diagnostics", [])],
        )
        for one in actions
    ]


def test_the_whole_menu_has_fixes_first_then_what_ignores_then_the_repair_of_all(editor: Editor) -> None:
    uri = editor.open(FLOW.replace("RETURN\n", "RETURN2\n"))
    sent = editor.published(uri)
    assert [one["code"] for one in sent] == ["MW302", "MW202", "MW102", "MW104"]
    last = [
        ("Repair all that can be repaired safely", False, False, []),
        ("More safe mutations…", False, False, []),
    ]
    other = sent[1] | {"source": "another tool", "severity": 1, "message": "Not ours."}
    found = [
        ("Write |problem|", True, True, ["MW202"]),
        ("Repair this workflow", False, False, ["MW202"]),
        ("Ignore MW202 (missing-port-label) here", False, True, ["MW202"]),
        ("Ignore MW202 (missing-port-label) in this file", False, True, ["MW202"]),
        *last,
    ]
    assert shown(asked(editor, uri, "--> P", 1, diagnostics=[other, sent[1]])) == found
    found_again = [(*one[:3], []) for one in found]
    assert shown(asked(editor, uri, "--> P", 1)) == found_again
    assert shown(asked(editor, uri, "--> P", 1, diagnostics=[other])) == found_again
    several = shown(asked(editor, uri, "--> P", 1, diagnostics=sent))
    fixes = [
        ("Add a prompt for role x to the front matter", "MW302"),
        ("Write |problem|", "MW202"),
        ("Lead RETURN2 to RETURN", "MW102"),
        ("Remove RETURN2", "MW104"),
    ]
    assert several[:4] == [(title, True, True, [code]) for title, code in fixes]
    names = {"MW302": "no-prompts", "MW202": "missing-port-label", "MW102": "off-path", "MW104": "unknown-operator"}
    assert several[4:] == [
        ("Repair this workflow", False, False, ["MW102"]),
        *(
            (f"Ignore {code} ({name}) {where}", False, True, [code])
            for where in ("here", "in this file")
            for code, name in names.items()
        ),
        *last,
    ]


def test_beside_the_diagrams_of_a_file_only_the_repair_of_all_is_offered(editor: Editor) -> None:
    text = "# One\n\n```mermaid\n{}```\n\n# Two\n"
    uri = editor.open(text.format(FLOW), "notes.md")
    assert shown(asked(editor, uri, "# Two")) == [("Repair all that can be repaired safely", False, False, [])]
    assert asked(editor, uri, "# Two", only=["quickfix"]) == []
    clean = editor.open(text.format(FIXED), "clean.md")
    assert asked(editor, clean, "# Two") == []


def test_repair_at_once_where_nothing_is_resolved(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(without(MODERN, "textDocument", "codeAction", "resolveSupport"))
    uri = editor.open(FLOW)
    (action,) = asked(editor, uri, "flowchart", only=["source.fixAll.merrow"])
    assert editor.applied(action["edit"]) == {uri: FIXED}


def test_an_older_offer_is_not_done(editor: Editor) -> None:
    uri = editor.open(FLOW)
    (action,) = asked(editor, uri, "flowchart", only=["source.fixAll"])
    editor.change(uri, {"text": "%% new\n" + FLOW})
    assert "edit" not in editor.request("codeAction/resolve", action)
    foreign = {"title": "x", "data": {"uri": uri, "version": 2}}
    assert "edit" not in editor.request("codeAction/resolve", foreign)


def test_changes_for_clients_without_versions(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(without(MODERN, "workspace", "workspaceEdit"))
    uri = editor.open(FLOW)
    edit = named(asked(editor, uri, "--> P", 1), "Write |problem|")["edit"]
    assert "documentChanges" not in edit
    assert editor.applied(edit) == {uri: FIXED}


def test_commands_for_clients_without_literals(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(without(MODERN, "textDocument", "codeAction"))
    uri = editor.open(FLOW)
    command = named(asked(editor, uri, "--> P", 1), "Write |problem|")
    assert isinstance(command["command"], str)
    editor.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    editor.run(0.02)
    (request,) = [one for one in editor.requests if one["method"] == "workspace/applyEdit"]
    assert editor.applied(request["params"]["edit"]) == {uri: FIXED}


def test_nothing_for_clients_that_can_do_nothing_with_it(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    assert asked(editor, editor.open(FLOW), "--> P", 1) == []


@pytest.mark.parametrize(
    ("only", "kinds"), [("refactor.move", {"refactor.move.parameters"}), ("refactor.extract", set())]
)
def test_only_the_kinds_asked_for(editor: Editor, only: str, kinds: set[str]) -> None:
    actions = asked(editor, editor.open(FLOW), 'P["Pro', only=[only])
    assert {action["kind"] for action in actions} == kinds


def test_a_refactoring_in_a_fence(editor: Editor) -> None:
    text = "1. x\n\n   ```mermaid\n" + "".join(f"   {line}\n" for line in FLOW.splitlines()) + "   ```\n"
    uri = editor.open(text, "notes.md")
    action = named(asked(editor, uri, 'P["Pro'), "Move the parameters of P to its metadata")
    resolved = editor.request("codeAction/resolve", action)
    after = editor.applied(resolved["edit"])[uri]
    assert after == text.replace('P["Programmer<br/>(role: x)"]', 'P["Programmer<br/>"]@{ role: x }')


def test_line_endings_of_the_file(editor: Editor) -> None:
    uri = editor.open(FLOW.replace("\n", "\r\n"))
    action = named(asked(editor, uri, "--> P", 1), "Ignore MW202 (missing-port-label) here")
    after = editor.applied(action["edit"])[uri]
    assert "    %% merrow: ignore[MW202]\r\n    PROBLEM" in after
    assert "\n" not in after.replace("\r\n", "")


def test_a_flowchart_is_read_as_a_workflow_and_its_operators_are_written_out(editor: Editor) -> None:
    text = "flowchart TD\n    A([Mail]) --> B[Reply to it]\n"
    uri = editor.open(text)
    action = named(asked(editor, uri, "B[", only=["refactor.rewrite"]), "Read this flowchart as a workflow")
    edit = action.get("edit") or editor.request("codeAction/resolve", action)["edit"]
    drawn = editor.applied(edit)[uri]
    assert drawn == f"---\nworkflow: true\n---\n{text}"
    editor.change(uri, {"text": drawn})
    [hint] = [one for one in editor.published(uri) if one["code"] == "MW313"]
    action = named(asked(editor, uri, "B[", diagnostics=[hint]), "Write the operators out")
    edit = action.get("edit") or editor.request("codeAction/resolve", action)["edit"]
    written = editor.applied(edit)[uri]
    assert 'B@{ role: "Reply to it", prompt: "Reply to it", memory: all }' in written
    editor.change(uri, {"text": written})
    assert [one for one in editor.published(uri) if one["severity"] < 4] == []


def test_kinds_that_are_asked_for_together_are_all_offered(editor: Editor) -> None:
    uri = editor.open(FLOW)
    one, other = (asked(editor, uri, "--> P", only=[kind]) for kind in ("quickfix", "refactor.rewrite"))
    assert one
    assert other
    both = [action["title"] for action in asked(editor, uri, "--> P", only=["quickfix", "refactor.rewrite"])]
    assert set(both) == {action["title"] for action in one + other}


@pytest.mark.parametrize("arguments", [[], [None], [3], [{}], [{"uri": "untitled:none.mmd", "version": 1}]])
def test_an_action_that_was_never_offered_changes_nothing(editor: Editor, arguments: list[object]) -> None:
    editor.open(FLOW)
    params = {"command": "merrow.applyAction", "arguments": arguments}
    assert editor.request("workspace/executeCommand", params) is None
    assert "workspace/applyEdit" not in [message["method"] for message in editor.requests]


def test_nothing_that_an_editor_shows_drives_a_terminal(editor: Editor) -> None:
    marks = "\\e[31m\\u202e"
    head = f'---\nworkflow:\n  "k{marks}": 1\n  retries: "m{marks}"\n---\n'
    step = f'P@{{ op: Custom, role: "x{marks}" }}'
    uri = editor.open(head + FLOW.replace('P["Programmer<br/>(role: x)"]', step))
    found = editor.published(uri)
    titles = [
        action["title"]
        for one in found
        for action in editor.request(
            "textDocument/codeAction",
            {"textDocument": {"uri": uri}, "range": one["range"], "context": {"diagnostics": [one]}},
        )
    ]
    assert len(found) > 2
    assert [title for title in titles if "\u241b" in title]
    assert all(said.isprintable() for said in (*titles, *(one["message"] for one in found)))
