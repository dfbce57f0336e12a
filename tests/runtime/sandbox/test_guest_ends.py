"""The guest's end of the channel, byte by byte, and what an evaluation answers on it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import Any

import pytest
from tests.patience import PATIENCE

from merrow_runtime.sandbox.guest.channel import MAX_FRAME, TooLongError, redirect
from merrow_runtime.sandbox.guest.evaluate import evaluate


def frame(kind: str, payload: bytes) -> bytes:
    return kind.encode() + struct.pack(">I", len(payload)) + payload


def guest(steps: str, incoming: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A process that takes these steps with a channel of its own."""
    before = (
        "import sys\nfrom merrow_runtime.sandbox.guest import channel as c\nchannel = c.Channel(sys.stdin.buffer)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", before + steps], input=incoming, capture_output=True, timeout=PATIENCE, check=False
    )


def test_frames_are_read_and_written_and_nothing_else_is_written_beside_them() -> None:
    steps = """
print("past the frames", flush=True)
kind, value = channel.receive()
channel.send(kind, [value, "ä", "\\ud800"])
channel.send_bytes(*channel.receive_bytes())
channel.receive()
print("never")
"""
    done = guest(steps, frame("j", b'{"a": 1}') + frame("t", b"\x00{") + b"q\x00")
    assert done.stdout == frame("j", '[{"a": 1}, "ä", "'.encode() + b"\xed\xa0\x80" + b'"]') + frame("t", b"\x00{")
    assert (done.returncode, done.stderr) == (0, b"past the frames\n")


@pytest.mark.parametrize("cut", [b"", b"t\x00\x00\x00", b"t\x00\x00\x00\x02a"])
def test_a_guest_whose_host_is_gone_ends(cut: bytes) -> None:
    done = guest("channel.receive()\nprint('never')", cut)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_no_frame_is_longer_than_its_limit() -> None:
    done = guest(
        "try:\n    channel.send_bytes(b'r', bytes(c.MAX_FRAME + 1))\nexcept c.TooLongError as error:\n    print(error)"
    )
    assert (done.stdout, done.stderr) == (b"", b"the data exceeds 16 MiB\n")
    done = guest("channel.send_bytes(b'r', bytes(c.MAX_FRAME))")
    assert len(done.stdout) == 5 + MAX_FRAME == 5 + 16 * 2**20
    assert done.stdout[:5] == b"r" + struct.pack(">I", MAX_FRAME)


class Kept:
    """A channel that keeps what is sent, and refuses some of it first."""

    def __init__(self, *refused: Exception) -> None:
        self.sent: list[tuple[bytes, Any]] = []
        self._refused = list(refused)

    def send(self, kind: bytes, value: Any) -> None:
        if self._refused:
            raise self._refused.pop(0)
        self.sent.append((kind, json.loads(json.dumps(value))))

    def send_bytes(self, kind: bytes, payload: bytes) -> None:
        self.sent.append((kind, payload))


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """The streams of this process come back."""
    for name in ("stdin", "stdout", "stderr"):
        for place in (name, f"__{name}__"):
            monkeypatch.setattr(sys, place, getattr(sys, place))


@pytest.mark.usefixtures("streams")
def test_little_is_sent_at_once_and_much_in_larger_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    channel: Any = Kept()
    redirect(channel, "a\nb\n")
    assert (input(), sys.stdin.read(), sys.stdin is sys.__stdin__) == ("a", "b\n", True)
    assert sys.stdout is sys.__stdout__
    assert sys.stderr is sys.__stderr__
    sys.stderr.write("ä\ud800")
    assert channel.sent == [(b"e", "ä\\ud800".encode())]
    channel.sent.clear()
    for number in range(300):
        sys.stdout.write(f"{number:03}")
    assert channel.sent == [(b"o", f"{number:03}".encode()) for number in range(200)]
    sys.stdout.write("x" * 9000)
    sys.stdout.flush()
    assert (
        b"".join(payload for _, payload in channel.sent[200:])
        == ("".join(f"{number:03}" for number in range(200, 300)) + "x" * 9000).encode()
    )
    assert len(channel.sent) < 210


def evaluated(code: str, entry: str | None = "solve", *refused: Exception, arguments: tuple[Any, ...] = ()) -> Any:
    channel: Any = Kept(*refused)
    known = {name: sys.modules.get(name) for name in ("solution", "__main__")}
    try:
        evaluate(channel, {"code": code, "entry": entry, "arguments": list(arguments)})
    finally:
        for name, module in known.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    ((kind, answer),) = channel.sent
    assert kind == b"v"
    return answer


@pytest.mark.parametrize(
    ("code", "entry", "answer"),
    [
        ("def solve(a, b): return a + b", "solve", {"outcome": "ok", "value": "3"}),
        ("solve = lambda a, b: __name__", "solve", {"outcome": "ok", "value": "solution"}),
        ("assert __name__ == '__main__'", None, {"outcome": "ok", "value": None}),
        ("raise SystemExit", None, {"outcome": "ok", "value": None}),
        ("raise SystemExit(0)", None, {"outcome": "ok", "value": None}),
        ("raise SystemExit(1)", None, "SystemExit: the code ended the program with 1"),
        ("raise SystemExit('no')", None, "SystemExit: the code ended the program with 'no'"),
        ("raise SystemExit(0)", "solve", "SystemExit: the code ended the program with 0"),
        ("raise SystemExit", "solve", "SystemExit: the code ended the program with None"),
        ("solve = None", "solve", "NameError: the code defines no function named 'solve'"),
        ("raise KeyboardInterrupt", "solve", "KeyboardInterrupt"),
        ("solve = 3", "solve", "TypeError: 'int' object is not callable"),
    ],
)
def test_each_end_of_an_evaluation_has_its_answer(code: str, entry: str | None, answer: Any) -> None:
    found = evaluated(code, entry, arguments=(1, 2))
    if isinstance(answer, str):
        assert (found["outcome"], found["error"]) == ("error", answer)
        assert found["traceback"].splitlines()[-1]
        assert set(found) == {"outcome", "error", "traceback"}
    else:
        assert found == answer


def test_what_is_too_long_to_be_sent_is_said_to_be() -> None:
    code = "def solve(): return 1"
    assert evaluated(code, "solve", TooLongError("no")) == {"outcome": "output"}
    assert evaluated(code, "solve", MemoryError()) == {"outcome": "memory", "error": "MemoryError"}
    assert evaluated("raise MemoryError")["outcome"] == "memory"
