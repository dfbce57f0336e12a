"""The guest's folder: plain files only, since nothing else can be made in it, so that measuring and emptying it is simple."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


def make() -> Path:
    """A fresh folder that only this user may enter, under its real path."""
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="merrow-")))


def used(folder: Path) -> int:
    """Bytes of all files in it; each counts one block at least, so that many empty ones count too."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += max(entry.stat(follow_symlinks=False).st_size, 4096)
    return total


def remove(folder: Path) -> None:
    """Remove the folder with all that is in it. What can't be removed stays: the system clears its temporary folder some day."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
