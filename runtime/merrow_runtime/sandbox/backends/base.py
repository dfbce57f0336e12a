"""What every back end of the sandbox has in common."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from merrow_runtime.sandbox.results import BackendStatus, Limits

__all__ = [
    "FOLDER",
    "Backend",
    "BackendStatus",
    "GuestStart",
    "Libraries",
    "Limits",
    "environment",
    "interpreter",
    "libraries",
    "resource_limits",
]

#: The guest's folder as its output shows it, wherever it really is.
FOLDER = "/sandbox"

# Packages that generated code may import besides the standard library, with the folders their wheels bring along.
_PACKAGES = (
    "numpy",
    "scipy",
    "sympy",
    "mpmath",
    "gmpy2",
    "networkx",
    "pandas",
    "dateutil",
    "pytz",
    "six",
    "sortedcontainers",
)

#: What the guest's interpreter runs: modules as (name, code) pairs from standard input, then the job.
BOOT = (
    "import sys,marshal;f=sys.stdin.buffer\n"
    "for n,c in marshal.loads(f.read(int(f.readline()))):m=sys.modules[n]=type(sys)(n);exec(c,m.__dict__)\n"
    "m.main()"
)


@dataclass(frozen=True)
class GuestStart:
    """How one guest is started.

    Attributes:
        command: program and arguments.
        environment: all of it.
        lock: what the guest does to lock itself in, `guest.lock.lock`'s settings.
        libraries: folders to import packages from.
        as_source: the guest may be another Python version: send source, not compiled code.
        end: what else ends the guest besides killing the program.
        watch: whether the host can look at the started process itself.
    """

    command: list[str]
    environment: dict[str, str]
    lock: dict[str, Any]
    libraries: list[str] = field(default_factory=list)
    as_source: bool = False
    end: Callable[[], list[str]] | None = None
    watch: bool = True


class Backend(Protocol):
    """A back end of the sandbox: one way to isolate a guest."""

    name: str

    def status(self) -> BackendStatus: ...

    def start(self, folder: Path, limits: Limits) -> GuestStart: ...


def interpreter() -> list[str]:
    """The interpreter without user site, without `site` and without writing byte code.

    `-I` would also ignore PYTHONHASHSEED; the environment is ours alone anyway.
    """
    return [sys.executable, "-s", "-P", "-S", "-B"]


def environment(folder: str) -> dict[str, str]:
    """The guest's whole environment: nothing of the host's, and nothing that differs from run to run but the folder."""
    return {
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": folder,
        "TMPDIR": folder,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


def resource_limits(limits: Limits) -> dict[str, int]:
    """The limits as the guest sets them: bytes, seconds, numbers."""
    mib = 1024 * 1024
    return {
        "memory": limits.memory_mb * mib,
        "file": limits.file_mb * mib,
        "open_files": limits.open_files,
        "cpu": max(1, round(limits.cpu_s)),
    }


@dataclass(frozen=True)
class Libraries:
    """Packages for generated code: folders to import from (their names may be listed) and what may be read in them."""

    folders: tuple[str, ...]
    readable: tuple[str, ...]


@cache
def libraries() -> Libraries:
    """Those of the offered packages that are installed for this interpreter; none is imported here."""
    folders: list[str] = []
    readable: list[str] = []
    for package in _PACKAGES:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        place = origin.parent if spec.submodule_search_locations else origin
        folder = place.parent
        readable += [str(place), *(str(extra) for extra in (folder / f"{package}.libs",) if extra.is_dir())]
        if str(folder) not in folders:
            folders.append(str(folder))
    return Libraries(tuple(folders), tuple(readable))


@cache
def system_files() -> tuple[str, ...]:
    """The interpreter's own files and the C libraries that its extensions load."""
    prefix = Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = [prefix / "lib" / version, prefix / "lib64" / version, prefix / "lib" / f"{version.replace('.', '')}.zip"]
    places += [Path(name) for name in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")]
    places += [Path("/etc/ld.so.cache"), Path("/usr/share/zoneinfo"), Path("/nix/store")]
    if prefix not in (Path("/usr"), Path("/usr/local"), Path("/")):
        places += [*(prefix / "lib").glob("*.so*"), *(prefix / "lib").glob("*.dylib")]
    return tuple(os.fspath(place) for place in places if place.exists())
