"""Recordings: a run's calls in a file of JSON lines, to repeat it offline.

The first line is a header, each further one a call. A call is found by its visit, sample, step, attempt and request, so
the order in which answers arrive does not matter. ``path`` and ``redo`` of the visit are written where they say something.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from merrow_runtime.errors import ReplayMiss, StoreFailure, UsageFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import Usage

FORMAT = 1
MARK = "merrow_recording"
CASES_MARK = "cases"
"""In the header of a recording of cases (`merrow_runtime.store.recordings.case_recording`)."""
ANSWERS_MARK = "answers"
"""In the header of a recording of all answers of models (`merrow_runtime.store.recordings.answer_recording`)."""
_SHOWN = 60


class KeepsCalls(Protocol):
    """What a run hands its calls to, each before its result is used."""

    def begin(self) -> None:
        """The run begins."""

    async def record(self, call: CallRecord) -> None:
        """Add a call."""

    def write(self, call: CallRecord) -> None:
        """The same, outside an event loop."""

    def close(self) -> None:
        """The run has ended."""


class Recorder:
    """Writes a recording. Each call is in the file before its result is used."""

    def __init__(self, path: Path, header: Mapping[str, Any] | None = None) -> None:
        """Open the file at ``path``; ``header`` is what a reader should know. What is in it stays there until `begin`,
        since a run may yet be refused. Raises `UsageFailure`.
        """
        self._path = path
        self._header = {MARK: FORMAT, **(header or {})}
        try:
            self._file: TextIO = path.open("a", encoding="utf-8", newline="\n")
        except OSError as problem:
            raise UsageFailure(f"The recording {path} can't be written ({problem.strerror}).") from None
        self._holds = self._file.seekable() and self._file.tell() > 0
        if not self._holds:
            begin_file(self._file, self._path, self._header)

    def begin(self) -> None:
        """Begin the recording in place of what was there. Raises `UsageFailure`."""
        if self._holds:
            self._file.truncate(0)
            begin_file(self._file, self._path, self._header)

    async def record(self, call: CallRecord) -> None:
        """Add a call. Raises `StoreFailure` where the file can't be written any more."""
        self.write(call)

    def write(self, call: CallRecord) -> None:
        """The same, outside an event loop."""
        write_line(self._file, self._path, line_of(call))

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # of a full disk; every line was written out, or its failure reported
            self._file.close()


def begin_file(file: TextIO, path: Path, header: Mapping[str, Any]) -> None:
    """Write the first line of a recording. Raises `UsageFailure`, and closes the file, where that can't be."""
    try:
        write_line(file, path, header)
    except StoreFailure as problem:
        with contextlib.suppress(OSError):
            file.close()
        raise UsageFailure(str(problem)) from None


def write_line(file: TextIO, path: Path, content: Mapping[str, Any]) -> None:
    """Write one line of a recording, and have it written out. Raises `StoreFailure`."""
    try:
        file.write(json.dumps(content) + "\n")
        file.flush()
    except OSError as problem:
        raise StoreFailure(f"The recording {path} can't be written ({problem.strerror}).") from None


REVISER = "@revise"
"""What the visits are called in which a reviser asks; no node has such an id."""


