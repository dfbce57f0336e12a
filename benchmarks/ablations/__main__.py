"""``python -m benchmarks.ablations``: A2Flow's ablations in a simulated world, 30 seeds; no model is called.

python -m benchmarks.ablations --seeds 0-29 --out runs.jsonl
python -m benchmarks.ablations --table runs.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.ablations.libraries import ALL, ROWS, Row, library, start
from benchmarks.ablations.world import Rules, World
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.strategies.climbing import Climb
from merrow_runtime import RunOptions
from merrow_runtime.workflow import check_workflow

ITEMS, EVALUATIONS = 100, 2_000
Run = Mapping[str, float]


def run(row: Row, seed: int) -> dict[str, float]:
    """One search of one row: the true scores of the single Executor and of what the search chose, and the nodes of that."""
    world = World(Rules(), library(row, seed), seed, ITEMS)
    moves = Moves(check_workflow(start(row, seed)), RunOptions(default_model="m"))
    search = Search(moves.start(), Climb(moves), items=ITEMS, repeats=1, evaluations=EVALUATIONS, seed=seed)
    while (draw := search.next()) is not None:
        draft = search.history.drafts[draw.candidate]
        search.outcome(draw.number, [world.answer(draft, place) for place in draw.places])
    crown = search.history.drafts[search.crown]
    first = search.history.drafts[0]
    return {
        "start": world.truth(first),
        "found": world.truth(crown),
        "nodes": crown.nodes,
        "candidates": len(search.history.drafts),
        "memory": float("memory: " in crown.text.partition("flowchart")[2]),
    }


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__)
    options.add_argument("--seeds", default="0-29", help="first and last seed (default 0-29)")
    options.add_argument("--out", type=Path, help="append each run to this file; those in it are not run again")
    options.add_argument("--table", type=Path, help="only print the table of such a file")
    given = options.parse_args()
    kept = given.table or given.out
    runs: dict[tuple[str, int], Run] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text("utf-8").splitlines():
            one = json.loads(line)
            runs[one.pop("row"), one.pop("seed")] = one
    if given.table is None:
        first, last = map(int, given.seeds.split("-"))
        for seed in range(first, last + 1):
            for row in ROWS:
                if (row.name, seed) not in runs:
                    found = runs[row.name, seed] = run(row, seed)
                    if given.out is not None:
                        with given.out.open("a", encoding="utf-8") as out:
                            out.write(json.dumps({"row": row.name, "seed": seed, **found}) + "\n")
    print(table(runs))


def table(runs: Mapping[tuple[str, int], Run]) -> str:
    """The rows beside the paper's; differences to all are paired by seed, with the standard error of their mean."""
    lines = [
        "| row | paper (MATH, measured) | less all | simulated (not a reproduction) | less all, by seed | nodes | own memories |",
        "|---|---|---|---|---|---|---|",
    ]
    whole = {seed: one["found"] for (name, seed), one in runs.items() if name == ALL.name}
    for row in ROWS:
        mine = {seed: one for (name, seed), one in runs.items() if name == row.name}
        if not mine:
            continue
        paper = "-" if row.paper is None else f"{row.paper:.1f}"
        less = "-" if row.paper is None or ALL.paper is None else f"{row.paper - ALL.paper:+.1f}"
        score, nodes = _mean(one["found"] for one in mine.values()), _mean(one["nodes"] for one in mine.values())
        gaps = [100 * (one["found"] - whole[seed]) for seed, one in mine.items() if seed in whole]
        error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan
        said = "-" if row is ALL else f"{_mean(gaps):+.1f} ± {error:.1f}"
        own = f"{100 * _mean(one['memory'] for one in mine.values()):.0f} %"
        lines.append(f"| {row.name} | {paper} | {less} | {100 * score:.1f} | {said} | {nodes:.1f} | {own} |")
    seeds = len(whole)
    began = _mean(one["start"] for one in runs.values())
    return "\n".join([*lines, "", f"{seeds} seeds; the single Executor scores {100 * began:.1f} in the mean."])


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


if __name__ == "__main__":
    main()
