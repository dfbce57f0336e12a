"""Jobs, limits and results as plain values: they are journalled and replayed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self

#: Of the form of requests and results; part of every request, so that a recording made with another form is not replayed.
PROTOCOL = 1

Outcome = Literal["ok", "error", "timeout", "memory", "output", "crashed"]
TestOutcome = Literal["passed", "failed", "error", "timeout", "memory", "output", "crashed", "no_tests"]


class SandboxRefusedError(Exception):
    """No adequate sandbox: the code was not run. The message is one sentence with the remedy."""


@dataclass(frozen=True)
class Limits:
    """What generated code may use.

    Attributes:
        wall_s: seconds from start to end, of one evaluation or of all tests of a solution together. On Linux, those
            in which they had to wait for a processor don't count.
        cpu_s: seconds of processor time, of each process.
        memory_mb: address space of each process in MiB; numpy and sympy need 512.
        output_kb: text printed and value returned (as JSON), together, in KiB of UTF-8.
        file_mb: size of one file in MiB.
        folder_mb: size of all files of one process in MiB; with Landlock, files that it removed included. No result has more.
            With bubblewrap and in a container neither has the disk; elsewhere the size is looked at, and a program is ended
            when it has more: for a moment the disk has what it writes between two looks.
        open_files: file descriptors of each process.
        threads: threads of each process.
    """

    wall_s: float = 30.0
    cpu_s: int = 20
    memory_mb: int = 1024
    output_kb: int = 1024
    file_mb: int = 8
    folder_mb: int = 64
    open_files: int = 64
    threads: int = 32

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"The limit {field.name} must be above 0.")

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class SandboxJob:
    """One evaluation.

    Attributes:
        code: Python source.
        stdin: what the code reads from standard input.
        entry: function to call after the code ran; None: none, and the code runs as `__main__`.
        arguments: of that function; JSON values.
        timeout_s: instead of the limits' `wall_s`.
    """

    code: str
    stdin: str = ""
    entry: str | None = None
    arguments: tuple[Any, ...] = ()
    timeout_s: float | None = None


@dataclass(frozen=True)
class SandboxResult:
    """What came of an evaluation.

    Attributes:
        outcome: `ok`; `error`, the code raised; `memory`, `timeout`, `output`, a limit was met; `crashed`, the process died.
        value: text (`str()`) of what the function returned; None where nothing was called or nothing came back.
        stdout: what was printed, up to the limit.
        stderr: what was written to standard error, up to the limit.
        error: one sentence, empty when all is well.
        traceback: with the code shown as `solution.py`; empty where there is none.
    """

    outcome: Outcome
    value: str | None = None
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    traceback: str = ""

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True)
class TestFailure:
    """A test that did not pass: its text (empty: the solution itself could not be loaded), one sentence, and a traceback."""

    __test__ = False

    test: str
    error: str
    traceback: str = ""


@dataclass(frozen=True)
class TestResult:
    """What came of testing a solution.

    Attributes:
        passed: every test passed, and there was one at least.
        failures: in the tests' order.
        outcome: `passed`; `failed`, by a test; `error`, the solution could not be loaded; `no_tests`; else as in `SandboxResult`.
    """

    __test__ = False

    passed: bool
    failures: tuple[TestFailure, ...]
    outcome: TestOutcome

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "outcome": self.outcome,
            "failures": [dataclasses.asdict(failure) for failure in self.failures],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["passed"], tuple(TestFailure(**failure) for failure in data["failures"]), data["outcome"])


@dataclass(frozen=True)
class BackendStatus:
    """A back end of the sandbox, usable or not, for `merrow doctor`.

    Attributes:
        name: as asked for in `Sandbox(backend=...)`.
        usable: whether it works here and now.
        why: one sentence: what it is made of here, or what is missing.
        holds: what it keeps generated code from.
    """

    name: str
    usable: bool
    why: str
    holds: tuple[str, ...]
