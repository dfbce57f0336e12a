"""What the menu offers at a finding beside its fixes: all of a rule, a file that is missing, a run that failed."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from tests.server.lsp.editor import MODERN, PULLING, Editor, Json
from tests.server.lsp.running import editor_on

CREATING = copy.deepcopy(MODERN)
CREATING["workspace"]["workspaceEdit"]["resourceOperations"] = ["create"]
FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: writer)"]:::CustomOp
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
    PROBLEM -->|input| A --> RETURN
"""
UNUSED = FLOW + "    classDef one fill:#eee\n    classDef two fill:#eee\n"
NAMES_A_FILE = "---\nworkflow:\n  prompts: ./texts.yaml\n---\n" + FLOW


def menu(editor: Editor, uri: str, code: str) -> list[Json]:
    """The quick fixes at the first diagnostic of a rule."""
    diagnostic = next(one for one in editor.published(uri) if one["code"] == code)
    context = {"diagnostics": [diagnostic], "only": ["quickfix"]}
    params = {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": context}
    return list(editor.request("textDocument/codeAction", params))


def test_all_of_a_rule_in_this_file(editor: Editor) -> None:
    uri = editor.open(UNUSED)
    actions = menu(editor, uri, "MW404")
    assert [action["title"] for action in actions] == [
        "Remove classDef one",
        "Fix all: MW404 unused-class in this file",
        "Ignore MW404 (unused-class) here",
        "Ignore MW404 (unused-class) in this file",
    ]
    assert [action.get("isPreferred", False) for action in actions] == [True, False, False, False]
    resolved = editor.request("codeAction/resolve", actions[1])
    assert editor.applied(resolved["edit"]) == {uri: FLOW}
    editor.change(uri, {"text": UNUSED.replace("    classDef two fill:#eee\n", "")})
    assert not any(action["title"].startswith("Fix all") for action in menu(editor, uri, "MW404"))


def test_all_of_a_rule_leaves_other_findings(editor: Editor) -> None:
    text = UNUSED.replace("-->|input| A", "--> A").replace("(role: writer)", "(role: writer, foo: 1)")
    uri = editor.open(text)
    action = next(one for one in menu(editor, uri, "MW404") if one["title"].startswith("Fix all"))
    resolved = editor.request("codeAction/resolve", action)
    assert editor.applied(resolved["edit"]) == {uri: text.replace(UNUSED[len(FLOW) :], "")}


def test_a_file_of_prompts_is_created(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    uri = editor.open(NAMES_A_FILE, "flow.mmd")
    create = next(one for one in menu(editor, uri, "MW502") if one["title"] == "Create ./texts.yaml")
    assert create["isPreferred"] is True
    made, filled = create["edit"]["documentChanges"]
    assert (made["kind"], made["uri"]) == ("create", filled["textDocument"]["uri"])
    assert made["uri"].endswith("/texts.yaml")
    assert [edit["newText"] for edit in filled["edits"]] == ['writer: "Writer."\n']


def test_no_file_is_created_where_the_client_creates_none(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, folder=tmp_path)
    uri = editor.open(NAMES_A_FILE)
    assert not any(one["title"].startswith("Create") for one in menu(editor, uri, "MW502"))


def test_a_mutation_that_is_a_fix_is_listed_once(editor: Editor) -> None:
    steps = "".join(f'    {name}["Custom<br/>(role: {name})"]:::CustomOp\n' for name in "ABC")
    text = FLOW.replace('    A["Custom<br/>(role: writer)"]:::CustomOp\n', steps + "    V[ScEnsemble]\n")
    text = text.replace("A --> RETURN", "A & B --> V --> RETURN\n    C --> V")
    uri = editor.open(text)
    diagnostic = next(one for one in editor.published(uri) if one["code"] == "MW102")
    params = {"textDocument": {"uri": uri}, "range": diagnostic["range"]}
    context = {"diagnostics": [diagnostic], "triggerKind": 1}
    titles = [one["title"] for one in editor.request("textDocument/codeAction", {**params, "context": context})]
    assert titles.count("Remove C") == 1
    assert len(set(titles)) == len(titles)
    context["only"] = ["refactor"]
    refactorings = editor.request("textDocument/codeAction", {**params, "context": context})
    assert "Remove C" in [one["title"] for one in refactorings]


def test_a_misspelled_setting_is_repaired_where_the_file_is_open(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    for name, head in (("merrow.toml", ""), ("pyproject.toml", "[tool.merrow]\n")):
        editor = open_editor(MODERN, folder=tmp_path)
        text = f'{head}ignroe = ["MW302"]\n'
        uri = editor.open(text, name, language="toml")
        first, *_ = menu(editor, uri, "MW520")
        assert (first["title"], first["isPreferred"]) == ("Write ignore", True)
        assert editor.applied(first["edit"]) == {uri: text.replace("ignroe", "ignore")}
        editor.change(uri, {"text": text.replace("ignroe", "ignore")})
        assert editor.published(uri) == []
    other = editor.open('ignroe = ["MW302"]\n', "other.toml", language="toml")
    assert editor.published(other) == []


def test_the_menu_of_a_settings_file_is_about_what_the_cursor_touches(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(MODERN, folder=tmp_path)
    lines = 'ignroe = ["MW302"]', 'selcet = ["MW1"]', "# a comment"
    uri = editor.open("\r\n".join(lines), "merrow.toml", language="toml")

    def titles(start: tuple[int, int], end: tuple[int, int] | None = None) -> list[str]:
        ends = [{"line": line, "character": character} for line, character in (start, end or start)]
        params = {"textDocument": {"uri": uri}, "range": dict(zip(("start", "end"), ends, strict=True))}
        return [one["title"] for one in editor.request("textDocument/codeAction", {**params, "context": NOTHING_SENT})]

    first, second = ["Write ignore"], ["Write select"]
    assert [titles((0, column)) for column in (0, 6, len(lines[0]))] == [first] * 3
    assert [titles((1, column)) for column in (0, 6, len(lines[1]))] == [second] * 3
    assert titles((2, 0)) == []
    assert titles((0, len(lines[0])), (1, 0)) == first + second
    sent = editor.published(uri)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
    context = {"diagnostics": [*reversed(sent), sent[0] | {"code": "other"}]}
    params = {"textDocument": {"uri": uri}, "range": whole, "context": context}
    actions = editor.request("textDocument/codeAction", params)
    assert [(one["title"], one["isPreferred"], one["diagnostics"]) for one in actions] == [
        ("Write ignore", True, [sent[0]]),
        ("Write select", True, [sent[1]]),
    ]


NOTHING_SENT: Json = {"diagnostics": []}
CALLS = """flowchart TD
    PROBLEM([Problem]):::Interface
    S["Call<br/>(workflow: ./parts/sovle.mmd)"]:::CallOp
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef CallOp fill:#eee
    PROBLEM -->|task| S -->|plan:| RETURN
"""


def test_a_call_names_a_file_of_nearly_that_name(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "solve.mmd").write_text(FLOW)
    (tmp_path / "parts" / "other.mmd").write_text(FLOW)
    editor = open_editor(CREATING, folder=tmp_path)
    for number, written in enumerate((CALLS, CALLS.replace("./parts/sovle.mmd", "'./parts/sovle.mmd'"))):
        uri = editor.open(written, f"flow{number}.mmd")
        first, second, *_ = menu(editor, uri, "MW227")
        assert [first["title"], second["title"]] == ["Write solve.mmd", "Create ./parts/sovle.mmd"]
        assert first["isPreferred"] is True
        assert not second.get("isPreferred", False)
        assert editor.applied(first["edit"]) == {uri: written.replace("sovle", "solve")}
    (tmp_path / "parts" / "sovle.mmd").write_text("flowchart TD\n    broken")
    uri = editor.open(CALLS + "    %% again\n", "again.mmd")
    assert not any(one["title"].startswith(("Write", "Create")) for one in menu(editor, uri, "MW227"))


def test_a_called_file_is_created_with_the_ports_that_edges_name(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    for name, port, output in (("first", "task", "plan:"), ("other", "STEP", "RETURN:"), ("last", "PROBLEM", "")):
        text = CALLS.replace("./parts/sovle.mmd", f"./{name}.mmd").replace("task", port).replace("plan:", output)
        text = text.replace("-->||", "-->")
        uri = editor.open(text, f"to_{name}.mmd")
        create = next(one for one in menu(editor, uri, "MW227") if one["title"] == f"Create ./{name}.mmd")
        assert create["isPreferred"] is True
        made, filled = create["edit"]["documentChanges"]
        assert (made["kind"], made["uri"]) == ("create", (tmp_path / f"{name}.mmd").as_uri())
        [edit] = filled["edits"]
        (tmp_path / f"{name}.mmd").write_text(edit["newText"])
        again = editor.open(text + "\n", f"again_{name}.mmd")
        assert [one["code"] for one in editor.published(again)] == [], edit["newText"]


CREATED = """---
workflow:
  inputs: [STEP, STEP_2]
  outputs: [STEP_3, plan]
---
flowchart TD
    STEP([STEP]):::Interface
    STEP_2([STEP_2]):::Interface
    STEP_3([STEP_3]):::Interface
    plan([plan]):::Interface
    STEP_4["Custom<br/>(prompt: Say here what this workflow is to do.)"]:::CustomOp
    STEP & STEP_2 -->|input| STEP_4
    STEP_4 --> STEP_3 & plan
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
"""


def test_a_created_file_is_one_step_between_the_ports_whatever_their_names(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    edges = "PROBLEM -->|STEP| S\n    PROBLEM -->|STEP_2| S\n    S -->|STEP_3:| A\n    S -->|plan:| A --> RETURN"
    more = '    A["Custom<br/>(role: writer)"]:::CallOp\n    classDef'
    text = CALLS.replace("PROBLEM -->|task| S -->|plan:| RETURN", edges).replace("    classDef", more, 1)
    uri = editor.open(text)
    [create] = [one for one in menu(editor, uri, "MW227") if one["title"].startswith("Create")]
    begin = {"line": 0, "character": 0}
    place = (tmp_path / "parts" / "sovle.mmd").as_uri()
    assert create["edit"]["documentChanges"] == [
        {"kind": "create", "uri": place, "options": {"ignoreIfExists": True}},
        {
            "textDocument": {"uri": place, "version": None},
            "edits": [{"range": {"start": begin, "end": begin}, "newText": CREATED}],
        },
    ]


def test_only_a_file_of_prompts_that_is_missing_is_created(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    for name, path in (("json", "./texts.json"), ("txt", "./texts.txt"), ("yml", "./texts.yml")):
        uri = editor.open(NAMES_A_FILE.replace("./texts.yaml", path), f"{name}.mmd")
        created = [one["title"] for one in menu(editor, uri, "MW502") if one["title"].startswith("Create")]
        assert created == ([f"Create {path}"] if name == "yml" else [])


def test_a_called_file_is_created_in_a_folder_that_is_not_there_yet(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    first, *_ = menu(editor, editor.open(CALLS), "MW227")
    assert first["title"] == "Create ./parts/sovle.mmd"
    made, _ = first["edit"]["documentChanges"]
    assert made["uri"] == (tmp_path / "parts" / "sovle.mmd").as_uri()


def test_no_called_file_is_created_outside_the_workspace(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    for number, path in enumerate(("../../../elsewhere/new.mmd", "./new.txt")):
        uri = editor.open(CALLS.replace("./parts/sovle.mmd", path), f"flow{number}.mmd")
        assert not any(one["title"].startswith("Create") for one in menu(editor, uri, "MW227")), path


@pytest.mark.parametrize(("text", "code"), [(CALLS, "MW227"), (NAMES_A_FILE, "MW502")], ids=["called", "prompts"])
def test_a_name_that_no_file_can_have_hides_no_other_action(
    open_editor: Callable[..., Editor], tmp_path: Path, text: str, code: str
) -> None:
    editor = open_editor(CREATING, folder=tmp_path)
    long = "a" * 300
    uri = editor.open(text.replace("./parts/sovle.mmd", f"./{long}.mmd").replace("./texts.yaml", f"./{long}.yaml"))
    titles = [one["title"] for one in menu(editor, uri, code)]
    assert any(title.startswith("Ignore") for title in titles)
    assert not any(title.startswith(("Create", "Write")) for title in titles), titles


@pytest.mark.slow
async def test_a_run_that_failed_is_continued(tmp_path: Path) -> None:
    from tests.analysis.rule_page import read_page

    from merrow_analysis.rules.pages import page_text

    example = read_page(page_text("MW530") or "").of("Wrong")[0]
    async with editor_on(tmp_path, capabilities=PULLING) as editor:
        uri = editor.open(example.text, "flow.mmd")
        before = await asked(editor, uri, types.Range(types.Position(0, 0), types.Position(99, 0)))
        assert not any(one.title.startswith(("Run from", "Resume")) for one in before)
        ended = await editor.execute("merrow.run", uri=uri, inputs={"PROBLEM": "How many legs has a spider?"})
        found = next(one for one in await editor.diagnostics(uri) if one.code == "MW530")
        first, second, *_ = await asked(editor, uri, found.range)
        # pytest-lsp reads an action with a command as a mere command, and the command in it as a text.
        again, resumed = (ast.literal_eval(one.command) for one in (first, second))
        assert [one["command"] for one in (again, resumed)] == ["merrow.runFrom", "merrow.resume"]
        assert resumed["arguments"] == [{"run": ended["run"]}]
        [given] = again["arguments"]
        assert first.title == f"Run from {given['node']}"
        assert (given["run"], second.title) == (ended["run"], "Resume the run")


async def asked(editor: Any, uri: str, place: types.Range) -> list[types.Command]:
    context = types.CodeActionContext(diagnostics=[], only=[types.CodeActionKind.QuickFix])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    return list(await editor.client.text_document_code_action_async(params))
