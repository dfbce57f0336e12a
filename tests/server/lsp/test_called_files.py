"""Calls in an editor: files that change, links, definitions, hovers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.runtime.engine.fakes import flowchart
from tests.server.lsp.editor import MODERN, Editor, Json, ServerError

SIMPLE = flowchart('A@{op: Custom, prompt: "think"}', "PROBLEM --> A --> RETURN")
CALLS = flowchart('C@{op: Call, workflow: "./f.mmd"}', "PROBLEM -->|PROBLEM| C -->|RETURN:result| RETURN")
BETWEEN = flowchart('C@{op: Call, workflow: "g.mmd"}', "PROBLEM --> C --> RETURN")


def test_a_called_file_that_changes_on_disk_or_in_the_editor_is_noticed(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "f.mmd").write_text(BETWEEN)
    (tmp_path / "g.mmd").write_text(SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    assert "MW227" not in editor.codes(uri)
    (tmp_path / "g.mmd").unlink()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("g.mmd"), "type": 3}]})
    assert "MW227" in editor.codes(uri)
    inner = editor.open(SIMPLE, "g.mmd")
    assert "MW227" not in editor.codes(uri)
    editor.change(inner, {"text": SIMPLE.replace("Custom", "Custm")})
    assert "MW227" in editor.codes(uri)
    editor.change(inner, {"text": SIMPLE})
    assert "MW227" not in editor.codes(uri)
    editor.close_document(inner)
    assert "MW227" in editor.codes(uri)


def test_an_error_leads_into_the_called_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text("%% 😀\n" + SIMPLE.replace("Custom", "Custm"))
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    (found,) = [item for item in editor.published(uri) if item["code"] == "MW227"]
    (place,) = [part["location"] for part in found["relatedInformation"]]
    assert place["uri"] == editor.uri("f.mmd")
    assert place["range"]["start"]["line"] == 4


def test_a_place_in_the_called_file_is_counted_anew_when_that_file_changes(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    wrong = SIMPLE.replace('op: Custom, prompt: "think"', 'prompt: "é", op: Custm')
    (tmp_path / "f.mmd").write_text(wrong)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")

    def places() -> list[Json]:
        found = [item for item in editor.published(uri) if item["code"] == "MW227"]
        return [part["location"]["range"] for item in found for part in item["relatedInformation"]]

    ((before,), inner) = places(), editor.open(wrong, "f.mmd")
    editor.change(inner, {"text": wrong.replace("é", "😀")})
    (after,) = places()
    assert after["start"]["character"] == before["start"]["character"] + 1


def test_the_path_and_the_ports_lead_into_the_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text(SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    (link,) = editor.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert link["target"] == editor.uri("f.mmd")
    assert link["range"]["start"] == editor.find(uri, "./f.mmd")
    for word, offset, line in (("./f.mmd", 2, 0), ("|PROBLEM|", 3, 1), ("|RETURN:", 3, 2)):
        (found,) = editor.request("textDocument/definition", editor.at(uri, word, offset))
        assert found["targetUri"] == editor.uri("f.mmd")
        assert found["targetSelectionRange"]["start"]["line"] == line
    assert not editor.request("textDocument/definition", editor.at(uri, ":result|", 3))


def test_a_hover_shows_the_signature_and_the_title(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text("---\ntitle: Thinks hard\n---\n" + SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    for word, offset in (("C@{", 0), ("workflow:", 3)):
        said = editor.request("textDocument/hover", editor.at(uri, word, offset))["contents"]["value"]
        assert "PROBLEM*: Problem" in said
        assert "RETURN: Text" in said
        assert "Thinks hard" in said
        assert "f.mmd" in said


def test_ports_of_the_file_are_completed(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    wants = SIMPLE.replace("RETURN(", "LEVEL([Level]):::Interface\n    RETURN(", 1) + "    LEVEL --> A\n"
    (tmp_path / "f.mmd").write_text(wants)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS.replace("|PROBLEM|", "|P|"), "main.mmd")
    answer = editor.request("textDocument/completion", editor.at(uri, "|P|", 2))
    items = answer["items"] if isinstance(answer, dict) else answer
    assert {"PROBLEM", "LEVEL"} <= {item["label"] for item in items}


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ('C@{op: Call, workflow: "<|>"}', 'C@{op: Call, workflow: "sub/deep.mmd"}'),
        ('C@{op: Call, workflow: "./s<|>ub/x.mmd"}', 'C@{op: Call, workflow: "./sub/deep.mmd"}'),
        ("C@{op: Call, workflow: s<|>}", 'C@{op: Call, workflow: "sub/deep.mmd"}'),
        ('C["Call<br/>(workflow: <|>)"]:::CallOp', 'C["Call<br/>(workflow: sub/deep.mmd)"]:::CallOp'),
        ('C["Call<br/>(workflow: sub/d<|>e, depth: 2)"]', 'C["Call<br/>(workflow: sub/deep.mmd, depth: 2)"]'),
    ],
)
def test_workflows_of_the_workspace_are_completed(
    open_editor: Callable[..., Editor], tmp_path: Path, call: str, written: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.mmd").write_text("---\ntitle: Deep\n---\n" + SIMPLE)
    (tmp_path / "near.mmd").write_text(BETWEEN)
    (tmp_path / "bad.mmd").write_text(SIMPLE.replace("prompt:", "promt:").replace("A --> RETURN", "A --> B"))
    (tmp_path / "drawing.mmd").write_text("flowchart TD\n    A[x] --> B[y]\n")
    (tmp_path / "bytes.mmd").write_bytes(SIMPLE.encode() + b"\xff")
    (tmp_path / "notes.md").write_text(f"```mermaid\n{SIMPLE}```\n")
    editor = open_editor(MODERN, tmp_path)
    open_one = editor.open(SIMPLE, "open.mmd")
    text = flowchart(call, "PROBLEM --> C --> RETURN")
    before, _, _ = text.partition("<|>")
    line = before.count("\n")
    place = {"line": line, "character": len(before.rpartition("\n")[2])}
    uri = editor.open(text.replace("<|>", ""), "main.mmd")
    answer = editor.request("textDocument/completion", {"textDocument": {"uri": uri}, "position": place})
    items = {item["label"].removeprefix("./"): item for item in answer["items"]}
    assert {"open.mmd", "near.mmd", "sub/deep.mmd"} <= items.keys()
    assert not {"drawing.mmd", "bytes.mmd", "notes.md"} & items.keys()
    assert next(iter(items)) == "open.mmd"
    assert items["sub/deep.mmd"]["detail"] == "(PROBLEM*: Problem) -> RETURN: Text"
    assert items["sub/deep.mmd"]["labelDetails"]["description"] == "Deep"
    assert "can't be called" in items["near.mmd"]["detail"]
    assert editor.edited(uri, [items["sub/deep.mmd"]["textEdit"]]).splitlines()[line].strip() == written
    editor.close_document(open_one)


def completed_call(editor: Editor, name: str) -> Json:
    """What is offered for the path of a Call in the file ``name``."""
    uri = editor.open(flowchart('C@{op: Call, workflow: ""}', "PROBLEM --> C --> RETURN"), name)
    answer: Json = editor.request("textDocument/completion", editor.at(uri, '""', 1))
    return answer


def test_the_nearest_workflow_is_the_first(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").touch()
    for name in ("up.mmd", "sub/inner/deep.mmd", "sub/near.mmd"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SIMPLE)
    items = completed_call(open_editor(MODERN, tmp_path), "sub/main.mmd")["items"]
    labels = [item["label"].removeprefix("./") for item in sorted(items, key=lambda item: item["sortText"])]
    assert [label for label in labels if label != "main.mmd"] == ["near.mmd", "inner/deep.mmd", "../up.mmd"]


@pytest.mark.slow
def test_up_to_200_workflows_are_all_that_can_be_called(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    for number in range(199):
        (tmp_path / f"{number}.mmd").write_text(SIMPLE)
    editor = open_editor(MODERN, tmp_path)
    every = completed_call(editor, "main.mmd")
    assert (len(every["items"]), every["isIncomplete"]) == (200, False)
    editor.open(SIMPLE, "one_more.mmd")
    some = completed_call(editor, "main.mmd")
    assert (len(some["items"]), some["isIncomplete"]) == (200, True)


def test_a_file_outside_the_workspace_is_not_called_though_it_is_open(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    editor = open_editor(MODERN, work)
    editor.open(SIMPLE, "f.mmd")
    editor.folder = tmp_path
    editor.open(SIMPLE, "f.mmd")
    inside = editor.open(CALLS, "work/inside.mmd")
    outside = editor.open(CALLS.replace("./f.mmd", "../f.mmd"), "work/outside.mmd")
    assert "MW227" not in editor.codes(inside)
    assert "MW227" in editor.codes(outside)


def test_who_calls_a_file_and_whom_it_calls(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text(BETWEEN)
    (tmp_path / "g.mmd").write_text(SIMPLE)
    (tmp_path / "notes.md").write_text(f"# Notes\n```mermaid\n{CALLS}```\n")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS.replace("./f.mmd", "f.mmd"), "main.mmd")

    def asked(way: str, item: Json) -> dict[str, Json]:
        calls = editor.request(f"callHierarchy/{way}Calls", {"item": item})
        end = "from" if way == "incoming" else "to"
        return {call[end]["name"]: {**call[end], "ranges": call["fromRanges"]} for call in calls}

    (itself,) = editor.request("textDocument/prepareCallHierarchy", editor.at(uri, "flowchart", 3))
    (called,) = editor.request("textDocument/prepareCallHierarchy", editor.at(uri, "f.mmd", 2))
    assert (itself["name"], called["name"]) == ("main.mmd", "f.mmd")
    (range_,) = asked("outgoing", itself)["f.mmd"]["ranges"]
    assert range_["start"] == editor.find(uri, "f.mmd")
    assert asked("outgoing", called).keys() == {"g.mmd"}
    assert asked("outgoing", asked("outgoing", called)["g.mmd"]) == {}
    callers = asked("incoming", called)
    assert callers.keys() == {"main.mmd", "notes.md"}
    assert asked("outgoing", callers["notes.md"]).keys() == {"f.mmd"}
    assert asked("incoming", callers["notes.md"]) == {}
    assert asked("incoming", itself) == {}
    (node,) = editor.request("textDocument/prepareCallHierarchy", editor.at(uri, "C@{"))
    assert asked("outgoing", node).keys() == {"RETURN", "f.mmd"}
    (tmp_path / "f.mmd").unlink()
    assert not editor.request("callHierarchy/outgoingCalls", {"item": called})


def test_a_file_that_is_broken_has_callers_and_one_outside_has_none(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "f.mmd").write_text(SIMPLE)
    (work / "f.mmd").write_text("flowchart TD\n    A[ --> \n")
    editor = open_editor(MODERN, work)
    uri = editor.open(CALLS, "main.mmd")
    at = editor.at(uri, "f.mmd", 2)
    (called,) = editor.request("textDocument/prepareCallHierarchy", at)
    (call,) = editor.request("callHierarchy/incomingCalls", {"item": called})
    assert call["from"]["name"] == "main.mmd"
    assert len(editor.request("textDocument/references", {**at, "context": {"includeDeclaration": False}})) == 1
    editor.change(uri, {"text": CALLS.replace("./f.mmd", "../f.mmd")})
    at = editor.at(uri, "f.mmd", 2)
    assert editor.request("textDocument/prepareCallHierarchy", at) is None
    assert editor.request("textDocument/definition", at) in (None, [])
    assert len(editor.request("textDocument/references", {**at, "context": {"includeDeclaration": False}})) == 1
    with pytest.raises(ServerError, match="Nothing here has a name that can be changed") as caught:
        editor.request("textDocument/rename", {**editor.at(uri, "|PROBLEM|", 2), "newName": "TASK"})
    assert caught.value.code == -32803


def test_files_that_call_each_other_have_a_hierarchy(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    typed = flowchart("RETURN@{type: Text}", 'C@{op: Call, workflow: "./main.mmd"}', "PROBLEM --> C --> RETURN")
    (tmp_path / "f.mmd").write_text(typed)
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(typed.replace("main", "f"), "main.mmd")
    (item,) = editor.request("textDocument/prepareCallHierarchy", editor.at(uri, "flowchart"))
    for _ in range(5):
        (call,) = editor.request("callHierarchy/outgoingCalls", {"item": item})
        item = call["to"]
    assert item["name"] == "f.mmd"


def test_references_of_a_file_and_its_ports(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "f.mmd").write_text(SIMPLE)
    (tmp_path / "notes.md").write_text(f"```mermaid\n{CALLS}```\n")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(CALLS, "main.mmd")
    inner = editor.open(SIMPLE, "f.mmd")

    def places(at: Json, *, declarations: bool = True) -> list[tuple[str, int]]:
        found = editor.request("textDocument/references", {**at, "context": {"includeDeclaration": declarations}})
        return sorted((one["uri"].rpartition("/")[2], one["range"]["start"]["line"]) for one in found)

    line = editor.find(uri, "./f.mmd")["line"]
    assert places(editor.at(uri, "./f.mmd", 3)) == [("f.mmd", 0), ("main.mmd", line), ("notes.md", line + 1)]
    edges = editor.find(uri, "|PROBLEM|")["line"]
    expected = [("main.mmd", edges), ("notes.md", edges + 1)]
    own = [("f.mmd", editor.find(inner, "PROBLEM -->")["line"])]
    assert places(editor.at(uri, "./f.mmd", 3), declarations=False) == [("main.mmd", line), ("notes.md", line + 1)]
    declared = [("f.mmd", editor.find(inner, "PROBLEM([")["line"])]
    for at in (editor.at(uri, "|PROBLEM|", 3), editor.at(inner, "PROBLEM -->")):
        assert places(at) == declared + own + expected
    assert places(editor.at(uri, "|PROBLEM|", 3), declarations=False) == own + expected
    assert places(editor.at(inner, "PROBLEM -->"), declarations=False) == own + expected


@pytest.mark.slow
async def test_a_server_in_a_process_of_its_own_notices_a_changed_file(client: LanguageClient, tmp_path: Path) -> None:
    main, called = tmp_path / "main.mmd", tmp_path / "f.mmd"
    called.write_text(SIMPLE)
    item = types.TextDocumentItem(main.as_uri(), "mermaid", 1, CALLS)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert "MW227" not in {one.code for one in client.diagnostics[main.as_uri()]}
    called.write_text(SIMPLE.replace("Custom", "Custm"))
    change = types.FileEvent(called.as_uri(), types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert "MW227" in {one.code for one in client.diagnostics[main.as_uri()]}
