"""Programs of this machine (pdflatex, a browser) that work on what models wrote: in a folder of their own, without network.

Where bubblewrap works, they see only the system's programs and libraries and their folder, which they may write to. Elsewhere
they have limits of the kernel, and what their own options forbid. All their processes are gone at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from merrow_runtime.sandbox.backends.bubblewrap import Bubblewrap

SUPPORTED = os.name == "posix"
"""Whether programs can be limited and ended with all their processes here."""
_VISIBLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/texmf",
    "/var/lib/texmf",
    "/var/cache/fontconfig",
    "/Library/TeX",
)
"""What such programs consist of; nothing of it is the user's."""
_WATCH_S = 0.05
_LIMITED = 'ulimit -c 0; ulimit -t "$1" && ulimit -f "$2" || exit 126; shift 2; exec "$@"'
_PIPED = 'exec 3<&0 4>&1 0</dev/null 1>/dev/null; exec "$@"'


class ProgramEndedError(Exception):
    """A program came to no end of its own; the sentence says why."""


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What a program may use.

    Attributes:
        wall_s: seconds by the clock.
        cpu_s: seconds of processor time, of each process.
        file_mb: size of one file in MiB.
        folder_mb: size of all files in its folder in MiB. It is looked at 20 times a second: until the program is ended, the disk
            may have more for a moment.
    """

    wall_s: float
    cpu_s: int
    file_mb: int = 64
    folder_mb: int = 128


class SandboxProgram:
    """A program in a fresh folder. Use as a context manager: at its end the processes are gone and the folder as well.

    `end` may be called by another thread; whoever waits for the program then hears of it.
    """

    def __init__(self, limits: ProgramLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._lock = threading.Lock()
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="merrow-program-")))

    def __enter__(self) -> SandboxProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for pipe in (self._process.stdin, self._process.stdout) if self._process is not None else ():
            with contextlib.suppress(OSError):  # what was not written yet has no reader
                if pipe is not None:
                    pipe.close()
        for _try in range(20):  # the last processes may still write into it
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                break
            time.sleep(_WATCH_S)

    def end(self) -> None:
        """Kill the program with all its processes. No other one can be started afterwards."""
        with self._lock:
            self._ended = True
            self._kill()

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run a command to its end; its exit code. What it prints is lost.

        Raises:
            ProgramEndedError: it took too long, wrote too much, was ended, or can't be started.
        """
        process = self._start(command, environment, piped=False)
        deadline = time.monotonic() + self._limits.wall_s
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(_WATCH_S)
                self._measure()
                # Where soft and hard limit of processor time are the same, it is killed like what `end` ends.
                if not self._ended and code in {
                    sign for number in (signal.SIGXCPU, signal.SIGKILL) for sign in (-number, 128 + number)
                }:
                    raise ProgramEndedError(f"it needed more than {self._limits.cpu_s} s of processor time")
                return code
            if time.monotonic() > deadline:
                self.end()
                raise ProgramEndedError(f"it did not end within {self._limits.wall_s:g} s")
            self._measure()

    def piped(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a command that reads from descriptor 3 what is written to ``stdin`` here, and writes to descriptor 4 what is read
        from ``stdout``. It is ended when its time is up.

        Raises:
            ProgramEndedError: it was ended before, or can't be started.
        """
        process = self._start(command, environment, piped=True)
        timer = threading.Timer(self._limits.wall_s, self.end)
        timer.daemon = True
        timer.start()
        return process

    def _start(self, command: Sequence[str], environment: Mapping[str, str], piped: bool) -> subprocess.Popen[bytes]:
        limits = [str(self._limits.cpu_s), str(self._limits.file_mb * 2048)]  # ulimit counts 512 bytes
        whole = ["/bin/sh", "-c", _LIMITED, "sh", *limits, *self._confined(command, environment)]
        if piped:
            whole = ["/bin/sh", "-c", _PIPED, "sh", *whole]
        pipe = subprocess.PIPE if piped else subprocess.DEVNULL
        with self._lock:
            if self._ended:
                raise ProgramEndedError("it was ended")
            try:
                self._process = subprocess.Popen(  # noqa: S603 - programs of the system, found by name
                    whole,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=subprocess.DEVNULL,
                    cwd=self.folder,
                    env=dict(environment),
                    start_new_session=True,
                )
            except OSError as error:
                raise ProgramEndedError(f"it can't be started: {error.strerror or error}") from None
            return self._process

    def _confined(self, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """The command, in namespaces of its own where bubblewrap can make them."""
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None or not Bubblewrap().status().usable:
            return list(command)
        confined = [
            bubblewrap,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--clearenv",
        ]
        for name, value in environment.items():
            confined += ["--setenv", name, value]
        program = os.path.realpath(shutil.which(command[0]) or command[0])
        for place in (*_VISIBLE, os.path.dirname(program)):  # noqa: PTH120
            confined += ["--ro-bind-try", place, place]
        folder = os.fspath(self.folder)
        confined += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", folder, folder]  # noqa: S108
        return [*confined, "--chdir", folder, "--", *command]

    def _measure(self) -> None:
        total = 0
        for place, _, names in os.walk(self.folder):
            for name in names:
                with contextlib.suppress(OSError):
                    total += Path(place, name).lstat().st_size
        if total > self._limits.folder_mb * 1024 * 1024:
            self.end()
            raise ProgramEndedError("it wrote too much")

    def _kill(self) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def environment_in(folder: Path) -> dict[str, str]:
    """The whole environment of a program: nothing of the user's, and a home in its folder."""
    home = os.fspath(folder)
    path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {"PATH": path, "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
