"""``python -m benchmarks.search``: run the strategies over seeds and print the table; no model is called.

python -m benchmarks.search --rows base --seeds 0-29 --out runs.jsonl
python -m benchmarks.search --table runs.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.search.contest import STRATEGIES, Outcome, run
from benchmarks.search.tables import table
from benchmarks.search.world import Rules

ROWS = {
    "base": Rules(),
    "33 items": Rules(items=33),
    "60 items": Rules(items=60),
    "264 items": Rules(items=264),
    "half the effects": Rules(effect=0.5),
    "useless vote": Rules(vote=False),
    "prompts only": Rules(effect=0.0, vote=False, prompts=0.8),
    "start .12": Rules(start=0.12),
    "start .81": Rules(start=0.81),
    "nearly temperature 0": Rules(repeat_noise=0.2),
    "better judge": Rules(judge=0.6),
}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.search", description="Measure the search strategies.")
    options.add_argument("--rows", nargs="+", default=["base"], choices=list(ROWS), help="worlds (default base)")
    options.add_argument("--strategies", nargs="+", default=list(STRATEGIES), choices=list(STRATEGIES))
    options.add_argument("--seeds", default="0-29", help="first and last seed (default 0-29)")
    options.add_argument("--out", type=Path, help="append each run to this file as a line of JSON")
    options.add_argument("--table", type=Path, nargs="+", help="only print the table of such files")
    given = options.parse_args()
    outcomes: list[Outcome] = []
    if given.table:
        for path in given.table:
            outcomes += [Outcome(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    else:
        first, last = map(int, given.seeds.split("-"))
        for seed in range(first, last + 1):
            for row in given.rows:
                for name in given.strategies:
                    outcomes.append(run(row, ROWS[row], name, seed))
                    if given.out is not None:
                        with given.out.open("a", encoding="utf-8") as out:
                            out.write(json.dumps(outcomes[-1].to_json()) + "\n")
    print(table(outcomes))


if __name__ == "__main__":
    main()
