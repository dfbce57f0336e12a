"""``merrow answer``, and what other commands say of runs that ask people."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.server.program import Outcome, in_process, merrow, write
from tests.server.terminal import Terminal, terminals

LETTER = """\
---
workflow:
  types:
    Verdict: [approve, revise, reject]
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PROBLEM --> APPROVE@{op: Human, ask: 'Send this letter?', returns: Verdict, deadline: 2d}
    APPROVE --> LAST@{op: Pass} --> RETURN
    classDef Interface fill:#eee
"""
FORM = """\
---
workflow:
  types:
    Order: {article: Text, count: Number, express: Bool}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PROBLEM --> ASK@{op: Human, ask: 'What shall we order?', returns: Order} --> RETURN
    classDef Interface fill:#eee
"""


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    with terminals() as opened:
        yield opened


def begun(capsys: pytest.CaptureFixture[str], text: str = LETTER) -> str:
    """A run that waits; its id."""
    write("w.mmd", text)
    outcome = in_process(capsys, "run", "w.mmd", "--input", "problem=Dear Ann", "--json")
    assert outcome.code == 3, outcome.err
    return str(json.loads(outcome.out.splitlines()[-1])["run"])


def says(outcome: Outcome, *texts: str) -> None:
    for text in texts:
        assert text in outcome.err, outcome.err


def test_a_run_waits_with_exit_code_3_and_an_answer_continues_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("w.mmd", LETTER)
    waiting = in_process(capsys, "run", "w.mmd", "--input", "problem=Dear Ann")
    assert (waiting.code, waiting.out) == (3, "")
    says(waiting, "APPROVE asks a person: Send this letter?", "Waiting: ", "APPROVE asks: Send this letter? (2 d left)")
    (run,) = in_process(capsys, "runs", "--waiting", "--format", "json").json
    assert run["asks"][0]["node"] == "APPROVE"
    says(waiting, f"Answer with: merrow answer {run['run']} APPROVE")
    listed = in_process(capsys, "runs", "--waiting")
    assert "APPROVE asks: Send this letter? (2 d left)" in listed.out
    assert in_process(capsys, "runs").out.split()[1] == "waiting"
    shown = in_process(capsys, "show", run["run"])
    assert "APPROVE asks: Send this letter?" in shown.out
    done = in_process(capsys, "answer", run["run"], "approve", "Approve")
    assert (done.code, done.out) == (0, "approve\n")
    says(
        done,
        f"The question of APPROVE in run {run['run']} is answered.",
        "APPROVE was answered by",
        "answered by a person",
    )
    assert in_process(capsys, "runs", "--waiting").err == "No run waits for an answer.\n"
    assert "note:" not in in_process(capsys, "show", run["run"]).out, "none was left"
    one = in_process(capsys, "show", run["run"], "--node", "APPROVE")
    assert "output answer" in one.out
    assert "output note" not in one.out
    assert "answered by a person" in one.out
    assert '"action": "accept"' in one.out


def test_mistakes_are_one_sentence_and_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys)
    for arguments, said in (
        (
            ["APPROVE", "maybe"],
            "The answer to APPROVE does not fit. `answer` must be one of `approve`, `revise`, `reject`.",
        ),
        (["APPROV", "approve"], "asks nothing. Did you mean APPROVE?"),
        (["APPROVE"], f"VALUE is missing, the answer to APPROVE: merrow answer {run} APPROVE VALUE"),
        (["APPROVE", "approve", "--decline"], "VALUE, --form and --decline exclude each other; give one of them."),
        (["APPROVE", "--form", "{"], "--form is not JSON"),
        (["APPROVE", "--note", "Why?"], "--note goes with a VALUE"),
        (["APPROVE", "--decline", "--note", "Why?"], "--note goes with a VALUE"),
        (["APPROVE", '{"answer": "approve", "note": "a"}', "--note", "b"], "has a note already"),
        (["APPROVE", "--form", "[1]"], "--form must be a JSON object"),
        (["APPROVE", "--form", '{"verdict": "approve"}'], "`answer` is missing"),
    ):
        outcome = in_process(capsys, "answer", run, *arguments)
        assert outcome.code == 2, arguments
        says(outcome, said)
        assert outcome.err.count("\n") == 1
    assert in_process(capsys, "answer", "nobody", "APPROVE", "approve").code == 2
    assert in_process(capsys, "answer", run, "APPROVE", "approve", "--later").code == 0
    again = in_process(capsys, "answer", run, "APPROVE", "reject")
    assert again.code == 2
    assert "has answered the question of APPROVE in run" in again.err


def test_an_answer_for_later_is_used_by_a_resume_of_what_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    run, other = begun(capsys), begun(capsys)
    assert in_process(capsys, "resume", "--due").err == "No waiting run can go on yet.\n"
    later = in_process(capsys, "answer", run, "APPROVE", "revise", "--later")
    assert (later.code, later.out) == (0, "")
    assert "all its questions are closed" in in_process(capsys, "runs", "--waiting").out
    due = in_process(capsys, "resume", "--due")
    assert (due.code, due.out) == (0, "revise\n")
    assert in_process(capsys, "resume", "--due", other).code == 2
    assert in_process(capsys, "resume", other).code == 3


def test_a_form_is_filled_in_and_a_text_read_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys, FORM)
    done = in_process(capsys, "answer", run, "ASK", "--form", '{"article": "tea", "count": 2, "express": "no"}')
    assert json.loads(done.out) == {"article": "tea", "count": 2, "express": False}
    text = begun(capsys, LETTER.replace(", returns: Verdict", ""))
    Path("letter.txt").write_text("Dear Ann,\nyes.\n")
    assert in_process(capsys, "answer", text, "APPROVE", "@letter.txt").out == "Dear Ann,\nyes.\n\n"


def test_declining_fails_the_node(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys)
    declined = in_process(capsys, "answer", run, "APPROVE", "--decline")
    assert declined.code == 1
    says(declined, "declined to answer its question.")


def test_a_waiting_run_is_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys)
    cancelled = in_process(capsys, "cancel", run)
    assert (cancelled.code, cancelled.out) == (
        0,
        f"Run {run} waited for an answer; it is cancelled, and nobody is asked any more.\n",
    )
    assert in_process(capsys, "cancel", run).code == 1
    assert "was withdrawn" in in_process(capsys, "answer", run, "APPROVE", "approve").err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal of this kind")
def test_on_a_terminal_the_person_is_asked_right_there(terminal: Terminal) -> None:
    write("w.mmd", LETTER)
    shown = terminal("run", "w.mmd", "--input", "problem=\x1b[31mDear", typed="maybe\napprove\nI like it\n")
    assert "Send this letter?" in shown
    assert "\u241b[31mDear" in shown
    assert "`answer` must be one of `approve`, `revise`, `reject`." in shown
    assert "Finished" in shown
    assert "I like it" in merrow("show", "--node", "APPROVE").out


def test_what_is_not_stored_asks_nobody_but_the_person_at_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write("part.mmd", LETTER)
    call = LETTER.replace(
        "APPROVE@{op: Human, ask: 'Send this letter?', returns: Verdict, deadline: 2d}",
        "PART@{op: Call, workflow: ./part.mmd}",
    )
    for text, name in ((LETTER, "APPROVE"), (call.replace("APPROVE", "PART"), "PART")):
        write("w.mmd", text)
        refused = in_process(capsys, "run", "w.mmd", "--input", "problem=x", "--no-store")
        assert refused.code == 2
        assert refused.err == (
            f"merrow: Node {name} asks a person, and nobody could answer, since this run is not stored; store it, or run it on a"
            " terminal, where you are asked.\n"
        )
    write("w.mmd", LETTER)
    given = ["--input", "problem=x", "--no-store", "--set-output", "APPROVE=revise"]
    assert in_process(capsys, "run", "w.mmd", *given).out == "revise\n"
    assert in_process(capsys, "run", "w.mmd", "--input", "problem=x", "--record", "r.jsonl").code == 3
    assert in_process(capsys, "answer", "w.mmd", "APPROVE", "reject", "--record", "r.jsonl").code == 0
    assert in_process(capsys, "run", "w.mmd", *given[:3], "--replay", "r.jsonl").out == "reject\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal of this kind")
def test_on_a_terminal_a_question_can_be_put_off_or_declined(terminal: Terminal) -> None:
    write("w.mmd", LETTER)
    later = terminal("run", "w.mmd", "--input", "problem=x", "--no-store", typed="/decline\n")
    assert "declined to answer its question." in later
    put_off = terminal("run", "w.mmd", "--input", "problem=x", typed="\x04")
    assert "Answer with: merrow answer" in put_off
    assert "APPROVE asks" in merrow("runs", "--waiting").out
    answered = terminal("answer", "w.mmd", "APPROVE", typed="reject\n\n")
    assert "Finished" in answered


@pytest.mark.skipif(sys.platform == "win32", reason="the editor of the test is a script")
def test_on_a_terminal_a_draft_is_edited(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = LETTER.replace("PROBLEM --> APPROVE", "PROBLEM -->|draft| APPROVE").replace(", returns: Verdict", "")
    write("w.mmd", draft)
    monkeypatch.setenv("EDITOR", "sed -i s/Dear/Beloved/")
    shown = terminal("run", "w.mmd", "--input", "problem=Dear Ann", typed="\n")
    assert "Beloved Ann" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="the program of the test is a script")
def test_the_users_program_is_told_and_a_workspace_can_not_name_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = Path("config")
    config.mkdir()
    (config / "config.toml").write_text(f'notify = ["sh", "-c", "cat >> {tmp_path}/told"]\n')
    run = begun(capsys)
    end, told = time.monotonic() + PATIENCE, tmp_path / "told"
    while not (told.exists() and told.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.01)
    assert json.loads(told.read_text()) == {"run": run, "node": "APPROVE"}
    (config / "config.toml").write_text('notify = ["/nowhere/at all"]\n')
    outcome = in_process(capsys, "run", "w.mmd", "--input", "problem=x")
    assert outcome.code == 3
    says(outcome, "The program of `notify` in your settings can't be started: No such file or directory.")
    (config / "config.toml").write_text("notify = true\n")
    assert (
        "`notify` must be a program with its arguments"
        in in_process(capsys, "run", "w.mmd", "--input", "problem=x").err
    )
    (config / "config.toml").unlink()
    Path("merrow.toml").write_text('notify = ["touch", "owned"]\n')
    assert in_process(capsys, "run", "w.mmd", "--input", "problem=x").code == 3
    ignored = "`notify` is ignored in a file that can be shared; set it in your own settings."
    assert ignored in in_process(capsys, "check", "w.mmd").out
    assert not Path("owned").exists()


def test_a_note_goes_with_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys)
    Path("note.txt").write_text("@Ann: shorter", encoding="utf-8")
    assert in_process(capsys, "answer", run, "APPROVE", "revise", "--note", "@note.txt").code == 0
    shown = in_process(capsys, "show", run, "--format", "json").json
    (node,) = (node for node in shown["nodes"] if node["node"] == "APPROVE")
    assert node["outputs"] == {"answer": "revise", "note": "@Ann: shorter"}
    assert "note: @Ann: shorter" in in_process(capsys, "show", run).out


def test_a_form_with_a_field_note_of_its_own_takes_no_other_note(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys, FORM.replace("express: Bool", "note: Text"))
    order = '{"article": "ink", "count": 1}'
    outcome = in_process(capsys, "answer", run, "ASK", order, "--note", "b")
    assert outcome.code == 2
    says(outcome, "The question of ASK takes no note beside its fields")


@pytest.mark.parametrize("way", ["decline", "expire"])
def test_nobody_has_answered_what_was_declined_or_too_late(capsys: pytest.CaptureFixture[str], way: str) -> None:
    if way == "decline":
        ended = in_process(capsys, "answer", begun(capsys), "APPROVE", "--decline")
        says(ended, "The question of APPROVE in run ", " is declined.", " declined to answer APPROVE\n")
    else:
        run = begun(capsys, LETTER.replace("2d", "0.001"))
        while "its deadline has passed" not in in_process(capsys, "runs", "--waiting").out:
            pass
        ended = in_process(capsys, "resume", run)
        says(ended, "APPROVE was not answered before its deadline\n")
    assert ended.code == 1
    assert "answered by a person" not in ended.err
    last = ended.err.splitlines()[-1]
    assert "merrow resume" not in last, "that would fail in the same way"
    again = last.partition("begin a run with it: merrow ")[2].replace("FILE", "w.mmd").split()
    asked = in_process(capsys, *again)
    assert asked.code == 3
    says(asked, "APPROVE asks: Send this letter?")


def test_an_answer_that_a_revision_made_useless_does_not_continue_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(capsys)
    write("w.mmd", LETTER.replace("Send this letter?", "Send it today?"))
    assert in_process(capsys, "revise", run, "w.mmd").code == 0
    waiting = in_process(capsys, "runs", "--waiting").out
    assert "Send this letter?" not in waiting
    assert f"all its questions are closed; continue it with: merrow resume {run}" in waiting
    late = in_process(capsys, "answer", run, "APPROVE", "approve")
    assert late.code == 2
    says(
        late,
        f"The question of APPROVE in run {run} was withdrawn: nothing needs its answer any more. Continue the run with: merrow"
        f" resume {run}\n",
    )
    asked = in_process(capsys, "resume", run)
    assert asked.code == 3, "what the workflow asks now is another question"
    says(asked, "APPROVE asks: Send it today?")
    assert in_process(capsys, "resume", "--due").err == "No waiting run can go on yet.\n"
    assert in_process(capsys, "answer", run, "APPROVE", "approve", "--later").code == 0
    assert in_process(capsys, "resume", "--due").code == 0


def test_a_revision_of_a_run_that_stands_still_closes_what_it_does_not_ask(capsys: pytest.CaptureFixture[str]) -> None:
    part = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PROBLEM --> APPROVE@{op: Human, ask: 'Inside?'} --> RETURN
    classDef Interface fill:#eee
"""
    two = LETTER.replace("LAST@{op: Pass}", "LAST@{op: Custom, prompt: Say it.}").replace(
        "    APPROVE --> LAST",
        "    PROBLEM --> PART@{op: Call, workflow: ./part.mmd} --> NEXT@{op: Pass} --> LAST\n    APPROVE --> LAST",
    )
    write("part.mmd", part)
    run = begun(capsys, two)

    def open_now() -> list[str]:
        (listed,) = in_process(capsys, "runs", "--waiting", "--format", "json").json
        return [ask["question"] for ask in listed["asks"]]

    assert sorted(open_now()) == ["Inside?", "Send this letter?"]
    write("w.mmd", two.replace("NEXT", "OTHER").replace("LAST", "END"))
    assert in_process(capsys, "revise", run, "w.mmd").code == 0
    assert sorted(open_now()) == ["Inside?", "Send this letter?"], "both are asked as before"
    write("part.mmd", part.replace("Inside?", "In there?"))
    assert in_process(capsys, "revise", run, "w.mmd").code == 0
    assert open_now() == ["Send this letter?"]
    late = in_process(capsys, "answer", run, "PART/APPROVE", "yes")
    says(late, "The question of PART/APPROVE in run", "was withdrawn: nothing needs its answer any more.\n")
    write(
        "w.mmd",
        two.replace(
            "APPROVE@{op: Human, ask: 'Send this letter?', returns: Verdict, deadline: 2d}", "APPROVE@{op: Pass}"
        ),
    )
    assert in_process(capsys, "revise", run, "w.mmd").code == 0
    assert open_now() == []
    write("w.mmd", two)
    write("part.mmd", part)
    assert in_process(capsys, "revise", run, "w.mmd").code == 0
    assert in_process(capsys, "resume", run).code == 3
    assert sorted(open_now()) == ["Inside?", "Send this letter?"], "what is asked all the same is put again"
