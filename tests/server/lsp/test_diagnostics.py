"""Diagnostics: what each client is sent, pushed or pulled, of open files and of the whole workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, PULLING, Editor, Json, ServerError
from tests.server.lsp.test_sync import BROKEN, GOOD

from merrow_analysis.text import split_lines

DETAILS = ("codeDescription", "relatedInformation", "data", "tags")


def pull(editor: Editor, uri: str, previous: str | None = None) -> Any:
    return editor.request("textDocument/diagnostic", {"textDocument": {"uri": uri}, "previousResultId": previous})


def test_a_modern_client_is_sent_everything(editor: Editor) -> None:
    uri = editor.open(BROKEN)
    found = next(item for item in editor.published(uri) if item["code"] == "MW006")
    assert found["source"] == "merrow"
    assert found["severity"] == 1
    page = Path(found["codeDescription"]["href"].removeprefix("file://"))
    assert page.read_text(encoding="utf-8").startswith("# MW006 ")
    assert found["data"] == {"code": "MW006"}
    assert editor.messages("textDocument/publishDiagnostics")[-1]["version"] == 1


def test_an_old_client_is_sent_what_it_knows(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    uri = editor.open(BROKEN)
    assert editor.published(uri)
    for item in editor.published(uri):
        assert not set(DETAILS) & item.keys()
    assert "version" not in editor.messages("textDocument/publishDiagnostics")[-1]


def test_related_places_and_tags(editor: Editor) -> None:
    text = GOOD.replace("class A CustomOp", "class A CustomOp\n    class A TestOp\n    classDef lonely fill:#fff")
    uri = editor.open(text)
    found = {item["code"]: item for item in editor.published(uri)}
    lines = split_lines(text)
    places = [part["location"] for part in found["MW107"]["relatedInformation"]]
    assert [place["uri"] for place in places] == [uri, uri]
    assert {lines[place["range"]["start"]["line"]].strip() for place in places} == {
        "class A TestOp",
        'P([Problem]) --> A["Custom<br/>(role: r)"] --> R([Return])',
    }
    assert found["MW404"]["tags"] == [1]
    assert "lonely" in lines[found["MW404"]["range"]["start"]["line"]]


def test_a_related_place_in_another_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "prompts.yaml").write_text('{other: "\U0001f600", solver: "Solve it."}\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open("---\nworkflow: {prompts: ./prompts.yaml}\n---\n" + GOOD.replace("(role: r)", "(role: solvr)"))
    (found,) = (item for item in editor.published(uri) if item["code"] == "MW301")
    (place,) = (part["location"] for part in found["relatedInformation"])
    assert place["uri"] == (tmp_path / "prompts.yaml").as_uri()
    assert place["range"] == {"start": {"line": 0, "character": 14}, "end": {"line": 0, "character": 20}}


def test_a_pulled_report_is_not_sent_twice(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(PULLING)
    uri = editor.open(BROKEN)
    first = pull(editor, uri)
    assert first["kind"] == "full"
    again = pull(editor, uri, first["resultId"])
    assert again == {"kind": "unchanged", "resultId": first["resultId"]}
    editor.change(uri, {"text": GOOD})
    assert pull(editor, uri, first["resultId"])["kind"] == "full"
    assert not editor.messages("textDocument/publishDiagnostics")
    assert pull(editor, "untitled:unknown")["items"] == []


def test_a_pull_sees_every_change(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(PULLING)
    uri = editor.open(GOOD)
    for text, broken in ((BROKEN, True), (GOOD, False)) * 3:
        editor.change(uri, {"text": text})
        assert ("MW006" in [item["code"] for item in pull(editor, uri)["items"]]) is broken


def test_a_burst_is_checked_once(editor: Editor) -> None:
    uri = editor.open(GOOD)
    editor.published(uri)
    before = len(editor.messages("textDocument/publishDiagnostics"))
    line = len(split_lines(GOOD))
    with editor.together():
        for number in range(30):
            place = {"line": line + number, "character": 0}
            editor.change(uri, {"range": {"start": place, "end": place}, "text": f"    A --> X{number}\n"})
    editor.published(uri)
    published = editor.messages("textDocument/publishDiagnostics")[before:]
    assert len(published) == 1
    assert published[0]["version"] == 31


def test_there_is_an_end_to_many_problems(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MODERN, settings={"maximumProblems": 10})
    uri = editor.open("flowchart TD\n" + "    A[(]\n" * 50)
    found = editor.published(uri)
    assert len(found) == 11
    assert "40 more problems" in found[-1]["message"]
    assert "code" not in found[-1]


def test_other_diagrams_and_other_files_have_none(editor: Editor) -> None:
    for text, name, language in (
        ("sequenceDiagram\n  A->>B: hi\n", "a.mmd", "mermaid"),
        ("x = (", "prompt.py", "python"),
        ("# Title\n\n```python\nx\n```\n", "c.md", "markdown"),
    ):
        assert editor.published(editor.open(text, name, language)) == []


def test_markdown_positions_are_those_of_the_file(editor: Editor) -> None:
    uri = editor.open(
        "# Notes\n\n> ```mermaid\n" + "".join(f"> {line}" for line in split_lines(BROKEN)) + "> ```\n", "a.md"
    )
    found = next(item for item in editor.published(uri) if item["code"] == "MW006")
    line = split_lines(editor.texts[uri])[found["range"]["start"]["line"]]
    assert line[found["range"]["start"]["character"]] == "("
    fixed = editor.applied(editor.best_fix(uri, found)["edit"])[uri]
    assert all(part.startswith(">") for part in split_lines(fixed)[2:])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.mmd").write_text(GOOD, encoding="utf-8")
    (tmp_path / "broken.mmd").write_text(BROKEN, encoding="utf-8")
    (tmp_path / "notes.md").write_text(f"# Hi\n\n```mermaid\n{BROKEN}```\n", encoding="utf-8")
    (tmp_path / "binary.mmd").write_bytes(b"\0\1")
    (tmp_path / "other.txt").write_text(BROKEN, encoding="utf-8")
    return tmp_path


def pull_workspace(editor: Editor, known: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    previous = [{"uri": uri, "value": value} for uri, value in (known or {}).items()]
    report = editor.request("workspace/diagnostic", {"previousResultIds": previous, **more})
    return {item["uri"]: item for item in report["items"]}


def test_the_whole_workspace(open_editor: Callable[..., Editor], folder: Path) -> None:
    editor = open_editor(PULLING, folder)
    found = pull_workspace(editor)
    assert found.keys() == {editor.uri(name) for name in ("good.mmd", "broken.mmd", "notes.md")}
    assert "MW006" in [item["code"] for item in found[editor.uri("notes.md")]["items"]]
    known = {uri: item["resultId"] for uri, item in found.items()}
    assert {item["kind"] for item in pull_workspace(editor, known).values()} == {"unchanged"}
    editor.open(GOOD, "broken.mmd")  # what is open counts, not what is on disk
    changed = pull_workspace(editor, known)
    assert changed[editor.uri("broken.mmd")]["kind"] == "full"
    assert changed[editor.uri("broken.mmd")]["version"] == 1
    (folder / "good.mmd").unlink()
    assert pull_workspace(editor, known)[editor.uri("good.mmd")]["items"] == []


def test_without_a_folder_there_is_no_workspace(
    open_editor: Callable[..., Editor], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    editor = open_editor(PULLING)
    editor.open(BROKEN)
    assert pull_workspace(editor) == {}


def cancel(editor: Editor, begun: str) -> None:
    editor.cancel(begun)
    with pytest.raises(ServerError) as raised:
        editor.result(begun)
    assert raised.value.code == -32800


def told_of_the_workspace(editor: Editor) -> dict[str, dict[str, Any]]:
    """The last report on each file that came in parts."""
    values = [params["value"] for params in editor.messages("$/progress")]
    return {item["uri"]: item for value in values for item in value["items"]}


def test_a_request_for_the_workspace_is_held_open_for_changes(open_editor: Callable[..., Editor], folder: Path) -> None:
    editor = open_editor(PULLING, folder)
    begun = editor.begin("workspace/diagnostic", {"previousResultIds": [], "partialResultToken": "part"})
    editor.until(lambda: len(told_of_the_workspace(editor)) == 3)

    def codes(name: str) -> set[str]:
        return {item["code"] for item in told_of_the_workspace(editor)[editor.uri(name)]["items"]}

    assert "MW006" not in codes("good.mmd")
    uri = editor.open(BROKEN, "good.mmd")
    editor.until(lambda: "MW006" in codes("good.mmd"))
    editor.change(uri, {"text": GOOD})
    editor.until(lambda: "MW006" not in codes("good.mmd"))
    (folder / "new.mmd").write_text(BROKEN, encoding="utf-8")
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("new.mmd"), "type": 1}]})
    (folder / "merrow.toml").write_text('ignore = ["MW006"]\n', encoding="utf-8")
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("merrow.toml"), "type": 1}]})
    editor.until(lambda: editor.uri("new.mmd") in told_of_the_workspace(editor) and "MW006" not in codes("broken.mmd"))
    (folder / "broken.mmd").unlink()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("merrow.toml"), "type": 2}]})
    editor.until(lambda: not codes("broken.mmd"))
    cancel(editor, begun)
    assert editor.request("shutdown", None) is None


def test_a_held_request_does_not_outlive_the_server(open_editor: Callable[..., Editor], folder: Path) -> None:
    editor = open_editor(PULLING, folder)
    editor.begin("workspace/diagnostic", {"previousResultIds": [], "partialResultToken": "part"})
    editor.until(lambda: len(told_of_the_workspace(editor)) == 3)
    editor.request("shutdown", None)
    editor.notify("exit", None)
    assert editor.exit_code == 0


REFRESHES = {
    "diagnostics": "workspace/diagnostic/refresh",
    "semanticTokens": "workspace/semanticTokens/refresh",
    "inlayHint": "workspace/inlayHint/refresh",
    "codeLens": "workspace/codeLens/refresh",
}


@pytest.mark.slow
@pytest.mark.parametrize("supported", REFRESHES)
@pytest.mark.parametrize("cause", ["settings", "files"])
def test_a_client_is_asked_to_ask_again_for_what_it_can_refresh(
    open_editor: Callable[..., Editor], folder: Path, supported: str, cause: str
) -> None:
    workspace = {key: value for key, value in PULLING["workspace"].items() if key not in REFRESHES}
    editor = open_editor(PULLING | {"workspace": workspace | {supported: {"refreshSupport": True}}}, folder)
    editor.open(GOOD)
    editor.run(0.1)
    editor.requests.clear()
    if cause == "settings":
        editor.notify("workspace/didChangeConfiguration", {"settings": {}})
    else:
        editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("merrow.toml"), "type": 1}]})

    def asked() -> set[str]:
        return {message["method"] for message in editor.requests} & {*REFRESHES.values()}

    editor.until(asked)
    editor.run(0.1)
    assert asked() == {REFRESHES[supported]}


def test_the_workspace_in_parts_with_progress(open_editor: Callable[..., Editor], folder: Path) -> None:
    for number in range(60):
        (folder / f"more{number}.mmd").write_text(GOOD, encoding="utf-8")
    editor = open_editor(PULLING, folder)
    begun = editor.begin(
        "workspace/diagnostic", {"previousResultIds": [], "partialResultToken": "part", "workDoneToken": "work"}
    )

    def told(token: str) -> list[Any]:
        return [params["value"] for params in editor.messages("$/progress") if params["token"] == token]

    editor.until(lambda: any(value["kind"] == "end" for value in told("work")))
    editor.until(lambda: sum(len(value["items"]) for value in told("part")) >= 63)
    parts = [value["items"] for value in told("part")]
    assert len(parts) > 1
    assert sum(map(len, parts)) == 63
    begin, *steps, _ = told("work")
    assert (begin["kind"], begin["percentage"]) == ("begin", 0)
    assert [step["percentage"] for step in steps] == sorted({100 * done // 64 for done in range(1, 65)})
    cancel(editor, begun)
    # Without a token the server asks for one where there are many files.
    editor.request("workspace/diagnostic", {"previousResultIds": []})
    assert "window/workDoneProgress/create" in [message["method"] for message in editor.requests]


@pytest.mark.parametrize("by", ["request", "progress"])
def test_checking_the_workspace_can_be_cancelled(open_editor: Callable[..., Editor], folder: Path, by: str) -> None:
    for number in range(60):
        (folder / f"more{number}.mmd").write_text(GOOD, encoding="utf-8")
    editor = open_editor(PULLING, folder)
    begun = editor.begin("workspace/diagnostic", {"previousResultIds": [], "workDoneToken": "work"})
    editor.until(lambda: editor.messages("$/progress"))
    if by == "request":
        editor.cancel(begun)
    else:
        editor.notify("window/workDoneProgress/cancel", {"token": "work"})
    with pytest.raises(ServerError) as raised:
        editor.result(begun)
    assert raised.value.code == -32800
    assert editor.messages("$/progress")[-1]["value"]["kind"] == "end"


@pytest.mark.slow
@pytest.mark.parametrize("capabilities", [MODERN, PULLING], ids=["pushed", "pulled"])
def test_files_that_a_workflow_reads(open_editor: Callable[..., Editor], tmp_path: Path, capabilities: Any) -> None:
    """On disk, changed on disk, open in the editor, and closed again."""
    text = "---\nworkflow:\n  prompts: texts.yaml\n---\n" + GOOD
    editor = open_editor(capabilities, tmp_path)
    uri = editor.open(text)

    def missing() -> bool:
        editor.run(0.1)
        items = pull(editor, uri)["items"] if capabilities is PULLING else editor.published(uri)
        return any("texts.yaml" in item["message"] for item in items)

    assert missing()
    (tmp_path / "texts.yaml").write_text("R: solve {input}\n", encoding="utf-8")
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("texts.yaml"), "type": 1}]})
    assert not missing()
    if capabilities is PULLING:
        assert "workspace/diagnostic/refresh" in [message["method"] for message in editor.requests]
    prompts = editor.open("R: [broken\n", "texts.yaml", "yaml")
    assert missing()
    editor.change(prompts, {"text": "R: solve it\n"})
    assert not missing()
    editor.change(prompts, {"text": "{"})
    assert missing()
    editor.close_document(prompts)
    assert not missing()


def test_a_prompt_module_that_was_never_saved_counts_while_it_is_open(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(GOOD)
    assert "MW302" in editor.codes(uri)
    module = editor.open('R = "Solve {input}."\n', "prompt.py", "python")
    assert "MW302" not in editor.codes(uri)
    editor.close_document(module)
    assert "MW302" in editor.codes(uri)


def test_a_file_that_no_workflow_reads_changes_nothing(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(PULLING, tmp_path)
    editor.open(GOOD, "plain.mmd")
    uri = editor.open("---\nworkflow:\n  prompts: texts.yaml\n---\n" + GOOD)
    pull(editor, uri)

    def refreshes() -> bool:
        return "workspace/diagnostic/refresh" in [message["method"] for message in editor.requests]

    def changed(name: str) -> None:
        (tmp_path / name).write_text("R: solve {input}\n", encoding="utf-8")
        editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri(name), "type": 1}]})

    editor.run(0.2)
    editor.requests.clear()
    changed("prompts.yaml")
    editor.run(0.2)
    assert not refreshes()
    changed("texts.yaml")
    editor.until(refreshes)


@pytest.mark.slow
def test_the_last_of_more_files_than_are_remembered_is_noticed(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    names = [f"operators_{number}.yaml" for number in range(10_001)]
    editor = open_editor(PULLING, tmp_path, settings={"libraries": names, "ignore": ["MW502"]})
    pull(editor, editor.open(GOOD))
    editor.run(0.2)
    editor.requests.clear()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri(names[-1]), "type": 1}]})
    editor.until(lambda: "workspace/diagnostic/refresh" in [message["method"] for message in editor.requests])


def test_all_files_of_the_workspace_are_fixed_at_once(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    closed, good = tmp_path / "sub" / "closed.mmd", tmp_path / "good.mmd"
    closed.parent.mkdir()
    closed.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    good.write_text("flowchart TD\n    A --> B\n", "utf-8")
    (tmp_path / "open.mmd").write_text("flowchart TD\n    A --> B\n", "utf-8")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(BROKEN, "open.mmd")
    answer = editor.request("workspace/executeCommand", {"command": "merrow.fixWorkspace"})
    assert answer["files"] == 2
    assert answer["fixed"]["MW006"] == 2
    (asked,) = [message for message in editor.requests if message["method"] == "workspace/applyEdit"]
    changes = asked["params"]["edit"]["documentChanges"]
    versions = {change["textDocument"]["uri"]: change["textDocument"]["version"] for change in changes}
    assert versions == {uri: editor.versions[uri], closed.as_uri(): None}
    editor.texts[closed.as_uri()] = closed.read_bytes().decode()
    after = editor.applied(asked["params"]["edit"])
    assert after[closed.as_uri()] == after[uri].replace("\n", "\r\n")
    closed.write_bytes(after[closed.as_uri()].encode())
    editor.change(uri, {"text": after[uri]})
    assert editor.request("workspace/executeCommand", {"command": "merrow.fixWorkspace"}) == {"fixed": {}, "files": 0}


def test_commands(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(BROKEN)

    def execute(command: str, *arguments: Any) -> Any:
        return editor.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    assert execute("merrow.fix", uri)["MW006"] == 1
    edit = next(message for message in editor.requests if message["method"] == "workspace/applyEdit")["params"]["edit"]
    after = editor.applied(edit)[uri]
    assert after != BROKEN
    editor.change(uri, {"text": after})
    assert "MW006" not in editor.codes(uri)
    good = editor.open(GOOD, "good.mmd")
    assert execute("merrow.fix", editor.open("flowchart TD\n    A --> B\n", "tidy.mmd")) == {}
    edits = [message for message in editor.requests if message["method"] == "workspace/applyEdit"]
    assert len(edits) == 1, "the client is not asked to change nothing"
    assert execute("merrow.metrics", good)["graph"]["nodes"] == 3
    assert [node["id"] for node in execute("merrow.graph", good)["nodes"]] == ["P", "A", "R"]
    assert execute("merrow.explain", "MW105").startswith("# MW105")


def test_fixes_of_a_file_and_of_the_workspace_are_sent_whole(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(MODERN, tmp_path)
    fixed = (
        '    P([Problem]) --> A["Bad("] --> R([Return])\n    class P,R Interface\n    class A CustomOp\n'
        "    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;\n"
        "    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;\n"
    )

    def execute(command: str, *arguments: Any) -> Any:
        editor.requests.clear()
        return editor.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    def sent() -> list[Json]:
        return [one["params"] for one in editor.requests if one["method"] == "workspace/applyEdit"]

    changes = []
    for name, text, first in (
        ("a.mmd", BROKEN, 1),
        ("b.md", f"# a\n\n```mermaid\n{BROKEN}```\n", 4),
        ("c.md", f"```mermaid\nflowchart TD\n```\n\n```mermaid\n{BROKEN}```\n", 6),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        uri = editor.open(text, name)
        place = {"start": {"line": first, "character": 0}, "end": {"line": first + 3, "character": 0}}
        changes.append({"textDocument": {"uri": uri, "version": 1}, "edits": [{"range": place, "newText": fixed}]})
        assert execute("merrow.fix", uri) == {"MW006": 1, "MW114": 2}
        assert sent() == [{"edit": {"documentChanges": [changes[-1]]}, "label": "Fix all safe problems"}]
    assert execute("merrow.fixWorkspace") == {"fixed": {"MW006": 3, "MW114": 6}, "files": 3}
    (whole,) = sent()
    assert whole["label"] == "Fix all safe problems in the workspace"
    assert whole["edit"]["documentChanges"] == changes


def test_figures_and_graphs_are_those_of_the_diagram_that_is_named(editor: Editor) -> None:
    def execute(command: str, *arguments: Any) -> Any:
        return editor.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    text = f"# a\n\n```mermaid\nflowchart TD\n    X --> Y\n```\n\n```mermaid\n{GOOD}```\n"
    uri = editor.open(text, "a.md")
    drawn, workflow = execute("merrow.metrics", uri), execute("merrow.metrics", uri, 2)
    assert execute("merrow.metrics", uri, 1) == drawn
    assert (drawn["workflow"], drawn["calls"], drawn["graph"]["critical_path"]) == (None, None, ["X", "Y"])
    assert (workflow["workflow"]["nodes"], workflow["graph"]["nodes"]) == (1, 3)
    graph = execute("merrow.graph", uri, 2)
    assert (graph["file"], graph["errors"], graph["inputs"], graph["outputs"]) == (uri, 2, ["P"], ["R"])
    line = text.split("\n").index(GOOD.split("\n")[1])
    starts = [(node["id"], node["range"]["start"], node["range"]["end"]["character"]) for node in graph["nodes"]]
    assert starts == [(name, {"line": line, "character": at}, at + 1) for name, at in (("P", 4), ("A", 21), ("R", 51))]
    drawing = execute("merrow.graph", uri)
    assert [node["id"] for node in drawing["nodes"] if "implied" not in node] == ["X", "Y"], "read as it is drawn"


def test_formatting(editor: Editor) -> None:
    uri = editor.open("flowchart TD\n A-->B\n  C-->D\n")
    options = {"tabSize": 8, "insertSpaces": False}
    edits = editor.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": options})
    assert editor.edited(uri, edits) == "flowchart TD\n    A --> B\n    C --> D\n"
    place = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 3}}
    edits = editor.request(
        "textDocument/rangeFormatting", {"textDocument": {"uri": uri}, "range": place, "options": options}
    )
    assert editor.edited(uri, edits) == "flowchart TD\n A-->B\n    C --> D\n"
    notes = editor.open("# A\n\n> ```mermaid\n> flowchart TD\n> A-->B\n> ```\n", "a.md")
    edits = editor.request("textDocument/formatting", {"textDocument": {"uri": notes}, "options": options})
    assert "> flowchart TD\n>     A --> B\n" in editor.edited(notes, edits)
    two = "```mermaid\nflowchart TD\nA-->B\n```\n\n```mermaid\nflowchart TD\nA-->B\n```\n"
    notes = editor.open(two, "two.md")
    for line, first, second in ((2, "    A --> B", "A-->B"), (7, "A-->B", "    A --> B"), (4, "A-->B", "A-->B")):
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
        edits = editor.request(
            "textDocument/rangeFormatting", {"textDocument": {"uri": notes}, "range": place, "options": options}
        )
        lines = editor.edited(notes, edits or []).splitlines()
        assert (lines[2], lines[7]) == (first, second)


def test_while_somebody_types_no_file_of_the_workspace_is_fixed(
    open_editor: Callable[..., Editor], folder: Path
) -> None:
    editor = open_editor(MODERN, folder)
    uri = editor.open(BROKEN, "broken.mmd")
    begun = editor.begin("workspace/executeCommand", {"command": "merrow.fixWorkspace"})

    def typed() -> bool:
        editor.change(uri, {"text": f"{BROKEN}%% {editor.versions[uri]}\n"})
        return begun in editor.answers

    editor.until(typed)
    with pytest.raises(ServerError, match="A file was edited meanwhile"):
        editor.result(begun)
    assert "workspace/applyEdit" not in [message["method"] for message in editor.requests]
    assert editor.request("workspace/executeCommand", {"command": "merrow.fixWorkspace"})["files"] == 3
