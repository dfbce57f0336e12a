"""Recordings of cases: each take has its own calls and output, in a file that is the same whenever the answers are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.store.making import call

from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.recordings.case_recording import CallList, CaseRecording, same_output
from merrow_runtime.store.recordings.recording import line_of

HEADER = {"merrow_recording": 1, "cases": True}


def written(path: Path, *lines: object) -> Path:
    """A file of these lines: texts as they are, and everything else as JSON."""
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return path


def line(case: object, repeat: object, number: int = 0, **more: Any) -> dict[str, Any]:
    return {"case": case, "repeat": repeat, **line_of(call(number=number)), **more}


def test_the_file_has_the_takes_of_each_case_in_order_and_reads_as_what_was_written(tmp_path: Path) -> None:
    recording = CaseRecording(tmp_path / "a.jsonl", {"model": "m"})
    first = call("A")
    keys = [
        replace(first.key, attempt=1),
        replace(first.key, step="answer 1"),
        replace(first.key, sample=1),
        replace(first.key, redo=1),
        replace(first.key, node="B"),
        replace(first.key, path="L[1]"),
    ]
    calls = [first, replace(first, request_hash="hash 9"), *(replace(first, key=key) for key in keys)]
    recording.keep("two", 1, [], None)
    recording.keep("two", 0, calls[::-1], {"RETURN": "x"})
    recording.keep("one", 0, calls[:1], "said")
    recording.keep("gone", 0, calls, 1)
    front = {"case": "two", "repeat": 0}
    shown = [json.loads(one) for one in recording.text(["one", "never", "two"]).splitlines()]
    assert shown == [
        {**HEADER, "model": "m"},
        {"case": "one", "repeat": 0, **line_of(calls[0])},
        {"case": "one", "repeat": 0, "output": "said"},
        *({**front, **line_of(one)} for one in calls),
        {**front, "output": {"RETURN": "x"}},
        {"case": "two", "repeat": 1, "output": None},
    ]
    assert [list(one)[:3] for one in shown[1:3]] == [["case", "repeat", "node"], ["case", "repeat", "output"]]
    text = recording.text(["one", "two"])
    assert text.endswith("}\n")
    assert CaseRecording.read(written(tmp_path / "b.jsonl", text)).text(["one", "two"]) == text
    assert CaseRecording(tmp_path / "c.jsonl").text([]) == json.dumps(HEADER) + "\n"


def test_a_take_has_its_own_answers_and_output(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl", {**HEADER, "model": "m", "note": "n"}, "", line("one", 0), line("one", 0, 1), "  ",
        line("one", 1), {"case": "one", "repeat": 1, "output": None}, {"case": "two", "output": False},
    )  # fmt: skip
    recording = CaseRecording.read(path)
    takes = [("one", 0), ("one", 1), ("one", 2), ("two", 0), ("three", 0)]
    taken = [recording.of(*take) for take in takes]
    assert [len(one.calls) for one in taken] == [2, 1, 0, 0, 0]
    assert [(one.has_output, one.output) for one in taken] == [
        (False, None), (True, None), (False, None), (True, False), (False, None),
    ]  # fmt: skip
    made = call(number=1)
    found = recording.replay("one", 0)
    assert (found.path, found.header, found.may_ask) == (str(path), {**HEADER, "model": "m", "note": "n"}, False)
    assert found.recall(made.key, made.request_hash).result == {"text": "42"}
    assert recording.replay("one", 1).find(made.key, made.request_hash) is None
    assert recording.replay("one", 1, may_ask=True).may_ask
    assert recording.model == "m"
    assert CaseRecording(path).model is CaseRecording(path, {"model": 1}).model is None


def test_what_is_recorded_again_replaces_a_take_and_keeps_the_lines_that_are_there(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", HEADER, line("one", 0, more="kept"), line("one", 0, 1), line("one", 1, 1))
    recording = CaseRecording.read(path)
    changed = call(text="another")
    recording.keep("one", 0, [call(number=2), changed], "now")
    assert [json.loads(one) for one in recording.text(["one"]).splitlines()[1:]] == [
        line("one", 0, more="kept"),
        line("one", 0, 2),
        {"case": "one", "repeat": 0, "output": "now"},
        line("one", 1, 1),
    ]
    other = replace(changed, request_hash="other")
    recording.keep("one", 0, [other], "later")
    assert [json.loads(one) for one in recording.text(["one"]).splitlines()[1:3]] == [
        {"case": "one", "repeat": 0, **line_of(other)},
        {"case": "one", "repeat": 0, "output": "later"},
    ]


NOT_OF_CASES = "{path} is not a recording of cases; move it away, and record them: merrow test --record"
REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "an empty file": ((), "Line 1 of the recording {path} is not a JSON object: ''."),
    "a header that is no object": (("[]",), "Line 1 of the recording {path} is not a JSON object: '[]'."),
    "another format": (({**HEADER, "merrow_recording": 2},), NOT_OF_CASES),
    "the recording of a run": (({"merrow_recording": 1},), NOT_OF_CASES),
    "a long line that is no JSON": (
        (HEADER, "", "x" * 61),
        f"Line 3 of the recording {{path}} is not a JSON object: {'x' * 60!r}.",
    ),
    "no case": ((HEADER, line_of(call())), "Line 2 of the recording {path} names no case."),
    "a case that is no text": ((HEADER, line(1, 0)), "Line 2 of the recording {path} names no case."),
    "a repeat that is no number": ((HEADER, line("a", "1")), "Line 2 of the recording {path} names no case."),
    "a line that lacks something": (
        (HEADER, line("a", 0), {"case": "a", "node": "A"}),
        "Line 3 of the recording {path} lacks 'sample'; it is not a recorded call.",
    ),
    **{
        f"{name} of another kind": (
            (HEADER, line("a", 0, **{name: [1]})),
            "Line 2 of the recording {path} is not a recorded call.",
        )
        for name in ("node", "sample", "step", "attempt", "path", "redo", "request_hash")
    },
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_is_no_recording_of_cases_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    lines, says = REFUSED[what]
    path = written(tmp_path / "a.jsonl", *lines)
    with pytest.raises(UsageFailure) as failure:
        CaseRecording.read(path)
    assert str(failure.value) == says.format(path=path)


def test_a_recording_of_cases_that_can_not_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9\n")
    for name, reason in (("none.jsonl", "No such file or directory"), ("latin.jsonl", "it is not UTF-8 text")):
        with pytest.raises(UsageFailure) as failure:
            CaseRecording.read(tmp_path / name)
        assert str(failure.value) == f"The recording {tmp_path / name} can't be read ({reason})."


def test_outputs_are_compared_as_json() -> None:
    same: list[tuple[Any, Any]] = [({"a": 1, "b": [2]}, {"b": [2], "a": 1}), (None, None), ("x", "x")]
    different: list[tuple[Any, Any]] = [(True, 1), ([1, 2], [2, 1]), ({"a": None}, {}), (0, False)]
    assert [same_output(*both) for both in (*same, *different)] == [True] * 3 + [False] * 4


async def test_the_calls_of_a_run_are_kept_in_the_order_in_which_they_come_and_anew_for_the_next_run() -> None:
    kept = CallList()
    calls = [call(number=number) for number in range(3)]
    kept.begin()
    await kept.record(calls[1])
    kept.write(calls[0])
    kept.close()
    assert kept.calls == [calls[1], calls[0]]
    kept.begin()
    kept.write(calls[2])
    assert kept.calls == [calls[2]]
