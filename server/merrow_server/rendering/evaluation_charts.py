"""Charts of an evaluation as SVG: the statuses of its answers, the score with its interval, how a figure is spread.

Colours are classes of the page's style sheet, so that a dark page is readable, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH = 360
_HIGH = 110
_BINS = 24


def status_chart(answers: Mapping[str, int]) -> str:
    """A bar divided by how many answers have which status."""
    total = sum(answers.values())
    parts, at = [], 0.0
    for status, count in answers.items():
        if count:
            wide = WIDTH * count / total
            text = f"{count:,} {status}"
            parts.append(
                f'<rect class="{escape(status)}" x="{at:.1f}" y="20" width="{max(wide, 1):.1f}" height="40">'
                f"<title>{escape(text)}</title></rect>"
            )
            at += wide
    text = ", ".join(f"{count:,} {status}" for status, count in answers.items() if count)
    return figure(f"Answers: {text or 'none'}", [*parts, label(0, 80, text)], 90)


def score_chart(score: float | None, interval: Sequence[float] | None) -> str:
    """The score on a line from 0 to 1, with the interval around it."""
    inside = WIDTH - 40
    parts = [f'<line class="axis" x1="20" y1="45" x2="{WIDTH - 20}" y2="45"/>']
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = 20 + inside * tick
        parts += [
            f'<line class="axis" x1="{x:.1f}" y1="41" x2="{x:.1f}" y2="49"/>',
            label(x, 68, f"{tick:g}", "middle"),
        ]
    if score is None or interval is None:
        return figure("No item has a score", parts, 90)
    lower, upper = (20 + inside * min(1.0, max(0.0, end)) for end in interval)
    parts += [
        f'<rect class="interval" x="{lower:.1f}" y="35" width="{max(upper - lower, 1):.1f}" height="20"/>',
        f'<circle class="score" cx="{20 + inside * score:.1f}" cy="45" r="6"/>',
    ]
    return figure(f"Score {score:.3f}, 95 % interval {interval[0]:.3f} to {interval[1]:.3f}", parts, 90)


def spread_chart(name: str, values: Sequence[float], unit: str) -> str:
    """How many answers have which value, in bins of equal width from 0; empty without values above 0."""
    most = max(values, default=0.0)
    if not math.isfinite(most) or most <= 0:
        return ""
    bins = [0] * _BINS
    for value in values:
        bins[min(_BINS - 1, int(max(0.0, value) / most * _BINS))] += 1
    tallest, wide = max(bins), WIDTH / _BINS
    parts = [
        f'<rect class="bin" x="{place * wide + 1:.1f}" y="{_HIGH - _HIGH * count / tallest:.1f}" width="{wide - 2:.1f}"'
        f' height="{_HIGH * count / tallest:.1f}"><title>{count:,} from {rounded(most * place / _BINS)} to'
        f" {rounded(most * (place + 1) / _BINS)} {escape(unit)}</title></rect>"
        for place, count in enumerate(bins)
        if count
    ]
    parts += [label(0, _HIGH + 16, "0"), label(WIDTH, _HIGH + 16, f"{rounded(most)} {unit}", "end")]
    return figure(name, parts, _HIGH + 22)


def rounded(value: float) -> str:
    """A number in three digits, or in all that it has before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def label(x: float, y: float, text: str, anchor: str = "start") -> str:
    """A text in a chart."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def figure(caption: str, parts: Sequence[str], high: int, wide: int = WIDTH) -> str:
    """A chart of this size, of these ``parts``; ``caption`` describes it."""
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f'<svg role="img" aria-label="{escape(caption)}" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
        f"{''.join(parts)}</svg></figure>"
    )
