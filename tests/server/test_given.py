"""What a person gives, or leaves out: inputs that are asked for, runs that are not named, paths typed wrongly."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.server.program import GOOD, Outcome, in_process, merrow, write

Capture = pytest.CaptureFixture[str]

TWO_INPUTS = """\
---
workflow:
  inputs: [LETTER, LIMIT]
---
flowchart TD
    LETTER([Letter]):::Interface
    LIMIT@{ shape: stadium, label: "Words at most", type: Number }
    A["Custom<br/>(prompt: 'Answer it.')"]
    RETURN([Answer]):::Interface
    LETTER -->|input| A
    LIMIT -->|input| A
    A --> RETURN
    class LIMIT Interface
    classDef Interface fill:#eee
"""
NO_ANSWER = "The input PROBLEM has no value; give it one with: --input problem=..."


Type = Callable[[bytes], None]


def typed(arguments: list[str], *steps: tuple[str, bytes], stdin: int | None = None) -> tuple[int, str]:
    """Run the program on a terminal; ``steps`` are what must be shown before what is typed then. Its code and all it showed."""
    import pty  # not on Windows

    here, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *arguments],
        stdin=there if stdin is None else stdin,
        stdout=there,
        stderr=there,
    )
    os.close(there)
    shown, seen, left = "", 0, list(steps)
    while True:
        try:
            shown += os.read(here, 4096).decode(errors="replace")
        except OSError:  # the terminal is closed with the process
            break
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
        while left and left[0][0] in shown[seen:]:
            awaited, keys = left.pop(0)
            seen = shown.index(awaited, seen) + len(awaited)
            os.write(here, keys)
    os.close(here)
    assert not left, shown
    return process.wait(PATIENCE), shown.replace("\r\n", "\n")


def inputs_of_latest() -> dict[str, object]:
    found: dict[str, object] = json.loads(merrow("show", "--format", "json").out)["inputs"]
    return found


on_a_terminal = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")


@pytest.mark.slow
@on_a_terminal
def test_an_input_that_has_no_value_is_asked_for() -> None:
    write("flow.mmd", GOOD)
    code, shown = typed(["run", "flow.mmd"], ("PROBLEM", b"\n"), ("PROBLEM", b"What is 6 times 7?\n"))
    assert code == 0, shown
    assert inputs_of_latest() == {"PROBLEM": "What is 6 times 7?"}


@pytest.mark.slow
@on_a_terminal
@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (b'"""Dear shop,\n\nmy lamp is broken.\n"""\n', "Dear shop,\n\nmy lamp is broken."),
        (b"Dear shop,\n\nmy lamp is broken.\n", "Dear shop,\n\nmy lamp is broken."),  # pasted: it comes at once
        (b'"""one line"""\n', "one line"),
        (b"@letter.txt\n", "from a file\n"),
        (b"@@home\n", "@home"),
    ],
)
def test_a_value_may_have_several_lines_or_be_in_a_file(keys: bytes, value: str) -> None:
    write("flow.mmd", GOOD)
    write("letter.txt", "from a file\n")
    code, shown = typed(["run", "flow.mmd"], ("PROBLEM", keys))
    assert code == 0, shown
    assert inputs_of_latest() == {"PROBLEM": value}


@pytest.mark.slow
@on_a_terminal
def test_each_input_is_asked_for_until_its_type_takes_the_value() -> None:
    write("flow.mmd", TWO_INPUTS)
    steps = (
        ("LETTER", b"@gone.txt\n"),
        ("LETTER:", b"Hello\n"),
        ("LIMIT (Number)", b"many\n"),
        ("LIMIT (Number)", b"50\n"),
    )
    code, shown = typed(["run", "flow.mmd"], *steps)
    assert code == 0, shown
    assert "There is no file gone.txt" in shown
    assert "The input LIMIT must be of type Number" in shown
    assert inputs_of_latest() == {"LETTER": "Hello", "LIMIT": 50}
    code, shown = typed(["run", "flow.mmd", "--input", "letter=Hi"], ("LIMIT (Number)", b"7\n"))
    assert code == 0, shown
    assert inputs_of_latest() == {"LETTER": "Hi", "LIMIT": 7}


@pytest.mark.slow
@on_a_terminal
def test_the_end_of_typing_is_the_sentence_and_ctrl_c_ends_it() -> None:
    write("flow.mmd", GOOD)
    code, shown = typed(["run", "flow.mmd"], ("PROBLEM", b"\x04"))
    assert code == 2
    assert NO_ANSWER in shown
    process_code, shown = typed(["run", "flow.mmd"], ("PROBLEM", b'"""half\n\x04'))
    assert process_code == 2
    assert NO_ANSWER in shown


