"""Command lines that can't be read: each is answered with what was probably meant, or with something to type."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "metrics good.mmd --failure-probability nan",
            "Invalid value for --failure-probability: a probability is a number from 0 to 1. See"
            " merrow metrics --help.",
        ),
        ("mutate good.mmd", "Say one of --list, --apply ID and --random N. See merrow mutate --help."),
        (
            "mutate good.mmd --list --random 2",
            "Say one of --list, --apply ID and --random N. See merrow mutate --help.",
        ),
        ("mutate good.mmd --random 2 --write", "--write goes with --apply ID. See merrow mutate --help."),
        ("mutate good.mmd --apply no", "good.mmd has no mutation no; merrow mutate good.mmd --list shows all."),
        ("crossover good.mmd other.mmd", "other.mmd is not a workflow: it is not a flowchart."),
        (
            "render good.mmd -o x.gif",
            "x.gif ends neither in .svg nor in .png; give the image a name that does. See merrow render --help.",
        ),
        ("render other.mmd -o x.svg", "other.mmd is not a flowchart, and merrow render draws only flowcharts."),
        (
            "render broken.mmd -o x.svg",
            "broken.mmd can't be drawn. Line 3: This [[ is never closed: add ]] at the end of the text.",
        ),
        ("parse", "merrow parse reads JSON lines: add --jsonl. See merrow parse --help."),
        ("import good.mmd", "good.mmd is a workflow already; check it with: merrow check good.mmd"),
        ("import other.mmd", "other.mmd can't be imported: it is not a flowchart."),
        (
            "import broken.mmd",
            "broken.mmd can't be imported. Line 3: This [[ is never closed: add ]] at the end of the text.",
        ),
        ("import empty.mmd", "empty.mmd can't be imported: it has no nodes."),
        ("import none.mmd", "none.mmd can't be imported: its front matter says `workflow: false`."),
        ("new", "Name the new file, such as `merrow new flow.mmd`. See merrow new --help."),
        ("new x.mmd --template debat", "There is no template debat. Did you mean debate?"),
        ("new x.mmd --template zzzz", "There is no template zzzz. `merrow new --list` shows all templates."),
        ("new good.mmd", "good.mmd already exists; choose another name."),
        ("new folder", "A file needs a name of its own: merrow new folder/flow.mmd"),
        ("new x.txt", "A workflow file ends with .mmd or .mermaid: merrow new x.mmd"),
        ("compile", "Name the workflow: merrow compile FILE -o FILE.py"),
        (
            "compile good.mmd empty.mmd",
            "One workflow is compiled at a time, but got empty.mmd as well. The program is named with -o.",
        ),
        (
            "compile good.mmd --check a.py -o b.py",
            "--check goes with FILE alone: the program says itself how it was compiled.",
        ),
        (
            "compile good.mmd empty.mmd --check a.py",
            "One program is checked against a FILE; without FILE each names its own workflow.",
        ),
        (
            "check good.mmd --unsafe-fixes",
            "--unsafe-fixes needs --fix to write the repairs or --diff to look at them. See merrow check --help.",
        ),
        (
            "check good.mmd --diff --format json",
            "--diff prints a diff; leave out --format json. See merrow check --help.",
        ),
        ("costs --month 2026-01 --all", "Either --month or --all, not both. See merrow costs --help."),
        ("costs --month x", "--month x is not a month; write it as 2026-11. See merrow costs --help."),
        ("cancel none", "There is no run 'none' in the journal; list them with: merrow runs"),
        ("optimize", "Name the data: merrow optimize FILE --dataset F."),
        (
            "optimize good.mmd --dataset arithmetic --set a",
            "--set 'a' is not a constant with a number; write --set NAME=NUMBER.",
        ),
        (
            "optimize good.mmd --dataset arithmetic --set a=x",
            "--set 'a=x' is not a constant with a number; write --set NAME=NUMBER.",
        ),
        (
            "optimize good.mmd --dataset arithmetic --set a=inf",
            "--set 'a=inf' is not a constant with a number; write --set NAME=NUMBER.",
        ),
        ("optimize good.mmd --dataset arithmetic --set a=1 --set a=2", "--set a is given twice."),
        ("run good.mmd --input a=1 --input a=2", "--input a is given twice."),
        ("run good.mmd --input =1", "--input '=1' lacks its value; write --input NAME=VALUE or --input NAME=@file."),
        (
            "run two.mmd --input problem=@- --input more=@-",
            "--input problem and --input more can't both come from standard input; write --input more=@file.",
        ),
        (
            "run good.mmd --refine-on failure,x",
            "Invalid value for --refine-on: 'x' is neither failure nor invalid. See merrow run --help.",
        ),
        ("show --format csv", "--format csv goes with an evaluation; list them with: merrow evaluations"),
        ("show --item 3", "--item goes with an evaluation; list them with: merrow evaluations"),
        ("show -o x", "-o writes a page; add --format html."),
        ("explain none", "There is no rule none. merrow rules lists them all. See merrow explain --help."),
        ("plan x --roles ,", "Invalid value for --roles: name at least one role. See merrow plan --help."),
        ("plan x -o a --all b", "-o and --all can't be used together. See merrow plan --help."),
        (
            "plan --from good.mmd --form mermaid",
            "--from reads plans from a file, so no model is asked for --form mermaid. See merrow plan --help.",
        ),
        ("plan @none", "There is no file none."),
        ("plan @empty.txt", "empty.txt is empty; write the task into it."),
        ("revise x", "Name the FILE that the run is to continue as, or a revision with --apply N or --refuse N."),
        (
            "revise x good.mmd --apply 1",
            "Name the FILE that the run is to continue as, or a revision with --apply N or --refuse N.",
        ),
        (
            "revise x --refuse 1 --apply 1",
            "Name the FILE that the run is to continue as, or a revision with --apply N or --refuse N.",
        ),
        ("resume none", "There is no run 'none' in the journal; list them with: merrow runs"),
    ],
)
def test_what_does_not_go_together_or_with_a_file_is_refused_with_its_reason(
    capsys: Capture, line: str, sentence: str
) -> None:
    write("good.mmd", GOOD)
    write("other.mmd", "sequenceDiagram\n  A->>B: hi\n")
    write("broken.mmd", "flowchart TD\n  A -->\n  B[[\n")
    write("empty.mmd", "flowchart TD\n")
    write("empty.txt", "\n")
    write("none.mmd", "---\nworkflow: false\n---\nflowchart TD\n  A --> B\n")
    write("folder/x", "")
    write("two.mmd", GOOD.replace("    PROBLEM -->", "    MORE([More]):::Interface -->|input| A\n    PROBLEM -->"))
    done = in_process(capsys, *line.split())
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
    if name in {"serve", "view", "check", "fmt", "doctor", "repair", "test"}:
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
def test_a_name_that_is_too_long_for_a_file_is_one_sentence(capsys: Capture, arguments: list[str]) -> None:
    write("one.mmd", GOOD)
    name = f"{'a' * 300}.{'py' if arguments[0] == 'compile' else 'mmd'}"
    done = in_process(capsys, *arguments, name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert name[:300] in done.err
    assert "Merrow failed" not in done.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    write("one.mmd", GOOD)

    def full(*_: object, **__: object) -> None:
        raise OSError(number, "It is so")

    monkeypatch.setattr("merrow_server.checking.Checker.analyse", full)
    done = in_process(capsys, "check", "one.mmd")
    assert done.code == 2
    assert ("the disk is full" in done.err, "It is so" in done.err) == (number != errno.EIO, number == errno.EIO)


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


@pytest.mark.skipif(os.name != "posix", reason="closing a stream by a shell's words")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_closed_before_it_begins_are_no_fault(tmp_path: Path, closed: str) -> None:
    done = subprocess.run(  # noqa: S602 (words of this test)
        f"{sys.executable} -m merrow_server rules {closed}",
        shell=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
