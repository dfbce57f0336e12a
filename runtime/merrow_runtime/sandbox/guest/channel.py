"""Frames between host and guest: a letter, a length, that many bytes.

Kinds, from the guest: `o` text printed, `e` text for standard error, `l` solution loaded, `f` it failed to load, `c` call of
the solution, `b` call back into the test, `r` result of a call, `a` answer to a call back, `v` verdict or value, `x` the sandbox
could not be closed, `k` it is closed. To the guest: `j` the job, `t` a test, `l`, `c`, `b`, `r` and `a` as passed on, `d` the
solution's process died.
"""

from __future__ import annotations

import _thread
import io
import marshal
import os
import struct
import sys

TYPE_CHECKING = False  # what is imported here, each process of the sandbox would take time for
if TYPE_CHECKING:
    from typing import Any, BinaryIO

HEADER = struct.Struct(">cI")
#: No frame is longer, in either direction: bytes.
MAX_FRAME = 16 * 1024 * 1024


class TooLongError(ValueError):
    """A payload is longer than a frame may be."""


class Channel:
    """The guest's end. What is written to descriptor 1 once it is made goes to standard error."""

    def __init__(self, incoming: BinaryIO) -> None:
        self._incoming = incoming
        self._sending = _thread.allocate_lock()  # generated code may print from threads
        self._outgoing = os.dup(1)
        os.dup2(2, 1)

    def send_bytes(self, kind: bytes, payload: bytes) -> None:
        if len(payload) > MAX_FRAME:
            raise TooLongError(f"the data exceeds {MAX_FRAME // 2**20} MiB")
        left = memoryview(HEADER.pack(kind, len(payload)) + payload)
        with self._sending:
            while left:
                left = left[os.write(self._outgoing, left) :]

    def send(self, kind: bytes, value: Any) -> None:
        self.send_bytes(kind, _json(value).encode("utf-8", "surrogatepass"))

    def receive_job(self) -> Any:
        """What is in the first frame: in Python's own form, which takes no import to read."""
        return marshal.loads(self.receive_bytes()[1])  # noqa: S302 (the host is trusted)

    def receive(self) -> tuple[bytes, Any]:
        """The next frame, parsed."""
        import json

        kind, payload = self.receive_bytes()
        return kind, json.loads(payload)

    def receive_bytes(self) -> tuple[bytes, bytes]:
        """The next frame. The process ends when the host is gone."""
        header = self._incoming.read(HEADER.size)
        if len(header) < HEADER.size:
            os._exit(0)
        kind, length = HEADER.unpack(header)
        payload = self._incoming.read(length)
        if len(payload) < length:
            os._exit(0)
        return kind, payload


_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPES.update((ord(char), f"\\{letter}") for char, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True))


def _json(value: Any) -> str:
    """A value as JSON. The package takes longer to import than most programs, which send texts, nothing, or records of them."""
    if value is None:
        return "null"
    if type(value) is str:
        return f'"{value.translate(_ESCAPES)}"'  # text is as long as it is in UTF-8
    if type(value) is dict and all(type(part) is str or part is None for part in (*value, *value.values())):
        return "{" + ", ".join(f"{_json(name)}: {_json(part)}" for name, part in value.items()) + "}"
    import json

    return json.dumps(value, allow_nan=False, ensure_ascii=False)


class Printed(io.RawIOBase):
    """A raw stream whose bytes travel as frames of one kind."""

    def __init__(self, channel: Channel, kind: bytes) -> None:
        super().__init__()
        self._channel = channel
        self._kind = kind

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        payload = bytes(data)
        self._channel.send_bytes(self._kind, payload)
        return len(payload)


class EagerText(io.TextIOWrapper):
    """Text that is sent at once as long as there is little of it, in larger pieces later.

    Code that prints a line and then hangs has its line shown; code that prints forever costs the host few frames.
    """

    _eager_writes = 200

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._eager_writes > 0:
            self._eager_writes -= 1
            self.flush()
        return written


def redirect(channel: Channel, stdin: str) -> None:
    """Give `print`, `input` and `sys.stderr` their places."""
    for name, kind in (("stdout", b"o"), ("stderr", b"e")):
        stream = EagerText(io.BufferedWriter(Printed(channel, kind), 8192), encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = io.StringIO(stdin)  # type: ignore[assignment,misc]


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 (contextlib would have to be imported)
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # generated code may have closed or replaced it
