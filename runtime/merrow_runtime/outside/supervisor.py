"""Runs a program and ends it with all its descendants: a program of its own, of Python's standard library alone.

``supervisor.py CONTROL COMMAND...`` starts the command with its own streams. When the command ends, or the pipe that CONTROL
numbers is closed, as it also is when the process that started this dies, everything that descends from the command is killed,
also what left its process group. Linux gives orphans to the nearest `subreaper` above them; that is this process and not the
one that started it, which has children of its own, such as the sandbox's.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127
_KILLING_SECONDS = 5.0
_BETWEEN_LOOKS_S = 0.01


def main(control: int, command: list[str]) -> int:
    """The exit code of the command; above 128 for the signal that ended it."""
    is_linux = sys.platform.startswith("linux")
    if is_linux:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Handled, not ignored, which the command would inherit; what ends this process is the pipe alone.
        signal.signal(number, lambda *_: None)
    try:
        # Its own group, for systems that have no subreapers.
        child = subprocess.Popen(command, process_group=0)  # noqa: S603 (what the user has agreed to)
    except OSError as problem:
        sys.stderr.write(f"{problem.strerror}\n")
        return _NOT_STARTED
    # The command alone holds them now, so that their ends are seen when it is gone.
    for stream in (0, 1):
        os.close(stream)
    status: int | None = None
    while status is None and not _is_closed(control, wakes):
        status = _reaped(child.pid)
    deadline = time.monotonic() + _KILLING_SECONDS
    if not is_linux:
        _kill(os.killpg, child.pid)
    while (descendants := _descendants()) and time.monotonic() < deadline:
        for process in descendants:
            _kill(os.kill, process)
        status = _reaped(child.pid) if status is None else (_reaped(child.pid), status)[1]
        time.sleep(_BETWEEN_LOOKS_S)
    return 0 if status is None else status


def _is_closed(control: int, wakes: int) -> bool:
    """Wait until a child ends or the pipe is closed, and say whether it is the pipe."""
    ready, _, _ = select.select([control, wakes], [], [])
    if wakes in ready:
        os.read(wakes, 4096)
    return control in ready


def _reaped(main_process: int) -> int | None:
    """Take leave of all children that have ended; the exit code of the main one if it is among them."""
    code = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if process == 0:
            return code
        if process == main_process:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def _descendants() -> set[int]:
    parents = _parents()
    found: set[int] = set()
    waiting = [os.getpid()]
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    while waiting:
        below = [process for process in children.get(waiting.pop(), ()) if process not in found]
        found.update(below)
        waiting += below
    return found


def _parents() -> dict[int, int]:
    """The parent of each process that can be seen and has not ended."""
    found: dict[int, int] = {}
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        listed = subprocess.run(["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, check=False)
        lines = [line.split() for line in listed.stdout.decode("ascii", "replace").splitlines()]
        return {int(line[0]): int(line[1]) for line in lines if len(line) == 2}
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123 (pathlib is slow to import)
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state != b"Z":
            found[int(name)] = int(parent)
    return found


def _kill(kill: Callable[[int, int], None], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(number, signal.SIGKILL)


if __name__ == "__main__":
    code = main(int(sys.argv[1]), sys.argv[2:])
    sys.stderr.flush()
    os._exit(code)  # nothing waits for what could not be killed
