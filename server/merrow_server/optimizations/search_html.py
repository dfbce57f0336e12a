"""A search as one HTML file without network and script; whatever titles, prompts and data say is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from merrow_analysis.check import Analysis
from merrow_optimizer.optimization.effects import Effect, effects_of
from merrow_optimizer.optimization.record import RecordedCandidate, SearchRecord
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import RunFailure
from merrow_server.optimizations.search_charts import Leaf, Line, Point, plane_chart, tree_chart
from merrow_server.optimizations.search_data import analyses_of
from merrow_server.optimizations.search_words import held_out_text, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import plain
from merrow_server.rendering.workflow_sketch import difference_words, sketch
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import duration

_SHOWN = 40
"""Candidates that are shown with their text and drawing, the best ones, with those that they come from."""
_EFFECTS = 20
_LONGEST = 40_000
"""Characters of a workflow's text; the rest is in its file."""
_STYLE = """
:root { color-scheme: light dark; --good: #2e7d32; --line: #8886; --soft: #8882; --blue: #1976d2; --odd: #b26a00; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
body { color: CanvasText; background: Canvas; } .vscode-light { color-scheme: light; } .vscode-dark { color-scheme: dark; }
.vscode-high-contrast { color-scheme: dark; } .vscode-high-contrast-light { color-scheme: light; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h1, td, pre, dd, li, p { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
figure { display: inline-block; margin: 0 2rem 1rem 0; vertical-align: top; max-width: 100%; overflow-x: auto; }
figcaption { font-weight: 600; } svg text { font-size: 11px; fill: currentColor; } svg .axis { stroke: currentColor; }
polyline, path { fill: none; stroke: var(--blue); stroke-width: 1.5; }
polyline.front { stroke: var(--odd); stroke-dasharray: 4 3; }
circle.scored { fill: var(--blue); opacity: .35; }
circle.best, circle.held { fill: var(--good); } circle.start { fill: var(--odd); }
line.held, line.scored, line.start { stroke: var(--good); stroke-width: 2; } line.start { stroke: var(--odd); }
path.branch { stroke: var(--line); } path.branch.best { stroke: var(--good); stroke-width: 2.5; }
circle.leaf { fill: var(--soft); stroke: var(--line); }
circle.leaf.best { fill: #2e7d3255; stroke: var(--good); stroke-width: 2; }
rect.node { fill: var(--soft); stroke: var(--line); } rect.node.new { fill: #2e7d3255; stroke: var(--good); stroke-width: 2; }
path.edge { stroke: currentColor; opacity: .6; } path.edge.new { stroke: var(--good); opacity: 1; stroke-width: 2.5; }
table { border-collapse: collapse; } th { text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; }
pre { white-space: pre-wrap; max-height: 30rem; overflow: auto; background: var(--soft); padding: .5rem; }
.number { text-align: right; white-space: nowrap; } summary { cursor: pointer; }
.added { color: var(--good); } .removed { color: var(--odd); }
article { border-top: 1px solid var(--line); padding: .4rem 0; } article h3 { font-size: 1rem; margin: .4rem 0; }
"""
_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'; base-uri 'none'; form-action 'none'"
)


def as_html(found: SearchRecord) -> str:
    """The whole file."""
    return "\n".join(_lines(found))


def _lines(found: SearchRecord) -> Iterator[str]:
    record = found.search
    name = _safe(f"Search for a better {Path(workflow_text(record.workflow)).name}")
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{name}</h1>"
    yield "".join(f"<p>{_safe(line)}</p>" for line in report_lines(found, whole=False) if line.strip())
    yield from _facts(found)
    yield _curve(found)
    yield _front(found)
    yield from _judged(found)
    shown = _shown(found)
    leaves = list(_leaves(found, shown))
    if leaves:
        yield "<h2>Where candidates come from</h2>"
        left = len(found.candidates) - len(leaves)
        if left:
            others = "1 other is" if left == 1 else f"{left:,} others are"
            yield f"<p>The best {len(leaves):,} with those that they come from; {others} left out.</p>"
        yield tree_chart("Rounds by number with their estimated score; the way to the best is green", leaves)
    yield "<h2>What helps</h2>"
    yield from _effects(found)
    yield "<h2>Rounds</h2>"
    yield from _rounds(found, shown)
    yield "</body>\n</html>"


