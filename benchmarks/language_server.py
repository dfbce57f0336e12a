"""``python -m benchmarks.language_server``: the language server beside one that checks nothing, and beside ruff's.

All servers run at the same time and are asked in turns, so that a machine that slows down favours none of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.files import workflow_text
from benchmarks.language_server_client import Client
from benchmarks.measure import percentile
from benchmarks.warm import edge_edits, label_edits, typing_edits
from merrow_analysis.text import Position, Range, TextEdit, split_lines

SIZES = (10, 100, 1000, 5000)
BURST = 30
_FLOOR = str(Path(__file__).with_name("language_server_floor.py"))
Figures = dict[str, float]
"""A figure for each server: ``floor``, ``merrow``, and ``ruff`` where it is installed."""


@dataclass
class Size:
    """Milliseconds at one size."""

    nodes: int
    lines: int
    opening: Figures = field(default_factory=dict)
    label: Figures = field(default_factory=dict)
    label_p95: Figures = field(default_factory=dict)
    label_cpu: Figures = field(default_factory=dict)
    label_cpu_p95: Figures = field(default_factory=dict)
    edge: Figures = field(default_factory=dict)
    edge_p95: Figures = field(default_factory=dict)
    edge_cpu: Figures = field(default_factory=dict)
    edge_cpu_p95: Figures = field(default_factory=dict)
    typing: Figures = field(default_factory=dict)
    typing_p95: Figures = field(default_factory=dict)
    typing_cpu: Figures = field(default_factory=dict)
    typing_cpu_p95: Figures = field(default_factory=dict)
    burst: Figures = field(default_factory=dict)


@dataclass
class Result:
    """All that one run measured: CPU milliseconds until ``initialize`` was answered, MiB, and the sizes."""

    start: Figures
    memory_at_start: Figures
    memory: Figures
    sizes: list[Size]


def commands() -> dict[str, list[str]]:
    """How each server is started."""
    servers = {
        "floor": [sys.executable, _FLOOR],
        "merrow": [sys.executable, "-m", "merrow_server", "serve"],
    }
    beside = Path(sys.executable).with_name("ruff")
    ruff = str(beside) if beside.exists() else shutil.which("ruff")
    if ruff is not None:
        servers["ruff"] = [ruff, "server"]
    return servers


def python_text(lines: int) -> str:
    """A Python file of so many lines: functions that call one another."""
    functions = [
        f'def function_{number}(value: int) -> int:\n    """Step {number}."""\n    result = value + {number}\n'
        f"    return function_{max(number - 1, 0)}(result)\n\n"
        for number in range(lines // 5 + 1)
    ]
    return "\n".join("".join(functions).splitlines()[:lines]) + "\n"


def python_edits(lines: list[str]) -> Iterator[TextEdit]:
    """Another digit for a number, all over the file."""
    places = [number for number, line in enumerate(lines) if "result = " in line]
    turn = 0
    while True:
        place = places[turn * 7919 % len(places)]
        column = len(lines[place].rstrip("\n")) - 1
        yield TextEdit(Range(Position(place, column), Position(place, column + 1)), str(turn % 10))
        turn += 1


def measure_size(clients: dict[str, Client], nodes: int, rounds: int) -> Size:
    text = workflow_text(nodes)
    lines = split_lines(text)
    size = Size(nodes, len(lines))
    python = split_lines(python_text(len(lines)))
    for name, client in clients.items():
        if name == "ruff":
            size.opening[name] = client.open("".join(python), "peer.py", "python") * 1000
        else:
            size.opening[name] = client.open(text, f"flow{nodes}.mmd", "mermaid") * 1000
    peer = python_edits(python)
    copy = list(lines)
    kinds: list[tuple[Callable[[], Iterator[TextEdit]], Figures, Figures, Figures, Figures]] = [
        (lambda: label_edits(copy, rounds), size.label, size.label_p95, size.label_cpu, size.label_cpu_p95),
        (lambda: edge_edits(copy, nodes, rounds), size.edge, size.edge_p95, size.edge_cpu, size.edge_cpu_p95),
        (lambda: typing_edits(copy, nodes, rounds), size.typing, size.typing_p95, size.typing_cpu, size.typing_cpu_p95),
    ]
    for edits, middle, tail, cpu, cpu_tail in kinds:
        taken: dict[str, list[float]] = {name: [] for name in clients}
        used: dict[str, list[float]] = {name: [] for name in clients}
        for edit in edits():
            for name, client in clients.items():
                before = client.cpu_exactly()
                taken[name].append(client.edit(next(peer) if name == "ruff" else edit) * 1000)
                used[name].append((client.cpu_exactly() - before) * 1000)
        for name in clients:
            middle[name], tail[name] = median(taken[name]), percentile(taken[name], 0.95)
            cpu[name], cpu_tail[name] = median(used[name]), percentile(used[name], 0.95)
    bursts: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(max(3, rounds // 10)):
        burst = list(edge_edits(copy, nodes, BURST))
        for name, client in clients.items():
            edits_sent = [next(peer) for _ in burst] if name == "ruff" else burst
            bursts[name].append(client.edit(*edits_sent) * 1000)
    size.burst = {name: median(figures) for name, figures in bursts.items()}
    return size


def measure(rounds: int, sizes: tuple[int, ...]) -> Result:
    servers = commands()
    starts: dict[str, list[float]] = {name: [] for name in servers}
    idle: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(max(3, rounds // 20)):
        for name, command in servers.items():
            client = Client(command)
            starts[name].append(client.start_cpu * 1000)
            idle[name].append(client.memory())
            client.stop()
    clients = {name: Client(command) for name, command in servers.items()}
    measured: list[Size] = []
    memory: Figures = {}
    for nodes in sizes:
        measured.append(measure_size(clients, nodes, rounds if nodes <= 1000 else max(10, rounds // 3)))
        if nodes <= 1000:
            memory = {name: client.memory() for name, client in clients.items()}
        for client in clients.values():
            client.close_document()
    for client in clients.values():
        client.stop()
    return Result(
        {name: median(figures) for name, figures in starts.items()},
        {name: median(figures) for name, figures in idle.items()},
        memory,
        measured,
    )


def table(result: Result) -> str:
    """The figures for reading; in brackets the ratio to the floor."""
    names = list(result.start)
    rows: list[tuple[str, Figures]] = [
        ("start, CPU ms", result.start),
        ("memory after the start, MiB", result.memory_at_start),
        ("memory with the largest file up to 1000 nodes, MiB", result.memory),
    ]
    for size in result.sizes:
        head = f"N={size.nodes} ({size.lines} lines), "
        rows += [
            (head + "open", size.opening),
            (head + "label edit p50", size.label),
            (head + "label edit p95", size.label_p95),
            (head + "label edit, CPU p50", size.label_cpu),
            (head + "label edit, CPU p95", size.label_cpu_p95),
            (head + "edge edit p50", size.edge),
            (head + "edge edit p95", size.edge_p95),
            (head + "edge edit, CPU p50", size.edge_cpu),
            (head + "edge edit, CPU p95", size.edge_cpu_p95),
            (head + "typing an edge p50", size.typing),
            (head + "typing an edge p95", size.typing_p95),
            (head + "typing an edge, CPU p50", size.typing_cpu),
            (head + "typing an edge, CPU p95", size.typing_cpu_p95),
            (head + f"burst of {BURST}", size.burst),
        ]
    lines = [f"| milliseconds unless said | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for title, figures in rows:
        floor = figures["floor"]
        cells = [
            f"{figures[name]:.1f}" + (f" ({figures[name] / floor:.1f}x)" if name != "floor" and floor else "")
            for name in names
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.language_server", description="Measure the server.")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--rounds", type=int, default=100, help="edits of each kind at each size (default 100)")
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of nodes")
    given = options.parse_args()
    result = measure(given.rounds, tuple(sorted(given.sizes)))
    print(json.dumps(asdict(result), indent=2) if given.json else table(result))


if __name__ == "__main__":
    main()