class Replay:
    """Answers from a recording, and from nowhere else unless it ``may_ask`` for those that it does not have.

    ``misses`` are the calls that were looked for and are not in it.
    """

    def __init__(
        self,
        path: str,
        header: Mapping[str, Any],
        calls: Mapping[tuple[CallKey, str], CallRecord],
        *,
        may_ask: bool = False,
    ) -> None:
        """``calls`` by their keys and the hashes of their requests; `Replay.read` has them from a file."""
        self.path = path
        self.header = header
        self.may_ask = may_ask
        self.misses: list[CallKey] = []
        self._calls = calls

    @classmethod
    def read(cls, path: Path) -> Replay:
        """Read a recording. Raises `UsageFailure` naming the line that can't be understood."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
            raise UsageFailure(f"The recording {path} can't be read ({reason}).") from None
        header = object_of(path, 1, lines[0] if lines else "")
        if header.get(CASES_MARK):
            raise UsageFailure(f"{path} is the recording of cases; run them with: merrow test")
        if header.get(ANSWERS_MARK):
            raise UsageFailure(f"{path} is the recording of an extraction; use it with: merrow extract ... --replay")
        if header.get(MARK) != FORMAT:
            raise UsageFailure(
                f"{path} is not a recording of this version of Merrow; make one with: merrow run ... --record"
            )
        calls: dict[tuple[CallKey, str], CallRecord] = {}
        for number, line in enumerate(lines[1:], start=2):
            if line.strip():
                call = call_of(path, number, object_of(path, number, line))
                calls[call.key, call.request_hash] = call
        return cls(str(path), header, calls)

    @property
    def model(self) -> str | None:
        """The model that was asked where neither node nor workflow names one; None where the recording says nothing of it."""
        return model_of(self.header)

    def find(self, key: CallKey, request_hash: str) -> CallRecord | None:
        """The recorded call, where there is one. Of a reviser it is the one of its number, whatever it was shown then: what had
        finished by then is a matter of time.
        """
        recorded = self._calls.get((key, request_hash))
        if recorded is None and key.node == REVISER:
            recorded = next((call for (known, _), call in self._calls.items() if known == key), None)
        return recorded

    def recall(self, key: CallKey, request_hash: str) -> CallRecord:
        """The recorded call. Raises `ReplayMiss` that names the node, the step and what is there instead."""
        call = self.find(key, request_hash)
        if call is not None:
            return call
        self.misses.append(key)
        where = f"node {key.visit.name}, step {key.step!r}"
        if key.sample:
            where += f", sample {key.sample + 1}"
        if key.attempt:
            where += f", attempt {key.attempt + 1}"
        if any(known == key for known, _ in self._calls):
            raise ReplayMiss(
                f"The recording {self.path} has another request at {where}: the workflow, its inputs, its model or a prompt"
                " changed since. Record it again."
            )
        raise ReplayMiss(f"The recording {self.path} has no answer at {where}. Record the run again.")


def line_of(call: CallRecord) -> dict[str, Any]:
    """A call as a line of a recording has it."""
    key = call.key
    return {
        "node": key.node,
        **({"path": key.path} if key.path else {}),
        **({"redo": key.redo} if key.redo else {}),
        "sample": key.sample,
        "step": key.step,
        "attempt": key.attempt,
        "kind": call.kind,
        "request_hash": call.request_hash,
        "request": call.request,
        "result": call.result,
        "usage": call.usage.to_json(),
        "usable": call.usable,
    }


def object_of(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object of a line. Raises `UsageFailure` where it is none."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise UsageFailure(f"Line {number} of the recording {path} is not a JSON object: {line[:_SHOWN]!r}.")
    return content


def header_of(workflow: str, seed: int, model: str) -> dict[str, Any]:
    """What the recording of a run says first; ``model`` is that of nodes for which nothing names one."""
    return {"workflow": workflow, "seed": seed, "model": model}


def model_of(header: Mapping[str, Any]) -> str | None:
    """The model that a header names; None where it names none."""
    model = header.get("model")
    return model if isinstance(model, str) and model else None


def _model(content: Mapping[str, Any]) -> str:
    result = content["result"]
    return str(result.get("model", "")) if content["kind"] == "model" and isinstance(result, Mapping) else ""


def call_of(path: Path, number: int, content: Mapping[str, Any]) -> CallRecord:
    """The call of a line. Raises `UsageFailure` where it is none."""
    try:
        key = CallKey(
            content["node"],
            content["sample"],
            content["step"],
            content["attempt"],
            content.get("path", ""),
            content.get("redo", 0),
        )
        texts, numbers = (key.node, key.step, key.path, content["request_hash"]), (key.sample, key.attempt, key.redo)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(figure, int) for figure in numbers):
            raise UsageFailure(f"Line {number} of the recording {path} is not a recorded call.")
        return CallRecord(
            key,
            content["kind"],
            content["request_hash"],
            text_of(content["request"]),
            text_of(content["result"]),
            Usage.from_json(content["usage"]),
            content["usable"],
            "replay",
            model=_model(content),
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise UsageFailure(
            f"Line {number} of the recording {path} lacks {problem}; it is not a recorded call."
        ) from None
