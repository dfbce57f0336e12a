"""What the runs say, as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.search.contest import Outcome

MARKS = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2)


def table(outcomes: Sequence[Outcome]) -> str:
    """One table for each row of the benchmark, over the seeds that all its strategies ran."""
    return "\n\n".join(_row(row, [one for one in outcomes if one.row == row]) for row in _names(outcomes))


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(one.row for one in outcomes))


def _row(row: str, outcomes: Sequence[Outcome]) -> str:
    by_strategy: dict[str, dict[int, Outcome]] = {}
    for one in outcomes:
        by_strategy.setdefault(one.strategy, {})[one.seed] = one
    seeds = sorted(set.intersection(*(set(found) for found in by_strategy.values())))
    budget = outcomes[0].budget
    lines = [
        f"Row **{row}**: {len(seeds)} seeds, {budget:,} evaluations in the published loop.",
        "",
        "| strategy | true score at 1/8 | 1/6 | 1/4 | 1/3 | 1/2 | end | less published x5's end at 1/6 | at 1/4 | at 1/3 "
        "| evaluations to it | calls to it | told - true | held-out error |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    goal = by_strategy.get("published x5")
    for name, found in by_strategy.items():
        runs = [found[seed] for seed in seeds]
        cells = [f"{statistics.mean(one.at(mark) for one in runs):.3f}" for mark in MARKS]
        cells.append(f"{statistics.mean(one.curve[-1][2] for one in runs):.3f}")
        if goal is None:
            cells += ["-"] * 5
        else:
            ends = [goal[seed].curve[-1][2] for seed in seeds]
            for mark in (1 / 6, 1 / 4, 1 / 3):
                cells.append(_mean([one.at(mark) - end for one, end in zip(runs, ends, strict=True)]))
            cells += _crossing(runs, statistics.mean(ends), [goal[seed] for seed in seeds])
        cells += [_mean([one.told for one in runs]), _mean([one.held_out for one in runs])]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _crossing(runs: Sequence[Outcome], end: float, goal: Sequence[Outcome]) -> list[str]:
    """The share of evaluations, and of calls, after which the mean of the curves is at the published loop's mean end for good."""
    budget = runs[0].budget
    reached = None
    for step in range(200, 0, -1):
        if statistics.mean(one.at(step / 200) for one in runs) < end - 1e-9:
            break
        reached = step / 200
    if reached is None:
        return ["-", "-"]
    mine = statistics.mean(_calls(one, reached * budget) for one in runs)
    theirs = statistics.mean(one.curve[-1][1] for one in goal)
    return [f"{reached:.0%}", f"{mine / theirs:.0%}"]


def _calls(one: Outcome, evaluations: float) -> int:
    return max((calls for used, calls, _ in one.curve if used <= evaluations), default=0)


def _mean(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):+.3f} ± {error:.3f}"