@pytest.mark.slow
@on_a_terminal
def test_nobody_is_asked_where_no_terminal_reads_or_events_are_printed() -> None:
    write("flow.mmd", GOOD)
    piped = merrow("run", "flow.mmd", stdin="an answer\n")
    assert (piped.code, piped.out, piped.err) == (2, "", f"merrow: {NO_ANSWER}\n")
    reading, writing = os.pipe()
    os.close(writing)
    code, shown = typed(["run", "flow.mmd"], stdin=reading)
    os.close(reading)
    assert (code, NO_ANSWER in shown, "Press Enter" in shown) == (2, True, False)
    code, shown = typed(["run", "flow.mmd", "--json"])
    assert (code, "Press Enter" in shown) == (2, False)


def run(capture: Capture, name: str, problem: str) -> str:
    done = in_process(capture, "run", name, "--input", f"problem={problem}")
    found = re.search(r"merrow show (\S+)", done.err)
    assert found is not None, done.err
    time.sleep(0.01)  # runs are ordered by when they began
    return found[1]


def test_without_an_id_the_latest_run_is_meant_of_a_file_where_one_is_named(capsys: Capture) -> None:
    write("one.mmd", GOOD)
    write("two.mmd", GOOD.replace("A", "B"))
    run(capsys, "one.mmd", "first")
    one = run(capsys, "one.mmd", "second")
    two = run(capsys, "two.mmd", "third")
    assert in_process(capsys, "show").out.startswith(f"{two}  finished")
    assert in_process(capsys, "show", "one.mmd").out.startswith(f"{one}  finished")
    assert in_process(capsys, "show", one[:6]).out.startswith(f"{one}  finished")
    assert in_process(capsys, "show", "--node", "b").out.startswith("B  finished")
    assert in_process(capsys, "resume").err.startswith(f"Run {two}:\nFinished before")
    assert in_process(capsys, "resume", "one.mmd").err.startswith(f"Run {one}:\nFinished before")


@pytest.mark.parametrize("again", [["--from", "A"], ["--from", "A", "--run"], ["--only", "a", "--run"]])
def test_run_alone_means_the_latest_run_of_the_file(capsys: Capture, again: list[str]) -> None:
    write("one.mmd", GOOD)
    write("two.mmd", GOOD)
    run(capsys, "one.mmd", "first")
    one = run(capsys, "one.mmd", "second")
    run(capsys, "two.mmd", "third")
    done = in_process(capsys, "run", "one.mmd", *again)
    assert done.code == 0, done.err
    shown = json.loads(in_process(capsys, "show", "--format", "json").out)
    assert shown["parent"] == one
    assert "second" in str(shown)


def test_a_run_named_like_a_file_is_itself(capsys: Capture) -> None:
    write("one.mmd", GOOD)
    run(capsys, "one.mmd", "first")
    from merrow_runtime.store.contract import RunRecord
    from merrow_runtime.store.database import Store

    store = Store.open()
    store.begin(RunRecord("one.mmd", "elsewhere", "running", 1.0, snapshot={}))
    store.close()
    assert in_process(capsys, "show", "one.mmd").out.startswith("one.mmd  ")


