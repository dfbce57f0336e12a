"""A process for work that can hang: patterns, schemas, mathematics. It is killed and replaced when an answer takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import Any

from merrow_optimizer.evaluation.scores import InvalidItemError

LIMIT_S = 2.0
"""Seconds of processor time for one answer: on a busy machine an item must not become invalid."""
_PATIENCE = 5
"""How many times as long an answer may take by the clock."""
_START_S = 120.0


class MetricWorker:
    """One process that answers one question at a time; the others wait. ``work`` is what `guest` does in it.

    A thread waits for its answers. asyncio's own processes can't be used: one that is cancelled while it starts hangs the event
    loop's end.
    """

    def __init__(self, work: str, limit_s: float = LIMIT_S) -> None:
        self._work = work
        self._limit_s = limit_s
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start the process, if it doesn't run, and wait until it is ready.

        Raises:
            InvalidItemError: it could not be started.
        """
        async with self._turn:
            await self._started()

    async def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question, both JSON.

        Raises:
            InvalidItemError: there was none in time, or the process ended.
        """
        async with self._turn:
            await self._started()
            try:
                answer = await self._exchange(json.dumps(question).encode() + b"\n", _PATIENCE * self._limit_s)
            except TimeoutError:
                raise InvalidItemError(f"the comparison took longer than {self._limit_s:g} s") from None
            if answer is None:
                raise InvalidItemError("the process that compares ended, probably for want of memory")
            return answer

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            self._end()

    async def _started(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        # Nothing of the user's environment is handed on: it may have keys.
        kept = {
            name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "TEMP") if name in os.environ
        }
        self._process = subprocess.Popen(  # noqa: S603 (our own module, with this interpreter)
            [sys.executable, "-P", "-m", "merrow_optimizer.evaluation.metrics.guest", self._work, str(self._limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )
        ready = None
        with contextlib.suppress(TimeoutError):
            ready = await self._exchange(b"", _START_S)
        if ready is None:
            raise InvalidItemError("the process that compares could not be started")

    async def _exchange(self, line: bytes, limit_s: float) -> dict[str, Any] | None:
        """The next answer after a line is sent; None where the process ended. Without an answer the process is ended.

        Raises:
            TimeoutError: there was none in time.
        """
        process = self._process
        answer = None
        if process is None:
            return None
        try:
            async with asyncio.timeout(limit_s):
                answer = await asyncio.to_thread(_sent_and_received, process, line)
        finally:
            if answer is None:
                self._end()  # the thread's reading ends with the process
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _sent_and_received(process: subprocess.Popen[bytes], line: bytes) -> dict[str, Any] | None:
    if process.stdin is None or process.stdout is None:
        return None
    try:
        process.stdin.write(line)
        process.stdin.flush()
        received = process.stdout.readline()
    except (OSError, ValueError):  # the process or its pipes were ended
        return None
    if not received.endswith(b"\n"):
        if hasattr(signal, "SIGPROF") and process.wait() == -signal.SIGPROF:
            raise TimeoutError
        return None
    answer: dict[str, Any] = json.loads(received)
    return answer
