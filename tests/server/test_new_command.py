"""``merrow new``: every known pattern starts a workflow that checks, and no file is ever overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import in_process

from merrow_analysis.tools.pins import PINS_FILE
from merrow_server.templates import GROUPS, templates

PATTERNS = Path(__file__).parents[2] / "examples" / "patterns"
PINS = Path(__file__).parents[2] / PINS_FILE
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", sorted(templates()))
def test_every_pattern_starts_a_workflow_without_errors_and_warnings(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    made = in_process(capsys, "new", "flow", "--template", name)
    assert made.code == 0
    assert "flow.mmd is written" in made.out
    template = templates()[name]
    found = in_process(capsys, "check", "--format", "json", "flow.mmd")
    serious = [one["code"] for one in found.json if one["severity"] in ("error", "warning")]
    # The tools of a user's own servers are pinned by the user, as it says.
    assert set(serious) == ({"MW503"} if template.tools else set())
    assert all(tool in made.out for tool in template.tools)
    assert ("merrow tools pull" in made.out) == bool(template.tools)
    front = template.text.partition("flowchart")[0]
    for word, told in (("jsonl", "which you write"), ("server: alfworld", "environment of alfworld, a server")):
        assert (told in made.out) == (word in front)
    assert all(document in made.out for document in template.documents)
    (tmp_path / PINS_FILE).write_text(PINS.read_text("utf-8"), "utf-8")
    found = in_process(capsys, "check", "--format", "json", "flow.mmd")
    assert [one["code"] for one in found.json if one["severity"] in ("error", "warning")] == []
    assert template.title
    assert len(template.sentences) == 3
    assert template.source


@pytest.mark.parametrize("name", ["split", "in parts", "parts, again", "it's", 'the "parts"', "parts(1)"])
def test_a_workflow_that_calls_itself_calls_the_new_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert in_process(capsys, "new", name, "--template", "adapt").code == 0
    assert in_process(capsys, "check", "--format", "json", f"{name}.mmd").json == []
    Path(f"{name}.mmd").rename("renamed.mmd")
    found = in_process(capsys, "check", "--format", "json", "renamed.mmd").json
    assert [one["code"] for one in found] == ["MW227"], "it called the new file by its name"


def test_a_file_that_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flow.mmd").write_text("mine", "utf-8")
    refused = in_process(capsys, "new", "flow.mmd")
    assert refused.code == 2
    assert "already exists" in refused.err
    assert Path("flow.mmd").read_text("utf-8") == "mine"


def test_unknown_templates_and_missing_names_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Did you mean self_refine?" in in_process(capsys, "new", "x", "--template", "self_refin").err
    assert in_process(capsys, "new").code == 2
    assert in_process(capsys, "new", "missing/flow").code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_list_names_all(capsys: Capture) -> None:
    listed = in_process(capsys, "new", "--list", "--format", "json").json
    assert [one["name"] for one in listed] == list(templates())
    lines = in_process(capsys, "new", "--list").out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(" ")] == list(templates())
    assert [line for line in lines if not line.startswith(" ")] == list(GROUPS)
    assert all(any(one["title"] in line for line in lines) for one in listed)


def test_every_pattern_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(path.stem for path in PATTERNS.glob("*.mmd"))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("", "merrow new flow.mmd"),
        (".", "merrow new flow.mmd"),
        ("..", "merrow new ../flow.mmd"),
        ("drafts", "merrow new drafts/flow.mmd"),
        ("drafts/", "merrow new drafts/flow.mmd"),
        ("later/", "merrow new later/flow.mmd"),
        (".mmd", "A file needs a name of its own: merrow new flow.mmd"),
        ("notes.md", "merrow new notes.mmd"),
        ("my notes.json", "merrow new 'my notes.mmd'"),
        ("a\0b.mmd", "can't be written: a name can't have that character."),
    ],
)
def test_names_that_no_workflow_file_can_have_are_refused(
    name: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("drafts").mkdir()
    refused = in_process(capsys, "new", name)
    assert refused.code == 2
    assert advice in refused.err
    assert [path.name for path in tmp_path.rglob("*")] == ["drafts"]
    assert in_process(capsys, "new", "v1.2").code == 0
    assert Path("v1.2.mmd").exists()
