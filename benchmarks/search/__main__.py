"""``python -m benchmarks.search``: run the strategies over seeds and print the table; no model is called.

python -m benchmarks.search --rows base --seeds 0-29 --out runs.jsonl
python -m benchmarks.search --table runs.jsonl
python -m benchmarks.search --speed
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.search.contest import EVERY_STRATEGY, OPERATORS, ORACLE, Outcome, run
from benchmarks.search.plots import page
from benchmarks.search.speed import speed
from benchmarks.search.tables import paired_table, table
from benchmarks.search.world import Rules

ROWS = {
    "base": Rules(),
    "33 items": Rules(items=33),
    "60 items": Rules(items=60),
    "264 items": Rules(items=264),
    "nearly temperature 0": Rules(repeat_noise=0.2),
    "better proposer and judge": Rules(judge=0.6, proposer=0.5),
    "half the effects": Rules(effect=0.5),
    "interactions": Rules(interactions=0.3),
    "prompts only": Rules(effect=0.0, vote=False, prompts=0.8),
    "useless vote": Rules(vote=False),
    "1,500 prompts": Rules(wordings=1_500),
    "heavy tails": Rules(luck=0.2, heavy_tails=True),
    "mislabelled items": Rules(mislabelled=0.1),
    "cache": Rules(shared=0.5),
    "compressed scores": Rules(compressed=0.35),
    "start .12": Rules(start=0.12),
    "start .81": Rules(start=0.81),
    "up to 40 calls": Rules(max_nodes=24),
}
COMPARED = ["published x5", "published x1", "guided", ORACLE]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.search", description="Measure the search strategies.")
    options.add_argument("--rows", nargs="+", default=["base"], choices=list(ROWS), help="worlds (default base)")
    options.add_argument(
        "--strategies", nargs="+", default=COMPARED, choices=[*EVERY_STRATEGY], help=f"default {COMPARED}"
    )
    options.add_argument(
        "--operators", action="store_true", help="compare the operators one by one, in place of strategies"
    )
    options.add_argument("--seeds", default="0-29", help="first and last seed (default 0-29)")
    options.add_argument(
        "--out", type=Path, help="append each run to this file as a line of JSON; those in it are not run again"
    )
    options.add_argument("--table", type=Path, nargs="+", help="only print the table of such files")
    options.add_argument("--against", help="print the differences to this strategy by seed, in place of the marks")
    options.add_argument("--plot", type=Path, help="write the mean curves to this page, too")
    options.add_argument("--speed", action="store_true", help="only measure what choosing a batch costs")
    given = options.parse_args()
    if given.speed:
        print(speed())
        return
    outcomes: list[Outcome] = []
    if given.table:
        for path in given.table:
            outcomes += _read(path)
    else:
        before = _read(given.out) if given.out is not None and given.out.exists() else []
        known = {(one.row, one.strategy, one.seed): one for one in before}
        first, last = map(int, given.seeds.split("-"))
        for seed in range(first, last + 1):
            for row in given.rows:
                for name in OPERATORS if given.operators else given.strategies:
                    found = known.get((row, name, seed))
                    outcomes.append(found or run(row, ROWS[row], name, seed))
                    if found is None and given.out is not None:
                        with given.out.open("a", encoding="utf-8") as out:
                            out.write(json.dumps(outcomes[-1].to_json()) + "\n")
    print(paired_table(outcomes, given.against) if given.against else table(outcomes))
    if given.plot is not None:
        given.plot.write_text(page(outcomes), "utf-8")


def _read(path: Path) -> list[Outcome]:
    """The runs in a file."""
    return [Outcome(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
