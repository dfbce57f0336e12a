"""Charts of a search as SVG: scores against answers, the front of score and cost, the tree of its candidates.

Colours are classes of the page's style sheet. Texts are escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from merrow_server.rendering.evaluation_charts import figure, label, rounded

WIDE, _HIGH = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 10, 36
_COLUMN, _ROW, _RADIUS, _MARGIN = 64, 26, 9, 24


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a chart: how it is drawn (a class of the style sheet), what it is, and an interval of ``y`` where it has one."""

    x: float
    y: float
    style: str
    said: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Places that are joined by a line; ``is_step`` keeps each value until the next place."""

    points: Sequence[tuple[float, float]]
    style: str
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A candidate in the tree: its parent, its score, how it is drawn, and what it is."""

    number: int
    parent: int | None
    score: float | None
    style: str
    said: str


def plane_chart(name: str, across: str, up: str, points: Sequence[Point], lines: Sequence[Line]) -> str:
    """Points and lines in a plane; ``across`` and ``up`` name its axes. Without a point only the name is shown."""
    xs = [point.x for point in points] + [x for line in lines for x, _ in line.points]
    ys = [end for point in points for end in (point.interval or (point.y,))] + [point.y for point in points]
    ys += [y for line in lines for _, y in line.points]
    if not xs:
        return figure(f"{name}: nothing yet", [], 1)
    left, right = _ends(0.0, xs) if min(xs) >= 0 else _ends(min(xs), xs)
    low, high = _ends(min(ys), ys)

    def x_of(x: float) -> float:
        return _LEFT + (WIDE - _LEFT - _RIGHT) * (x - left) / (right - left)

    def y_of(y: float) -> float:
        return _HIGH - _BOTTOM - (_HIGH - _TOP - _BOTTOM) * (y - low) / (high - low)

    parts = [*_axes(across, up, (left, right), (low, high))]
    for line in lines:
        places = list(line.points)
        if line.is_step:
            steps = [place for (x1, y1), (x2, _) in pairwise(places) for place in ((x1, y1), (x2, y1))]
            places = [*steps, places[-1]]
        way = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in places)
        parts.append(f'<polyline class="{escape(line.style)}" points="{way}"/>')
    for point in points:
        x, y = x_of(point.x), y_of(point.y)
        if point.interval is not None:
            lower, upper = (y_of(end) for end in point.interval)
            parts.append(
                f'<line class="{escape(point.style)}" x1="{x:.1f}" y1="{lower:.1f}" x2="{x:.1f}" y2="{upper:.1f}"/>'
            )
        parts.append(
            f'<circle class="{escape(point.style)}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(point.said)}</title></circle>'
        )
    return figure(name, parts, _HIGH, WIDE)


def _ends(least: float, values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, with some room, never the same."""
    most = max(values)
    room = (most - least) * 0.05 or max(abs(most) * 0.1, 0.05)
    return (least if least == 0.0 else least - room), most + room


def _axes(across: str, up: str, wide: tuple[float, float], tall: tuple[float, float]) -> list[str]:
    floor, right = _HIGH - _BOTTOM, WIDE - _RIGHT
    return [
        f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{right}" y2="{floor}"/>',
        f'<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{floor}"/>',
        label(_LEFT - 4, floor, f"{tall[0]:.2f}", "end"),
        label(_LEFT - 4, _TOP + 8, f"{tall[1]:.2f}", "end"),
        label(_LEFT, floor + 14, rounded(wide[0])),
        label(right, floor + 14, rounded(wide[1]), "end"),
        label((_LEFT + right) / 2, floor + 30, across, "middle"),
        label(_LEFT + 6, _TOP + 8, up),
    ]


def tree_chart(name: str, leaves: Sequence[Leaf]) -> str:
    """Candidates from left to right, each beside its parent, which comes before it in the list; a link leads to each."""
    depth: dict[int, int] = {}
    row: dict[int, float] = {}
    children: dict[int | None, list[Leaf]] = {}
    for leaf in leaves:
        depth[leaf.number] = 0 if leaf.parent is None else depth[leaf.parent] + 1
        children.setdefault(leaf.parent, []).append(leaf)
    rows = _rows(leaves, children)
    row.update(rows)
    wide = 2 * _MARGIN + _COLUMN * max(depth.values(), default=0) + 40
    high = 2 * _MARGIN + int(_ROW * max(rows.values(), default=0))
    place: Mapping[int, tuple[float, float]] = {
        number: (_MARGIN + _COLUMN * depth[number], _MARGIN + _ROW * row[number]) for number in depth
    }
    parts = []
    for leaf in leaves:
        if leaf.parent is not None:
            (x1, y1), (x2, y2) = place[leaf.parent], place[leaf.number]
            middle = (x1 + x2) / 2
            parts.append(
                f'<path class="branch {escape(leaf.style)}" d="M{x1:.0f},{y1:.1f} C{middle:.0f},{y1:.1f} {middle:.0f},{y2:.1f}'
                f' {x2:.0f},{y2:.1f}"/>'
            )
    for leaf in leaves:
        x, y = place[leaf.number]
        score = "" if leaf.score is None else f"{leaf.score:.2f}"
        parts.append(
            f'<a href="#round-{leaf.number}"><circle class="leaf {escape(leaf.style)}" cx="{x:.0f}" cy="{y:.1f}" r="{_RADIUS}">'
            f"<title>{escape(leaf.said)}</title></circle>{label(x, y + 3.5, str(leaf.number), 'middle')}</a>"
            + label(x + _RADIUS + 2, y + 3.5, score)
        )
    return figure(name, parts, high, wide)


def _rows(leaves: Sequence[Leaf], children: Mapping[int | None, Sequence[Leaf]]) -> dict[int, float]:
    """The row of each candidate: those without a child have one each, others are in the middle of their children."""
    rows: dict[int, float] = {}
    order: list[Leaf] = []
    waiting = list(reversed(children.get(None, ())))
    while waiting:
        leaf = waiting.pop()
        order.append(leaf)
        waiting.extend(reversed(children.get(leaf.number, ())))
    free = 0
    for leaf in order:
        if not children.get(leaf.number):
            rows[leaf.number] = float(free)
            free += 1
    for leaf in reversed(leaves):  # Children come after their parents.
        below = children.get(leaf.number)
        if below:
            rows[leaf.number] = (rows[below[0].number] + rows[below[-1].number]) / 2
    return rows
