"""A client that does next to nothing itself: bytes to a server's process, and the time until it answers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from merrow_analysis.text import TextEdit

Json = dict[str, Any]
CAPABILITIES: Json = {
    "textDocument": {"publishDiagnostics": {"versionSupport": True, "relatedInformation": True, "dataSupport": True}},
    "general": {"positionEncodings": ["utf-32", "utf-16"]},
}


class Client:
    """A server's process with one open document at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        self._input, self._output = self._process.stdin, self._process.stdout
        self._uri, self._version = "", 0
        self._ids = 0
        self.request("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": CAPABILITIES})
        self.start_cpu = self.cpu()
        self.notify("initialized", {})

    def open(self, text: str, name: str, language: str) -> float:
        """Open a document; seconds until its diagnostics came."""
        self._uri, self._version = f"untitled:{name}", 1
        item = {"uri": self._uri, "languageId": language, "version": 1, "text": text}
        start = time.perf_counter()
        self.notify("textDocument/didOpen", {"textDocument": item})
        self._await_diagnostics()
        return time.perf_counter() - start

    def edit(self, *edits: TextEdit) -> float:
        """Send each edit as a change of its own, one after the other; seconds until the diagnostics of the last came."""
        messages = b"".join(self._change(edit) for edit in edits)
        start = time.perf_counter()
        self._input.write(messages)
        self._input.flush()
        self._await_diagnostics()
        return time.perf_counter() - start

    def close_document(self) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": self._uri}})

    def stop(self) -> None:
        self.request("shutdown", None)
        self.notify("exit", None)
        self._process.wait(10)

    def cpu(self) -> float:
        """Seconds of CPU that the process has used; 0 where the system doesn't say."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_exactly(self) -> float:
        """Seconds of CPU that the process has used, to the nanosecond where Linux counts them so, else as `cpu`."""
        tasks = list(Path(f"/proc/{self._process.pid}/task").glob("*/schedstat"))
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9 if tasks else self.cpu()

    def memory(self) -> float:
        """MiB that the process has in memory; 0 where the system doesn't say."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return 0.0
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def request(self, method: str, params: Any) -> Any:
        self._ids += 1
        self._input.write(_message({"id": self._ids, "method": method, "params": params}))
        self._input.flush()
        while True:
            message = self._read()
            if message.get("id") == self._ids and "method" not in message:
                return message.get("result")
            self._answer(message)

    def notify(self, method: str, params: Any) -> None:
        self._input.write(_message({"method": method, "params": params}))
        self._input.flush()

    def _change(self, edit: TextEdit) -> bytes:
        self._version += 1
        (first, start), (last, end) = edit.range
        place = {"start": {"line": first, "character": start}, "end": {"line": last, "character": end}}
        return _message(
            {
                "method": "textDocument/didChange",
                "params": {
                    "textDocument": {"uri": self._uri, "version": self._version},
                    "contentChanges": [{"range": place, "text": edit.new_text}],
                },
            }
        )

    def _await_diagnostics(self) -> None:
        while True:
            message = self._read()
            if message.get("method") == "textDocument/publishDiagnostics":
                published = message["params"]
                if published["uri"] == self._uri and published.get("version") in (None, self._version):
                    return
            else:
                self._answer(message)

    def _answer(self, message: Json) -> None:
        if "id" in message and "method" in message:
            self._input.write(_message({"id": message["id"], "result": None}))
            self._input.flush()

    def _read(self) -> Json:
        length = 0
        while line := self._output.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise RuntimeError("the server has ended")
        message: Json = json.loads(self._output.read(length))
        return message


def _message(content: Json) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
