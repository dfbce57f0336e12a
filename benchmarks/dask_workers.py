"""``python -m benchmarks.dask_workers``: items answered by the workers of a Dask cluster, and where the CPU time goes.

A scheduler and workers are started by hand, as the documentation says, then the same items are evaluated by each number of
``--workers``; 0 is `merrow evaluate` alone. The embedded offline model answers, or a process on loopback that answers at once
(``--endpoint``). The journal is a file, or in PostgreSQL (``--postgres``).

What a start takes is left out: the first evaluation warms the workers up, and a second one of few items is subtracted from that
of all items. CPU seconds are those of each process with its children; what a machine does with them depends on what else it has
to do, so that CPU an item is shown beside items a second of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.postgres import programs, started

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
_FEW = 4
"""Items of the evaluations that show what a start takes."""


@dataclass(frozen=True)
class Setting:
    """What is measured: a workflow, what answers, where the journal is, and more options of the command."""

    flow: str
    endpoint: bool
    postgres: bool
    more: Sequence[str]


@dataclass
class Figures:
    """Wall-clock seconds, CPU seconds of each process, and the peak memory of the coordinator in MB, for a number of items."""

    items: int
    wall: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    programs: float = 0.0
    """CPU seconds of the programs that workers ran in the sandbox, which are in those of the workers."""
    memory: float = 0.0


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process and of all that it has started."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [
            int(child)
            for thread in Path(f"/proc/{pid}/task").iterdir()
            for child in (thread / "children").read_text().split()
        ]
    except OSError:
        return 0.0  # it has ended, and its parent has its time
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(cpu_of, children))


def programs_of(pid: int) -> float:
    """The CPU seconds of what a process has started and waited for."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15])) / _TICKS


def begun(stack: ExitStack, folder: Path, name: str, *command: str) -> subprocess.Popen[bytes]:
    log = (folder / f"{name}.log").open("wb")
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def waited(log: Path, pattern: str) -> str:
    while (match := re.search(pattern, log.read_text("utf-8", "replace"))) is None:
        time.sleep(0.05)
    return match.group(1)


def write_items(folder: Path, name: str, count: int) -> None:
    rows = (
        json.dumps({"id": f"{name}{n}", "problem": f"What is {n} plus {n} in {name}?", "answer": "x"})
        for n in range(count)
    )
    (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def journal(stack: ExitStack) -> tuple[str, int]:
    """A server of PostgreSQL: the address of a journal in it, and the number of its process."""
    found = programs()
    if found is None:
        raise SystemExit("PostgreSQL is not installed (Debian: apt-get install postgresql).")
    server = started(found)
    stack.callback(shutil.rmtree, server.folder, ignore_errors=True)
    stack.callback(server.stop)
    return server.url("bench"), int((server.folder / "data/postmaster.pid").read_text().split()[0])


def measured(workers: int, items: int, setting: Setting) -> Figures:
    """One evaluation by a number of workers, without the time that they need to start."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        os.environ.update(MERROW_STATE_DIR=f"{name}/state", MERROW_CONFIG_DIR=f"{name}/config")
        for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_JOURNAL"):
            os.environ.pop(variable, None)
        (folder / "flow.mmd").write_text(setting.flow, encoding="utf-8")
        for file, count in (("warm", _FEW * max(1, workers)), ("few", _FEW), ("own", items)):
            write_items(folder, file, count)
        processes: dict[str, int] = {}
        if setting.endpoint:
            processes["endpoint"] = begun(stack, folder, "endpoint", "benchmarks.runtime_server", "0").pid
            port = waited(folder / "endpoint.log", r"^(\d+)\n")
            os.environ.update(OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1", OPENAI_API_KEY="none")
        if setting.postgres:
            os.environ["MERROW_JOURNAL"], processes["PostgreSQL"] = journal(stack)
        placed: list[str] = []
        if workers:
            begin = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
            processes["scheduler"] = begun(stack, folder, "scheduler", *begin).pid
            address = waited(folder / "scheduler.log", r"Scheduler at: +(tcp\S+)")
            placed = ["--engine", "dask", "--scheduler", address]
            for number in range(workers):
                worker = f"worker {number + 1}"
                own = ["--nthreads", "2", "--no-dashboard", "--no-nanny", "--local-directory", f"{name}/{number}"]
                processes[worker] = begun(stack, folder, worker, "dask", "worker", address, *own).pid
            for number in range(workers):
                waited(folder / f"worker {number + 1}.log", r"(Registered to)")

        def evaluate(file: str) -> Figures:
            before = {each: cpu_of(pid) for each, pid in processes.items()}
            at_work = [pid for each, pid in processes.items() if each.startswith("worker")]
            ran = sum(map(programs_of, at_work))
            command = [sys.executable, "-m", "merrow_server", "evaluate", "flow.mmd", "--dataset", f"{file}.jsonl"]
            command += ["--gold", "answer", "--metric", "contains", *placed, *setting.more]
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
            told = b"" if process.stderr is None else process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(told.decode())
            figures = Figures(items, time.monotonic() - start, memory=used.ru_maxrss / 1024)
            figures.cpu = {each: cpu_of(pid) - before[each] for each, pid in processes.items()}
            figures.programs = sum(map(programs_of, at_work)) - ran
            figures.cpu["coordinator" if workers else "merrow"] = used.ru_utime + used.ru_stime
            return figures

        evaluate("warm")
        few = evaluate("few")
        figures = evaluate("own")
        share = items - _FEW
        figures.wall = (figures.wall - few.wall) / share * items
        figures.programs = (figures.programs - few.programs) / share * items
        figures.cpu = {each: (seconds - few.cpu[each]) / share * items for each, seconds in figures.cpu.items()}
        return figures


def table(by_workers: dict[int, Figures]) -> str:
    lines = [
        "| workers | items | items/s | CPU ms/item | coordinator MB | CPU ms/item of each process |",
        "|---|---|---|---|---|---|",
    ]
    for workers, figures in by_workers.items():
        whole = sum(figures.cpu.values())
        parts = ", ".join(
            f"{name} {1000 * seconds / figures.items:.2f} ({seconds / whole:.0%})"
            for name, seconds in figures.cpu.items()
        )
        if figures.programs:
            ran = f"{1000 * figures.programs / figures.items:.2f} ({figures.programs / whole:.0%})"
            parts += f"; of these programs in the sandbox {ran}"
        lines.append(
            f"| {workers} | {figures.items:,} | {figures.items / figures.wall:.0f}"
            f" | {1000 * whole / figures.items:.2f} | {figures.memory:.0f} | {parts} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.dask_workers", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument("--items", type=int, default=3000)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="0: one process without Dask")
    options.add_argument(
        "--sandbox", action="store_true", help="items whose answer is a program that runs in the sandbox"
    )
    options.add_argument("--endpoint", action="store_true", help="a process on loopback answers, not the offline model")
    options.add_argument("--postgres", action="store_true", help="the journal is in PostgreSQL")
    options.add_argument("--chunk", type=int, help="items of a task")
    given = options.parse_args()
    more = [] if given.chunk is None else ["--chunk", str(given.chunk)]
    setting = Setting(SANDBOX if given.sandbox else NO_OP, given.endpoint, given.postgres, more)
    print(table({workers: measured(workers, given.items, setting) for workers in given.workers}))


if __name__ == "__main__":
    main()
