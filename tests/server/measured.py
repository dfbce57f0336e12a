"""Runs the command line and says what that took: processor seconds and peak memory, as JSON in a file."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CPU_S = 40
"""Processor seconds after which a command is ended: it hangs."""
_TESTS = Path(__file__).parents[2]


@dataclass(frozen=True)
class Measured:
    """How a command ended. ``memory_mb`` is the most that it held at a time, with what it had loaded."""

    code: int
    text: str
    cpu_s: float
    memory_mb: float


def measured(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Measured:
    """Run the command line in a folder, with no more than `CPU_S` of processor time."""
    figures = folder.parent / f"{folder.name}.figures"
    done = subprocess.run(
        [sys.executable, "-m", "tests.server.measured", str(folder), str(figures), *arguments],
        cwd=_TESTS, env={**os.environ, **(env or {})}, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert figures.exists(), f"ended by {done.returncode}: {done.stderr[-500:]}"
    cpu_s, memory_mb = json.loads(figures.read_text())
    return Measured(done.returncode, done.stdout + done.stderr, cpu_s, memory_mb)


def _peak_mb() -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0


def _main(folder: str, figures: str, *arguments: str) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    os.chdir(folder)
    from merrow_server.cli import main

    try:
        return main(list(arguments))
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        Path(figures).write_text(json.dumps([used.ru_utime + used.ru_stime, _peak_mb()]))


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
