"""The host's end of the channel: what it makes of each frame, each death and each excess of a process that may say anything."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits
from merrow_runtime.sandbox.backends.base import BackendStatus, GuestStart
from merrow_runtime.sandbox.process import Guest, GuestEndedError, parsed_report
from merrow_runtime.sandbox.results import SandboxRefusedError, TestFailure, TestResult
from merrow_runtime.sandbox.testing import test_solution as tested

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes of these tests are shells")

INVALID = "the process sent an invalid message"


def frame(kind: str, payload: bytes, length: int | None = None) -> bytes:
    return kind.encode() + struct.pack(">I", len(payload) if length is None else length) + payload


LOCKED = frame("k", b"null")


class Shell:
    """A means of isolation that isolates nothing: its guest is a shell that says what it is told to say, whatever it is sent."""

    name = "shell"

    def __init__(self, *scripts: str) -> None:
        self._scripts = list(scripts)

    def status(self) -> BackendStatus:
        return BackendStatus(self.name, True, "", ())

    def start(self, folder: Path, limits: Limits) -> GuestStart:  # noqa: ARG002
        script = self._scripts.pop(0)
        return GuestStart(["/bin/sh", "-c", script], {"PATH": os.environ["PATH"]}, {}, watch=False)


def says(*frames: bytes) -> str:
    """A script that says this and takes what it is sent."""
    written = "".join(f"\\{byte:03o}" for byte in b"".join(frames))
    return f"printf '{written}'; "


READS = "exec cat > /dev/null"


def told_of(
    script: str, ask: Callable[[Guest], Awaitable[Any]] | None = None, limits: Limits | None = None
) -> tuple[Any, str, str]:
    """What came of a guest: the answer, or the outcome and the reason of its end; and what it has printed."""

    async def of() -> tuple[Any, str, str]:
        guest: Any = Guest(Shell(script), limits or Limits(), {"work": "evaluate"})  # type: ignore[arg-type]
        async with guest:
            try:
                await guest.begin()
                answer = await (ask or Guest.receive_value)(guest)
            except GuestEndedError as ended:
                answer = (ended.outcome, str(ended))
            return answer, guest.text("o"), guest.text("e")

    return run(of())


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (says(frame("x", b"OSError: no")) + READS, "OSError: no"),
        (says(frame("v", b"\xff")) + READS, "�"),
        ("exit 3", "the process ended with status 3 before it answered"),
        ("echo ' no way ' >&2; exit 3", "no way"),
        ("printf '%0400d' 7 >&2; exit 3", "0" * 299 + "7"),
    ],
)
def test_a_guest_that_could_not_lock_itself_in_runs_nothing(script: str, why: str) -> None:
    with pytest.raises(SandboxRefusedError) as caught:
        told_of(script)
    assert str(caught.value) == (
        f"Generated code was not run: the sandbox 'shell' could not be set up ({why}); choose another one."
    )


@pytest.mark.parametrize(
    ("end", "outcome", "why"),
    [
        ("kill -XCPU $$", "timeout", "the limit on processor time was reached"),
        ("kill -SEGV $$", "crashed", "the process crashed (SIGSEGV), mostly by too deep a recursion"),
        ("kill -KILL $$", "crashed", "the process was killed by the system, for want of memory or of processor time"),
        ("kill -TERM $$", "crashed", "the process crashed (SIGTERM)"),
        ("exit 137", "crashed", "the process was killed by the system, for want of memory or of processor time"),
        ("exit 129", "crashed", "the process crashed (SIGHUP)"),
        ("exit 128", "crashed", "the process ended with status 128 before it answered"),
        ("exit 127", "crashed", "the process ended with status 127 before it answered"),
        ("exit 0", "crashed", "the process ended with status 0 before it answered"),
    ],
)
def test_each_death_of_a_guest_has_its_sentence(end: str, outcome: str, why: str) -> None:
    said = says(LOCKED, frame("o", b"printed\n"), frame("e", b"failed\n"))
    found, printed, errors = told_of(f"{said}echo last >&2; {end}")
    assert (found, printed) == ((outcome, why), "printed\n")
    # What is said in frames and what past them come on two ways.
    assert sorted(errors.splitlines()) == ["failed", "last"]


@pytest.mark.parametrize(
    ("frames", "answer"),
    [
        ((frame("v", b'{"outcome": "ok"}'),), {"outcome": "ok"}),
        ((frame("v", b"{}"), frame("v", b"[]")), {}),
        ((frame("r", b"{}"),), ("crashed", INVALID)),
        ((frame("v", b"[]"),), ("crashed", INVALID)),
        ((frame("v", b"{"),), ("crashed", INVALID)),
        ((frame("v", b"[" * 20_000),), ("crashed", INVALID)),
        ((frame("v", b"", 16 * 2**20 + 1),), ("crashed", INVALID)),
        ((frame("v", b"{}"[:1], 2),), ("crashed", "the process ended with status 0 before it answered")),
    ],
    ids=lambda value: str(value)[:30],
)
def test_each_answer_is_a_value_or_none(frames: tuple[bytes, ...], answer: Any) -> None:
    assert told_of(says(LOCKED, *frames)) == (answer, "", "")


OUTPUT = ("output", "the limit on output was reached")


@pytest.mark.parametrize(
    ("frames", "answer", "printed"),
    [
        ((frame("o", b"a" * 1022), frame("v", b"{}")), {}, 1022),
        ((frame("o", b"a" * 1023), frame("v", b"{}")), OUTPUT, 1023),
        ((frame("o", b"a" * 1024),), ("crashed", "the process ended with status 0 before it answered"), 1024),
        ((frame("o", b"a" * 1025),), OUTPUT, 1024),
        ((frame("o", b"a" * 1000), frame("e", b"b" * 25)), OUTPUT, 1000),
        # An empty frame counts as long as its head.
        ((frame("o", b""),) * 204 + (frame("v", b"{}"),), {}, 0),
        ((frame("o", b""),) * 205, OUTPUT, 0),
        ((frame("v", b'"' + b"a" * 1022 + b'"'),), ("crashed", INVALID), 0),
        ((frame("v", b'"' + b"a" * 1023 + b'"'),), OUTPUT, 0),
    ],
    ids=range(9),
)
def test_what_is_printed_and_answered_has_one_limit(frames: tuple[bytes, ...], answer: Any, printed: int) -> None:
    found, output, _ = told_of(says(LOCKED, *frames), limits=Limits(output_kb=1))
    assert (found, output) == (answer, "a" * printed)


def test_what_is_written_past_the_frames_counts_too() -> None:
    script = f"{says(LOCKED)}printf '%01025d' 0 >&2; {READS}"
    assert told_of(script, limits=Limits(output_kb=1)) == (OUTPUT, "", "0" * 1024)
    script = f"{says(LOCKED)}printf '%01024d' 0 >&2; exit 1"
    answer, _, errors = told_of(script, limits=Limits(output_kb=1))
    assert (answer, errors) == (("crashed", "the process ended with status 1 before it answered"), "0" * 1024)


def test_the_folder_has_one_name_in_what_is_printed() -> None:
    script = f"{says(LOCKED)}pwd >&2; dirname $(pwd) >&2; printf '\\377' >&2; exit 1"
    _, _, errors = told_of(script)
    assert errors == "/sandbox\n/\n�"


def test_a_frame_without_end_is_read_to_the_limit_alone() -> None:
    script = says(LOCKED, frame("o", b"a" * 1025, 10_000_000)) + READS
    assert told_of(script, limits=Limits(output_kb=1)) == (OUTPUT, "a" * 1024, "")


def test_where_a_guest_can_not_be_started_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def start() -> None:
        async with Guest(Shell(), Limits(), {"work": "evaluate"}):  # type: ignore[arg-type]
            pass

    with pytest.raises(IndexError):
        run(start())
    assert list(tmp_path.iterdir()) == []


READER = """
import json, marshal, os, struct, sys
read = sys.stdin.buffer
modules = marshal.loads(read.read(int(read.readline())))
kind, length = struct.unpack(">cI", read.read(5))
said = json.dumps({"kinds": sorted({type(code).__name__ for _, code in modules}), "job": marshal.loads(read.read(length))})
os.write(1, b"k\\0\\0\\0\\4nullv" + struct.pack(">I", len(said)) + said.encode())
"""


@pytest.mark.parametrize(("as_source", "kind"), [(True, "str"), (False, "code")])
def test_another_version_of_python_is_sent_source(as_source: bool, kind: str) -> None:
    class Reader(Shell):
        def start(self, folder: Path, limits: Limits) -> GuestStart:  # noqa: ARG002
            return GuestStart(
                [sys.executable, "-c", READER], {}, {"a": 1}, ["/libraries"], as_source=as_source, watch=False
            )

    async def of() -> dict[str, Any]:
        async with Guest(Reader(), Limits(), {"work": "evaluate", "b": 2}) as guest:  # type: ignore[arg-type]
            await guest.begin()
            return await guest.receive_value()

    job = {"work": "evaluate", "b": 2, "lock": {"a": 1}, "libraries": ["/libraries"]}
    assert run(of()) == {"kinds": [kind], "job": job}


@pytest.mark.parametrize(
    ("payload", "report"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": "' + b"x" * (256 * 1024 - 9) + b'"}', {"a": "x" * (256 * 1024 - 9)}),
        (b'{"a": "' + b"x" * (256 * 1024 - 8) + b'"}', "the process sent a message that is too long"),
        (b"[]", INVALID),
        (b"{", INVALID),
    ],
    ids=range(5),
)
def test_a_report_is_short_and_an_object(payload: bytes, report: Any) -> None:
    if isinstance(report, dict):
        assert parsed_report(payload) == report
    else:
        with pytest.raises(GuestEndedError) as caught:
            parsed_report(payload)
        assert (caught.value.outcome, str(caught.value)) == ("crashed", report)


def trial(solution: str, *judges: str, tests: tuple[str, ...] = ("one",)) -> TestResult:
    """What comes of tests whose processes, the solution's and the tests' one after the other, say what they are told to say."""
    scripts = [solution, judges[0]]
    for judge in judges[1:]:
        scripts += [solution, judge]
    return run(tested(Shell(*scripts), Limits(), "", tests, "f"))  # type: ignore[arg-type]


def verdict(outcome: str, **more: Any) -> bytes:
    return frame("v", json.dumps({"outcome": outcome, "error": "", "traceback": "", **more}).encode())


LOADED = says(LOCKED, frame("l", b"{}"))
ANSWERS = says(LOCKED, frame("l", b"{}"), frame("r", b'{"value": 1}'))
CALLS = frame("c", b"{}")
NEVER = "the test ended without calling the solution"


@pytest.mark.parametrize(
    ("solution", "judge", "result"),
    [
        (ANSWERS, says(LOCKED, CALLS, verdict("passed")), TestResult(True, (), "passed")),
        (ANSWERS, says(LOCKED, verdict("passed")), TestResult(False, (TestFailure("one", NEVER),), "failed")),
        (
            ANSWERS,
            says(LOCKED, CALLS, verdict("no", error="E", traceback="T")),
            TestResult(False, (TestFailure("one", "E", "T"),), "failed"),
        ),
        (
            ANSWERS,
            says(LOCKED, verdict("no", error=3, traceback="x" * 30_000)),
            TestResult(False, (TestFailure("one", "", "x" * 20_000),), "failed"),
        ),
        (
            ANSWERS,
            says(LOCKED, frame("z", b"")),
            TestResult(False, (TestFailure("one", f"the test's process: {INVALID}"),), "crashed"),
        ),
        (
            ANSWERS,
            says(LOCKED) + "kill -XCPU $$",
            TestResult(
                False, (TestFailure("one", "the test's process: the limit on processor time was reached"),), "timeout"
            ),
        ),
        (
            LOADED + "kill -XCPU $$",
            says(LOCKED, CALLS, verdict("passed", traceback="T")),
            TestResult(
                False, (TestFailure("one", "the solution: the limit on processor time was reached", "T"),), "timeout"
            ),
        ),
        (
            LOADED + "kill -XCPU $$",
            says(LOCKED, CALLS, CALLS) + "kill -KILL $$",
            TestResult(
                False, (TestFailure("one", "the solution: the limit on processor time was reached"),), "timeout"
            ),
        ),
        (
            says(LOCKED, frame("l", b"{}"), frame("v", b"{}")),
            says(LOCKED, CALLS, verdict("passed")),
            TestResult(False, (TestFailure("one", "the solution: the process sent an invalid answer"),), "crashed"),
        ),
        (
            says(LOCKED, frame("f", b'{"outcome": "memory", "error": "E", "traceback": "T"}')),
            says(LOCKED),
            TestResult(False, (TestFailure("", "E", "T"),), "memory"),
        ),
        (
            says(LOCKED, frame("f", b"{}")),
            says(LOCKED),
            TestResult(False, (TestFailure("", ""),), "error"),
        ),
        (
            says(LOCKED, frame("v", b"{}")),
            says(LOCKED),
            TestResult(False, (TestFailure("", f"the solution: {INVALID}"),), "crashed"),
        ),
        (
            says(LOCKED) + "kill -XCPU $$",
            says(LOCKED),
            TestResult(False, (TestFailure("", "the solution: the limit on processor time was reached"),), "timeout"),
        ),
    ],
    ids=range(13),
)
def test_each_course_of_a_test_has_its_result(solution: str, judge: str, result: TestResult) -> None:
    wait = "" if "kill" in solution else READS
    assert trial(solution + wait, judge if "kill" in judge else judge + READS) == result


def test_the_worst_of_all_tests_is_told_and_all_failures_in_order() -> None:
    failed = says(LOCKED, CALLS, verdict("no", error="E"), CALLS, frame("z", b""))
    passed = says(LOCKED, CALLS, verdict("passed"), CALLS, verdict("no", error="F"))
    solution = says(LOCKED, frame("l", b"{}"), *[frame("r", b"{}")] * 4)
    result = trial(solution + READS, failed + READS, passed + READS, tests=("one", "two", "three", "four"))
    assert result == TestResult(
        False,
        (TestFailure("one", "E"), TestFailure("two", f"the test's process: {INVALID}"), TestFailure("four", "F")),
        "crashed",
    )
