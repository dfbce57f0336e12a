"""What ``merrow run`` and ``merrow show`` print of turns and items, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.make_replays import Script, scripts
from tests.patience import PATIENCE
from tests.runtime.openai_server import Received, Reply, Status, Step, serving
from tests.server.program import Outcome, in_process, write
from tests.server.terminal import terminals

ROOT = Path(__file__).parents[2]
PATTERNS = {script.name: script for script in scripts() if script.workflow.startswith("patterns/")}
MAPPED = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    SPLIT["Custom<br/>(prompt: 'Split.', returns: 'list[Text]')"]
    subgraph PARTS["Map (max: 3)"]
        WORK["Custom<br/>(prompt: 'Work.')"]
    end
    RETURN([Answers]):::Interface
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:input| WORK
    WORK --> RETURN
    classDef Interface fill:#eee
"""

Capture = pytest.CaptureFixture[str]


def replayed(capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[Outcome, str]:
    """What the replay of a pattern prints, and the id of the run."""
    monkeypatch.chdir(ROOT)
    script: Script = PATTERNS[f"patterns/{name}"]
    outcome = in_process(capsys, *script.command[1:])
    found = re.search(r"merrow show (\S+)", outcome.err)
    assert found is not None, outcome.err
    return outcome, found[1]


@pytest.mark.parametrize("name", ["self_refine", "tree_of_thoughts"])
def test_every_visit_that_begins_is_said_to_end_however_short_it_took(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        re.sub(r" finished \(.*", " finished", line) for line in replayed(capsys, monkeypatch, name)[0].err.splitlines()
    ]
    begun = [line.removesuffix(" begins") for line in lines if line.endswith(" begins")]
    ended = [line.removesuffix(" finished") for line in lines if line.endswith(" finished")]
    assert len(begun) > 5
    assert sorted(ended) == sorted(begun)
    assert all(lines.index(f"{visit} begins") < lines.index(f"{visit} finished") for visit in begun)


def test_one_visit_of_a_node_is_shown_with_the_names_of_the_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = replayed(capsys, monkeypatch, "debate")
    named = [f"ROUNDS[{turn}]/DEBATERS[{item}]/ARGUE" for turn in (1, 2) for item in (1, 2, 3)]
    others = f"one of 6 visits: {', '.join(named[:4])} and 2 more"
    last = in_process(capsys, "show", run, "--node", "ARGUE").out.splitlines()
    assert last[0].startswith(f"{named[5]}  finished")
    assert last[1] == others
    shown = in_process(capsys, "show", run, "--node", named[4]).out.splitlines()
    assert shown[0].startswith(f"{named[4]}  finished")
    assert "one of" not in "".join(in_process(capsys, "show", run, "--node", "JUDGE").out.splitlines()[:3])


def test_a_dry_run_says_that_it_shows_one_turn_only_where_there_are_turns(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    said = "Of each Loop the first turn is shown"
    assert said in in_process(capsys, "run", "examples/patterns/debate.mmd", "--dry-run").out
    assert said not in in_process(capsys, "run", "examples/patterns/routing.mmd", "--dry-run").out


def answer(request: Received) -> Step:
    if "Split." in request.prompt:
        return Reply('{"response": ["one", "two"]}')
    return Reply("the first part") if "one" in request.prompt else Reply("the second part", delay=1.5)


@pytest.mark.slow
def test_the_words_of_items_that_are_streamed_at_once_stand_under_the_name_of_each(capsys: Capture) -> None:
    write("flow.mmd", MAPPED)
    with serving(answer) as server:
        ran = in_process(
            capsys, "run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--verbose"
        ).err.splitlines()
    assert ran[ran.index("PARTS[1]/WORK:") + 1] == "the first part"
    assert ran[ran.index("PARTS[2]/WORK:") + 1] == "the second part"


def plainly(text: str) -> str:
    """The text without what differs from run to run."""
    text = re.sub(r"127\.0\.0\.1:\d+", "HOST", re.sub(r"\b[0-9a-z]{13}\b", "RUN", text))
    return re.sub(r"\d+\.\d s\b", "T", text)


def test_a_run_and_its_record_are_told_line_by_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, run = replayed(capsys, monkeypatch, "routing")
    assert (
        plainly(outcome.err)
        == """\
Note: The recording says: The answers in this recording were written by hand, not by a model; programs and tests were really run.
SORT begins
SORT finished (T)
DESK finished: returns
ORDERS is skipped: DESK chose `returns`
OTHER is skipped: DESK chose `returns`
RETURNS begins
RETURNS finished (T)
Finished: 0 calls, 0 tokens, $0, T, answered by recording. See it with: merrow show RUN
"""
    )
    shown = in_process(capsys, "show", run)
    assert (shown.code, shown.err) == (0, "")
    record, _, rest = plainly(shown.out).partition("\nRETURN\n")
    assert (
        record
        == """\
RUN  finished  T ago  examples/patterns/routing.mmd
0 calls, 0 tokens, $0, T, answered by recording
input PROBLEM: Dear team, I ordered the blue lamp on Monday (order 5514) and got the...

PROBLEM  finished     T  Dear team, I ordered the blue lamp on Monday (order 5514) and got the...
SORT     finished     T  returns
DESK     finished     T  chose returns
ORDERS   skipped      T  DESK chose `returns`
OTHER    skipped      T  DESK chose `returns`
RETURNS  finished     T  Dear Ines, I am sorry that you got the green lamp (order 5514). Pleas...
RETURN   finished     T  Dear Ines, I am sorry that you got the green lamp (order 5514). Pleas...
"""
    )
    assert rest == outcome.out
    desk = plainly(in_process(capsys, "show", run, "--node", "DESK").out)
    assert desk.startswith("DESK  finished\nchose returns\n")
    unknown = in_process(capsys, "show", run, "--node", "DESKS")
    assert (unknown.code, unknown.out, unknown.err) == (
        2,
        "",
        f"merrow: Run {run} has no node DESKS. Did you mean DESK?\n",
    )
    assert plainly(in_process(capsys, "show", run, "--node", "desk").out) == desk
    unknown = in_process(capsys, "show", run, "--node", "xyz")
    assert unknown.err == f"merrow: Run {run} has no node xyz.\n"
    both = in_process(capsys, "show", run, "--node", "DESK", "--revision", "1")
    assert both.err == "merrow: --revision shows the whole workflow; leave out --node.\n"


def test_an_item_that_fails_is_told_with_its_reason_and_the_words_of_the_others(capsys: Capture) -> None:
    write("flow.mmd", MAPPED.replace("max: 3", "max: 3, parallel: 1"))

    def answers(request: Received) -> Step:
        return answer(request) if "Split." in request.prompt or "one" in request.prompt else Status(400)

    why = "The endpoint http://HOST refused the request (HTTP 400: scripted); change what it complains of."
    with serving(answers) as server:
        asked = ("run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--fresh", "--model", "m")
        told = in_process(capsys, *asked, "--verbose")
        silent = in_process(capsys, *asked)
    lines = [
        "SPLIT begins",
        "SPLIT:",
        '{"response": ["one", "two"]}',
        "SPLIT finished (T, 25 tokens)",
        "PARTS[1]/WORK begins",
        "PARTS[1]/WORK:",
        "the first part",
        "PARTS[1]/WORK finished (T, 5 tokens)",
        "PARTS: item 1 of 2 is done",
        "PARTS[2]/WORK begins",
        f"PARTS[2]/WORK failed: {why}",
        f"PARTS: item 2 of 2 failed: {why}",
        f"merrow: Node PARTS[2]/WORK: {why}",
        "Failed: 2 calls, 30 tokens, cost unknown, T, answered by m @ HOST. What is finished is kept; continue it with: merrow"
        " resume RUN",
    ]
    assert (told.code, told.out, plainly(told.err).splitlines()) == (1, "", lines)
    words = ("SPLIT:", '{"response": ["one", "two"]}', "PARTS[1]/WORK:", "the first part")
    assert plainly(silent.err).splitlines() == [line for line in lines if line not in words]
    assert plainly(in_process(capsys, "show").out).splitlines() == [
        "RUN  failed  T ago  flow.mmd",
        "2 calls, 30 tokens, cost unknown, T, answered by m @ HOST",
        f"Node PARTS[2]/WORK: {why}",
        "input PROBLEM: x",
        "",
        "PROBLEM        finished     T  x",
        'SPLIT          finished     T  [ "one", "two" ]',
        "PARTS[1]/WORK  finished     T  the first part",
        f"PARTS[2]/WORK  failed       T  {why}",
    ]


JUDGED = """\
---
workflow:
  model: m
  prompts: {first: Do it.}
  validators: {v: {rubric: Is it good?}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: first, validate: v, attempts: 2, on_invalid: accept)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""


@pytest.mark.parametrize("last", [True, False])
def test_each_verdict_of_a_validator_is_told_and_shown(capsys: Capture, last: bool) -> None:
    write("flow.mmd", JUDGED)
    verdicts = iter(
        [
            {"pass": False, "reasons": ["It is\nshort.", "It is late."], "feedback": "Say\n more."},
            {"pass": last, "reasons": [] if last else ["Still."], "feedback": ""},
        ]
    )

    def judge(request: Received) -> Step:
        return Reply(json.dumps(next(verdicts))) if "Is it good?" in json.dumps(request.body) else Reply("part")

    with serving(judge) as server:
        done = in_process(capsys, "run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url)
    assert (done.code, done.out) == (0, "part\n")
    told = ["A begins", "A: attempt 1 is not valid: It is short.; It is late."]
    if last:
        told.append("A finished (T, 382 tokens, attempt 2)")
    else:
        told.append("A: attempt 2 is not valid: Still.")
        told.append("A finished (T, 382 tokens, not valid, attempt 2)")
        told.append("Note: the result of A is used although it is not valid.")
    spent = "4 calls, 382 tokens, cost unknown, T, answered by m @ HOST"
    assert plainly(done.err).splitlines() == [*told, f"Finished: {spent}. See it with: merrow show RUN"]
    shown = plainly(in_process(capsys, "show", "--node", "A").out)
    verdict, _, rest = shown.partition("\nInputs\n")
    assert verdict.splitlines() == [
        "A  finished  answered by m @ HOST",
        "",
        "attempt 1: not valid",
        "  - It is",
        "    short.",
        "  - It is late.",
        "  feedback: Say more.",
        "",
        *(["attempt 2: valid"] if last else ["attempt 2: not valid", "  - Still."]),
    ]
    assert rest.startswith(
        "\ninput input (from PROBLEM.value)\nx\n\nanswer (model, answered by m @ HOST, T): system\nDo it.\n"
    )
    assert re.findall(r"^(.*) \(model, answered by m @ HOST, T\): (.*)$", rest, re.MULTILINE) == [
        (step, role)
        for step in ("answer", "validate", "2/answer", "2/validate")
        for role in ("system", "user", *(["assistant", "user"] if step == "2/answer" else []), "answer")
    ]
    assert rest.endswith("\n\noutput response\npart\n")
    record = plainly(in_process(capsys, "show").out).splitlines()
    assert record[:3] == ["RUN  finished  T ago  flow.mmd", spent, "input PROBLEM: x"]
    assert record[4:] == [
        "PROBLEM  finished     T  x",
        f"A        finished     T  {'attempt 2' if last else 'not valid, attempt 2'}",
        f"{' ' * 29}part",
        "RETURN   finished     T  part",
        "",
        "RETURN",
        "part",
    ]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_the_last_table_on_a_terminal_has_all_nodes_and_what_was_spent() -> None:
    write("flow.mmd", MAPPED)

    def answers(request: Received) -> Step:
        return answer(request) if "Split." in request.prompt else Reply("a part")

    with serving(answers) as server, terminals() as terminal:
        asked = ("run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url)
        shown = terminal(*asked, "--model", "m")
    text = plainly(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)).replace("\r", "\n")
    last = text[text.rindex("SPLIT ") :]
    assert [" ".join(line.split()) for line in last.splitlines()] == [
        "SPLIT finished T 25 tokens",
        "WORK finished T 4 tokens",
        "PARTS 2 of 2 items",
        "3 calls, 33 tokens, cost unknown",
        "[",
        '"a part",',
        '"a part"',
        "]",
        "Finished: 3 calls, 33 tokens, cost unknown, T, answered by m @ HOST. See it with: merrow show RUN",
    ]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_on_a_terminal_a_node_runs_as_long_as_one_of_its_items_does() -> None:
    import pty  # not on Windows

    write("flow.mmd", MAPPED)
    with serving(answer) as server:
        here, there = pty.openpty()
        command = ["run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url]
        process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", *command], stdin=there, stdout=there, stderr=there
        )
        os.close(there)
        shown = b""
        while True:
            try:
                shown += os.read(here, 4096)
            except OSError:  # the terminal is closed with the process
                break
        os.close(here)
    assert process.wait(PATIENCE) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    drawn = re.findall(r"WORK +(\w+)[^\n]*\n(?:[^\n]*\n)*?PARTS +(\d) of 2 items", text)
    assert ("runs", "1") in drawn
    assert ("finished", "1") not in drawn
    assert drawn[-1] == ("finished", "2")
