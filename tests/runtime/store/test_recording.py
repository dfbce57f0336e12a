"""Recordings: what was recorded is replayed whatever the order, and the first thing that isn't there is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runtime.store.making import call

import merrow_runtime
from merrow_runtime.errors import ReplayMiss, UsageFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.recordings.recording import Recorder, Replay


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
