"""A search as one HTML file without network and script; whatever titles, prompts and data say is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from merrow_analysis.check import Analysis
from merrow_optimizer.optimization.effects import Effect, effects_of
from merrow_optimizer.optimization.record import RecordedCandidate, SearchRecord
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import RunFailure
from merrow_server.evaluations.stand_ins import stand_ins_text
from merrow_server.evaluations.tables import exhausted_text
from merrow_server.optimizations.search_charts import Leaf, Line, Point, plane_chart, tree_chart
from merrow_server.optimizations.search_data import analyses_of
from merrow_server.optimizations.search_words import held_out_text, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.html_page import page, safe
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
.added { color: var(--good); } .removed { color: var(--odd); }
article { border-top: 1px solid var(--line); padding: .4rem 0; } article h3 { font-size: 1rem; margin: .4rem 0; }
"""


def as_html(search: SearchRecord) -> str:
    """The whole file."""
    return "\n".join(page(_title(search), _lines(search), _STYLE))


def _title(search: SearchRecord) -> str:
    return f"Search for a better {Path(workflow_text(search.search.workflow)).name}"


def _lines(search: SearchRecord) -> Iterator[str]:
    yield f"<h1>{safe(_title(search))}</h1>"
    yield "".join(f"<p>{safe(line)}</p>" for line in report_lines(search, whole=False) if line.strip())
    yield from _facts(search)
    yield _curve(search)
    yield _front(search)
    yield from _judged(search)
    shown = _shown(search)
    tree = _tree(search, shown)
    if tree:
        yield "<h2>Where candidates come from</h2>"
        left = len(search.candidates) - len(shown)
        if left:
            others = "1 other is" if left == 1 else f"{left:,} others are"
            yield f"<p>The best {len(shown):,} with those that they come from; {others} left out.</p>"
        yield tree
    yield "<h2>What helps</h2>"
    yield from _effects(search)
    yield "<h2>Rounds</h2>"
    yield from _rounds(search, shown)


def charts(search: SearchRecord) -> Iterator[str]:
    """The charts of a search, each a figure with its caption and an SVG."""
    yield _curve(search)
    yield _front(search)
    yield from _judged(search)
    yield from filter(None, [_tree(search, _shown(search))])


def _tree(search: SearchRecord, shown: Sequence[RecordedCandidate]) -> str:
    """Where candidates come from; empty where there are none."""
    leaves = list(_leaves(search, shown))
    name = "Rounds by number with their estimated score; the way to the best is green"
    return tree_chart(name, leaves) if leaves else ""


def _facts(search: SearchRecord) -> Iterator[str]:
    record, usage = search.search, search.usage
    items, held = counted(len(record.plan["items"]), "item"), record.plan["held_out"]
    facts = {
        "Search": f"{record.id}, {search.state}",
        "Stopped by": record.error or "",
        "Data": f"{workflow_text(record.plan['asked']['dataset'])} (part {record.part}): {items}"
        + (f", {len(held['items']):,} held out" if held["items"] else ""),
        "Metric": record.metric,
        "Strategy": f"{record.strategy}, proposer {record.proposer}, seed {record.seed}, jobs {record.jobs}",
        "Model": record.model,
        "Stand-ins": stand_ins_text(record.plan),
        "Used": f"{counted(usage.calls, 'call')}, {counted(usage.tokens, 'token')}, {cost_text(usage.to_json())}",
        "Loops": exhausted_text(search.exhausted) if search.exhausted else "",
        "Time": duration(record.seconds),
    }
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{safe(text)}</dd>" for name, text in facts.items() if text) + "</dl>"


def _curve(search: SearchRecord) -> str:
    """The estimate of the best after each draw, each candidate where it was last asked, and what held-out items say."""
    line: list[tuple[float, float]] = []
    last: dict[int, int] = {}
    answers = 0
    for draw in search.draws:
        answers += len(draw.places)
        last[draw.candidate] = answers
        if draw.told is not None:
            line.append((answers, draw.told))
    points = [
        Point(
            last[candidate.number],
            candidate.mean,
            "start" if candidate.number == START else "scored",
            f"{_name(candidate)}: {candidate.mean:.3f}",
        )
        for candidate in search.candidates
        if candidate.mean is not None and candidate.number in last
    ]
    result = search.held_out
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


def _front(search: SearchRecord) -> str:
    scored = [candidate for candidate in search.candidates if candidate.told is not None]

    def point(candidate: RecordedCandidate) -> tuple[float, float]:
        return search.effort(candidate), candidate.told or 0.0

    styles = {START: "start", search.crown: "best"}
    points = [
        Point(*point(candidate), styles.get(candidate.number, "scored"), f"{_name(candidate)}: {candidate.told:.3f}")
        for candidate in scored
    ]
    across = "US dollars for an item" if search.is_priced else "calls for an item"
    lines = [Line([point(candidate) for candidate in search.front()], "front")]
    return plane_chart(
        "Estimated score and cost. Green: the best; orange: the start; no candidate beats those on the line",
        across,
        "score",
        points,
        lines,
    )


