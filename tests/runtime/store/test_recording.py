"""Recordings: what was recorded is replayed whatever the order, and the first thing that isn't there is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runtime.store.making import call

import merrow_runtime
from merrow_runtime.errors import ReplayMiss, UsageFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.recording import Recorder, Replay
from merrow_runtime.usage import Usage


async def test_a_recording_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("An older recording.\n")
    recorder = Recorder(path, {"workflow": "a.mmd"})
    assert path.read_text() == "An older recording.\n", "nothing is lost where the run does not begin"
    recorder.begin()
    for number in range(3):
        await recorder.record(call(number=number, text=f"answer {number} \ud800 é"))
    recorder.close()
    replay = Replay.read(path)
    assert replay.header["workflow"] == "a.mmd"
    for number in (2, 0, 1):
        made = call(number=number)
        found = replay.recall(made.key, made.request_hash)
        assert found.result == {"text": f"answer {number} \ud800 é"}
        assert found.origin == "replay"


async def test_what_is_not_in_the_recording_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    recorder.begin()
    await recorder.record(call())
    recorder.close()
    replay = Replay.read(path)
    with pytest.raises(ReplayMiss, match=r"another request at node SOLVE, step 'answer 0'.*Record it again"):
        replay.recall(call().key, "other")
    with pytest.raises(ReplayMiss, match=r"no answer at node SOLVE, step 'vote', sample 2, attempt 3"):
        replay.recall(CallKey("SOLVE", 1, "vote", 2), "other")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "Line 1"),
        ("[]\n", "Line 1"),
        ('{"merrow_recording": 99}\n', "not a recording of this version"),
        ('{"merrow_recording": 1, "cases": "flow.mmd"}\n', "is the recording of cases; run them with: merrow test"),
        (
            '{"merrow_recording": 1, "answers": "papers"}\n',
            r"is the recording of an extraction; use it with: merrow extract \.\.\. --replay",
        ),
        ('{"merrow_recording": 1}\n{"node": "A"}\n', "Line 2"),
        ('{"merrow_recording": 1}\nnot json\n', "Line 2"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_the_line(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(UsageFailure, match=says):
        Replay.read(path)


def test_a_missing_recording_and_one_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="can't be read"):
        Replay.read(tmp_path / "none.jsonl")
    with pytest.raises(UsageFailure, match="can't be written"):
        Recorder(tmp_path / "no folder" / "run.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
async def test_a_recording_that_can_not_be_written_is_told_before_the_run_begins() -> None:
    store = MemoryStore()
    flow = merrow_runtime.check_workflow(
        "flowchart TD\n  PROBLEM([Problem]):::Interface --> S@{op: Custom, prompt: x}\n  S --> RETURN([Answer]):::Interface"
    )
    with pytest.raises(UsageFailure, match="/dev/full can't be written"):
        merrow_runtime.start(
            flow, {"problem": "x"}, store=store, options=merrow_runtime.RunOptions(record=Path("/dev/full"))
        )
    assert store.runs() == []
    store.close()


def test_the_lines_of_a_recording_say_what_each_call_was(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("An older recording that is longer than the new one.\n" * 99)
    recorder = Recorder(path, {"workflow": "a.mmd", "seed": 3})
    recorder.begin()
    recorder.write(call())
    recorder.write(replace(call("A", path="L[2]", redo=1, usage=Usage(1, 2, 1, None, True)), kind="code", usable=False))
    recorder.close()
    asked = {"messages": [{"role": "user", "content": "6 * 7?"}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "calls": 1, "cost_usd": 0.001}
    other = {"prompt_tokens": 1, "completion_tokens": 2, "calls": 1, "cost_usd": None, "estimated": True}
    same = {"sample": 0, "step": "answer 0", "attempt": 0}
    what = {"request_hash": "hash 0", "request": asked, "result": {"text": "42"}}
    lines = [
        {"merrow_recording": 1, "workflow": "a.mmd", "seed": 3},
        {"node": "SOLVE", **same, "kind": "model", **what, "usage": usage, "usable": True},
        {"node": "A", "path": "L[2]", "redo": 1, **same, "kind": "code", **what, "usage": other, "usable": False},
    ]
    assert path.read_text() == "".join(json.dumps(line) + "\n" for line in lines)
    with path.open("a") as file:
        file.write("\n \n" + json.dumps({**lines[1], "node": "B", "result": {"text": "", "model": "m-1"}}) + "\n")
        file.write(json.dumps({**lines[2], "node": "C", "result": {"model": "m-1"}}) + "\n")
    replay = Replay.read(path)
    found = [
        replay.recall(call(name, path=where, redo=redo).key, "hash 0")
        for name, where, redo in (("SOLVE", "", 0), ("A", "L[2]", 1), ("B", "", 0), ("C", "L[2]", 1))
    ]
    assert [(one.kind, one.usage.to_json(), one.usable, one.origin, one.model, one.request) for one in found] == [
        ("model", usage, True, "replay", "", asked),
        ("code", other, False, "replay", "", asked),
        ("model", usage, True, "replay", "m-1", asked),
        ("code", other, False, "replay", "", asked),
    ]
    assert (replay.path, replay.may_ask, replay.misses) == (str(path), False, [])


def test_a_miss_says_where_the_recording_has_another_request_or_none(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    calls = [
        call(path="L[2]"), call("A"), call("@revise", 1, redo=1, text="one"), call("@revise", 1, redo=2, text="two"),
    ]  # fmt: skip
    for one in calls:
        recorder.write(one)
    recorder.close()
    replay = Replay.read(path)
    other = (
        f"The recording {path} has another request at node {{}}: the workflow, its inputs, its model or a prompt changed since."
        " Record it again."
    )
    none = f"The recording {path} has no answer at node {{}}. Record the run again."
    sample, attempt = (replace(calls[1].key, **more) for more in ({"sample": 1}, {"attempt": 1}))
    cases = [
        (calls[0].key, other.format("L[2]/SOLVE, step 'answer 0'")),
        (replace(calls[0].key, path="L[1]"), none.format("L[1]/SOLVE, step 'answer 0'")),
        (sample, none.format("A, step 'answer 0', sample 2")),
        (attempt, none.format("A, step 'answer 0', attempt 2")),
        (replace(calls[2].key, redo=3), none.format("@revise!3, step 'answer 1'")),
    ]
    for key, says in cases:
        with pytest.raises(ReplayMiss) as miss:
            replay.recall(key, "other")
        assert miss.value.sentence == says
    assert replay.misses == [key for key, _ in cases]
    # What a reviser was shown is a matter of time: its answers are found by their numbers.
    assert [replay.recall(one.key, "other").result for one in calls[2:]] == [{"text": "one"}, {"text": "two"}]
    assert replay.find(calls[1].key, "other") is None
