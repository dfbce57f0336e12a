"""Settings: from the editor, for each folder, live; from files; wrong ones are told once and the default holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, ServerError
from tests.server.lsp.test_sync import BROKEN

from merrow_analysis.rules.configuration import DEFAULT
from merrow_server.features import lifecycle
from merrow_server.lsp.settings import ALL_SETTINGS, SERVER_SETTINGS, EditorSettings, read_editor_settings

ROOT = Path(__file__).resolve().parents[3]


def told(editor: Editor) -> list[str]:
    return [params["message"] for params in editor.messages("window/showMessage")]


def test_the_client_is_asked_for_its_settings(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path, settings={"ignore": ["MW0"]})
    assert editor.codes(editor.open(BROKEN)) == []
    question = next(message for message in editor.requests if message["method"] == "workspace/configuration")
    assert question["params"]["items"] == [{"scopeUri": tmp_path.as_uri(), "section": "merrow"}, {"section": "merrow"}]


@pytest.mark.parametrize("answer", [None, [], [{"enable": False}], [{"enable": False}] * 3])
def test_a_client_may_answer_for_fewer_folders_or_more(
    open_editor: Callable[..., Editor], tmp_path: Path, answer: Any
) -> None:
    editor = open_editor(MODERN, tmp_path)
    editor.on("workspace/configuration", lambda _: answer)
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.run(0.02)
    assert ("MW006" in editor.codes(editor.open(BROKEN))) is not isinstance(answer and answer[0], dict)
    assert told(editor) == []


def test_a_client_that_can_not_answer_has_the_defaults(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(settings={"enable": False})
    uri = editor.open(BROKEN)
    assert editor.codes(uri) == []

    def refuse(_: object) -> None:
        raise ServerError("no settings", -32603)

    editor.on("workspace/configuration", refuse)
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.run(0.02)
    assert "MW006" in editor.codes(uri)
    assert told(editor) == []


@pytest.mark.parametrize("ask", [True, False], ids=["asked", "sent"])
def test_settings_change_while_files_are_open(open_editor: Callable[..., Editor], ask: bool) -> None:
    editor = open_editor(MODERN if ask else MINIMAL)
    uri = editor.open(BROKEN)
    assert "MW006" in editor.codes(uri)
    for settings, there in (({"enable": False}, False), ({"severity": {"MW006": "hint"}}, True), ({}, True)):
        editor.settings = settings
        editor.notify("workspace/didChangeConfiguration", {"settings": {"merrow": settings}})
        editor.run(0.02)
        assert ("MW006" in editor.codes(uri)) is there
    assert told(editor) == []


def test_the_answer_to_the_last_question_counts_however_late_it_comes(
    open_editor: Callable[..., Editor], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = open_editor()
    uri = editor.open(BROKEN)
    assert "MW006" in editor.codes(uri)
    answers: list[asyncio.Future[Any]] = []

    async def later(_: object) -> Any:
        answers.append(editor.loop.create_future())
        return await answers[-1]

    editor.on("workspace/configuration", later)
    monkeypatch.setattr(lifecycle, "_PATIENCE", 0.0)
    for _ in range(2):
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        editor.run()
    first, last = answers
    last.set_result([{"enable": False}])
    assert editor.codes(uri) == []
    first.set_result([{}])
    assert editor.codes(uri) == []


def test_settings_at_the_start(open_editor: Callable[..., Editor]) -> None:
    for options in ({"settings": {"enable": False}}, {"enable": False}):
        editor = open_editor(MINIMAL, options=options)
        assert editor.codes(editor.open(BROKEN)) == []


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"maximumProblems": "many"}, "merrow.maximumProblems"),
        ({"maximumProblems": 0}, "merrow.maximumProblems"),
        ({"enable": "perhaps"}, "merrow.enable"),
        ({"select": "MW1"}, "merrow.select"),
        ({"select": ["MW9"]}, "MW9"),
        ({"severity": {"MW006": "loud"}}, "merrow.severity.MW006"),
        ({"severity": ["MW006"]}, "merrow.severity"),
        ({"per-path": {"a/**": ["nonsense"]}}, "nonsense"),
        ({"logLevel": "shout"}, "merrow.logLevel"),
        ({"logLevl": "info"}, "merrow.log-level"),
        ([1, 2], "merrow"),
        ("x", "merrow"),
    ],
)
def test_a_bad_value_is_told_once_and_the_default_holds(
    open_editor: Callable[..., Editor], settings: Any, word: str
) -> None:
    editor = open_editor(settings=settings)
    uri = editor.open(BROKEN)
    assert "MW006" in editor.codes(uri)
    assert len(told(editor)) == 1
    assert word in told(editor)[0]
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.run(0.02)
    assert len(told(editor)) == 1
    editor.settings = {}
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.run(0.02)
    editor.settings = settings
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.run(0.02)
    assert len(told(editor)) == 2, "a value that is wrong again is told again"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (5, "The settings `merrow` must be an object, not `5`."),
        ([], "The settings `merrow` must be an object, not a list."),
        ({"enable": "yes"}, "`merrow.enable` must be true or false, not `yes`; the default (true) holds."),
        ({"enabel": True}, "There is no setting `merrow.enabel`; did you mean `merrow.enable`?"),
        (
            {"maximumProblems": 0},
            "`merrow.maximumProblems` must be a whole number of at least 1, not `0`; the default (1000) holds.",
        ),
        (
            {"maximum-problems": True},
            "`merrow.maximum-problems` must be a whole number of at least 1, not true; the default (1000) holds.",
        ),
        (
            {"logLevel": "loud"},
            '`merrow.logLevel` must be error, warning, info or debug, not `loud`; the default ("info") holds.',
        ),
        ({"select": ["MW9999"]}, '`MW9999` in `merrow.select` selects no rule; the default (["ALL"]) holds.'),
        (
            {"select": ["MW1", 3]},
            'Item 2 of `merrow.select` must be text that is not empty, not `3`; the default (["ALL"]) holds.',
        ),
        ({"ignore": "MW1"}, "`merrow.ignore` must be a list of texts, not `MW1`; it is left out."),
        (
            {"severity": {"MW006": "error", "MW1": "loud"}},
            "`merrow.severity.MW1` must be error, warning, hint or off, not `loud`; it is left out.",
        ),
        ({"severity": {"MW999": "error"}}, "`MW999` in `merrow.severity` selects no rule; it is left out."),
        (
            {"perPath": {"*": ["MW1"], "a": ["MW1", "MW999"]}},
            "`MW999` in `merrow.perPath` selects no rule; it is left out.",
        ),
        ({"perPath": {"a": 5}}, "`merrow.perPath.a` must be a list of texts, not `5`; it is left out."),
        (
            {"perPath": {"a": ["MW1", 5]}},
            "Item 2 of `merrow.perPath.a` must be text that is not empty, not `5`; it is left out.",
        ),
        (
            {"suggestAskAboveUsd": -1},
            "`merrow.suggestAskAboveUsd` must be a number of at least 0, not `-1`; the default (0.05) holds.",
        ),
        ({"configuration": 5}, "`merrow.configuration` must be text, not `5`; it is left out."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_with_what_holds_instead(given: Any, says: str) -> None:
    folder = Path("/work")
    assert read_editor_settings(given, folder) == (EditorSettings(folder=folder), [says])


def test_a_settings_file_is_looked_for_where_the_folder_is_and_the_editors_values_are_added_to_it() -> None:
    given = {
        "configuration": "own.toml",
        "severity": {"MW006": "hint"},
        "perPath": {"a": ["MW1"]},
        "libraries": ["./ops.yaml"],
        "patterns": ["./p.mmd"],
        "ignore": ["MW404"],
    }
    file = replace(
        DEFAULT,
        severity={"MW006": "error", "MW202": "off"},
        per_path={"b": ("MW2",)},
        libraries=("l",),
        patterns=("p",),
    )
    found, problems = read_editor_settings(given, Path("/folder"))
    assert problems == []
    assert found.configuration_file(Path("/base")) == Path("/folder/own.toml")
    assert read_editor_settings(given)[0].configuration_file(Path("/base")) == Path("/base/own.toml")
    assert EditorSettings(folder=Path("/folder")).configuration_file(Path("/base")) is None
    applied = found.apply(file)
    assert (applied.severity, applied.per_path) == (
        {"MW006": "hint", "MW202": "off"},
        {"b": ("MW2",), "a": ("MW1",)},
    )
    assert (applied.libraries, applied.patterns) == (("l", "./ops.yaml"), ("p", "./p.mmd"))
    assert applied == replace(
        file.with_selection((), ["MW404"]),
        severity=applied.severity,
        per_path=applied.per_path,
        libraries=applied.libraries,
        patterns=applied.patterns,
    )
    assert read_editor_settings({"select": ["MW1"]})[0].apply(file).select == file.with_selection(["MW1"], []).select
    assert EditorSettings().apply(None) == DEFAULT.with_selection((), [])


def test_good_values_beside_a_bad_one_count() -> None:
    settings, problems = read_editor_settings({"enable": False, "select": 5, "rulePages": "https://example.org/{code}"})
    assert not settings.enabled
    assert settings.rule_pages == "https://example.org/{code}"
    assert settings.apply(None).select == ("ALL",)
    assert len(problems) == 1


def test_nulls_and_what_other_extensions_have_there_is_no_mistake() -> None:
    assert read_editor_settings({"enable": None, "trace": {"server": "off"}, "interpreter": ["python"]}) == (
        EditorSettings(),
        [],
    )
    assert read_editor_settings(None) == (EditorSettings(), [])


def test_every_folder_has_its_settings(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path)
    surroundings = editor.server.surroundings
    (tmp_path / "inner").mkdir()
    editor.loop.call_soon(surroundings.use_settings, {None: {}, tmp_path: {"enable": False}})
    assert not surroundings.settings(editor.server.documents[editor.open(BROKEN)]).enabled
    assert editor.codes(editor.uri("flow.mmd")) == []


def test_the_pages_of_rules_can_be_elsewhere(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(settings={"rule-pages": "https://example.org/rules/{code}.html"})
    found = editor.published(editor.open(BROKEN))
    assert found[0]["codeDescription"] == {"href": f"https://example.org/rules/{found[0]['code']}.html"}


def test_a_settings_file_on_disk_and_in_the_editor(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    file = tmp_path / "merrow.toml"
    file.write_text('ignore = ["MW006"]\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(BROKEN)
    assert "MW006" not in editor.codes(uri)
    file.write_text("", encoding="utf-8")
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 2}]})
    assert "MW006" in editor.codes(uri)
    opened = editor.open('ignore = ["MW006"]\n', "merrow.toml", "toml")
    assert "MW006" not in editor.codes(uri)
    editor.change(opened, {"text": 'ignore = ["MW0006"]\n'})
    assert "MW006" in editor.codes(uri)
    assert [(one["code"], "MW0006" in one["message"]) for one in editor.published(opened)] == [("MW520", True)]
    editor.close_document(opened)
    file.unlink()
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 3}]})
    assert "MW006" in editor.codes(uri)


def test_mistakes_in_a_settings_file_on_disk_are_told_once_with_their_lines(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "merrow.toml").write_text("ignroe = []\n\nselcet = []\n", encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    for name in ("one.mmd", "two.mmd"):
        editor.open(BROKEN, name)
    editor.run(0.02)
    assert told(editor) == [
        "merrow.toml, line 1: There is no setting `ignroe`; did you mean `ignore`?",
        "merrow.toml, line 3: There is no setting `selcet`; did you mean `select`?",
    ]
    # Of a file that is open they are shown in its text.
    another = open_editor(MODERN, tmp_path)
    another.open("ignroe = []\n", "merrow.toml", "toml")
    another.open(BROKEN)
    another.run(0.02)
    assert told(another) == []


def test_the_editors_settings_go_before_the_files(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").write_text('[severity]\nMW006 = "hint"\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    assert 4 in [item["severity"] for item in editor.published(editor.open(BROKEN)) if item["code"] == "MW006"]
    editor = open_editor(MODERN, tmp_path, settings={"severity": {"MW006": "warning"}})
    assert 2 in [item["severity"] for item in editor.published(editor.open(BROKEN)) if item["code"] == "MW006"]


def test_another_settings_file(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "strict.toml").write_text('ignore = ["MW006"]\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path, settings={"configuration": "strict.toml"})
    assert "MW006" not in editor.codes(editor.open(BROKEN))
    editor = open_editor(MODERN, tmp_path, settings={"configuration": "missing.toml"})
    assert "MW006" in editor.codes(editor.open(BROKEN))
    [said] = told(editor)
    assert said.endswith("missing.toml. The editor's setting `configuration` names it."), said


def test_another_settings_file_changes_on_disk_and_in_the_editor(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    file = tmp_path / "strict.toml"
    editor = open_editor(MODERN, tmp_path, settings={"configuration": file.name})
    uri = editor.open(BROKEN)
    assert "MW006" in editor.codes(uri)
    file.write_text('ignore = ["MW006"]\n', encoding="utf-8")
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 1}]})
    assert "MW006" not in editor.codes(uri)
    opened = editor.open("", file.name, "toml")
    assert "MW006" in editor.codes(uri)
    editor.change(opened, {"text": 'ignore = ["MW006"]\n'})
    assert "MW006" not in editor.codes(uri)
    editor.change(opened, {"text": ""})
    editor.close_document(opened)
    assert "MW006" not in editor.codes(uri)


def test_the_documentation_has_every_setting() -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    for setting in ALL_SETTINGS:
        assert f"`{setting.name}`" in text
    for setting in SERVER_SETTINGS:
        assert setting.help.rstrip(".") in text
