"""The recording of a workflow's cases: a file of JSON lines beside it, with the calls of every case and repeat.

Each line of a call is that of any recording with ``case`` and ``repeat`` in front. A line with ``output`` says what the
case gave with them, so that a new recording can say what is different.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_runtime.errors import UsageFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.recordings.recording import (
    CASES_MARK,
    FORMAT,
    MARK,
    Replay,
    call_of,
    line_of,
    model_of,
    object_of,
)
from merrow_runtime.values import canonical

Take = tuple[str, int]
"""A case by its id, and which repeat of it, from 0."""


@dataclass(slots=True)
class RecordedTake:
    """What one take recorded: its calls with the lines that they came from, and its output, where it has one."""

    calls: dict[tuple[CallKey, str], tuple[CallRecord, dict[str, Any]]] = field(default_factory=dict)
    output: Any = None
    has_output: bool = False


class CaseRecording:
    """What the recording at ``path`` has. ``model`` is that of its calls, where neither node nor workflow names one."""

    def __init__(self, path: Path, header: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.header: dict[str, Any] = {MARK: FORMAT, CASES_MARK: True, **(header or {})}
        self._takes: dict[Take, RecordedTake] = {}

    @property
    def model(self) -> str | None:
        """The model that was asked where neither node nor workflow names one; None where the recording says nothing of it."""
        return model_of(self.header)

    @classmethod
    def read(cls, path: Path) -> CaseRecording:
        """Read the file at ``path``. Raises `UsageFailure` naming the line that can't be understood."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
            raise UsageFailure(f"The recording {path} can't be read ({reason}).") from None
        header = object_of(path, 1, lines[0] if lines else "")
        if header.get(MARK) != FORMAT or not header.get(CASES_MARK):
            raise UsageFailure(
                f"{path} is not a recording of cases; move it away, and record them: merrow test --record"
            )
        recording = cls(path, header)
        for number, line in enumerate(lines[1:], start=2):
            if line.strip():
                recording._take(number, object_of(path, number, line))
        return recording

    def _take(self, number: int, content: dict[str, Any]) -> None:
        case, repeat = content.pop("case", None), content.pop("repeat", 0)
        if not isinstance(case, str) or not isinstance(repeat, int):
            raise UsageFailure(f"Line {number} of the recording {self.path} names no case.")
        taken = self._takes.setdefault((case, repeat), RecordedTake())
        if "output" in content:
            taken.output, taken.has_output = content["output"], True
            return
        call = call_of(self.path, number, content)
        taken.calls[call.key, call.request_hash] = call, content

    def of(self, case: str, repeat: int) -> RecordedTake:
        """What a take recorded; nothing where it was not recorded."""
        return self._takes.get((case, repeat)) or RecordedTake()

    def replay(self, case: str, repeat: int, *, may_ask: bool = False, fresh: bool = False) -> Replay:
        """The answers of one take; none of them where ``fresh`` ones are to take their place."""
        calls = {} if fresh else {key: call for key, (call, _) in self.of(case, repeat).calls.items()}
        return Replay(str(self.path), self.header, calls, may_ask=may_ask)

    def keep(self, case: str, repeat: int, calls: Iterable[CallRecord], output: Any, *, fresh: bool = False) -> None:
        """Put a take in place of what was there. A call that was there stays as it was written, unless it is ``fresh``."""
        before = {} if fresh else self.of(case, repeat).calls
        kept = RecordedTake(output=output, has_output=True)
        for call in calls:
            place = call.key, call.request_hash
            kept.calls[place] = before.get(place) or (call, line_of(call))
        self._takes[case, repeat] = kept

    def text(self, cases: Iterable[str]) -> str:
        """The file with the takes of ``cases``, in their order; those of other cases are dropped.

        Calls are in the order of their places, not of their ends, so that the same answers give the same file.
        """
        lines = [json.dumps(self.header)]
        for case in cases:
            for (_, repeat), taken in sorted(
                ((take, call) for take, call in self._takes.items() if take[0] == case), key=lambda pair: pair[0]
            ):
                front = {"case": case, "repeat": repeat}
                ordered = sorted(taken.calls.items(), key=lambda pair: _order(pair[0]))
                lines += [json.dumps({**front, **line}) for _, (_, line) in ordered]
                if taken.has_output:
                    lines.append(json.dumps({**front, "output": taken.output}))
        return "\n".join(lines) + "\n"


def _order(place: tuple[CallKey, str]) -> tuple[Any, ...]:
    key, request_hash = place
    return key.path, key.node, key.redo, key.sample, key.step, key.attempt, request_hash


def same_output(output: Any, other: Any) -> bool:
    """Whether two outputs are equal as JSON, where true is not 1."""
    return canonical(output) == canonical(other)


class CallList:
    """Keeps the calls of a run in memory, as they come."""

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    def begin(self) -> None:
        """See `merrow_runtime.store.recordings.recording.KeepsCalls`."""
        self.calls.clear()

    async def record(self, call: CallRecord) -> None:
        """See `merrow_runtime.store.recordings.recording.KeepsCalls`."""
        self.calls.append(call)

    def write(self, call: CallRecord) -> None:
        """See `merrow_runtime.store.recordings.recording.KeepsCalls`."""
        self.calls.append(call)

    def close(self) -> None:
        """See `merrow_runtime.store.recordings.recording.KeepsCalls`."""
