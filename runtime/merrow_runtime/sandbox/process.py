"""One guest process as the host sees it: started, spoken to in frames, watched, ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import marshal
import os
import signal
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Any, cast

from merrow_runtime.sandbox import folder as guest_folder
from merrow_runtime.sandbox.backends import Backend
from merrow_runtime.sandbox.backends.base import FOLDER
from merrow_runtime.sandbox.guest.channel import HEADER, MAX_FRAME
from merrow_runtime.sandbox.results import Limits, Outcome, SandboxRefusedError

# In the order in which the guest takes them: what is imported comes before what imports it.
_SHARED_MODULES = ("syscalls", "seccomp", "lock", "removal", "channel", "running")
_MODULES = {"evaluate": ("evaluate",), "solution": ("values", "solution"), "verdict": ("values", "remote", "verdict")}
_WATCH_INTERVAL_S = 0.025
_CLOSE_FROM = 8
"""A program that has written more than this part of what it may is looked at more often."""
_CLOSE_INTERVAL_S = 0.005
#: Bytes of a report on an error or a verdict, before it is parsed: an honest guest cuts its texts to a fraction of this.
_MAX_REPORT = 256 * 1024

_SENTENCES: dict[str, str] = {
    "timeout": "the time limit was reached",
    "memory": "the memory limit was reached",
    "output": "the limit on output was reached",
    "crashed": "the process ended before it answered",
}
_DEATHS: dict[str, tuple[Outcome, str]] = {
    "SIGXCPU": ("timeout", "the limit on processor time was reached"),
    "SIGSEGV": ("crashed", "the process crashed (SIGSEGV), mostly by too deep a recursion"),
    "SIGKILL": ("crashed", "the process was killed by the system, for want of memory or of processor time"),
}


def guest_source(name: str) -> str:
    """The source of a module of the guest's."""
    return files(__package__).joinpath("guest", f"{name}.py").read_text(encoding="utf-8")


@cache
def _program(work: str, as_source: bool) -> bytes:
    """The guest's modules for some work, to be sent ahead of the job."""
    modules: list[tuple[str, str | CodeType]] = []
    for name in (*_SHARED_MODULES, *_MODULES[work], "main"):
        source = guest_source(name)
        full = f"merrow_runtime.sandbox.guest.{name}"
        modules.append((full, source if as_source else compile(source, full, "exec", dont_inherit=True, optimize=0)))
    return marshal.dumps(modules, 4)


def parsed_report(payload: bytes) -> dict[str, Any]:
    """A report on an error, or a verdict. Parsing JSON takes up to 30 times its size in memory, so the size is checked first.

    Raises:
        GuestEndedError: when it is too long, or not a JSON object.
    """
    if len(payload) > _MAX_REPORT:
        raise GuestEndedError("crashed", "the process sent a message that is too long")
    return _parsed(payload)


def _parsed(payload: bytes) -> dict[str, Any]:
    try:
        report = json.loads(payload)
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict):
        raise GuestEndedError("crashed", "the process sent an invalid message")
    return report


class GuestEndedError(Exception):
    """The guest can't continue.

    Attributes:
        outcome: why.
    """

    def __init__(self, outcome: Outcome, message: str = "") -> None:
        super().__init__(message or _SENTENCES[outcome])
        self.outcome: Outcome = outcome


