"""Workflows that ask people where nobody is asked: evaluations, searches, cases, dry runs, programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.program import in_process, write

ASKS = """\
---
workflow:
  types:
    Verdict: [approve, reject]
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PROBLEM --> ASK@{op: Human, ask: 'Approve?', returns: VerdictMORE} --> RETURN
    classDef Interface fill:#eee
"""
PLAIN = ASKS.replace("MORE", "")
DEFAULT = ASKS.replace("MORE", ", on_error: default, default: reject")


@pytest.fixture(autouse=True)
def _data() -> None:
    rows = [
        '{"problem": "x", "answer": "approve", "who": "approve"}',
        '{"problem": "y", "answer": "reject", "who": "reject"}',
    ]
    write("d.jsonl", "\n".join(rows) + "\n")


def evaluated(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    given = ["--dataset", "d.jsonl", "--gold", "answer", "--metric", "exact", "--base-url", "offline"]
    outcome = in_process(capsys, "evaluate", "w.mmd", *given, *more)
    return outcome.code, outcome.out, outcome.err


def test_an_evaluation_asks_nobody_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    code, _, err = evaluated(capsys)
    assert code == 2
    assert err.endswith(
        "merrow: Node ASK asks a person, and nobody can be asked for each item. Take the answers from the data with"
        " --answers ASK=FIELD, have a model answer with --person MODEL, or write `on_error: default` and a `default` there, which"
        " is then used.\n"
    )
    searched = in_process(
        capsys, "optimize", "w.mmd", "--dataset", "d.jsonl", "--gold", "answer", "--metric", "exact", "--small"
    )
    assert searched.code == 2
    assert "asks a person, and nobody can be asked for each item" in searched.err
    for answers, said in (
        ("ASKS=who", "--answers names ASKS, which asks nobody in w.mmd. Did you mean ASK?"),
        ("ASK=whom", "has no field whom with the answer to ASK"),
        ("ASK=problem", "do not fit."),
    ):
        code, _, err = evaluated(capsys, "--answers", answers)
        assert code == 2
        assert said in err


def test_answers_come_from_the_data_and_are_part_of_what_decides_a_score(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    code, out, err = evaluated(capsys, "--answers", "ASK=who")
    assert code == 0, err
    assert "Score 1.000" in out
    write("d.jsonl", Path("d.jsonl").read_text().replace('"who": "approve"', '"who": "reject"'))
    assert "Score 0.500" in evaluated(capsys, "--answers", "ASK=who")[1]


def test_a_default_is_used_where_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", DEFAULT)
    code, out, err = evaluated(capsys)
    assert code == 0, err
    assert "Score 0.500" in out
    assert in_process(capsys, "runs", "--waiting").err == "No run waits for an answer.\n"


def test_a_case_says_what_people_answer(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    cases = ["defaults: {inputs: {PROBLEM: x}}", "cases:"]
    cases += ["  - {id: said, answers: {ASK: approve}, expect: approve}", "  - {id: unsaid}"]
    cases += ["  - {id: wrong, answers: {ASK: maybe}}", "  - {id: nobody, answers: {ASKS: approve}}"]
    write("w.cases.yaml", "\n".join(cases) + "\n")
    outcome = in_process(capsys, "test", "w.cases.yaml", "--base-url", "offline", "--record")
    assert "passed   w.cases.yaml::said" in outcome.out
    assert "nobody can be asked here, and no answer of a person is recorded." in outcome.out
    assert outcome.out.count("error") >= 2
    assert in_process(capsys, "test", "w.cases.yaml::said").code == 0


def test_a_dry_run_says_that_a_person_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    outcome = in_process(capsys, "run", "w.mmd", "--dry-run", "--input", "problem=x")
    assert "ASK (Human)\n   asks a person: Approve?\n" in outcome.out
    assert outcome.out.endswith("calls: 0; tokens: about 0; cost: $0\nNo call was made.\n")
    outcome = in_process(capsys, "run", "w.mmd", "--dry-run", "--json", "--input", "problem=x")
    assert next(node for node in outcome.json["nodes"] if node["node"] == "ASK")["person"] == "Approve?"
    shown = PLAIN.replace(
        "ASK@{op: Human, ask: 'Approve?', returns: Verdict}", 'ASK["Human (ask: Approve {input}?, template: true)"]'
    )
    write("w.mmd", shown)
    outcome = in_process(capsys, "run", "w.mmd", "--dry-run", "--input", "problem=x")
    assert "asks a person: Approve {input}?\n" in outcome.out, outcome.err


def test_a_workflow_that_asks_people_alone_needs_no_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("w.mmd", PLAIN)
    asked = ["run", "w.mmd", "--input", "problem=x"]
    assert "offline model" not in in_process(capsys, *asked).err
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    budget = [*asked, "--model", "unpriced", "--budget-usd", "1"]
    assert in_process(capsys, *budget).code == 3, "no price of a model is needed"
    shown = PLAIN.replace("ASK@{op: Human", "SAY@{op: Custom, prompt: Say it.} --> ASK@{op: Human")
    write("w.mmd", shown)
    assert "The price of `unpriced`" in in_process(capsys, *budget).err
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "offline model" in in_process(capsys, *asked).err


def test_a_masked_answer_is_asked_for_and_not_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN.replace(", returns: Verdict", ""))
    outcome = in_process(capsys, "run", "w.mmd", "--mask", "1", "--mask-only", "ASK", "--input", "problem=x", "--json")
    assert outcome.code == 3, outcome.err
    answered = in_process(capsys, "answer", "w.mmd", "ASK", "secret")
    assert (answered.code, answered.out) == (0, "none\n")


def test_a_program_asks_on_its_terminal_alone_and_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    assert in_process(capsys, "compile", "w.mmd", "-o", "w.py").code == 0
    back = in_process(capsys, "import", "w.py")
    assert 'ask: "Approve?"' in back.out
    assert "prompt" not in back.out
    ran = subprocess.run(
        [sys.executable, "w.py", "--input", "problem=x"],  # No endpoint: no model is asked.
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 1
    assert "Node ASK asks a person, and nobody answers here. Run the program on a terminal" in ran.stderr
    run = in_process(capsys, "run", "w.mmd", "--input", "problem=x", "--json")
    assert run.code == 3
    assert in_process(capsys, "answer", "w.mmd", "ASK", "approve", "--record", "r.jsonl").code == 0
    replayed = subprocess.run(
        [sys.executable, "w.py", "--input", "problem=x", "--replay", "r.jsonl"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (replayed.returncode, replayed.stdout) == (0, "approve\n"), replayed.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal of this kind")
def test_a_program_asks_the_person_at_its_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", PLAIN)
    assert in_process(capsys, "compile", "w.mmd", "-o", "w.py").code == 0
    on_terminal = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", on_terminal, "w.py", "--input", "problem=x"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        os.write(ours, b"maybe\napprove\n")
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    assert running.returncode == 0, shown
    assert "ASK asks: Approve?" in shown.decode()
    assert "The answer to ASK does not fit." in shown.decode()


def _read(number: int) -> bytes:
    try:
        return os.read(number, 65536)
    except OSError:  # the terminal is closed at its other end
        return b""
