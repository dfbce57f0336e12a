"""Removing and replacing files where the kernel refuses both: the file is moved to a folder of its own and keeps its name there.

A removed file that a descriptor or a mapping still holds takes up the disk and has no name to count it by, hence the refusal
(`keep_files` of `seccomp`). This module is a convenience for Python code, not a wall: what goes around it gets EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os

TYPE_CHECKING = False  # what is imported here, each process of the sandbox would take time for
if TYPE_CHECKING:
    from typing import Any

_SYS_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}
_CURRENT_FOLDER, _NOREPLACE = -100, 1


def install(removed: str) -> None:
    """Give `os.remove`, `os.unlink`, `os.rename` and `os.replace` to this process, and with them pathlib, shutil and tempfile.

    Args:
        removed: folder that takes the removed files. Where the kernel can't move a file there (Landlock before ABI 2), the file
            stays beside its old place as `.removed-1`.
    """
    library = ctypes.CDLL(None, use_errno=True)
    call = _SYS_RENAMEAT2[os.uname().machine]
    numbers = itertools.count(1)

    def move(source: Any, target: Any, source_fd: int | None = None, target_fd: int | None = None) -> int:
        """Move a file to a name that is free. Returns 0 or the error number."""
        paths = os.fsencode(source), os.fsencode(target)
        if any(b"\0" in path for path in paths):
            raise ValueError("embedded null byte")
        folders = [_CURRENT_FOLDER if fd is None else fd for fd in (source_fd, target_fd)]
        if library.syscall(call, folders[0], paths[0], folders[1], paths[1], _NOREPLACE) == 0:
            return 0
        return ctypes.get_errno()

    def put_away(path: Any, folder_fd: int | None) -> tuple[int, Any]:
        """Move a file out of the way. Returns 0 or the error number, and where it is now."""
        beside = os.path.dirname(os.fsencode(path))  # noqa: PTH120
        error = errno.EEXIST
        target: Any = None
        for folder, target_fd in ((os.fsencode(removed), None), (beside, folder_fd)):
            while error == errno.EEXIST:
                target = os.path.join(folder, b".removed-%d" % next(numbers))  # noqa: PTH118
                error = move(path, target, folder_fd, target_fd)
            if error != errno.EXDEV:
                break
            error = errno.EEXIST
        return error, target

    def unlink(path: Any, *, dir_fd: int | None = None) -> None:
        error, _ = put_away(path, dir_fd)
        if error:
            raise OSError(error, os.strerror(error), path)

    def rename(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        error = move(src, dst, src_dir_fd, dst_dir_fd)
        if error == errno.EEXIST:
            now = os.stat(src, dir_fd=src_dir_fd, follow_symlinks=False)
            if os.path.samestat(now, os.stat(dst, dir_fd=dst_dir_fd, follow_symlinks=False)):
                return
            error, place = put_away(dst, dst_dir_fd)
            if not error:
                error = move(src, dst, src_dir_fd, dst_dir_fd)
                if error:
                    move(place, dst, None, dst_dir_fd)
        if error:
            raise OSError(error, os.strerror(error), src, None, dst)

    functions: dict[str, Any] = {"unlink": unlink, "remove": unlink, "rename": rename, "replace": rename}
    for name, function in functions.items():
        if getattr(os, name) in os.supports_dir_fd:
            os.supports_dir_fd.add(function)
        setattr(os, name, function)
