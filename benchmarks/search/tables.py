"""What the runs say, as tables for people, with whether the aims are met."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.search.contest import ORACLE, Outcome
from merrow_optimizer.evaluation.statistics.distributions import t_quantile

PUBLISHED, PUBLISHED_ONCE, GUIDED = "published x5", "published x1", "guided"
WANTED_SEEDS = 30
_MARKS = {"1/6": 1 / 6, "1/4": 1 / 4, "1/3": 1 / 3, "1/2": 1 / 2}
_STEPS = 200
_FEW_ITEMS = 60
_ALLOWED_LOSS = 0.03

Runs = dict[int, Outcome]
"""The runs of one strategy in one row by seed."""


def table(outcomes: Sequence[Outcome]) -> str:
    """For each row of the benchmark a table of its strategies, and the aims for `guided` with what was reached."""
    names = list(dict.fromkeys(one.row for one in outcomes))
    return "\n\n".join("\n".join(_row([one for one in outcomes if one.row == name])) for name in names)


def paired_table(outcomes: Sequence[Outcome], against: str) -> str:
    """For each row of the benchmark the end of each strategy, and the difference to one of them by seed, with 95 % intervals."""
    names = list(dict.fromkeys(one.row for one in outcomes))
    return "\n\n".join("\n".join(_paired([one for one in outcomes if one.row == name], against)) for name in names)


def _paired(outcomes: Sequence[Outcome], against: str) -> Iterator[str]:
    found: dict[str, Runs] = {}
    for one in outcomes:
        found.setdefault(one.strategy, {})[one.seed] = one
    other = found[against]
    yield f"Row **{outcomes[0].row}**, simulated:"
    yield ""
    yield f"| strategy | seeds | evaluations | calls of proposer and judge | true score at the end | less {against} |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, runs in found.items():
        common = sorted(set(runs) & set(other))
        asked = statistics.mean(one.asked for one in runs.values())
        answers = statistics.mean(one.curve[-1][0] for one in runs.values())
        gaps = [runs[seed].end - other[seed].end for seed in common]
        ends = _interval([one.end for one in runs.values()])
        less = "-" if name == against or not gaps else _interval(gaps, "+")
        yield f"| {name} | {len(runs)} | {answers:,.0f} | {f'{asked:,.0f}' if asked else '-'} | {ends} | {less} |"


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean by Student's t."""
    return t_quantile(0.975, len(values) - 1) * _error(values) if len(values) > 1 else 0.0


def _interval(values: Sequence[float], sign: str = "") -> str:
    return f"{statistics.mean(values):{sign}.3f} ± {half_width(values):.3f}"


def _row(outcomes: Sequence[Outcome]) -> Iterator[str]:
    found: dict[str, Runs] = {}
    best: dict[int, float] = {}
    for one in outcomes:
        found.setdefault(one.strategy, {})[one.seed] = one
        best[one.seed] = max(best.get(one.seed, 0.0), one.best)
    first = outcomes[0]
    yield (
        f"Row **{first.row}**: {first.budget:,} evaluations in the published loop, start {first.start:.2f}, best known"
        f" {statistics.mean(best.values()):.3f}."
    )
    yield ""
    columns = [
        "strategy",
        "seeds",
        *(f"true at {mark}" for mark in _MARKS),
        "end",
        "evaluations to x5's end",
        "calls to it",
        "calls of the proposer",
        "evaluations to 90 %",
        "95 % of best known",
        "regret",
        "told - true",
        "held-out error",
    ]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    goal = found.get(PUBLISHED, {})
    for name, runs in found.items():
        if name != ORACLE:
            yield f"| {name} | {' | '.join(_cells(runs, goal, best))} |"
    if GUIDED in found and goal:
        yield ""
        seeds = len(set(found[GUIDED]) & set(goal))
        if seeds < WANTED_SEEDS:
            yield f"With {seeds} seeds of the {WANTED_SEEDS} that are wanted, this is a first impression:"
            yield ""
        yield from (f"- {line}" for line in _aims(first, found[GUIDED], goal, found.get(PUBLISHED_ONCE, {})))


