"""Measuring: CPU time of this process, medians of runs that take turns, memory of a fresh process."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median


def cpu_milliseconds(work: Callable[[], object]) -> float:
    """The CPU time of one call.

    What earlier calls left behind is collected first, or set aside from the garbage collector, which would else look
    through it again and again: a process that opens its first file has none of it.
    """
    gc.collect()
    gc.freeze()
    start = time.process_time()
    work()
    passed = time.process_time() - start
    gc.unfreeze()
    return passed * 1000


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def in_turns(rounds: int, contestants: dict[str, Callable[[int], float]]) -> dict[str, float]:
    """The median figure of each contestant, asked once a round and in another order each round.

    Taking turns keeps a machine that slows down for a while from favouring one of them.
    """
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            figures[name].append(contestants[name](number))
    return {name: median(values) for name, values in figures.items()}


_PEAK = """
import sys
from pathlib import Path
from benchmarks.files import workflow_text
from merrow_analysis.check import analyse

nodes = int(sys.argv[1])
analysis = analyse(workflow_text(nodes)) if nodes else None
status = Path("/proc/self/status")
if status.exists():
    print(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak // 1024 if sys.platform == "darwin" else peak)
"""


def peak_memory(nodes: int) -> float:
    """MiB that a fresh process needs at most to check a file of so many nodes; 0: only to import the checker."""
    # Linux counts a parent's memory into the peak that `resource` tells of its child, so /proc is asked where it is.
    command = [sys.executable, "-c", _PEAK, str(nodes)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(answer.stdout) / 1024