def test_a_value_may_be_in_a_file_begin_with_a_sign_or_come_from_standard_input() -> None:
    write("flow.mmd", TWO_INPUTS)
    write("letter.txt", "from a file\n")
    for value, stdin, meant in (
        ("@letter.txt", "unread", "from a file\n"),
        ("@@home", "", "@home"),
        ("@-", "piped = é\n", "piped = é\n"),
        ("a=b", "", "a=b"),
    ):
        done = merrow("run", "flow.mmd", "--input", f"letter={value}", "--input", " limit =7", stdin=stdin)
        assert done.code == 0, done.err
        assert inputs_of_latest() == {"LETTER": meant, "LIMIT": 7}


KINDS = ("evaluation", "search", "extraction")


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_is_found_by_its_beginning_which_must_be_that_of_one_alone(capsys: Capture, kind: str) -> None:
    """An option that goes with none of these has ``resume`` say what it took the word for."""
    from merrow_runtime.store.contract import RunRecord
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.evaluations import EvaluationRecord
    from merrow_runtime.store.extractions import ExtractionRecord
    from merrow_runtime.store.optimizations import OptimizationRecord

    store = Store.open()
    for identity in ("abcd1", "abcd2", "abe1", "pq1", "pq2", "xyz1"):
        if kind == "evaluation":
            plan: dict[str, object] = {"semantic": "s"}
            store.evaluations.begin(
                EvaluationRecord(identity, "/w.mmd", "finished", 1.0, "d", "all", "exact", "m", 0, 1, plan)
            )
        elif kind == "search":
            begun = (identity, "/w.mmd", "finished", 1.0, "d", "all", "exact", "m", "climb", "moves", 0, 1, {})
            store.optimizations.begin(OptimizationRecord(*begun), "test", "s")  # type: ignore[arg-type]
        else:
            store.extractions.begin(
                ExtractionRecord(identity, "/c.jsonl", "finished", 1.0, "d", "all", "exact", "m", "g", 0, {})
            )
    store.begin(RunRecord("abcd", "/w.mmd", "finished", 1.0, snapshot={}))
    store.begin(RunRecord("abefg", "/w.mmd", "finished", 1.0, snapshot={}))
    store.begin(RunRecord("xyz1z", "/w.mmd", "finished", 1.0, snapshot={}))
    store.close()
    is_one = {
        "run": "--jobs goes with a search; {} is a run.",
        "evaluation": "--jobs goes with a search; {} is an evaluation.",
        "search": "Search {} was begun with --jobs 1: what it draws depends on that, so it continues with no other.",
        "extraction": "--jobs goes with a search; {} is an extraction.",
    }
    for said, what, meant in (
        ("abcd", "run", "abcd"),  # which is its whole id
        ("abcd1", kind, "abcd1"),
        ("abe1", kind, "abe1"),
        ("abef", "run", "abefg"),
        ("xyz1", kind, "xyz1"),
    ):
        done = in_process(capsys, "resume", said, "--jobs", "3")
        assert (done.code, done.err) == (2, f"merrow: {is_one[what].format(meant)}\n"), said
    for said, run, other in (("abc", "abcd", "abcd1"), ("abe", "abefg", "abe1"), ("xyz", "xyz1z", "xyz1")):
        done = in_process(capsys, "resume", said, "--jobs", "3")
        assert done.code == 2
        assert f"{said!r} is the beginning of the ids of" in done.err
        assert f"run {run}" in done.err
        assert f"{kind} {other}" in done.err or f"{kind} {other[:-1]}" in done.err
    done = in_process(capsys, "resume", "pq", "--jobs", "3")
    several = {"evaluation": "evaluations", "search": "searches", "extraction": "extractions"}[kind]
    assert done.code == 2
    assert done.err == f"merrow: Several {several} begin with 'pq'; give more of the id: pq1, pq2, ...\n"
    assert in_process(capsys, "resume", "abx", "--jobs", "3").err == (
        "merrow: There is no run 'abx' in the journal; list them with: merrow runs\n"
    )


