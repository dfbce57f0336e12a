"""A server that is a program: started, spoken to in lines on its standard streams, and ended with all that it has started.

It takes the place of `mcp.client.stdio.stdio_client`, which (in mcp 2.3) knows no bounds: a line without an end is copied
again with each piece of it until the time-out, bytes that are not UTF-8 wait for the time-out and end in a UnicodeDecodeError,
lines that are not messages and any number of notifications are read on, and what leaves the process group outlives the
session. When the package has such bounds, this module and `supervisor` are deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from merrow_runtime.outside.scripts import script
from merrow_runtime.outside.traffic import DEEPEST

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

LONGEST_LINE = 8 * 2**20
"""Bytes of a message."""
MOST_STRAY_LINES = 3
"""Lines that are no messages, with which a server is ended: one or two are what people print by mistake."""
KEPT_STDERR = 64 * 1024
"""Bytes of the end of its standard error."""
_GRACE_SECONDS = 1.0
"""In which a server may end by itself once its input is closed."""
_SHOWN = 100
_SUPERVISOR = "supervisor.py"


class Program:
    """A server's process. As an async context manager it gives the two streams that a session needs; at its end the process is
    gone with its descendants. ``end`` is called with what went wrong, the rest of a sentence after the server's name; then the
    streams are closed. ``write_seconds`` is how long the program may leave a message unread.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str | None,
        *,
        write_seconds: float,
        end: Callable[[str], None],
    ) -> None:
        self._command, self._environment, self._folder = command, environment, folder
        self._write_seconds, self._end = write_seconds, end
        self._tasks: list[asyncio.Task[None]] = []
        self.is_refused = False
        """Whether it is ended without waiting for it to end by itself."""
        self.stderr = bytearray()

    async def __aenter__(self) -> tuple[Any, Any]:
        self._control, command = -1, list(self._command)
        given: dict[str, Any] = {}
        kept = -1
        if os.name == "posix":
            kept, self._control = os.pipe()
            # -I and -S: it needs nothing of the user's Python, and starts in 20 ms.
            command = [sys.executable, "-I", "-S", *script(_SUPERVISOR), str(kept), *command]
            given = {"pass_fds": (kept,), "start_new_session": True}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                env=dict(self._environment),
                cwd=self._folder,
                **given,
            )
        except BaseException:
            self._close_control()
            raise
        finally:
            if kept >= 0:
                os.close(kept)
        arrives: MemoryObjectSendStream[SessionMessage | Exception]
        incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
        outgoing: MemoryObjectSendStream[SessionMessage]
        leaves: MemoryObjectReceiveStream[SessionMessage]
        arrives, incoming = anyio.create_memory_object_stream(0)
        outgoing, leaves = anyio.create_memory_object_stream(0)
        self._streams = (arrives, incoming, outgoing, leaves)
        self._tasks = [asyncio.create_task(task) for task in (self._keep_stderr(), self._read(), self._write())]
        return incoming, outgoing

    async def __aexit__(self, *_: object) -> None:
        # Not by a scope of anyio: whatever cancels this, no process may stay.
        await asyncio.shield(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 (a pipe)
        for task in self._tasks[1:]:
            task.cancel()
        if not self.is_refused:
            stdin.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended(), _GRACE_SECONDS)
        self._close_control()
        if os.name != "posix" and self._process.returncode is None:
            self._process.kill()
        await self._ended()
        self._tasks[0].cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for stream in self._streams:
            stream.close()
        # The streams of what could not be killed stay open otherwise.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _ended(self) -> int:
        """Its exit code. `Process.wait` waits until its streams end, too."""
        while self._process.returncode is None:
            await asyncio.sleep(0.005)
        return self._process.returncode

    def _close_control(self) -> None:
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    async def _read(self) -> None:
        stdout, arrives = self._process.stdout, self._streams[0]
        assert stdout is not None  # noqa: S101 (a pipe)
        stray = 0
        with arrives, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                try:
                    line = await stdout.readuntil()
                except asyncio.LimitOverrunError:
                    self._end(f"sent a line of more than {LONGEST_LINE // 2**20} MB")
                    return
                except asyncio.IncompleteReadError:
                    # What it said last on its standard error explains it.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(asyncio.shield(self._tasks[0]), _GRACE_SECONDS)
                        await asyncio.wait_for(self._ended(), _GRACE_SECONDS)
                    code = self._process.returncode
                    self._end("closed its standard output" if code is None else f"ended with exit code {code}")
                    return
                try:
                    message = _message(line)
                except RecursionError:
                    self._end(f"sent a message of more than {DEEPEST} levels")
                    return
                if message is not None:
                    await arrives.send(message)
                    continue
                stray += 1
                if stray == MOST_STRAY_LINES:
                    text = line[:_SHOWN].decode("utf-8", "replace").strip()
                    self._end(f"writes lines that are not messages of the protocol, such as {text!r}")
                    return

    async def _write(self) -> None:
        stdin, leaves = self._process.stdin, self._streams[3]
        assert stdin is not None  # noqa: S101 (a pipe)
        with leaves:
            async for item in leaves:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(f"{line}\n".encode())
                try:
                    await asyncio.wait_for(stdin.drain(), self._write_seconds)
                except TimeoutError:
                    self._end(f"did not read what it was sent within {self._write_seconds:g} seconds")
                    return
                except OSError:
                    return  # It is gone, which is noticed where it is read from.

    async def _keep_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 (a pipe)
        while data := await stderr.read(65_536):
            self.stderr += data
            del self.stderr[:-KEPT_STDERR]


def _message(line: bytes) -> SessionMessage | None:
    """The message in a line; None where there is none. Raises `RecursionError` for one with a thousand levels or so."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), strict=False)
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except ValueError:
        return None
