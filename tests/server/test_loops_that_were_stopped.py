"""Loops say how they ended: in the text, the events, the journal, the exit code, and again after a kill and a resume."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import flowchart
from tests.runtime.openai_server import Hang, Received, Reply, Step, serving
from tests.server.program import in_process, merrow, write

from merrow_runtime.loop_sentences import exhausted_sentences

Capture = pytest.CaptureFixture[str]
Found = dict[str, Any]

REFINING = [
    'subgraph REFINE["Loop (max: 3)"]',
    '    WRITE["Custom (prompt: WRITE)"]:::CustomOp',
    '    JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
    "    D{which?}:::DecisionOp",
    "end",
    "WRITE -->|input| JUDGE",
    "JUDGE -->|when| D",
    "WRITE -->|value| D",
    "D -->|bad:again:input| WRITE",
]
TYPES = "{types: {Mood: [good, bad]}}"


def refining(*more: str) -> str:
    """A draft that is judged, and written again while it is bad, at most three times."""
    ends = more or ("D -->|good| RETURN", "WRITE -->|over| RETURN")
    return flowchart(*REFINING, "PROBLEM -->|input| WRITE", *ends, front=TYPES)


def judged(*moods: str) -> Callable[[Received], Step]:
    """The moods that JUDGE answers, the last one again and again; other nodes are numbered drafts."""
    left, drafts = list(moods), iter(range(1, 1000))

    def answer(request: Received) -> Step:
        if request.prompt.startswith("JUDGE"):
            return Reply(json.dumps({"response": left.pop(0) if len(left) > 1 else left[0]}))
        return Reply(f"draft {next(drafts)}")

    return answer


def ended(events: list[Found]) -> list[tuple[str, int, str, bool]]:
    """What was told of the ends of Loops: path, turns, why, and whether another turn was wanted."""
    loops = [event for event in events if event["event"] == "loop_ended"]
    return [(one["path"], one["turns"], one["why"], one.get("stopped", False)) for one in loops]


def events_of(text: str) -> list[Found]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_loop_whose_turns_ran_out_says_so_everywhere(capsys: Capture) -> None:
    write("flow.mmd", refining())
    command = ("run", "flow.mmd", "--input", "problem=x", "--fresh")
    with serving(judged("bad")) as server:
        asked = (*command, "--base-url", server.base_url)
        plain = in_process(capsys, *asked)
        strict = in_process(capsys, *asked, "--fail-on-exhausted", "-o", "out")
        told = in_process(capsys, *asked, "--json", "--fail-on-exhausted")
    assert (plain.code, plain.out) == (0, "draft 3\n")
    assert "Loop REFINE stopped after 3 turns" in plain.err
    # The results are there all the same.
    assert strict.code == 1
    assert [path.read_text() for path in Path("out").iterdir()] == ["draft 6\n"]
    events = events_of(told.out)
    assert ended(events) == [("REFINE", 3, "turns", True)]
    assert (told.code, events[-1]["event"], events[-1]["exhausted"]) == (1, "run_finished", ["REFINE"])
    report = in_process(capsys, "show", "--format", "json").json
    assert report["loops"] == [{"path": "REFINE", "turns": 3, "why": "turns"}]
    assert report["exhausted"] == ["REFINE"]
    assert "Loop REFINE stopped after 3 turns" in in_process(capsys, "show").out
    again = in_process(capsys, "resume", report["run"], "--json", "--fail-on-exhausted")
    assert ended(events_of(again.out)) == ended(events)
    assert (again.code, events_of(again.out)[-1]["exhausted"]) == (1, ["REFINE"])
    assert in_process(capsys, "resume", report["run"]).code == 0


def test_a_loop_that_a_case_ends_is_no_news(capsys: Capture) -> None:
    write("flow.mmd", refining())
    with serving(judged("bad", "bad", "good")) as server:
        asked = ("run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--fail-on-exhausted")
        done = in_process(capsys, *asked)
        told = events_of(in_process(capsys, *asked, "--json", "--fresh").out)
    assert (done.code, "stopped" in done.err) == (0, False)
    assert ended(told) == [("REFINE", 1, "case", False)]
    assert told[-1]["exhausted"] == []
    assert "stopped" not in in_process(capsys, "show").out


def test_in_items_and_called_files_it_is_named_by_its_whole_path(capsys: Capture) -> None:
    write("inner.mmd", refining())
    write(
        "flow.mmd",
        flowchart(
            'LIST["Custom (prompt: LIST, returns: list[Problem])"]:::CustomOp',
            'subgraph EACH["Map (max: 3, parallel: 1)"]',
            '    SOLVE@{op: Call, workflow: "inner.mmd"}',
            "end",
            "PROBLEM -->|input| LIST",
            "LIST -->|each| SOLVE",
            'END["Custom (prompt: END)"]:::CustomOp',
            "SOLVE -->|input| END",
            "END --> RETURN",
        ),
    )
    first = judged("bad", "bad", "bad", "good")

    def answer(request: Received) -> Step:
        if request.prompt.startswith("LIST"):
            return Reply(json.dumps({"response": ["one", "two"]}))
        return first(request)

    with serving(answer) as server:
        done = in_process(capsys, "run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--json")
    events = events_of(done.out)
    assert ended(events) == [("EACH[1]/SOLVE/REFINE", 3, "turns", True), ("EACH[2]/SOLVE/REFINE", 1, "case", False)]
    assert events[-1]["exhausted"] == ["EACH[1]/SOLVE/REFINE"]
    assert in_process(capsys, "show", "--format", "json").json["exhausted"] == ["EACH[1]/SOLVE/REFINE"]


class Stops:
    """Answers as ``answer`` does until the one with this number; that one hangs, and it is told that it came."""

    def __init__(self, answer: Callable[[Received], Step], number: int) -> None:
        self.answer, self.number, self.reached = answer, number, Flag()

    def __call__(self, request: Received) -> Step:
        self.number -= 1
        if self.number == 0:
            self.reached.set()
            return Hang()
        return self.answer(request)


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.parametrize("killed_at", [6, 7], ids=["in its last turn", "after its end"])
def test_it_is_said_once_after_a_kill_and_a_resume(capsys: Capture, killed_at: int) -> None:
    write(
        "flow.mmd",
        refining(
            "D -->|good:input| END",
            "WRITE -->|over:input| END",
            'END["Custom (prompt: END)"]:::CustomOp',
            "END --> RETURN",
        ),
    )
    with serving(stops := Stops(judged("bad"), killed_at)) as server:
        command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url]
        process = subprocess.Popen([*command, "--input", "problem=x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert stops.reached.wait(PATIENCE)
        late = time.monotonic() + PATIENCE
        # The end of the Loop is in the journal shortly after it: then the resumed run writes it a second time.
        while killed_at == 7 and not in_process(capsys, "show", "--format", "json").json["loops"]:
            assert time.monotonic() < late
        process.kill()
        process.communicate(timeout=PATIENCE)
        asked = len(server.requests)
        told = events_of(in_process(capsys, "resume", "--json").out)
        # The one that hung is asked again, and in the first case END after it.
        assert len(server.requests) == asked + 8 - killed_at
    report = in_process(capsys, "show", "--format", "json").json
    assert report["status"] == "finished"
    assert ended(told) == [("REFINE", 3, "turns", True)]
    again = events_of(in_process(capsys, "resume", report["run"], "--json").out)
    assert ended(again) == [("REFINE", 3, "turns", True)]
    assert told[-1]["exhausted"] == report["exhausted"] == ["REFINE"]
    assert report["loops"] == [{"path": "REFINE", "turns": 3, "why": "turns"}]


def test_a_recording_and_a_compiled_program_say_the_same(capsys: Capture) -> None:
    write("flow.mmd", refining())
    with serving(judged("bad")) as server:
        asked = ("run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--record", "r.jsonl")
        assert in_process(capsys, *asked).code == 0
    again = in_process(capsys, "run", "flow.mmd", "--input", "problem=x", "--replay", "r.jsonl", "--json")
    assert ended(events_of(again.out)) == [("REFINE", 3, "turns", True)]
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    program = [sys.executable, "flow.py", "--input", "problem=x", "--replay", "r.jsonl"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "draft 3\n")
    assert "Loop REFINE stopped after 3 turns" in done.stderr
    strict = subprocess.run([*program, "--fail-on-exhausted"], capture_output=True, text=True, check=False)
    assert (strict.returncode, strict.stdout) == (1, "draft 3\n")


def test_evaluations_count_them_and_have_a_gate(capsys: Capture) -> None:
    write("flow.mmd", refining())
    write("own.jsonl", "".join(json.dumps({"problem": name, "answer": "draft"}) + "\n" for name in ("easy", "hard")))

    def answer(request: Received) -> Step:
        if request.prompt.startswith("JUDGE"):
            return Reply(json.dumps({"response": "bad" if "hard" in request.prompt else "good"}))
        return Reply("hard draft" if "hard" in request.prompt else "draft")

    with serving(answer) as server:
        asked = ("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--base-url", server.base_url)
        first = in_process(capsys, *asked, "--allow-exhausted", "0")
        paid = len(server.requests)
        # What is known costs nothing, and is known as it was.
        allowed = in_process(capsys, *asked, "--allow-exhausted", "1")
        report = in_process(capsys, *asked, "--format", "json").json
        rows = in_process(capsys, *asked, "--format", "csv").out.splitlines()
        assert len(server.requests) == paid
    assert (first.code, allowed.code) == (1, 0)
    assert "--allow-exhausted allows 0" in first.err
    assert report["exhausted"] == 1
    assert {row["inputs"]["PROBLEM"]: row["exhausted"] for row in report["rows"]} == {"easy": 0, "hard": 1}
    assert sorted(row.rsplit(",", 1)[1] for row in rows[1:]) == ["0", "1"]
    shown = in_process(capsys, "show", report["evaluation"]).out
    assert "Loops stopped" in shown.splitlines()[1]
    assert "1 answer comes from a Loop whose turns or budget ran out." in shown


def test_searches_count_them(capsys: Capture) -> None:
    write("flow.mmd", refining())
    names = [f"{mood} {number}" for number in range(3) for mood in ("easy", "hard")]
    write("own.jsonl", "".join(json.dumps({"problem": name, "answer": "draft"}) + "\n" for name in names))

    def answer(request: Received) -> Step:
        is_hard = "hard" in json.dumps(request.body["messages"])
        if request.prompt.startswith("JUDGE"):
            return Reply(json.dumps({"response": "bad" if is_hard else "good"}))
        return Reply("hard draft" if is_hard else "draft")

    with serving(answer) as server:
        asked = ("optimize", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--base-url", server.base_url)
        done = in_process(capsys, *asked, "--strategy", "random", "--budget-evaluations", "24", "--small")
    assert done.code == 0, done.err
    (search,) = in_process(capsys, "optimizations", "--format", "json").json
    events = events_of(in_process(capsys, "show", search["search"], "--format", "json").out)
    start, *others = [event for event in events if event["event"] == "candidate"]
    stopped = {
        answer["item"]: answer["exhausted"]
        for event in events
        if event["event"] == "draw" and event["candidate"] == 0
        for answer in event["answers"]
    }
    assert start["exhausted"] == sum(stopped.values()) > 0
    assert len(stopped) > start["exhausted"], "answers of Loops that ended are not among them"
    total = start["exhausted"] + sum(candidate["exhausted"] for candidate in others)
    assert search["exhausted"] >= total
    shown = in_process(capsys, "show", search["search"]).out
    assert f"{search['exhausted']} answers come from Loops whose turns or budget ran out." in shown
    assert re.search(r"^round .* Loops stopped +change$", shown, re.MULTILINE)
    page = in_process(capsys, "show", search["search"], "--format", "html").out
    assert page.count("whose turns or budget ran out.") > 1


@pytest.mark.parametrize(("count", "last"), [(8, "Loop L[7] stopped"), (9, "1 more Loop"), (1_010, "1,002 more Loops")])
def test_of_many_loops_eight_are_named(count: int, last: str) -> None:
    loops = [{"path": f"L[{number}]", "turns": 3, "why": "turns"} for number in range(count)]
    said = list(exhausted_sentences(loops, [loop["path"] for loop in loops]))
    assert len(said) == min(count, 9)
    assert said[-1].startswith(last)
