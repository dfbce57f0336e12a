"""Linux with bubblewrap: namespaces around the guest, and the same system call filter in it. Where it is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from merrow_runtime.sandbox.backends.base import (
    BOOT,
    FOLDER,
    BackendStatus,
    GuestStart,
    Limits,
    environment,
    interpreter,
    libraries,
    resource_limits,
    system_files,
)
from merrow_runtime.sandbox.backends.landlock import HOLDS, filter_missing


@cache
def _works(program: str) -> str:
    """Why bubblewrap can't make its namespaces here; empty where it can."""
    command = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap can't be started: {error}"
    return "" if done.returncode == 0 else f"bubblewrap can't make its namespaces: {done.stderr.strip()[:200]}"


class Bubblewrap:
    name = "bubblewrap"

    def status(self) -> BackendStatus:
        program = shutil.which("bwrap")
        missing = filter_missing() or ("bwrap is not installed" if program is None else _works(program))
        if missing:
            return BackendStatus(self.name, False, missing, HOLDS)
        return BackendStatus(
            self.name, True, f"namespaces of {program}, seccomp and resource limits; used when asked for", HOLDS
        )

    def start(self, folder: Path, limits: Limits) -> GuestStart:  # noqa: ARG002 - the guest has a folder of its own
        program = shutil.which("bwrap") or "bwrap"
        packages = libraries()
        command = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
        for name, value in environment(FOLDER).items():
            command += ["--setenv", name, value]
        seen: set[str] = set()
        binaries = {sys.executable, os.path.realpath(sys.executable), *_links_of(sys.executable)}
        shared = Path(sys.base_prefix, "lib")
        for place in [*system_files(), *packages.readable, *sorted(binaries), *map(str, shared.glob("libpython*"))]:
            if place not in seen:
                seen.add(place)
                command += ["--ro-bind-try", place, place]
        command += [
            "--dev",
            "/dev",
            "--size",
            str(limits.folder_mb * 1024 * 1024),
            "--tmpfs",
            FOLDER,
            "--remount-ro",
            "/",
            "--chdir",
            FOLDER,
        ]
        command += ["--", *interpreter(), "-c", BOOT]
        # The guest's parent is bubblewrap's own first process, hence `--die-with-parent` and not the kernel asked by the guest.
        lock = {"limits": resource_limits(limits), "seccomp": True}
        return GuestStart(command, {}, lock, list(packages.folders), watch=False)


def _links_of(path: str) -> list[str]:
    """A virtual environment's python is a chain of links; each of them must be there, and the file that says where home is."""
    links: list[str] = []
    place = Path(path)
    for _ in range(8):
        if not place.is_symlink():
            break
        target = place.readlink()
        place = target if target.is_absolute() else place.parent / target
        links.append(os.fspath(place))
    settings = Path(sys.prefix, "pyvenv.cfg")
    return [*links, os.fspath(settings)] if settings.exists() else links
