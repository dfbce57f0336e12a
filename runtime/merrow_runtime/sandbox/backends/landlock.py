"""Linux: Landlock for files, seccomp for system calls, resource limits; no privilege and no further program needed."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from merrow_runtime.sandbox.backends.base import (
    BOOT,
    BackendStatus,
    GuestStart,
    Limits,
    environment,
    interpreter,
    libraries,
    resource_limits,
    system_files,
)
from merrow_runtime.sandbox.folder import removed
from merrow_runtime.sandbox.guest.syscalls import AUDIT_ARCHITECTURE

HOLDS = ("files", "network", "processes", "signals", "environment", "memory", "processor time", "output", "threads")


def filter_missing() -> str:
    """Why the system call filter can't be used here; empty where it can."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if platform.machine() not in AUDIT_ARCHITECTURE or sys.maxsize < 2**32:
        return f"the system calls of {platform.machine()} are not known to it"
    if not Path("/proc/sys/kernel/seccomp").is_dir():
        return "the kernel has no seccomp filter"
    return ""


class Landlock:
    name = "landlock"

    def status(self) -> BackendStatus:
        missing = filter_missing()
        if missing:
            return BackendStatus(self.name, False, missing, HOLDS)
        from merrow_runtime.sandbox.guest.lock import landlock_version

        version = landlock_version()
        if version < 1:
            return BackendStatus(
                self.name,
                False,
                "the kernel has no Landlock, or it is switched off (5.13 or later, lsm=landlock)",
                HOLDS,
            )
        return BackendStatus(self.name, True, f"Landlock ABI {version}, seccomp and resource limits", HOLDS)

    def start(self, folder: Path, limits: Limits) -> GuestStart:
        packages = libraries()
        lock = {
            "limits": resource_limits(limits),
            "parent": os.getpid(),
            "landlock": {
                "readable": [*system_files(), *packages.readable],
                "listable": list(packages.folders),
                "writable": [os.fspath(folder), os.fspath(removed(folder))],
            },
            "seccomp": True,
            "removed": os.fspath(removed(folder)),
        }
        return GuestStart([*interpreter(), "-c", BOOT], environment(os.fspath(folder)), lock, list(packages.folders))
