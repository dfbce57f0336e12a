"""The guest's folder: plain files only, since nothing else can be made in it, so that measuring and emptying it is simple."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


def make() -> Path:
    """A fresh folder that only this user may enter, under its real path."""
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="merrow-")))
    folder = root / "files"
    folder.mkdir(0o700)
    removed(folder).mkdir(0o700)
    return folder


def removed(folder: Path) -> Path:
    """Where files go that the guest removes: a process may still hold them, so that they take up the disk as before."""
    return folder.with_name("removed")


def used(folder: Path) -> int:
    """Bytes of all files of the guest, removed ones included. Each counts one block at least, so that many empty ones count."""
    total = 0
    for place in (folder, removed(folder)):
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    total += max(status.st_size, getattr(status, "st_blocks", 0) * 512, 4096)
    return total


def remove(folder: Path) -> None:
    """Remove the folder with all that is in it. What can't be removed stays: the system clears its temporary folder some day."""
    for place in (folder, removed(folder)):
        with contextlib.suppress(OSError):
            place.chmod(0o700)
    shutil.rmtree(folder.parent, ignore_errors=True)
