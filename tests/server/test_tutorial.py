"""The tutorial followed to the letter: each file written, each command run, each line of output looked for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.server.program import in_process
from tests.server.terminal import terminals

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\w+)=(\S+))?\n(.*?)^```$", TUTORIAL, re.M | re.S)

Capture = pytest.CaptureFixture[str]


def test_every_step_does_what_the_tutorial_says(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shown, commands = "", 0
    for language, key, value, text in BLOCKS:
        if key == "file":
            Path(value).write_text(text, "utf-8")
        elif language == "sh":
            shown = ""
            for command in text.splitlines():
                program, *arguments = shlex.split(command)
                if program == "mkdir":
                    Path(*arguments).mkdir()
                elif program == "cd":
                    monkeypatch.chdir(*arguments)
                else:
                    assert program == "merrow"
                    done = in_process(capsys, *arguments)
                    assert done.code == (int(value) if key == "exit" else 0), f"{command}: {done.err}"
                    shown += done.out + done.err
                    commands += 1
        else:
            assert language == "text"
            assert [line for line in text.splitlines() if line not in shown] == []
    assert commands > 8


def test_it_ends_with_the_example_of_the_repository() -> None:
    written = {value: text for _, key, value, text in BLOCKS if key == "file"}
    examples = ROOT / "examples"
    assert written["letters.mmd"] == (examples / "letters.mmd").read_text("utf-8")
    assert written["policy.txt"] == (examples / "inputs" / "policy.txt").read_text("utf-8")
    assert written["letter.txt"] == (examples / "inputs" / "letter_torn.txt").read_text("utf-8")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_the_first_command_of_the_readme_shows_on_a_terminal_what_stands_below_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    first = (ROOT / "README.md").read_text("utf-8").partition("## First steps")[2]
    command = re.search(r"^    merrow (run .*?[^\\])\n\n", first, re.M | re.S)
    printed = re.search(r"^```text\n(.*?)^```$", first, re.M | re.S)
    assert command is not None
    assert printed is not None
    with terminals() as terminal:
        shown = terminal(*shlex.split(command[1].replace("\\\n", " ")))
    note, *_, last = re.sub(r"\x1b\[([0-9;]*m|\?25[lh])", "", shown).split(
        "\x1b[2K"
    )  # states of the table that was erased
    table = printed[1].index("SORT ")
    assert words(note)[: len(words(printed[1][:table]))] == words(printed[1][:table])
    assert words(last) == words(printed[1][table:])


def words(shown: str) -> list[str]:
    """Without where lines are wrapped; each run takes its own time and has an id of its own."""
    return re.sub(r"\d+\.\d s\b|(?<=merrow show )\w+", "…", shown).split()