def _cells(runs: Runs, goal: Runs, best: dict[int, float]) -> Iterator[str]:
    seeds = sorted(runs)
    yield str(len(seeds))
    for mark in _MARKS.values():
        yield f"{statistics.mean(runs[seed].at(mark) for seed in seeds):.3f}"
    yield f"{statistics.mean(runs[seed].end for seed in seeds):.3f}"
    common = [seed for seed in seeds if seed in goal]
    level = _crossing(runs, common, [goal[seed].end for seed in common])
    yield "-" if level is None else f"{level:.0%}"
    yield "-" if level is None else f"{_calls_share(runs, goal, common, level):.0%}"
    asked = statistics.mean(runs[seed].asked for seed in seeds)
    yield f"{asked:,.0f}" if asked else "-"
    for share in (0.9, 0.95):
        reached = _crossing(runs, seeds, [share * best[seed] for seed in seeds])
        yield "-" if reached is None else f"{reached:.0%}"
    yield _mean([best[seed] - runs[seed].end for seed in seeds])
    yield _signed([runs[seed].told for seed in seeds])
    yield _signed([runs[seed].held_out for seed in seeds])


def _aims(first: Outcome, guided: Runs, goal: Runs, once: Runs) -> Iterator[str]:
    """Each aim with what was reached."""
    is_base = first.row == "base"
    mark = "1/6" if is_base else "1/3" if first.items < _FEW_ITEMS else "1/4"
    seeds = sorted(set(guided) & set(goal))
    gains = [guided[seed].at(_MARKS[mark]) - goal[seed].end for seed in seeds]
    yield _aim(
        f"at {mark} of the published loop's evaluations, `guided` less that loop's end is {_signed(gains)}",
        statistics.mean(gains) >= -_error(gains),
    )
    level = _crossing(guided, seeds, [goal[seed].end for seed in seeds])
    aim = 0.25 if is_base else 0.4
    calls = None if level is None else _calls_share(guided, goal, seeds, level)
    said = "`guided` does not stay level with that end" if calls is None else f"calls until level with it: {calls:.0%}"
    yield _aim(f"{said} (aim {aim:.0%})", calls is not None and calls <= aim)
    both = sorted(set(guided) & set(once))
    if both:
        gains = [guided[seed].at(0.5) - once[seed].end for seed in both]
        yield _aim(
            f"at half the budget, `guided` less the end of {PUBLISHED_ONCE} is {_signed(gains)} (aim: above"
            f" -{_ALLOWED_LOSS})",
            statistics.mean(gains) >= -_ALLOWED_LOSS,
        )
    errors = [guided[seed].held_out for seed in sorted(guided)]
    yield _aim(
        f"the held-out difference less the true one is {_signed(errors)}",
        abs(statistics.mean(errors)) <= 2 * _error(errors),
    )


def _aim(said: str, is_met: bool) -> str:
    return f"**{'met' if is_met else 'short'}**: {said}"


def _crossing(runs: Runs, seeds: Sequence[int], scores: Sequence[float]) -> float | None:
    """The share of the published loop's evaluations after which the mean of the curves is at the mean of ``scores`` for good."""
    if not seeds:
        return None
    reached, wanted = None, statistics.mean(scores) - 1e-9
    for step in range(_STEPS, 0, -1):
        if statistics.mean(runs[seed].at(step / _STEPS) for seed in seeds) < wanted:
            break
        reached = step / _STEPS
    return reached


def _calls_share(runs: Runs, goal: Runs, seeds: Sequence[int], share: float) -> float:
    """The calls after this share of the evaluations, as a share of those that the published loop made."""
    mine = sum(runs[seed].calls_after(share) for seed in seeds)
    return mine / sum(goal[seed].curve[-1][1] for seed in seeds)


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f} ± {_error(values):.3f}"


def _signed(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):+.3f} ± {_error(values):.3f}"
