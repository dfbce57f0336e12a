"""Command lines that can't be read: each is answered with what was probably meant, or with something to type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.server.program import GOOD, in_process, merrow, write

from merrow_server.cli import COMMANDS
from merrow_server.cli.misuse import MEANT

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["help"], "There is no command help. Did you mean merrow --help? See merrow --help."),
        (["help", "run"], "There is no command help. Did you mean merrow run --help? See merrow --help."),
        (["version"], "There is no command version. Did you mean merrow --version? See merrow --help."),
        (["lint", "."], "There is no command lint. Did you mean merrow check? See merrow --help."),
        (["cehck"], "There is no command cehck. Did you mean merrow check? See merrow --help."),
        (["xyzzy"], "There is no command xyzzy. See merrow --help."),
        (
            ["my flow.mmd"],
            "There is no command my flow.mmd. Run a file with: merrow run 'my flow.mmd', or check it with: "
            "merrow check 'my flow.mmd'. See merrow --help.",
        ),
        (["-v"], "There is no option -v. Did you mean --version? See merrow --help."),
        (["run", "one.mmd", "-i", "x=1"], "There is no option -i. Did you mean --input? See merrow run --help."),
        (
            ["run", "one.mmd", "--inptu", "x=1"],
            "There is no option --inptu. Did you mean --input? See merrow run --help.",
        ),
        (["run", "one.mmd", "-r"], "There is no option -r. See merrow run --help."),
        (["run"], "FILE is missing. Example: merrow run one.mmd. See merrow run --help."),
        (["explain"], "CODE is missing. Example: merrow explain MW105. See merrow explain --help."),
        (
            ["render", "one.mmd"],
            "--output is missing. Example: merrow render flow.mmd -o flow.svg. See merrow render --help.",
        ),
        (
            ["run", "one.mmd", "What is it?"],
            "merrow run takes FILE, but got 'What is it?' as well. An input is given with --input, such as "
            "--input problem='What is 6 times 7?'. See merrow run --help.",
        ),
        (
            ["rules", "x"],
            "merrow rules takes no arguments, but got x. The page of a rule is shown by: merrow explain CODE. "
            "See merrow rules --help.",
        ),
        (
            ["run", "one.mmd", "--budget-usd", "x"],
            "Invalid value for '--budget-usd': 'x' is not a number. See merrow run --help.",
        ),
        (
            ["runs", "--limit", "x"],
            "Invalid value for '--limit': 'x' is not a whole number. See merrow runs --help.",
        ),
        (["new", "--template"], "Option '--template' requires an argument. See merrow new --help."),
        (["new", "no/such.mmd"], "no/such.mmd can't be written: the folder no does not exist. Make it first."),
    ],
)
def test_what_was_meant_is_said(capsys: Capture, arguments: list[str], sentence: str) -> None:
    write("one.mmd", GOOD)
    done = in_process(capsys, *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"merrow: {sentence}\n")


def test_without_a_workflow_the_way_to_one_is_said(capsys: Capture) -> None:
    done = in_process(capsys, "run")
    assert "this folder has no workflow. Begin one with: merrow new flow.mmd" in done.err


def test_what_other_programs_call_a_thing_leads_to_a_command_of_ours(capsys: Capture) -> None:
    for word, meant in MEANT.items():
        assert word not in COMMANDS
        command, *options = meant.split()
        done = in_process(capsys, word)
        assert f"Did you mean merrow {meant}?" in done.err
        known = in_process(capsys, *(["--help"] if command.startswith("--") else [command, "--help"])).out
        assert all(option in known for option in (*options, *[command][: command.startswith("--")])), meant


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_without_arguments_answers_in_the_words_of_the_parser(capsys: Capture, name: str) -> None:
    if name in {"serve", "check", "fmt", "doctor", "repair", "test"}:
        return  # these do something without an argument
    said = in_process(capsys, name).err
    assert "Missing" not in said
    assert not re.search(r"merrow: (?!merrow )[a-z]", said), said


@pytest.mark.parametrize(
    "arguments",
    [
        *([name] for name in ("new", "check", "fmt", "graph", "run", "test", "show", "resume", "extract", "repair")),
        ["compile", "one.mmd", "-o"],
        ["test", "--save"],
        ["evaluate", "one.mmd", "--dataset"],
        ["plan", "Do it.", "--dry-run", "-o"],
    ],
    ids=" ".join,
)
def test_a_name_that_is_too_long_for_a_file_is_one_sentence(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    write("one.mmd", GOOD)
    name = f"{'a' * 300}.{'py' if arguments[0] == 'compile' else 'mmd'}"
    done = in_process(capsys, *arguments, name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert name[:300] in done.err
    assert "Merrow failed" not in done.err


def test_the_next_command_can_be_pasted() -> None:
    said = merrow("new", "my flow").out
    assert "Next: merrow check 'my flow.mmd', then merrow run 'my flow.mmd' --dry-run" in said
    assert Path("my flow.mmd").is_file()


def test_the_number_of_a_rule_is_enough(capsys: Capture) -> None:
    assert in_process(capsys, "explain", "105").out == in_process(capsys, "explain", "MW105").out != ""


def test_no_runs_of_one_workflow_are_not_no_runs(capsys: Capture) -> None:
    assert in_process(capsys, "runs", "--workflow", "one.mmd").err == (
        "No runs of one.mmd yet; make one with: merrow run one.mmd\n"
    )