class Guest:
    """A sandboxed process. Use as an async context manager: at its end the process is gone and its folder as well."""

    def __init__(self, backend: Backend, limits: Limits, job: dict[str, Any]) -> None:
        self._backend = backend
        self._limits = limits
        self._job = job
        self._folder = Path()
        self._ended_for: GuestEndedError | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._watching = False
        self._output_left = limits.output_kb * 1024
        self.printed = {"o": bytearray(), "e": bytearray()}

    async def __aenter__(self) -> Guest:
        self._folder = guest_folder.make()
        try:
            self._start = self._backend.start(self._folder, self._limits)
            # As `asyncio.create_subprocess_exec` does it, but keeping the transport: only with it can a pipe be closed unread.
            loop = asyncio.get_running_loop()
            self._transport, protocol = await loop.subprocess_exec(
                lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=65536, loop=loop),
                *self._start.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env=self._start.environment,
                start_new_session=True,
            )
            self._process = asyncio.subprocess.Process(self._transport, protocol, loop)
            self._stdin = cast("asyncio.StreamWriter", self._process.stdin)
            self._stdout = cast("asyncio.StreamReader", self._process.stdout)
            self._stderr = cast("asyncio.StreamReader", self._process.stderr)
        except BaseException:
            guest_folder.remove(self._folder)
            raise
        self._tasks.append(asyncio.create_task(self._read_raw_output()))
        return self

    @property
    def pid(self) -> int:
        """The id of the process that was started; where that is a program of the sandbox's, the guest is a child of it."""
        return self._process.pid

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        self._kill()
        await asyncio.shield(asyncio.ensure_future(self._finish()))

    async def _finish(self) -> None:
        try:
            if self._start.end is not None:
                with contextlib.suppress(OSError):
                    ending = await asyncio.create_subprocess_exec(
                        *self._start.end(), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
                    )
                    await ending.wait()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._process.wait()
        finally:  # a second Ctrl-C may cancel this task
            self._transport.close()
            guest_folder.remove(self._folder)

    def _kill(self) -> None:
        """Kill the guest and close its pipes: `Process.wait` would never return while a pipe is not read to its end."""
        for descriptor in (0, 1, 2):
            pipe: Any = self._transport.get_pipe_transport(descriptor)
            if pipe is not None and not pipe.is_closing():
                pipe.abort() if descriptor == 0 else pipe.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def _write(self, data: bytes) -> None:
        self._stdin.write(data)

    async def send(self, kind: bytes, value: Any) -> None:
        await self.send_bytes(kind, json.dumps(value).encode())

    async def send_bytes(self, kind: bytes, payload: bytes) -> None:
        """Send a frame. A guest that is gone is noticed when it is read from."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._write(HEADER.pack(kind, len(payload)) + payload)
            await self._stdin.drain()

    async def begin(self) -> None:
        """Send the job and wait until the guest has locked itself in.

        Raises:
            SandboxRefusedError: when it could not; no generated code was run then.
        """
        program = _program(self._job["work"], self._start.as_source)
        self._write(b"%d\n" % len(program) + program)
        job = {**self._job, "lock": self._start.lock, "libraries": self._start.libraries}
        await self.send_bytes(b"j", marshal.dumps(json.loads(json.dumps(job)), 4))
        # This frame comes before any generated code, which can't speak for the sandbox therefore.
        try:
            kind, payload = await self.receive()
        except GuestEndedError as ended:
            raise self._refused(self.text("e").strip()[-300:] or str(ended)) from None
        if kind != b"k":
            raise self._refused(payload.decode(errors="replace"))
        # Only now: a guest ended earlier would seem one that could not lock itself in, though its code is running already.
        if self._start.watch:
            self._watching = True
            self._tasks.append(asyncio.create_task(self._watch()))

    def _refused(self, why: str) -> SandboxRefusedError:
        return SandboxRefusedError(
            f"Generated code was not run: the sandbox {self._backend.name!r} could not be set up ({why}); choose another one."
        )

    async def receive(self) -> tuple[bytes, bytes]:
        """The next frame that is no printed text.

        Raises:
            GuestEndedError: when there is none, or no frame.
        """
        while True:
            try:
                kind, length = HEADER.unpack(await self._stdout.readexactly(HEADER.size))
                if length > MAX_FRAME:
                    self._end(GuestEndedError("crashed", "the process sent an invalid message"))
                if self._ended_for is None and kind in b"oe":  # what is over the limit is not read
                    length = min(length, max(self._output_left, 0) + 1)
                payload = await self._stdout.readexactly(length) if self._ended_for is None else b""
            except asyncio.IncompleteReadError:
                raise await self._why_ended() from None
            if self._ended_for is not None:
                raise self._ended_for
            if kind not in b"oe":
                if self._watching:  # a quick program fills its folder and answers between two looks
                    self._measure_folder()
                    if self._ended_for is not None:
                        raise self._ended_for
                return kind, payload
            self._take(kind.decode(), payload)

    async def receive_value(self) -> dict[str, Any]:
        """The next frame, which must be a value (`v`). Its bytes count against the limit on output before they are parsed.

        Raises:
            GuestEndedError: when it is not, or when it exceeds the limit.
        """
        kind, payload = await self.receive()
        if kind != b"v":
            raise GuestEndedError("crashed", "the process sent an invalid message")
        self._output_left -= len(payload)
        if self._output_left < 0:
            raise GuestEndedError("output")
        return _parsed(payload)

    def _take(self, kind: str, payload: bytes) -> None:
        self.printed[kind] += payload[: max(self._output_left, 0)]
        self._output_left -= (
            len(payload) or HEADER.size
        )  # an empty frame is not free: there could be any number of them
        if self._output_left < 0:
            self._end(GuestEndedError("output"))
            raise GuestEndedError("output")

    def text(self, kind: str) -> str:
        return self.shown(self.printed[kind].decode("utf-8", "replace"))

    def shown(self, text: str) -> str:
        """A text of the guest with its folder under the fixed name, and nothing in it that UTF-8 does not have."""
        text = text.replace(os.fspath(self._folder), FOLDER).replace(os.fspath(self._folder.parent), "/")
        return text.encode("utf-8", "replace").decode()

    def _end(self, why: GuestEndedError) -> None:
        if self._ended_for is None:
            self._ended_for = why
        self._kill()

    async def _read_raw_output(self) -> None:
        """What is written past Python's streams, or by the interpreter itself when it dies."""
        while data := await self._stderr.read(65536):
            self.printed["e"] += data[: max(self._output_left, 0)]
            self._output_left -= len(data)
            if self._output_left < 0:
                self._end(GuestEndedError("output"))
                return

    async def _watch(self) -> None:
        """Limits that the kernel does not know: the folder's size, the number of threads, memory on macOS."""
        interval = _WATCH_INTERVAL_S
        while True:
            await asyncio.sleep(interval)
            is_close = self._measure_folder() * _CLOSE_FROM > self._limits.folder_mb * 1024 * 1024
            interval = _CLOSE_INTERVAL_S if is_close else _WATCH_INTERVAL_S
            if sys.platform.startswith("linux"):
                with contextlib.suppress(OSError):
                    if len(list(Path(f"/proc/{self._process.pid}/task").iterdir())) > self._limits.threads:
                        self._end(GuestEndedError("crashed", "the limit on threads was reached"))
            elif await self._resident_kib() > self._limits.memory_mb * 1024:
                self._end(GuestEndedError("memory"))

    def _measure_folder(self) -> int:
        """Bytes of its files; a program with more than it may have is ended."""
        measured = guest_folder.used(self._folder)
        if measured > self._limits.folder_mb * 1024 * 1024:
            self._end(GuestEndedError("output", "the limit on files was reached"))
        return measured

    async def _resident_kib(self) -> int:
        asking = await asyncio.create_subprocess_exec(
            "/bin/ps",
            "-o",
            "rss=",
            "-p",
            str(self._process.pid),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        answer, _ = await asking.communicate()
        return int(answer) if answer.strip().isdigit() else 0

    async def _why_ended(self) -> GuestEndedError:
        if self._ended_for is not None:
            return self._ended_for
        status = await self._process.wait()
        await asyncio.wait(self._tasks[:1], timeout=1)  # what it wrote last may still be on its way
        if self._ended_for is not None:
            return self._ended_for
        # Above 128: a shell's or a container's way to say which signal it was.
        number = -status if status < 0 else max(status - 128, 0)
        with contextlib.suppress(ValueError):
            name = signal.Signals(number).name
            outcome, sentence = _DEATHS.get(name, ("crashed", f"the process crashed ({name})"))
            return GuestEndedError(outcome, sentence)
        return GuestEndedError("crashed", f"the process ended with status {status} before it answered")
