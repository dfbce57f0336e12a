"""`merrow check` and `merrow run` with Calls: which files may be called, and how broken ones are reported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.runtime.engine.fakes import flowchart
from tests.server.program import merrow

SIMPLE = flowchart('A@{op: Custom, prompt: "think"}', "PROBLEM --> A --> RETURN")


def calls(path: str) -> str:
    return flowchart(f'C@{{op: Call, workflow: "{path}"}}', "PROBLEM --> C --> RETURN")


def found(folder: Path) -> list[tuple[str, str, str]]:
    """File, code and message of each error in a folder."""
    report = merrow("check", str(folder), "--format", "json").json
    return [(Path(one["file"]).name, one["code"], one["message"]) for one in report if one["severity"] == "error"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "merrow.toml").touch()
    (tmp_path / "outside.mmd").write_text(SIMPLE)
    return inside


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../../../../../../../../etc/passwd", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("../outside.mmd", "outside the workspace"),
        ("link.mmd", "outside the workspace"),
        ("linked/outside.mmd", "outside the workspace"),
        (".", "folder"),
        ("sub", "folder"),
        ("/dev/zero", "outside the workspace"),
        ("pipe.mmd", "not a regular file"),
        ("latin.mmd", "UTF-8"),
        ("large.mmd", "large"),
        ("missing.mmd", "There is no file"),
        ("nul\\0.mmd", ""),
        ("notes.md", "Markdown"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_a_file_that_may_not_be_called(folder: Path, path: str, says: str) -> None:
    (folder / "link.mmd").symlink_to(folder.parent / "outside.mmd")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe.mmd")
    (folder / "latin.mmd").write_bytes(SIMPLE.replace("think", "dénk").encode("latin-1"))
    (folder / "large.mmd").write_text(SIMPLE + "%% " + "x" * 11_000_000 + "\n")
    (folder / "main.mmd").write_text(calls(path))
    ((_, code, message),) = found(folder / "main.mmd")
    assert code == "MW227"
    assert says in message
    run = merrow("run", str(folder / "main.mmd"), "--input", "problem=x", "--base-url", "offline")
    assert run.code != 0
    assert "MW227" in run.err
    assert "Traceback" not in run.err


def test_a_link_inside_the_workspace_may_be_called(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "f.mmd").write_text(SIMPLE)
    (folder / "f.mmd").symlink_to(folder / "sub" / "f.mmd")
    (folder / "main.mmd").write_text(calls("f.mmd"))
    assert found(folder) == []


def test_a_folder_that_links_to_itself_ends(folder: Path) -> None:
    (folder / "again").symlink_to(folder)
    (folder / "main.mmd").write_text(calls("again/main.mmd") + "    RETURN@{type: Text}\n")
    assert {code for _, code, _ in found(folder / "main.mmd")} == {"MW227"}


def test_a_broken_file_is_reported_once_and_each_caller_once(folder: Path) -> None:
    (folder / "broken.mmd").write_text(SIMPLE.replace("op: Custom", "op: Custm"))
    for name in ("a", "b"):
        (folder / f"{name}.mmd").write_text(calls("broken.mmd"))
    assert sorted((name, code) for name, code, _ in found(folder)) == [
        ("a.mmd", "MW227"),
        ("b.mmd", "MW227"),
        ("broken.mmd", "MW104"),
    ]


def test_a_run_reports_the_nodes_of_a_called_file_with_their_path(folder: Path) -> None:
    (folder / "f.mmd").write_text(SIMPLE)
    (folder / "main.mmd").write_text(calls("f.mmd"))
    run = merrow("run", str(folder / "main.mmd"), "--input", "problem=x", "--base-url", "offline", "--json")
    assert run.code == 0, run.err
    assert '"path":"C"' in run.out.replace(" ", "")
