"""The files in ``editors/`` in the real programs: workflows are coloured and run, and their inputs asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.snippets import ROOT, need, run

pytestmark = pytest.mark.thinned(8, "editors")

WORKFLOW = """flowchart TD
    %% a note
    PROBLEM([Subject]):::Interface
    WRITE["Pass<br/>"]
    RETURN([Text]):::Interface
    PROBLEM -->|value| WRITE
    WRITE --> RETURN
    classDef Interface fill:#e2e2f2
"""


def in_editor(editor: str, folder: Path, answer: str, data: Path | None = None, task: str | None = None) -> str:
    """What the editor prints when `WORKFLOW` is run there and ``answer`` given; nothing is given without one. With ``data`` it is
    evaluated, too; with a ``task`` a workflow is planned.
    """
    file = folder / "flow.mmd"
    file.write_text(WORKFLOW, encoding="utf-8")
    here = Path(__file__)
    if editor == "neovim":
        script = here.with_name("neovim_files.lua")
        command = [need("nvim", "apt-get install neovim"), "--headless", "--clean", "-n", "-c", f"luafile {script}"]
    else:
        script = here.with_name("emacs_files.el")
        command = [need("emacs", "apt-get install emacs-nox elpa-eglot"), "--batch", "-Q", "-l", str(script)]
    variables = {"MERROW_FILE": str(file), "MERROW_EDITOR": str(ROOT / "editors" / editor), "MERROW_ANSWER": answer}
    if data is not None:
        variables["MERROW_DATA"] = str(data)
    if task is not None:
        variables["MERROW_TASK"] = task
    printed = run(command, folder, **variables)
    assert "DONE" in printed, printed
    return printed


@pytest.mark.parametrize("editor", ["neovim", "emacs"])
def test_a_workflow_is_run_with_the_input_that_was_asked_for(editor: str, tmp_path: Path) -> None:
    printed = in_editor(editor, tmp_path, "The sea at night")
    assert "PROMPT Subject (Problem): " in printed, printed
    assert "SHOWN The sea at night" in printed, printed
    assert "finished" in printed


def test_neovim_tells_what_became_of_a_revision(tmp_path: Path) -> None:
    data = tmp_path / "own.jsonl"
    data.write_text('{"id": "one", "question": "sea", "answer": "sea"}\n', encoding="utf-8")
    printed = in_editor("neovim", tmp_path, "The sea at night", data)
    assert "NOTIFY Merrow: the file has all of it already." in printed, printed
    assert "has finished, so nothing of it is left to change" in printed, printed


@pytest.mark.parametrize("editor", ["neovim", "emacs"])
def test_a_workflow_is_evaluated_and_its_report_shown(editor: str, tmp_path: Path) -> None:
    data = tmp_path / "own.jsonl"
    # Emacs asks for no mapping, so the field that feeds the input has its name there.
    row = '{"id": "%s", "problem": "sea", "question": "sea", "answer": "%s"}'
    data.write_text("\n".join(row % pair for pair in (("one", "sea"), ("two", "land"))), encoding="utf-8")
    printed = in_editor(editor, tmp_path, "x", data)
    assert "REPORT Score 0.500" in printed, printed
    assert re.search(r"^REPORT .* two +wrong ", printed, re.MULTILINE), printed
    assert "CHOICE 1 " in printed
    assert "CASE   - id: x" in printed
    assert "exact: x" in (tmp_path / "flow.cases.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("editor", ["neovim", "emacs"])
def test_a_workflow_is_planned_and_chosen_from_a_list(editor: str, tmp_path: Path) -> None:
    printed = in_editor(editor, tmp_path, "x", task="Write a page about bees.")
    assert "CHOICE 1 1. " in printed, printed
    assert "expected 1 of 1 (score " in printed
    assert "PLAN flowchart TD" in printed
    assert "default: Write a page about bees." in printed


@pytest.mark.parametrize("editor", ["neovim", "emacs"])
def test_without_an_answer_nothing_is_run(editor: str, tmp_path: Path) -> None:
    printed = in_editor(editor, tmp_path, "")
    assert "PROMPT Subject" in printed, printed
    assert "SHOWN" not in printed


@pytest.mark.parametrize(
    ("editor", "coloured"),
    [
        (
            "neovim",
            [
                "1 f mermaidKeyword",
                "2 a mermaidComment",
                "3 P mermaidInterface",
                "4 P mermaidOperator",
                "6 > mermaidArrow",
                "6 v mermaidLabel",
            ],
        ),
        (
            "emacs",
            [
                "1 f font-lock-keyword-face",
                "2 a font-lock-comment-face",
                "3 P font-lock-builtin-face",
                "4 P font-lock-function-name-face",
                "6 v font-lock-variable-name-face",
            ],
        ),
    ],
)
def test_workflows_are_coloured(editor: str, coloured: list[str], tmp_path: Path) -> None:
    printed = in_editor(editor, tmp_path, "x").splitlines()
    for one in coloured:
        assert f"COLOUR {one}" in printed, one