A_CONSTANT = "--set {} is not a constant with a number; write --set NAME=NUMBER."
NOT_RUN = "The journal has no run of one.mmd; make one with: merrow run one.mmd"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show"], "There are no runs in the journal yet; make one with: merrow run FILE"),
        (["resume"], "There are no runs in the journal yet; make one with: merrow run FILE"),
        (["show", "one.mmd"], NOT_RUN),
        (["run", "one.mmd", "--from", "A"], NOT_RUN),
        (["run", "one.mermaid"], "There is no file or folder named one.mermaid. Did you mean one.mmd?"),
        (["run", "one"], "There is no file or folder named one. Did you mean one.mmd?"),
        (["check", "sub/tow.md"], "There is no file or folder named sub/tow.md. Did you mean sub/two.mmd?"),
        (["run", "sub"], "sub is a folder; name one file, such as sub/two.mmd."),
        (["graph", "sub"], "sub is a folder; name one file, such as sub/two.mmd."),
        (["run", "empty"], "empty is a folder; name one file."),
        (
            ["run", "one.mmd", "--input", "x"],
            "--input 'x' lacks its value; write --input NAME=VALUE or --input NAME=@file.",
        ),
        (["run", "one.mmd", "--set", "=1"], "--set '=1' lacks its value; write --set NAME=VALUE or --set NAME=@file."),
        (["run", "one.mmd", "--input", "x=1", "--input", "x =2"], "--input x is given twice."),
        (
            ["run", "one.mmd", "--input", "x=@-", "--input", "y=@-"],
            "--input x and --input y can't both come from standard input; write --input y=@file.",
        ),
        (["run", "one.mmd", "--record", "a", "--replay", "a"], "--record and --replay can't name the same file."),
        (["show", "-o", "page.html"], "-o writes a page; add --format html."),
        (["optimize", "one.mmd", "--dataset", "d", "--set", "a=x"], A_CONSTANT.format("'a=x'")),
        (["optimize", "one.mmd", "--dataset", "d", "--set", "a"], A_CONSTANT.format("'a'")),
        (["optimize", "one.mmd", "--dataset", "d", "--set", "a=nan"], A_CONSTANT.format("'a=nan'")),
        (["optimize", "one.mmd", "--dataset", "d", "--set", "a=1", "--set", "a=2"], "--set a is given twice."),
        (["show", "nothing"], "There is no run 'nothing' in the journal; list them with: merrow runs"),
    ],
)
def test_what_is_typed_wrongly_is_answered_with_what_was_meant(
    capsys: Capture, arguments: list[str], sentence: str
) -> None:
    write("one.mmd", GOOD)
    write("sub/two.mmd", GOOD)
    Path("empty").mkdir()
    done: Outcome = in_process(capsys, *arguments)
    assert (done.code, done.err) == (2, f"merrow: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["resume", "--jobs", "2"], "--jobs goes with a search; {} is a run."),
        (["resume", "--fail-under", "1"], "Gates such as --fail-under go with an evaluation; {} is a run."),
        (["resume", "--max-drop", "1"], "Gates such as --fail-under go with an evaluation; {} is a run."),
        (["show", "--format", "csv"], "--format csv goes with an evaluation; list them with: merrow evaluations"),
        (["show", "--item", "q1"], "--item goes with an evaluation; list them with: merrow evaluations"),
        (["show", "--node", "C"], "Run {} has no node C."),
        (["show", "--node", "A", "--revision", "0"], "--revision shows the whole workflow; leave out --node."),
    ],
)
def test_what_goes_with_something_else_is_refused_for_a_run(
    capsys: Capture, arguments: list[str], sentence: str
) -> None:
    write("one.mmd", GOOD)
    identity = run(capsys, "one.mmd", "first")
    done = in_process(capsys, *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"merrow: {sentence.format(identity)}\n")


@pytest.mark.parametrize("folder", ["venv", ".venv", "node_modules", "other"])
def test_packages_of_others_are_not_checked_with_a_folder(capsys: Capture, folder: str) -> None:
    write("good.mmd", GOOD)
    write(f"{folder}/lib/bad.mmd", "flowchart TD\n  A[")
    if folder == "other":
        write("other/pyvenv.cfg", "home = /usr/bin\n")
    assert in_process(capsys, "check", ".").code == 0
    assert in_process(capsys, "check", folder).code == 1
