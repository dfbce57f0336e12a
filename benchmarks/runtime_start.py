"""What `merrow run` costs before its first call, in CPU time of fresh processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

_TEXT = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE@{ op: Custom, prompt: "Answer the question.", shape: rect }
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SOLVE
    SOLVE --> RETURN
    classDef Interface fill:#eee
"""
_MERROW = [sys.executable, "-m", "merrow_server"]


def cpu_of(command: list[str], folder: Path) -> float:
    """CPU milliseconds of a process until it has ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "MERROW_STATE_DIR": str(folder / "state")}
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def measure_start(rounds: int, folder: Path) -> dict[str, float]:
    """CPU milliseconds by what was started; medians of processes that take turns."""
    (folder / "one.mmd").write_text(_TEXT, encoding="utf-8")
    commands = {
        "python that does nothing": [sys.executable, "-c", "pass"],
        "merrow check": [*_MERROW, "check", "one.mmd"],
        "merrow run, embedded model": [*_MERROW, "run", "one.mmd", "--input", "problem=2", "--base-url", "offline"],
        "import openai": [sys.executable, "-c", "import openai, aiohttp; openai.AsyncOpenAI"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(cpu_of(command, folder))
    return {name: median(figures) for name, figures in taken.items()}
