"""A server's process and the bare bytes between it and a test."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

Json = dict[str, Any]
WAIT = PATIENCE
"""Seconds after which a server that says nothing counts as hanging."""


def frame(content: Json | list[Any] | bytes) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def message(method: str, params: Any = None, identifier: int | str | None = None) -> bytes:
    content: Json = {"jsonrpc": "2.0", "method": method, "params": params}
    return frame(content if identifier is None else {**content, "id": identifier})


class Wire:
    """``merrow serve`` in a process of its own, which is ended with the test whatever happens."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", "serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._messages: queue.Queue[Json | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def send(self, *data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(data))
        self.process.stdin.flush()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def receive(self) -> Json:
        """The next message; fails where there is none."""
        found = self._messages.get(timeout=WAIT)
        assert found is not None, "the server ended"
        return found

    def answer(self, identifier: int | str | None) -> Json:
        """The answer to a request; other messages are passed over."""
        while True:
            found = self.receive()
            if "method" not in found and found["id"] == identifier:
                return found

    def notification(self, method: str) -> Json:
        while True:
            found = self.receive()
            if found.get("method") == method:
                return dict(found["params"])

    def initialize(self, process_id: int | None = None, folder: Path | None = None) -> Json:
        params = {"processId": process_id, "rootUri": folder.as_uri() if folder else None, "capabilities": {}}
        self.send(message("initialize", params, 0))
        answer = self.answer(0)
        self.send(message("initialized", {}))
        return answer

    def exit_code(self) -> int:
        return self.process.wait(WAIT)

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            header = stream.readline()
            if not header:
                self._messages.put(None)
                return
            while stream.readline().strip():
                continue
            self._messages.put(json.loads(stream.read(int(header.split(b":")[1]))))
