"""Where Merrow keeps what outlives a process: the user's state folder, readable by the user alone."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path

import platformdirs

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.connection import disk_full

FILE = "runs.sqlite"
"""The journal's name in that folder."""
JOBS_FOLDER = "evaluations"
"""Where the journals of jobs are, beside it."""
STATE_VARIABLE = "MERROW_STATE_DIR"
"""The environment variable that names another folder."""
_CREATING = threading.Lock()
"""No other thread opens a file that this one has made and not closed yet."""


def state_folder() -> Path:
    """The folder of journals: that of ``MERROW_STATE_DIR``, else the platform's place for an application's state."""
    named = os.environ.get(STATE_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_state_dir("merrow", appauthor=False))


def private_file(path: Path) -> None:
    """Make sure that a file exists and that only its owner can read it. Raises `StoreFailure`.

    A file that exists is not opened: a process that closes a file gives up all its locks on it, those of its open SQLite
    connections too, and another process may then take away what they have written ("How To Corrupt An SQLite Database
    File", 2.2, sqlite.org/howtocorrupt.html).
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _CREATING, contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) or not os.access(path, os.R_OK | os.W_OK):
            code = errno.EISDIR if stat.S_ISDIR(mode) else _why_not(path)
            raise OSError(code, os.strerror(code))
        if os.name == "posix" and mode & 0o077:
            path.chmod(0o600)
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(str(path)) from problem
        raise StoreFailure(
            f"The journal {path} can't be opened ({problem.strerror}); set {STATE_VARIABLE} to a folder that you can write,"
            " or run with --no-store."
        ) from problem


def _why_not(path: Path) -> int:
    """The number of the error with which a file can't be written."""
    return errno.EROFS if hasattr(os, "ST_RDONLY") and os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
