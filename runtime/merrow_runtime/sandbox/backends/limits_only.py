"""No isolation: resource limits alone. Only for those who allow it explicitly."""

from __future__ import annotations

import os
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
)


class LimitsOnly:
    name = "none"

    def status(self) -> BackendStatus:
        holds = ("environment", "memory", "processor time", "output")
        if os.name != "posix":
            return BackendStatus(self.name, False, "resource limits need a POSIX system", holds)
        return BackendStatus(self.name, True, "resource limits alone: no sandbox, only with explicit leave", holds)

    def start(self, folder: Path, limits: Limits) -> GuestStart:
        lock = {"limits": resource_limits(limits), "parent": os.getpid()}
        return GuestStart([*interpreter(), "-c", BOOT], environment(os.fspath(folder)), lock, list(libraries().folders))