def _facts(found: SearchRecord) -> Iterator[str]:
    record, usage = found.search, found.usage
    items, held = counted(len(record.plan["items"]), "item"), record.plan["held_out"]
    said = {
        "Search": f"{record.id}, {found.state}",
        "Stopped by": record.error or "",
        "Data": f"{workflow_text(record.plan['asked']['dataset'])} (part {record.part}): {items}"
        + (f", {len(held['items']):,} held out" if held["items"] else ""),
        "Metric": record.metric,
        "Strategy": f"{record.strategy}, proposer {record.proposer}, seed {record.seed}, jobs {record.jobs}",
        "Model": record.model,
        "Used": f"{counted(usage.calls, 'call')}, {counted(usage.tokens, 'token')}, {cost_text(usage.to_json())}",
        "Time": duration(record.seconds),
    }
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{_safe(text)}</dd>" for name, text in said.items() if text) + "</dl>"


def _curve(found: SearchRecord) -> str:
    """The estimate of the best after each draw, each candidate where it was last asked, and what held-out items say."""
    line: list[tuple[float, float]] = []
    last: dict[int, int] = {}
    answers = 0
    for draw in found.draws:
        answers += len(draw.places)
        last[draw.candidate] = answers
        if draw.told is not None:
            line.append((answers, draw.told))
    points = [
        Point(last[one.number], one.mean, "start" if one.number == START else "scored", f"{_name(one)}: {one.mean:.3f}")
        for one in found.candidates
        if one.mean is not None and one.number in last
    ]
    result = found.held_out
    if result is not None:
        at = answers + 2 * result.items
        # A score is between 0 and 1, whatever the interval of the difference allows for.
        lower, upper = (min(1.0, max(0.0, result.start + end)) for end in result.interval)
        points += [
            Point(at, result.start, "start", f"start on held-out items: {result.start:.3f}"),
            Point(at, result.crown, "held", plain(held_out_text(result)), (lower, upper)),
        ]
    name = "Score against answers. Line: estimate of the best; blue: means of candidates; orange: the start"
    name += "; at the end, held-out items: the best in green with its interval" if result is not None else ""
    return plane_chart(name, "answers", "score", points, [Line(line, "told", is_step=True)] if line else [])


def _front(found: SearchRecord) -> str:
    scored = [one for one in found.candidates if one.told is not None]

    def point(one: RecordedCandidate) -> tuple[float, float]:
        return found.effort(one), one.told or 0.0

    styles = {START: "start", found.crown: "best"}
    points = [Point(*point(one), styles.get(one.number, "scored"), f"{_name(one)}: {one.told:.3f}") for one in scored]
    across = "US dollars for an item" if found.is_priced else "calls for an item"
    lines = [Line([point(one) for one in found.front()], "front")]
    return plane_chart(
        "Estimated score and cost. Green: the best; orange: the start; no candidate beats those on the line",
        across,
        "score",
        points,
        lines,
    )


def _judged(found: SearchRecord) -> Iterator[str]:
    """What a judge gave candidates before they ran against what they came to; nothing where none was judged."""
    points = [
        Point(one.judged, one.mean, "best" if one.number == found.crown else "scored", f"{_name(one)}: {one.mean:.3f}")
        for one in found.candidates
        if one.judged is not None and one.mean is not None
    ]
    if points:
        name = "What a judge gave and the score on the items searched with"
        yield plane_chart(name, "the judge, 1 to 10", "score", points, [])


def _name(one: RecordedCandidate) -> str:
    return plain(f"round {one.number}" + (f", {' '.join(one.title.split())}" if one.title else ""))


def _shown(found: SearchRecord) -> list[RecordedCandidate]:
    """The best candidates with all that they come from, in the order of their numbers."""
    scored = [one for one in found.candidates if one.told is not None or one.number == START]
    best = sorted(scored, key=lambda one: (one.number != found.crown, -(one.told or 0.0), one.number))[:_SHOWN]
    wanted = {one.number for one in best}
    wanted.update(above.number for one in best for above in found.line_of(one.number))
    return [one for one in found.candidates if one.number in wanted]


