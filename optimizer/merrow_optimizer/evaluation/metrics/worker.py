"""A process for work that can hang: patterns, schemas, mathematics. It is killed and replaced when an answer takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import Any, cast

from merrow_optimizer.evaluation.scores import InvalidItemError

LIMIT_S = 2.0
"""Seconds for one answer."""
_START_S = 120.0
_LONGEST_LINE = 64 * 1024 * 1024


class Worker:
    """One process that answers one question at a time; the others wait. ``work`` is what `guest` does in it."""

    def __init__(self, work: str, limit_s: float = LIMIT_S) -> None:
        self._work = work
        self._limit_s = limit_s
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

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
            process = await self._started()
            try:
                async with asyncio.timeout(self._limit_s):
                    answer = await _exchange(process, question)
            except TimeoutError:
                await self._end()
                raise InvalidItemError(f"the comparison took longer than {self._limit_s:g} s") from None
            except BaseException:
                await self._end()
                raise
            if answer is None:
                await self._end()
                raise InvalidItemError("the process that compares ended, probably for want of memory")
            return answer

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            await self._end()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        # Nothing of the user's environment is handed on: it may have keys.
        kept = {
            name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "TEMP") if name in os.environ
        }
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "merrow_optimizer.evaluation.metrics.guest", self._work, str(self._limit_s)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_START_S):
                ready = await _received(self._process)
        except BaseException:
            await self._end()
            raise
        if ready is None:
            await self._end()
            raise InvalidItemError("the process that compares could not be started")
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        cast("asyncio.StreamWriter", process.stdin).close()
        await process.wait()


async def _exchange(process: asyncio.subprocess.Process, question: dict[str, Any]) -> dict[str, Any] | None:
    stdin = cast("asyncio.StreamWriter", process.stdin)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(json.dumps(question).encode() + b"\n")
        await stdin.drain()
    return await _received(process)


async def _received(process: asyncio.subprocess.Process) -> dict[str, Any] | None:
    """The next answer; None where the process ended."""
    line = await cast("asyncio.StreamReader", process.stdout).readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer
