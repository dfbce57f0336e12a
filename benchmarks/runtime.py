"""``python -m benchmarks.runtime``: what running a workflow costs beside its calls, against the least that could be, a
scheduler that goes level by level, and LangGraph; calls a second; and the start of `merrow run`.

All contenders take turns in one run, so that a machine that slows down for a while slows down all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.peer_process import INSTALL
from benchmarks.runtime_calls import SECONDS, Rate, measure_calls
from benchmarks.runtime_schedulers import LangGraph, Merrow, Scheduler, Time, schedulers
from benchmarks.runtime_shapes import SHAPES, Shape
from benchmarks.runtime_start import measure_start

MODEL_SECONDS = 0.1
Figures = dict[str, float]
"""A figure for each contender."""


@dataclass
class Measured:
    """A shape with a model that takes ``model_seconds``: microseconds of CPU and of the clock for a node, and the wall-clock
    seconds of a run, of the round that was quickest and of the middle one.
    """

    shape: str
    nodes: int
    model_seconds: float
    ideal: float
    cpu: Figures = field(default_factory=dict)
    wall: Figures = field(default_factory=dict)
    quickest: Figures = field(default_factory=dict)
    middle: Figures = field(default_factory=dict)


@dataclass
class Result:
    """All that one run measured. ``loading``: CPU milliseconds to read and check each shape's text, once."""

    machine: str
    langgraph: str | None
    shapes: list[Measured] = field(default_factory=list)
    loading: Figures = field(default_factory=dict)
    calls: list[Rate] = field(default_factory=list)
    start: Figures = field(default_factory=dict)


def measure_shape(shape: Shape, seconds: float, rounds: int, contenders: list[Scheduler]) -> Measured:
    times: dict[str, list[Time]] = {contender.name: [] for contender in contenders}
    warming = 0 if seconds else 1  # with model time all have run before
    for number in range(rounds + warming):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            taken = contender.run(shape, seconds)
            if number >= warming:
                times[contender.name].append(taken)
    ideal = shape.ideal(seconds)
    measured = Measured(shape.name, shape.nodes, seconds, ideal)
    for name, all_taken in times.items():
        walls = [taken.wall for taken in all_taken]
        measured.cpu[name] = median(taken.cpu for taken in all_taken) * 1e6 / shape.nodes
        measured.wall[name] = (median(walls) - ideal) * 1e6 / shape.nodes
        measured.quickest[name], measured.middle[name] = min(walls), median(walls)
    return measured


def measure(rounds: int, slow_rounds: int, calls: int, start_rounds: int) -> Result:
    result = Result(f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contenders = schedulers(folder)
        result.langgraph = next((each.version for each in contenders if isinstance(each, LangGraph)), None)
        if result.langgraph is None:
            print(f"LangGraph is not installed and left out; this installs it: {INSTALL}", file=sys.stderr)
        try:
            for shape in SHAPES:
                result.shapes.append(measure_shape(shape, 0.0, rounds, contenders))
            for shape in SHAPES if slow_rounds else ():
                result.shapes.append(measure_shape(shape, MODEL_SECONDS, slow_rounds, contenders))
        finally:
            for contender in contenders:
                contender.close()
                if isinstance(contender, Merrow):
                    result.loading = contender.loading
        if calls:
            result.calls = [measure_calls(concurrency, calls, rounds=3, folder=folder) for concurrency in (50, 500)]
        if start_rounds:
            result.start = measure_start(start_rounds, folder)
    return result


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _beside(figures: Figures, name: str, digits: int) -> str:
    ratio = f" ({figures[name] / figures['merrow']:.1f}x)" if name != "merrow" else ""
    return f"{figures[name]:.{digits}f}{ratio}"


def table(result: Result) -> str:
    """The figures for reading; in brackets how many times Merrow's."""
    names = list(result.shapes[0].cpu)
    lines = ["Overhead of a node, microseconds (medians; in brackets how many times Merrow's):", ""]
    rows: list[list[str]] = []
    for each in result.shapes:
        if not each.model_seconds:
            rows.append([f"{each.shape}, CPU", *(_beside(each.cpu, name, 0) for name in names)])
            rows.append([f"{each.shape}, clock", *(_beside(each.wall, name, 0) for name in names)])
    lines += _table(["", *names], rows)
    slow = [each for each in result.shapes if each.model_seconds]
    if slow:
        lines += [
            "",
            f"Seconds of a run with {MODEL_SECONDS * 1000:.0f} ms model time, the quickest and the middle one:",
            "",
        ]
        rows = [
            [
                each.shape,
                f"{each.ideal:.1f}",
                *(
                    f"{each.quickest[name]:.3f} (+{(each.quickest[name] / each.ideal - 1) * 100:.1f} %), {each.middle[name]:.3f}"
                    for name in names
                ),
            ]
            for each in slow
        ]
        lines += _table(["", "ideal", *names], rows)
    loading = ", ".join(f"{name} {figure:.0f}" for name, figure in result.loading.items())
    lines += ["", f"Not in these figures: reading and checking the text once, CPU milliseconds: {loading}."]
    if result.calls:
        names = list(result.calls[0].cpu)
        lines += ["", f"A call to a server on loopback that takes {SECONDS * 1000:.0f} ms, CPU milliseconds:", ""]
        rows = [
            [
                f"concurrency {rate.concurrency}, {rate.calls} calls",
                *(f"{rate.cpu[name]:.2f} ({rate.ratios[name]:.2f}x, {rate.per_second[name]:.0f}/s)" for name in names),
            ]
            for rate in result.calls
        ]
        lines += _table(["", *names], rows)
    if result.start:
        started = "; ".join(f"{name} {figure:.0f}" for name, figure in result.start.items())
        lines += ["", f"Starting, CPU milliseconds of a process: {started}."]
    peer = "LangGraph left out" if result.langgraph is None else f"LangGraph {result.langgraph}"
    return "\n".join([*lines, "", f"Measured on {result.machine}; {peer}."])


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.runtime", description="Measure the runtime.")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--rounds", type=int, default=9, help="runs without model time (default 9)")
    options.add_argument("--slow-rounds", type=int, default=3, help="runs with 100 ms model time (default 3; 0: none)")
    options.add_argument("--calls", type=int, default=2000, help="calls at each concurrency (default 2000; 0: none)")
    options.add_argument("--start-rounds", type=int, default=5, help="starts of each process (default 5; 0: none)")
    given = options.parse_args()
    gc.set_threshold(200_000, 20, 100)  # as the commands do
    result = measure(given.rounds, given.slow_rounds, given.calls, given.start_rounds)
    print(json.dumps(asdict(result), indent=2) if given.json else table(result))


if __name__ == "__main__":
    main()
