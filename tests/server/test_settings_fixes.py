"""Misspelled names in a settings file: `merrow check --fix --unsafe-fixes` writes those that were meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from merrow_server.cli import main

WRONG = """ignroe = ["MW302"]
select = ["no-promts"]
"""


@pytest.fixture(autouse=True)
def files() -> None:
    Path("merrow.toml").write_text(WRONG)
    Path("flow.mmd").write_text("flowchart TD\n    A --> B\n")


def test_near_names_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fix", "--unsafe-fixes", "flow.mmd"]) == 0
    assert Path("merrow.toml").read_text() == 'ignore = ["MW302"]\nselect = ["no-prompts"]\n'
    assert "Repaired 2 findings in 1 file: 2 x MW520." in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--fix"], ["--diff", "--unsafe-fixes"], []])
def test_nothing_is_written_unless_unsafe_fixes_are(options: list[str]) -> None:
    main(["check", *options, "flow.mmd"])
    assert Path("merrow.toml").read_text() == WRONG


def test_a_setting_that_is_there_already_is_not_written_again() -> None:
    both = WRONG + "ignore = []\n"
    Path("merrow.toml").write_text(both)
    main(["check", "--fix", "--unsafe-fixes", "flow.mmd"])
    assert Path("merrow.toml").read_text() == both.replace("no-promts", "no-prompts")
