"""The mean curves of strategies as a page with one chart a row."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from html import escape

from benchmarks.search.contest import ORACLE, Outcome
from merrow_server.optimizations.search_charts import Line, Point, plane_chart

_COLOURS = ("#2e7d32", "#1976d2", "#b26a00", "#7b1fa2", "#c62828", "#00838f", "#5d4037", "#455a64", "#827717")
_STEPS = 60


def page(outcomes: Sequence[Outcome]) -> str:
    """One HTML file: for each row the true score of each strategy's choice against its evaluations, in the mean of its seeds."""
    names = list(dict.fromkeys(one.strategy for one in outcomes if one.strategy != ORACLE))
    style = (
        "body { font: 14px system-ui, sans-serif; } polyline { fill: none; stroke-width: 2; } .axis { stroke: #888; }\n"
    )
    style += "\n".join(
        f"polyline.s{number}, circle.s{number} {{ stroke: {_colour(number)}; }} span.s{number} {{ color: {_colour(number)}; }}"
        for number in range(len(names))
    )
    legend = " ".join(f'<span class="s{number}">{escape(name)}</span>' for number, name in enumerate(names))
    charts = [
        _chart(row, [one for one in outcomes if one.row == row], names)
        for row in dict.fromkeys(one.row for one in outcomes)
    ]
    return f"<!DOCTYPE html>\n<meta charset=utf-8><style>{style}</style>\n<p>{legend}</p>\n" + "\n".join(charts) + "\n"


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _chart(row: str, outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    lines, points = [], []
    for number, name in enumerate(names):
        runs = [one for one in outcomes if one.strategy == name]
        if not runs:
            continue
        last = max(one.curve[-1][0] / one.budget for one in runs)
        shares = [last * step / _STEPS for step in range(_STEPS + 1)]
        places = [(100 * share, statistics.mean(one.at(share) for one in runs)) for share in shares]
        lines.append(Line(places, f"s{number}", is_step=True))
        points.append(Point(*places[-1], f"s{number}", f"{name}: {places[-1][1]:.3f}, {len(runs)} seeds"))
    return plane_chart(f"Row {row}", "% of the published loop's evaluations", "true score", points, lines)
