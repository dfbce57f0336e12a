"""``python -m benchmarks.dask_workers``: items answered by the workers of a Dask cluster, and where the CPU time goes.

A scheduler and workers are started by hand, as the documentation says, then the same items are evaluated by 1 worker and by
``--workers``. The embedded offline model answers, so that nothing but Merrow, Dask and the sandbox is measured. CPU seconds
are those of each process with its children; what a machine does with them depends on what else it has to do, so that items a
second of CPU are shown beside items a second of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

NO_OP = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    C@{op: Custom, prompt: "third"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> C --> RETURN
"""
SANDBOX = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    CODE@{op: Programmer}
    RETURN([Answer]):::Interface
    PROBLEM -->|problem| CODE
    CODE --> RETURN
"""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Figures:
    """Wall-clock seconds, CPU seconds of each process, and the peak memory of the coordinator in MB, for a number of items."""

    items: int
    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    memory: float = 0.0


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def begun(stack: ExitStack, folder: Path, name: str, *command: str) -> subprocess.Popen[bytes]:
    log = (folder / f"{name}.log").open("wb")
    process = subprocess.Popen([sys.executable, "-m", "dask", *command], stdout=log, stderr=log, cwd=folder)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def waited(log: Path, pattern: str) -> str:
    while (match := re.search(pattern, log.read_text("utf-8", "replace"))) is None:
        time.sleep(0.05)
    return match.group(1)


def measured(workers: int, items: int, flow: str, more: list[str]) -> Figures:
    """One evaluation by a number of workers, without the time that they need to start."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        os.environ.update(MERROW_STATE_DIR=f"{name}/state", MERROW_CONFIG_DIR=f"{name}/config")
        for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            os.environ.pop(variable, None)
        (folder / "flow.mmd").write_text(flow, encoding="utf-8")
        for file, count in (("few.jsonl", 2 * workers), ("own.jsonl", items)):
            rows = (
                json.dumps({"id": f"{file[0]}{n}", "problem": f"What is {n} plus {n}?", "answer": "x"})
                for n in range(count)
            )
            (folder / file).write_text("\n".join(rows) + "\n", encoding="utf-8")
        processes = {
            "scheduler": begun(
                stack, folder, "scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
            )
        }
        address = waited(folder / "scheduler.log", r"Scheduler at: +(tcp\S+)")
        for number in range(workers):
            worker = f"worker {number + 1}"
            own = ["--nthreads", "2", "--no-dashboard", "--no-nanny", "--local-directory", f"{name}/{number}"]
            processes[worker] = begun(stack, folder, worker, "worker", address, *own)
        for number in range(workers):
            waited(folder / f"worker {number + 1}.log", r"(Registered to)")

        def evaluate(file: str) -> tuple[float, float, float]:
            command = [
                sys.executable,
                "-m",
                "merrow_server",
                "evaluate",
                "flow.mmd",
                "--dataset",
                file,
                "--gold",
                "answer",
            ]
            command += ["--metric", "contains", "--engine", "dask", "--scheduler", address, *more]
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
            told = b"" if process.stderr is None else process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(told.decode())
            return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

        first = evaluate("few.jsonl")
        before = {each: cpu_of(process.pid) for each, process in processes.items()}
        last = evaluate("own.jsonl")
        figures = Figures(items, last[0] - first[0], memory=last[2])
        figures.cpu = {each: cpu_of(process.pid) - before[each] for each, process in processes.items()}
        figures.cpu["coordinator"] = last[1] - first[1]
        return figures


def table(by_workers: dict[int, Figures]) -> str:
    lines = [
        "| workers | items | items/s | items/s of CPU | coordinator ms/item | coordinator MB | CPU |",
        "|---|---|---|---|---|---|---|",
    ]
    for workers, figures in by_workers.items():
        whole = sum(figures.cpu.values())
        parts = ", ".join(f"{name} {seconds:.1f} s ({seconds / whole:.0%})" for name, seconds in figures.cpu.items())
        lines.append(
            f"| {workers} | {figures.items:,} | {figures.items / figures.wall:.0f} | {figures.items / whole:.0f}"
            f" | {1000 * figures.cpu['coordinator'] / figures.items:.2f} | {figures.memory:.0f} | {parts} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.dask_workers", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument("--items", type=int, default=3000)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options.add_argument(
        "--sandbox", action="store_true", help="items whose answer is a program that runs in the sandbox"
    )
    options.add_argument("--chunk", type=int, help="items of a task")
    given = options.parse_args()
    more = [] if given.chunk is None else ["--chunk", str(given.chunk)]
    flow = SANDBOX if given.sandbox else NO_OP
    print(table({workers: measured(workers, given.items, flow, more) for workers in given.workers}))


if __name__ == "__main__":
    main()
