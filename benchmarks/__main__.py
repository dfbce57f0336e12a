"""``python -m benchmarks``: measure, print the tables, and put them into the documentation where asked to."""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys

from scripts import conformance

from benchmarks.cold import measure_cold, warm_up
from benchmarks.measure import peak_memory
from benchmarks.peers import INSTALL, start_peers
from benchmarks.report import Figures, markdown, write_region
from benchmarks.warm import measure_warm

SIZES = (10, 100, 1000, 5000)


def _machine() -> str:
    implementation = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{implementation}, {platform.system()} {platform.machine()}"


def measure(rounds: int, sizes: tuple[int, ...]) -> Figures:
    figures = Figures(_machine())
    peers = start_peers()
    if peers is None:
        print(f"The peers are not installed and left out; `{INSTALL}` installs them.", file=sys.stderr)
    try:
        warm_up(peers)
        for nodes in sizes:
            count = max(3, rounds if nodes <= 1000 else rounds // 3)
            figures.cold.append(measure_cold(nodes, count, peers))
        figures.cold.append(measure_cold(min(1000, max(sizes)), rounds, peers, metadata=True))
    finally:
        if peers is not None:
            peers.close()
    figures.warm += [measure_warm(nodes, 20 * rounds) for nodes in sizes]
    figures.memory |= {nodes: peak_memory(nodes) for nodes in (0, *sizes[-2:])}
    return figures


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Merrow and its peers.")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--rounds", type=int, default=9, help="runs of each reader at each size (default 9)")
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of nodes")
    options.add_argument(
        "--write-docs",
        action="store_true",
        help="put the tables, also of conformance, into docs/performance.md and docs/fidelity.md",
    )
    given = options.parse_args()
    gc.set_threshold(200_000, 20, 100)  # as the commands do
    figures = measure(given.rounds, tuple(sorted(given.sizes)))
    tables = markdown(figures)
    print(json.dumps(figures.as_json(), indent=2) if given.json else tables)
    if given.write_docs:
        write_region("performance.md", "benchmark", tables)
        if conformance.DEFAULT_FILE.is_file():
            write_region(
                "fidelity.md", "conformance", conformance.summary(conformance.rows_of(conformance.DEFAULT_FILE))
            )


if __name__ == "__main__":
    main()
