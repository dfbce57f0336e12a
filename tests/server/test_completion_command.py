"""``merrow completion``: what a shell offers while a command line is typed, and how fast."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.server.program import GOOD, Outcome, markdown, merrow, write

from merrow_analysis.rules.registry import all_rules
from merrow_server.cli import COMMANDS, GROUPS

pytestmark = pytest.mark.thinned(8, "completed in shells")

SHELLS = ("bash", "zsh", "fish")
ODD = 'my flow: the "best".mmd'


def asked(line: str, shell: str = "bash") -> Outcome:
    """What the program answers a shell at the end of ``line``."""
    environment = {"_MERROW_COMPLETE": f"{shell}_complete", "COMP_LINE": line}
    if shell == "bash":
        # Where a word begins for it.
        environment["COMP_WORD"] = re.split(r"[\s=:]", line)[-1]
    return merrow(env=environment)


def offered(line: str) -> list[str]:
    """The words that bash is offered."""
    rows = asked(line).out.split("\n")
    return [row.partition(",")[2] for row in rows if row.startswith(("plain,", "open,"))]


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
    assert f"{shell}_complete" in script.out
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


def journal() -> None:
    """A run, an evaluation, a search and an extraction of each status, begun one after the other: ids like ``r-finished``."""
    from merrow_runtime.store.contract import RunRecord
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.evaluations import EvaluationRecord
    from merrow_runtime.store.extractions import ExtractionRecord
    from merrow_runtime.store.optimizations import OptimizationRecord

    write("flow.mmd", GOOD)
    file = str(Path("flow.mmd").absolute())
    with closing(Store.open()) as store:
        for at, status in enumerate(("running", "finished", "failed", "cancelled")):
            store.begin(RunRecord(f"r-{status}", file, status, float(at), snapshot={}))
        for at, status in enumerate(("running", "finished", "stopped", "cancelled")):
            about = (file, status, float(at), "data", "all", "exact", "m")
            store.evaluations.begin(EvaluationRecord(f"e-{status}", *about, 0, 1, {}))
            store.optimizations.begin(OptimizationRecord(f"s-{status}", *about, "climb", "moves", 0, 1, {}), "all", "s")
            store.extractions.begin(ExtractionRecord(f"x-{status}", *about, "g", 0, {}))


def test_each_command_is_offered_what_it_can_work_on() -> None:
    journal()
    runs = ["r-cancelled", "r-failed", "r-finished", "r-running"]  # the newest is the first
    evaluations = ["e-cancelled", "e-stopped", "e-finished", "e-running"]
    searches = ["s-cancelled", "s-stopped", "s-finished", "s-running"]
    extractions = [f"x{one[1:]}" for one in searches]
    all_ = runs + evaluations + searches + extractions
    left = [one for one in all_ if not one.endswith("-finished")]
    for line, words in (
        ("merrow show ", all_),
        ("merrow resume ", left),
        ("merrow revise ", ["r-cancelled", "r-failed", "r-running"]),
        ("merrow cancel ", ["r-running", "e-running", "s-running", "x-running"]),
        ("merrow runs --delete ", runs),
        ("merrow evaluations --delete ", evaluations),
        ("merrow optimizations --delete ", searches),
        ("merrow rate ", evaluations),
        ("merrow rate e-stopped E-F", ["e-finished"]),
        ("merrow evaluate --compare ", evaluations),
        ("merrow evaluate flow.mmd --baseline e-r", ["e-running"]),
        ("merrow optimize flow.mmd --from S", searches),
        ("merrow show r-failed --node ", ["PROBLEM", "A", "RETURN"]),
        ("merrow show r-f --node p", ["PROBLEM"]),
        (f"merrow show {Path('flow.mmd').absolute()} --node r", ["RETURN"]),
        ("merrow show none --node ", []),
        ("merrow show --node ", ["PROBLEM", "A", "RETURN"]),
    ):
        assert offered(line) == words, line
    assert asked("merrow evaluate --compare fl").out == "file,fl\n"
    about = f"stopped, {Path('flow.mmd').absolute()}"
    assert asked("merrow resume e-s", "fish").out == f"plain,e-stopped\tevaluation, {about}\n"
    assert asked("merrow resume s-s", "fish").out == f"plain,s-stopped\tsearch, {about}\n"
    assert asked("merrow resume x-s", "fish").out == f"plain,x-stopped\textraction, {about}\n"


def test_data_that_comes_with_merrow_is_offered_before_files() -> None:
    data = "merrow evaluate flow.mmd --dataset "
    assert (
        asked(data).out == "plain,arithmetic\nplain,mails\nplain,flow-tasks\nplain,textcraft\nplain,handbook\nfile,\n"
    )
    assert asked(f"{data}FL", "fish").out == "plain,flow-tasks\tcomes with Merrow\nfile,0\n"
    assert asked(f"{data}own").out == "file,own\n"


def test_files_are_offered_behind_the_name_of_an_input() -> None:
    write("flow.mmd", GOOD)
    assert asked("merrow run flow.mmd --input problem=@po").out == "behind,@,po\n"
    assert asked("merrow run flow.mmd --input PRO", "fish").out == "open,problem=\n"
    assert asked("merrow run flow.mmd --set-output A", "fish").out == "open,A.\n"
    assert offered("merrow run - --from ") == []


def test_rules_are_completed_by_code_and_by_name_and_patterns_by_name() -> None:
    assert offered("merrow explain MW10") == [rule.code for rule in all_rules() if rule.code.startswith("MW10")]
    assert offered("merrow explain ensemble-n") == ["ensemble-needs-two-sources"]
    assert offered("merrow explain eNSEMBLE-n") == ["ensemble-needs-two-sources"]
    assert offered("merrow check --ignore mw105") == ["MW105"]
    assert offered("merrow explain m") == [rule.code for rule in all_rules()]
    assert offered("merrow explain mi") == [rule.name for rule in all_rules() if rule.name.startswith("mi")]
    assert asked("merrow explain MW105", "fish").out == "plain,MW105\tensemble-needs-two-sources\n"
    assert asked("merrow explain ensemble-n", "fish").out == "plain,ensemble-needs-two-sources\tMW105\n"
    assert asked("merrow new --template deba", "fish").out == (
        "plain,debate\tThree debaters answer each other for two rounds, then a judge decides\n"
    )


@pytest.mark.parametrize("line", ["merrow check ", "merrow fmt ", "merrow run ", "merrow run x.mmd --replay "])
def test_files_are_left_to_the_shell(line: str) -> None:
    assert asked(line).out.startswith("file,")


def test_zsh_and_fish_are_told_what_a_word_means() -> None:
    run = run_once()
    about = f"finished, {Path('flow.mmd').absolute()}"
    assert asked("merrow show ", "zsh").out.splitlines() == ["0", "plain", run, about]
    assert asked("merrow show ", "fish").out == f"plain,{run}\t{about}\n"
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
        "'merrow_analysis.check', 'merrow_analysis.graph', 'merrow_runtime.running', 'rich', 'asyncio', 'openai', 'aiohttp'))])"
    )
    words = {"_MERROW_COMPLETE": "bash_complete", "COMP_LINE": line}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n"), done.stdout[-300:]


def test_what_a_file_calls_a_node_is_no_command_for_the_shell() -> None:
    """A word of the completion is inserted as it is: a name with signs of the shell must not become a command."""
    write("odd.mmd", 'flowchart LR\n  A --> B`x`["Custom"] --> C$D\n')
    names = offered("merrow run odd.mmd --from ")
    assert "C\\$D" in names
    assert not any(re.search(r"(?<!\\)[`$;&|<>()]", name) for name in names)


INTERACTIVE = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(merrow completion bash)"'),
    "zsh": (["-f", "-i"], 'autoload -U compinit; compinit -D -u; eval "$(merrow completion zsh)"'),
    "fish": (["--no-config", "-i"], "merrow completion fish | source"),
}
TYPED = [
    ("merrow dif", ["merrow", "diff"]),
    ("merrow run fl", ["merrow", "run", "flow.mmd"]),
    ("merrow run --inp", ["merrow", "run", "--input"]),
    ("merrow run flow.mmd --input ", ["merrow", "run", "flow.mmd", "--input", "problem="]),
    ("merrow run flow.mmd --input problem=@po", ["merrow", "run", "flow.mmd", "--input", "problem=@policy.txt"]),
    ("merrow run flow.mmd --from=", ["merrow", "run", "flow.mmd", "--from=A"]),
    ("merrow run flow.mmd --replay=po", ["merrow", "run", "flow.mmd", "--replay=policy.txt"]),
    ("merrow run flow.mmd --set-output a", ["merrow", "run", "flow.mmd", "--set-output", "A."]),
    ("merrow run my", ["merrow", "run", ODD]),
    (r"merrow run my\ flow:\ the\ \"best\".mmd --from a", ["merrow", "run", ODD, "--from", "A"]),
    (f"merrow run '{ODD}' --only ", ["merrow", "run", ODD, "--only", "A"]),
    ("merrow run ~/home", ["merrow", "run", "HOME/home.mmd"]),
    ("merrow run ~/home.mmd --only ", ["merrow", "run", "HOME/home.mmd", "--only", "A"]),
    ("merrow show ", ["merrow", "show", "RUN"]),
    ("merrow explain ensemble-n", ["merrow", "explain", "ensemble-needs-two-sources"]),
    ("merrow evaluate flow.mmd --dataset ar", ["merrow", "evaluate", "flow.mmd", "--dataset", "arithmetic"]),
    ("merrow check --format=sa", ["merrow", "check", "--format=sarif"]),
]


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_while_a_line_is_typed(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the shell itself, on a terminal: each line is typed up to a Tab, and printed word by word."""
    import fcntl  # none of these on Windows
    import pty
    import struct
    import termios

    interpreter = shutil.which(shell)
    if interpreter is None:
        pytest.skip(f"{shell} is not installed")
    home = tmp_path / "home"
    home.mkdir()
    (home / "home.mmd").write_text(GOOD)
    for name in ("flow.mmd", ODD):
        write(name, GOOD)
    write("policy.txt", "x")
    run = run_once()
    program = tmp_path / "bin" / "merrow"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m merrow_server "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for name, value in {"HOME": str(home), "TERM": "ansi", "PS1": "$ ", "XDG_CONFIG_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    options, script = INTERACTIVE[shell]
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 250, 0, 0))
    on_terminal = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
    started = [sys.executable, "-c", on_terminal, interpreter, *options]
    process = subprocess.Popen(started, stdin=there, stdout=there, stderr=there)
    os.close(there)
    shown = b""

    def until(end: bytes) -> bytes:
        nonlocal shown
        while end not in shown:
            shown += os.read(here, 4096)
        before, _, shown = shown.partition(end)
        return before

    try:
        os.write(here, f'{script}; echo rea""dy\n'.encode())
        until(b"ready")
        for line, words in TYPED:
            os.write(here, f"{line}\t\x01printf '[%s]' \x05 END\n".encode())
            printed = until(b"[END]").decode(errors="replace")
            # What the line was drawn with is before it; a space may be behind the last word.
            wanted = "".join(f"[{word}]" for word in words).replace("HOME", str(home)).replace("[RUN]", f"[{run}]")
            assert printed.endswith(wanted), (line, printed[-300:])
    finally:
        process.kill()
        process.wait()
        os.close(here)


def test_kept_stores_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    assert offered("merrow stores show ") == []
    for name in ("lessons", "notes"):
        assert merrow("stores", "add", name, "Press the green button.").code == 0
    assert offered("merrow stores show ") == ["lessons", "notes"]
    assert offered("merrow stores forget l") == ["lessons"]
    assert offered("merrow stores list ") == []
    assert offered("merrow stores add notes ") == []