def _leaves(found: SearchRecord, shown: Sequence[RecordedCandidate]) -> Iterator[Leaf]:
    way = {one.number for one in found.line_of(found.crown)} if found.candidates else set()
    for one in shown:
        parent = one.parents[0] if one.parents else None
        yield Leaf(one.number, parent, one.told, "best" if one.number in way else "other", _name(one))


def _effects(found: SearchRecord) -> Iterator[str]:
    try:
        effects = effects_of(found)
    except RunFailure as problem:
        yield f"<p>{_safe(str(problem))}</p>"
        return
    if not effects:
        yield "<p>There are too few scores to say what helps.</p>"
        return
    yield (
        "<p>What a linear model of these scores says that each part adds, all else being equal, with 95 % intervals. It is a"
        " description of this search and not a test: an interval around 0 says that nothing is known. Parts in one line can't"
        " be told apart.</p>"
    )
    yield "<table><thead><tr><th>Part</th><th>adds</th><th>95 % interval</th><th>candidates</th></tr></thead><tbody>"
    yield from (_effect(one) for one in effects[:_EFFECTS])
    yield "</tbody></table>"


def _effect(one: Effect) -> str:
    said = "; ".join(_cut(what) for what in one.what)
    return (
        f'<tr><td>{_safe(said)}</td><td class="number">{one.mean:+.3f}</td>'
        f'<td class="number">{one.interval[0]:+.3f} to {one.interval[1]:+.3f}</td><td class="number">{one.candidates:,}</td></tr>'
    )


def _cut(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _rounds(found: SearchRecord, shown: Sequence[RecordedCandidate]) -> Iterator[str]:
    known = analyses_of(found, shown)
    for one in sorted(shown, key=lambda one: (one.number != found.crown, -(one.told or 0.0), one.number)):
        yield from _round(found, one, known)


def _round(found: SearchRecord, one: RecordedCandidate, known: Mapping[int, Analysis]) -> Iterator[str]:
    told = "not scored" if one.told is None else f"estimated {one.told:.3f}"
    best = ", the best" if one.number == found.crown else ""
    yield f'<article id="round-{one.number}"><h3>Round {one.number}: {told}{best}</h3>'
    made = "The workflow that it began with."
    if one.parents:
        links = " and ".join(f'<a href="#round-{parent}">round {parent}</a>' for parent in one.parents)
        made = f"Made of {links} by {_safe(one.made_by)}: {_safe(one.title)}"
    mean = "" if one.mean is None else f", mean {one.mean:.3f} on {counted(len(one.scores), 'answer')}"
    cost = "" if one.cost is None else f", about ${one.cost:.4g} an item"
    yield f"<p>{made}</p><p>{counted(one.nodes, 'node')}, {counted(one.calls, 'call')}{cost}{mean}. File: {_safe(one.file)}</p>"
    if one.reason:
        yield f"<p>Why the model proposed it: {_safe(one.reason)}{_marks(one)}</p>"
    analysis = known.get(one.number)
    before = known.get(one.parents[0]) if one.parents else None
    if analysis is not None and before is not None:
        lines = difference_words(before, analysis)
        marks = {"+": "added", "-": "removed"}
        items = (f'<li class="{marks.get(line[0], "")}">{_safe(line)}</li>' for line in lines)
        yield f"<details><summary>What changed ({len(lines)})</summary><ul>{''.join(items)}</ul></details>"
    if analysis is not None:
        drawn = sketch(
            f"Round {one.number}" + (", what is new or changed in green" if before else ""), analysis, before
        )
        yield f"<details{' open' if one.number == found.crown else ''}><summary>Diagram</summary>{drawn}</details>"
    text = plain(one.text)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n... and {counted(len(text) - _LONGEST, 'more character')}, see its file"
    yield f"<details><summary>Text with prompts</summary><pre>{escape(text, quote=False)}</pre></details></article>"


def _marks(one: RecordedCandidate) -> str:
    """What a judge gave a candidate, in all and by criterion."""
    if one.judged is None:
        return ""
    marks = ", ".join(f"{_safe(name)} {mark:g}" for name, mark in one.criteria.items())
    return f" A judge gave it {one.judged:.1f} of 10: {marks}."


def _safe(text: str) -> str:
    return escape(plain(text), quote=False)
