"""The two ends of a test of a solution in this very process: what they say to each other, frame by frame.

Tests of the frames themselves; that the ends hold in processes of their own is tested elsewhere.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterable
from textwrap import dedent
from typing import Any

from tests.patience import PATIENCE

from merrow_runtime.sandbox.guest.solution import serve
from merrow_runtime.sandbox.guest.verdict import judge

Frame = tuple[str, Any]


class EndedError(Exception):
    """There are no more frames."""


class End:
    """One end of a channel: takes frames from a queue and hands on what is sent."""

    def __init__(self, to: queue.Queue[Frame | None]) -> None:
        self.incoming: queue.Queue[Frame | None] = queue.Queue()
        self.sent: list[Frame] = []
        self.refused: list[Exception] = []
        """What the next frames that are sent meet in place of their way."""
        self._to = to

    def send(self, kind: bytes, value: Any) -> None:
        if self.refused:
            raise self.refused.pop(0)
        frame = (kind.decode(), json.loads(json.dumps(value, allow_nan=False)))
        self.sent.append(frame)
        self._to.put(frame)

    def receive(self) -> tuple[bytes, Any]:
        frame = self.incoming.get(timeout=PATIENCE)
        if frame is None:
            raise EndedError
        return frame[0].encode(), frame[1]

    def receive_bytes(self) -> tuple[bytes, bytes]:
        kind, value = self.receive()
        return kind, value if isinstance(value, bytes) else json.dumps(value).encode()


def _until_ended(work: Any, channel: End, job: dict[str, Any]) -> list[Frame]:
    known = {name: sys.modules.get(name) for name in ("solution", "test")}
    try:
        work(channel, job)
    except EndedError:
        return channel.sent
    finally:
        for name, module in known.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    raise AssertionError("it ended by itself")


def served(code: str, *frames: Frame, entry: str = "f", refused: Iterable[Exception] = ()) -> list[Frame]:
    """What the solution's end says of itself and answers to these frames, where the first that it sends are refused so."""
    channel = End(queue.Queue())
    channel.refused.extend(refused)
    for frame in (*frames, None):
        channel.incoming.put(frame)
    return _until_ended(serve, channel, {"code": dedent(code), "entry": entry})


def judged(code: str, *frames: Frame, entry: str = "f") -> list[Frame]:
    """What the tests' end says when it is sent these frames."""
    channel = End(queue.Queue())
    for frame in (*frames, None):
        channel.incoming.put(frame)
    return _until_ended(judge, channel, {"code": dedent(code), "entry": entry})


class TestsEnd(End):
    """The tests' end; after each verdict it is sent the next frames."""

    def __init__(self, to: queue.Queue[Frame | None], turns: list[list[Frame]]) -> None:
        super().__init__(to)
        self.verdicts: list[dict[str, Any]] = []
        self._turns = turns
        self._next()

    def _next(self) -> None:
        for frame in self._turns.pop(0) if self._turns else [None]:
            self.incoming.put(frame)

    def send(self, kind: bytes, value: Any) -> None:
        if kind == b"v":
            self.verdicts.append(value)
            self._next()
        else:
            super().send(kind, value)


def talked(code: str, *tests: str, entry: str = "f") -> tuple[list[dict[str, Any]], list[Frame]]:
    """The verdicts of tests on a solution, and all that the tests' end said to the solution's."""
    job = {"code": dedent(code), "entry": entry}
    loaded: queue.Queue[Frame | None] = queue.Queue()
    solution = End(loaded)

    def serving() -> None:
        try:
            _until_ended(serve, solution, job)
        finally:
            solution._to.put(None)  # who waits for an answer of it hears of its end

    thread = threading.Thread(target=serving, daemon=True)
    thread.start()
    names = loaded.get(timeout=PATIENCE)
    assert names is not None
    turns: list[list[Frame]] = [[("t", {"number": n, "test": dedent(test)})] for n, test in enumerate(tests, 1)]
    tests_end = TestsEnd(solution.incoming, [[names, *turns[0]], *turns[1:]])
    solution._to = tests_end.incoming
    _until_ended(judge, tests_end, job)
    solution.incoming.put(None)
    thread.join(PATIENCE)
    return tests_end.verdicts, tests_end.sent
