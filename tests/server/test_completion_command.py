"""``merrow completion``: what a shell offers while a command line is typed, and how fast."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.program import GOOD, Outcome, markdown, merrow, write

from merrow_analysis.rules.registry import all_rules
from merrow_server.cli import COMMANDS, GROUPS

SHELLS = ("bash", "zsh", "fish")
BASH = shutil.which("bash")


@pytest.fixture(autouse=True)
def _a_state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_MODEL"):
        monkeypatch.delenv(name, raising=False)


def asked(line: str, shell: str = "bash") -> Outcome:
    """What the program answers a shell at the end of ``line``."""
    before = len(line.split()) - (0 if line.endswith(" ") else 1)
    environment = {"_MERROW_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(before)}
    if shell == "fish":
        environment["COMP_CWORD"] = "" if line.endswith(" ") else line.split()[-1]
    return merrow(env=environment)


def offered(line: str) -> list[str]:
    """The words that bash is offered."""
    return [row.removeprefix("plain,") for row in asked(line).out.split("\n") if row.startswith("plain,")]


def run_once(name: str = "flow.mmd") -> str:
    """The id of a run of a workflow."""
    write(name, GOOD)
    assert merrow("run", name, "--input", "problem=x").code == 0
    return str(json.loads(merrow("runs", "--format", "json").out)[0]["run"])


def test_every_command_is_in_one_group() -> None:
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(COMMANDS)
    lines = merrow("--help").out.splitlines()
    assert all(sum(line.startswith(f"  {name} ") for line in lines) == 1 for name in COMMANDS)


def test_the_program_alone_shows_its_help() -> None:
    alone = merrow()
    assert alone.out == merrow("--help").out
    assert (alone.code, alone.err) == (2, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_asks_the_program(shell: str) -> None:
    script = merrow("completion", shell)
    assert script.code == 0
    assert f"_MERROW_COMPLETE={shell}_complete" in script.out
    interpreter = shutil.which(shell)
    if interpreter is not None:
        done = subprocess.run([interpreter, "-n"], input=script.out, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_refused_with_those_there_are() -> None:
    refused = merrow("completion", "tcsh")
    assert refused.code == 2
    assert all(shell in refused.err for shell in SHELLS)


def test_commands_and_options_are_completed() -> None:
    assert offered("merrow ") == list(COMMANDS)
    assert offered("merrow ru") == ["rules", "run", "runs"]
    assert "--dry-run" in offered("merrow run --d")


def test_nodes_and_inputs_of_the_file_are_completed_also_of_a_block_of_markdown() -> None:
    write("flow.mmd", GOOD)
    write("notes.md", markdown(GOOD, GOOD.replace("A", "OTHER")))
    assert offered("merrow run flow.mmd --from ") == ["A"]
    assert offered("merrow run notes.md#2 --only o") == ["OTHER"]
    assert offered("merrow run flow.mmd --set a") == ["A."]
    assert offered("merrow run flow.mmd --input ") == ["problem="]
    assert offered("merrow run --from ") == []


def test_runs_are_completed_by_what_can_be_done_with_them() -> None:
    run = run_once()
    for line in ("merrow show ", "merrow runs --delete ", f"merrow show {run[:4]}", "merrow run flow.mmd --run "):
        assert offered(line) == [run]
    assert offered("merrow resume ") == []  # it finished
    assert offered("merrow cancel ") == []
    assert offered(f"merrow show {run} --node a") == ["A"]


def test_rules_are_completed_by_code_and_by_name_and_patterns_by_name() -> None:
    assert offered("merrow explain MW10") == [rule.code for rule in all_rules() if rule.code.startswith("MW10")]
    assert offered("merrow explain ensemble-n") == ["ensemble-needs-two-sources"]
    assert offered("merrow check --ignore mw105") == ["MW105"]
    assert "debate" in offered("merrow new --template de")


@pytest.mark.parametrize("line", ["merrow check ", "merrow fmt ", "merrow run ", "merrow run x.mmd --replay "])
def test_files_are_left_to_the_shell(line: str) -> None:
    assert asked(line).out.startswith("file,")


def test_zsh_and_fish_are_told_what_a_word_means() -> None:
    run = run_once()
    assert asked("merrow show ", "zsh").out.splitlines() == ["plain", run, f"finished, {Path('flow.mmd').absolute()}"]
    assert asked("merrow show ", "fish").out == f"plain,{run}\tfinished, {Path('flow.mmd').absolute()}\n"
    assert f"plain,run\t{COMMANDS['run']}" in asked("merrow ru", "fish").out


@pytest.mark.parametrize("line", ["merrow run gone.mmd --from ", "merrow show ", "merrow run broken.mmd --only "])
def test_what_cannot_be_read_completes_nothing_and_says_nothing(line: str) -> None:
    write("broken.mmd", b"flowchart TD\n  A[[\xff")
    state = Path(os.environ["MERROW_STATE_DIR"])
    state.mkdir()
    (state / "runs.sqlite").write_bytes(b"no journal")
    done = asked(line)
    assert (done.out.strip(), done.err) == ("", "")


@pytest.mark.parametrize(
    "line",
    ["merrow ", "merrow check ", "merrow run flow.mmd --from ", "merrow show ", "merrow explain ", "merrow new --t"],
)
def test_completing_loads_nothing_that_takes_long(line: str) -> None:
    run_once()
    script = (
        "import sys; from merrow_server.cli import main; main();"
        "print([name for name in sys.modules if name.startswith(("
        "'merrow_analysis.check', 'merrow_analysis.graph', 'merrow_runtime.running', 'rich', 'asyncio', 'openai'))])"
    )
    words = {"_MERROW_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()))}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n"), done.stdout[-300:]


@pytest.mark.skipif(BASH is None or os.name != "posix", reason="needs bash on a terminal")
def test_bash_completes_while_a_line_is_typed(tmp_path: Path) -> None:
    import pty  # not on Windows

    write("flow.mmd", GOOD)
    program = tmp_path / "bin" / "merrow"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m merrow_server "$@"\n')
    program.chmod(0o755)
    assert BASH is not None
    here, there = pty.openpty()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"}
    bash = subprocess.Popen(
        [BASH, "--norc", "--noprofile", "-i"], stdin=there, stdout=there, stderr=there, env=environment, process_group=0
    )
    os.close(there)

    shown = b""

    def until(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(here, 4096)
        shown = shown.partition(text)[2]

    try:
        os.write(here, b'eval "$(merrow completion bash)"; echo rea""dy\n')
        until(b"ready")
        os.write(here, b"echo merrow\x01\x0b")  # a line that is taken back
        os.write(here, b"merrow run fl\t")
        until(b"flow.mmd ")
        os.write(here, b"--inp\t")
        until(b"--input ")
        os.write(here, b"\tx")
        until(b"problem=x")
        os.write(here, b" --fro\t")
        until(b"--from ")
        os.write(here, b"\t;")
        until(b"A ;")
    finally:
        bash.kill()
        bash.wait()
        os.close(here)
