"""Bytes in and out: frames of the base protocol over standard input and output or a socket, and the life of the process.

pygls' own reader asks a thread for each line of a header and for each body (260 µs a message, this one 7), and hands over one
message at a time. Here a thread reads ahead, so that messages that arrive together are handled together: of a burst of changes
only the last state is checked, and a request that was cancelled while it waited is not worked on. The server ends when the
client says so, closes its end, or is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from merrow_server.lsp.memory import IdleCollector

if TYPE_CHECKING:
    from merrow_server.lsp.server import MerrowServer

log = logging.getLogger(__name__)

LARGEST_MESSAGE = 1 << 29
"""Bytes; a longer message is taken for a broken header."""
_LARGEST_HEADER = 1 << 14
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*(?:\r?\n|$)", re.I)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_GATHER = 0.00015
"""Seconds to wait for more after a change: a client sends a burst with less between its messages."""
_MOST_TOGETHER = 256
_PARENT_CHECK = 3.0
"""Seconds between looks at whether the client's process still runs."""


class Frames:
    """Cuts a stream of bytes into messages. What is no message is skipped and counted in ``broken``."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted: int | None = None
        self.broken = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are whole with ``data``."""
        buffer = self._buffer
        buffer += data
        while True:
            if self._wanted is None:
                end = _HEADER_END.search(buffer)
                if end is None:
                    if len(buffer) > _LARGEST_HEADER:
                        self.broken += 1
                        del buffer[: -len(b"Content-Length: ")]
                    return
                header = bytes(buffer[: end.start()])
                del buffer[: end.end()]
                # Reading starts again at a length, whatever stands before it.
                self.broken += len(header) > _LARGEST_HEADER
                lengths = _LENGTH.findall(header[-_LARGEST_HEADER:])
                if not lengths or int(lengths[-1]) > LARGEST_MESSAGE:
                    self.broken += 1
                    continue
                self._wanted = int(lengths[-1])
            if len(buffer) < self._wanted:
                return
            body = bytes(buffer[: self._wanted])
            del buffer[: self._wanted]
            self._wanted = None
            yield body


class ClientConnection:
    """What a server is connected to: takes messages to it, and keeps the exit code for when it is over."""

    def __init__(self, server: MerrowServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = self._loop.create_future()
        self._frames = Frames()
        self._told = 0
        self._collector = IdleCollector(self._loop)

    async def ended(self) -> int:
        """Wait for the end; the exit code of the process."""
        return await self._over

    def end(self, code: int) -> None:
        """End the server with this exit code; the first call counts."""
        if not self._over.done():
            self._over.set_result(code)

    def closed(self) -> None:
        """The client closed its end: a clean end after ``shutdown``, else none."""
        self.end(0 if self._server.protocol.is_shut_down else 1)

    def receive(self, data: bytes) -> None:
        """Bytes from the client."""
        self.handle(list(self._frames.feed(data)), self._frames.broken)

    def handle(self, bodies: list[bytes], broken: int = 0) -> None:
        """Messages from the client, in order, and how many pieces of the stream were none so far."""
        if broken > self._told:
            self._told = broken
            self._server.protocol.refuse_broken_frame()
        self._server.protocol.receive_all(bodies)
        self._collector.active()

    def watch(self, process: int) -> None:
        """End the server when the client's process is gone."""
        if is_alive(process):
            self._loop.call_later(_PARENT_CHECK, self._look_after, process)

    def _look_after(self, process: int) -> None:
        if is_alive(process):
            self._loop.call_later(_PARENT_CHECK, self._look_after, process)
        else:
            log.warning("The client's process is gone.")
            self.end(1)


class _Output:
    """Writes to a file descriptor, all of it."""

    def __init__(self, descriptor: int, connection: ClientConnection) -> None:
        self._descriptor = descriptor
        self._connection = connection

    def write(self, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            self._connection.closed()

    def close(self) -> None:
        """The descriptor is closed with the process."""


def run_stdio(server: MerrowServer) -> int:
    """Serve the client on standard input and output; the exit code of the process."""
    sys.stdout.flush()
    output = os.dup(sys.stdout.fileno())
    # Whatever prints must not get between the messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return asyncio.run(_serve_stdio(server, sys.stdin.fileno(), output))


async def _serve_stdio(server: MerrowServer, input_descriptor: int, output_descriptor: int) -> int:
    connection = ClientConnection(server)
    server.connect(connection, _Output(output_descriptor, connection))
    loop = asyncio.get_running_loop()
    _end_with_signals(connection)
    thread = threading.Thread(target=_read_ahead, args=(input_descriptor, connection, loop), daemon=True)
    thread.start()
    return await connection.ended()


def _end_with_signals(connection: ClientConnection) -> None:
    """End as when the client goes, so that runs come to their end in the journal. An ignored SIGHUP (`nohup`) stays so."""
    signals = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    for number in signals:
        with contextlib.suppress(NotImplementedError, ValueError):  # Windows; a thread that is not the main one
            asyncio.get_running_loop().add_signal_handler(number, connection.closed)


def _read_ahead(descriptor: int, connection: ClientConnection, loop: asyncio.AbstractEventLoop) -> None:
    """Read messages and hand them to the loop, those together that arrive together."""
    frames = Frames()
    bodies: list[bytes] = []
    with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended
        while True:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                data = b""
            bodies += frames.feed(data)
            if data and 0 < len(bodies) < _MOST_TOGETHER and _is_change(bodies[-1]) and _more_follows(descriptor):
                continue
            if bodies or frames.broken:
                loop.call_soon_threadsafe(connection.handle, bodies, frames.broken)
                bodies = []
            if not data:
                loop.call_soon_threadsafe(connection.closed)
                return


def _is_change(body: bytes) -> bool:
    return b'"textDocument/didChange"' in body[:200] or b'"textDocument/didChange"' in body[-200:]


def _more_follows(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False  # select knows only sockets there
    return bool(select.select([descriptor], [], [], _GATHER)[0])


def run_tcp(server: MerrowServer, port: int) -> int:
    """Serve the first client that connects to ``port`` of this machine (0: any free port, told on standard error)."""
    return asyncio.run(_serve_tcp(server, port))


async def _serve_tcp(server: MerrowServer, port: int) -> int:
    connection = ClientConnection(server)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if server.is_connected:
            writer.close()
            return
        server.connect(connection, writer)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                connection.receive(data)
        connection.closed()

    _end_with_signals(connection)
    listener = await asyncio.start_server(connected, "127.0.0.1", port)
    print(f"Merrow listens on 127.0.0.1:{listener.sockets[0].getsockname()[1]}.", file=sys.stderr, flush=True)  # noqa: T201
    code = await connection.ended()
    listener.close()
    return code


def is_alive(process: int) -> bool:
    """Whether a process with this number runs."""
    if process <= 0:
        return False
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x100000, False, process)  # SYNCHRONIZE
        if not handle:
            return False
        waited = ctypes.windll.kernel32.WaitForSingleObject(handle, 0)
        ctypes.windll.kernel32.CloseHandle(handle)
        return bool(waited == 0x102)  # WAIT_TIMEOUT: it has not ended
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it runs for somebody else
    return True
