"""macOS: a `sandbox-exec` profile that denies everything but the interpreter's files and the guest's folder."""

from __future__ import annotations

import os
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

_PROGRAM = "/usr/bin/sandbox-exec"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def profile(folder: str, readable: list[str], listable: list[str]) -> str:
    """The profile's text. Later rules win; paths must be real ones."""
    programs = sorted({sys.executable, os.path.realpath(sys.executable)})
    lines = [
        "(version 1)",
        "(deny default)",
        '(import "system.sb")',
        "(deny network*)",
        "(deny process-fork)",
        "(deny signal)",
        "(allow signal (target self))",
        "(allow file-read-metadata)",
        *(f"(allow process-exec (literal {_quoted(path)}))" for path in programs),
        f"(allow process-exec (subpath {_quoted(os.path.realpath(sys.base_prefix))}))",
        f"(allow file-read* (subpath {_quoted(os.path.realpath(sys.base_prefix))}))",
        *(
            f"(allow file-read* (literal {_quoted(path)}))"
            for path in [*programs, os.fspath(Path(sys.prefix, "pyvenv.cfg"))]
        ),
        *(f"(allow file-read* (subpath {_quoted(os.path.realpath(path))}))" for path in readable),
        *(f"(allow file-read-data (literal {_quoted(os.path.realpath(path))}))" for path in listable),
        f"(allow file-read* (subpath {_quoted(folder)}))",
        f'(allow file-write* (regex #"^{_escaped(folder)}/[^/]+$"))',
        "(deny file-write-create (vnode-type DIRECTORY SYMLINK FIFO SOCKET BLOCK-DEVICE CHARACTER-DEVICE))",
        "(deny file-link)",
        "(deny file-write-unlink)",  # a removed file that is still open or mapped could not be counted
    ]
    return "\n".join(lines)


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in ".^$*+?()[]{}|\\" else letter for letter in path)


class Seatbelt:
    name = "seatbelt"

    def status(self) -> BackendStatus:
        holds = (
            "files",
            "network",
            "processes",
            "signals",
            "environment",
            "memory (watched)",
            "processor time",
            "output",
        )
        if sys.platform != "darwin":
            return BackendStatus(self.name, False, "it needs macOS", holds)
        if not Path(_PROGRAM).exists():
            return BackendStatus(self.name, False, f"{_PROGRAM} is missing", holds)
        return BackendStatus(self.name, True, "a sandbox-exec profile and resource limits", holds)

    def start(self, folder: Path, limits: Limits) -> GuestStart:
        real = os.path.realpath(folder)
        packages = libraries()
        text = profile(real, [*system_files(), *packages.readable], list(packages.folders))
        command = [_PROGRAM, "-p", text, *interpreter(), "-c", BOOT]
        return GuestStart(command, environment(real), {"limits": resource_limits(limits)}, list(packages.folders))
