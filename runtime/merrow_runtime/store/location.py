"""Where Merrow keeps what outlives a process: the user's state folder, readable by the user alone."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from merrow_runtime.errors import StoreFailure

FILE = "runs.sqlite"
"""The journal's name in that folder."""
STATE_VARIABLE = "MERROW_STATE_DIR"
"""The environment variable that names another folder."""


def state_folder() -> Path:
    """The folder of journals: that of ``MERROW_STATE_DIR``, else the platform's place for an application's state."""
    named = os.environ.get(STATE_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_state_dir("merrow", appauthor=False))


def private_file(path: Path) -> None:
    """Make sure that a file exists and that only its owner can read it. Raises `StoreFailure`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if os.name == "posix" and path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as problem:
        raise StoreFailure(
            f"The journal {path} can't be opened ({problem.strerror}); set {STATE_VARIABLE} to a folder that you can write,"
            " or run with --no-store."
        ) from None