def _judged(search: SearchRecord) -> Iterator[str]:
    """What a judge gave candidates before they ran against what they came to; nothing where none was judged."""
    points = [
        Point(
            candidate.judged,
            candidate.mean,
            "best" if candidate.number == search.crown else "scored",
            f"{_name(candidate)}: {candidate.mean:.3f}",
        )
        for candidate in search.candidates
        if candidate.judged is not None and candidate.mean is not None
    ]
    if points:
        name = "What a judge gave and the score on the items searched with"
        yield plane_chart(name, "the judge, 1 to 10", "score", points, [])


def _name(candidate: RecordedCandidate) -> str:
    return plain(f"round {candidate.number}" + (f", {' '.join(candidate.title.split())}" if candidate.title else ""))


def _shown(search: SearchRecord) -> list[RecordedCandidate]:
    """The best candidates with all that they come from, in the order of their numbers."""
    scored = [candidate for candidate in search.candidates if candidate.told is not None or candidate.number == START]
    best = sorted(
        scored, key=lambda candidate: (candidate.number != search.crown, -(candidate.told or 0.0), candidate.number)
    )[:_SHOWN]
    wanted = {candidate.number for candidate in best}
    wanted.update(above.number for candidate in best for above in search.line_of(candidate.number))
    return [candidate for candidate in search.candidates if candidate.number in wanted]


def _leaves(search: SearchRecord, shown: Sequence[RecordedCandidate]) -> Iterator[Leaf]:
    way = {ancestor.number for ancestor in search.line_of(search.crown)} if search.candidates else set()
    for candidate in shown:
        parent = candidate.parents[0] if candidate.parents else None
        yield Leaf(
            candidate.number, parent, candidate.told, "best" if candidate.number in way else "other", _name(candidate)
        )


def _effects(search: SearchRecord) -> Iterator[str]:
    try:
        effects = effects_of(search)
    except RunFailure as problem:
        yield f"<p>{safe(str(problem))}</p>"
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
    yield from (_effect(effect) for effect in effects[:_EFFECTS])
    yield "</tbody></table>"


def _effect(effect: Effect) -> str:
    change = "; ".join(_cut(what) for what in effect.what)
    return (
        f'<tr><td>{safe(change)}</td><td class="number">{effect.mean:+.3f}</td>'
        f'<td class="number">{effect.interval[0]:+.3f} to {effect.interval[1]:+.3f}</td>'
        f'<td class="number">{effect.candidates:,}</td></tr>'
    )


def _cut(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _rounds(search: SearchRecord, shown: Sequence[RecordedCandidate]) -> Iterator[str]:
    known = analyses_of(search, shown)
    for candidate in sorted(
        shown, key=lambda other: (other.number != search.crown, -(other.told or 0.0), other.number)
    ):
        yield from _round(search, candidate, known)


def _round(search: SearchRecord, candidate: RecordedCandidate, known: Mapping[int, Analysis]) -> Iterator[str]:
    told = "not scored" if candidate.told is None else f"estimated {candidate.told:.3f}"
    best = ", the best" if candidate.number == search.crown else ""
    yield f'<article id="round-{candidate.number}"><h3>Round {candidate.number}: {told}{best}</h3>'
    made = "The workflow that it began with."
    if candidate.parents:
        links = " and ".join(f'<a href="#round-{parent}">round {parent}</a>' for parent in candidate.parents)
        made = f"Made of {links} by {safe(candidate.made_by)}: {safe(candidate.title)}"
    mean = (
        "" if candidate.mean is None else f", mean {candidate.mean:.3f} on {counted(len(candidate.scores), 'answer')}"
    )
    cost = "" if candidate.cost is None else f", about ${candidate.cost:.4g} an item"
    size = f"{counted(candidate.nodes, 'node')}, {counted(candidate.calls, 'call')}"
    loops = f" {exhausted_text(candidate.exhausted)}" if candidate.exhausted else ""
    yield f"<p>{made}</p><p>{size}{cost}{mean}.{loops} File: {safe(candidate.file)}</p>"
    if candidate.reason:
        yield f"<p>Why the model proposed it: {safe(candidate.reason)}{_marks(candidate)}</p>"
    analysis = known.get(candidate.number)
    before = known.get(candidate.parents[0]) if candidate.parents else None
    if analysis is not None and before is not None:
        lines = difference_words(before, analysis)
        marks = {"+": "added", "-": "removed"}
        items = (f'<li class="{marks.get(line[0], "")}">{safe(line)}</li>' for line in lines)
        yield f"<details><summary>What changed ({len(lines)})</summary><ul>{''.join(items)}</ul></details>"
    if analysis is not None:
        drawn = sketch(
            f"Round {candidate.number}" + (", what is new or changed in green" if before else ""), analysis, before
        )
        yield f"<details{' open' if candidate.number == search.crown else ''}><summary>Diagram</summary>{drawn}</details>"
    text = plain(candidate.text)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n... and {counted(len(text) - _LONGEST, 'more character')}, see its file"
    yield f"<details><summary>Text with prompts</summary><pre>{escape(text, quote=False)}</pre></details></article>"


def _marks(candidate: RecordedCandidate) -> str:
    """What a judge gave a candidate, in all and by criterion."""
    if candidate.judged is None:
        return ""
    marks = ", ".join(f"{safe(name)} {mark:g}" for name, mark in candidate.criteria.items())
    return f" A judge gave it {candidate.judged:.1f} of 10: {marks}."
