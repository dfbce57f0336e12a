"""Who works on a run: one process at a time, which shows by a heartbeat that it is alive."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.sql import Database, Statement

BEAT = 2.0
"""Seconds between two signs of life."""

STALE = 30.0
"""Seconds without one after which another process may take the run; for a process of this machine that is known at once."""


class WorkersLeft(StoreFailure):
    """Workers have a journal open that one process is to have alone. They close it when they have nothing to do any more."""


class HeldElsewhere(StoreFailure):
    """Another process works on a run."""


_WORKER = "worker-"
"""What the token of a worker begins with."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, told apart from a later one with the same number by its time of birth."""

    host: str
    pid: int
    born: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def here(cls) -> Holder:
        """This process, with a token of its own for each lease."""
        return cls(*_process(os.getpid()))

    @classmethod
    def worker(cls) -> Holder:
        """The same as one of the workers that another process leads."""
        return cls(*_process(os.getpid()), f"{_WORKER}{uuid.uuid4().hex}")


def take(database: Database, run: str, holder: Holder) -> None:
    """Take a run for ``holder``, inside a transaction. Raises `StoreFailure` where another process works on it."""
    row = database.execute("SELECT holder, host, pid, born, beat FROM holders WHERE run = ?", (run,)).fetchone()
    if row is not None and row[0] is not None:
        _, host, pid, born, beat = row
        if _alive(database, host, pid, born, beat):
            raise HeldElsewhere(
                f"Run {run} is being worked on by process {pid} on {host}; wait for it, or stop it with: merrow cancel {run}"
            )
    database.execute(
        "INSERT OR REPLACE INTO holders (run, holder, host, pid, born, beat, cancel) VALUES (?, ?, ?, ?, ?, ?, 0)",
        (run, holder.token, holder.host, holder.pid, holder.born, database.now()),
    )


def releasing(run: str, holder: Holder) -> Statement:
    """What gives a run back that ``holder`` has."""
    return "UPDATE holders SET holder = NULL WHERE run = ? AND holder = ?", (run, holder.token)


def is_held(database: Database, run: str) -> bool:
    """Whether a living process works on a run: one that has its lease, or has the whole journal for its own."""
    row = database.execute("SELECT holder, host, pid, born, beat FROM holders WHERE run = ?", (run,)).fetchone()
    if row is None:
        return opened_by(database) is not None
    return row[0] is not None and _alive(database, *row[1:])


def note_opening(database: Database, holder: Holder, *, alone: bool = False, spread: bool = False) -> None:
    """Record that a process has the journal open as one of its own; entries of dead processes are deleted.

    One process is ``alone``, or leads where the work is ``spread``: then workers have it open, too, as they do that are neither.
    Raises `StoreFailure` where another one leads; `WorkersLeft` where workers are left, and it is to be without any.
    """
    openings = database.execute("SELECT token, host, pid, born, at FROM openings").fetchall()
    living = [opening for opening in openings if _alive(database, *opening[1:])]
    if alone:
        for _, host, pid, *_ in (opening for opening in living if not opening[0].startswith(_WORKER)):
            raise StoreFailure(
                f"It is being worked on by process {pid} on {host}; wait for it, or end it with Ctrl-C there."
            )
        for _, host, pid, *_ in living if not spread else ():
            raise WorkersLeft(f"Process {pid} on {host} still works for it; try again when that has ended.")
    gone = [(opening[0],) for opening in openings if opening not in living]
    database.executemany("DELETE FROM openings WHERE token = ?", gone)
    opened = holder.token, holder.host, holder.pid, holder.born, database.now()
    database.execute("INSERT INTO openings (token, host, pid, born, at) VALUES (?, ?, ?, ?, ?)", opened)


def opened_by(database: Database) -> tuple[str, int] | None:
    """A living process that has the journal open as one of its own, by machine and number; None where there is none."""
    openings = database.execute("SELECT host, pid, born, at FROM openings").fetchall()
    return next(((host, pid) for host, pid, born, beat in openings if _alive(database, host, pid, born, beat)), None)


def show_life(database: Database, token: str) -> bool:
    """Show that the process with this token still has the journal open, inside a transaction; False where its entry is gone."""
    return database.execute("UPDATE openings SET at = ? WHERE token = ?", (database.now(), token)).rowcount > 0


def older_worker(database: Database) -> tuple[str, str, int] | None:
    """In a journal from before version 4, a run that a living process works on, with that process's machine and number;
    None where there is none.
    """
    held = database.execute("SELECT run, host, pid, born, beat FROM leases WHERE holder IS NOT NULL").fetchall()
    return next(
        ((run, host, pid) for run, host, pid, born, beat in held if _alive(database, host, pid, born, beat)), None
    )


def _alive(database: Database, host: str, pid: int, born: str, beat: float) -> bool:
    """Whether a process still works on what it has, a run or a whole journal: the one rule that tells."""
    if host == platform.node() and not _runs(pid, born):
        return False
    return database.now() - beat < STALE


def _runs(pid: int, born: str) -> bool:
    if os.name != "posix":
        return True  # Only its heartbeat tells.
    if pid == os.getpid():
        return not born or _process(pid)[2] == born
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It is another user's, who may have been given the number of one that died.
    return not born or _born(pid) == born


@functools.cache
def _process(pid: int) -> tuple[str, int, str]:
    """This process, as `Holder` has it: an evaluation takes thousands of leases, and a fork has another number."""
    return platform.node(), pid, _born(pid)


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where there is no /proc. A zombie counts as gone."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "gone" if fields[0] in "ZX" else fields[19]
    return ""
