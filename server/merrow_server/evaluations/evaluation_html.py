"""An evaluation as one HTML file without network and script; whatever data and models say is escaped.

``report`` is that of `evaluations.evaluation_data`, with inputs and answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from merrow_runtime.values import as_text
from merrow_server.evaluations.episodes import episodes_text
from merrow_server.evaluations.evaluation_data import (
    confusion_rows,
    field_score,
    field_text,
    inputs_text,
    refused_texts,
    score_text,
)
from merrow_server.evaluations.passages import passages_text
from merrow_server.evaluations.stand_ins import stand_ins_text
from merrow_server.evaluations.tables import exhausted_text
from merrow_server.evaluations.updates import seconds_text, updates_text
from merrow_server.rendering.counts import counted, interrupted_text
from merrow_server.rendering.evaluation_charts import score_chart, spread_chart, status_chart
from merrow_server.rendering.html_page import folded, page, safe
from merrow_server.reports.run_report import cost_text, workflow_text

STATUSES = ("failed", "wrong", "invalid", "unanswered", "right")
_TEXTS = 1_500_000
"""Characters of texts in a file, over all items: beyond an item's share each is cut, and the rest is in the journal."""
_LONGEST = 8_000
"""Characters of an item's texts, however few items there are."""
_INPUTS, _LONGEST_INPUT = 400_000, 20_000
"""The same of what was asked."""
_STYLE = """
figure { display: inline-block; margin: 0 2rem 1rem 0; vertical-align: top; } figcaption { font-weight: 600; max-width: 360px; }
svg text { font-size: 11px; fill: currentColor; } svg .axis { stroke: currentColor; }
.interval { fill: var(--blue); opacity: .35; }
.score, .bin { fill: var(--blue); } rect.right { fill: var(--good); } rect.wrong, rect.failed { fill: var(--bad); }
rect.failed { opacity: .65; } rect.invalid, rect.unanswered { fill: var(--odd); } rect.unanswered { opacity: .65; }
table { width: 100%; } th { position: sticky; top: 0; background: Canvas; } pre { max-height: 24rem; }
tr.right .status { color: var(--good); } tr.wrong .status, tr.failed .status, .gate { color: var(--bad); }
tr.invalid .status, tr.unanswered .status { color: var(--odd); } label { margin: 0 1rem 0 .2rem; }
""" + "\n".join(f"#only-{name}:checked ~ table tbody tr:not(.{name}) {{ display: none; }}" for name in STATUSES)


def html_lines(report: Mapping[str, Any], failed: Sequence[str]) -> Iterator[str]:
    """The whole file; ``failed`` are the gates that are not passed."""
    title = f"{workflow_text(report['workflow'])}: {score_text(report)}"
    return page(title, _body(report, failed), _STYLE)


def _body(report: Mapping[str, Any], failed: Sequence[str]) -> Iterator[str]:
    name = safe(workflow_text(report["workflow"]))
    yield f"<h1>{name}: {safe(score_text(report))}</h1>"
    yield from (f'<p class="gate">Gate failed: {safe(sentence)}</p>' for sentence in failed)
    yield from _summary(report)
    seconds, tokens = array("d"), array("d")
    for row in report["rows"]:
        seconds.append(row["seconds"])
        tokens.append(row["usage"]["prompt_tokens"] + row["usage"]["completion_tokens"])
    yield status_chart(report["answers"]) + score_chart(report["score"], report["interval"])
    yield from _fields(report)
    yield spread_chart("Seconds of an answer", seconds, "s")
    yield spread_chart("Tokens of an answer", tokens, "tokens")
    yield from _table(report)


def _summary(report: Mapping[str, Any]) -> Iterator[str]:
    answers = [f"{count:,} {status}" for status, count in report["answers"].items() if count]
    if report["missing"]:
        answers.append(f"{report['missing']:,} not asked yet")
    usage, taken = report["usage"], seconds_text(report.get("answer_seconds"))
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    facts = {
        "Evaluation": f"{report['evaluation']}, {report['status']}",
        "Stopped by": report["error"] or "",
        "Data": f"{workflow_text(report['dataset'])} (part {report['part']}{', held out' if report['held_out'] else ''})",
        "Metric": report["metric"],
        "Score": score_text(report) + ("" if report["score"] is None else ", 95 % interval"),
        "Answers": ", ".join(answers),
        "Model": f"{report['model']} at {report['endpoint']}",
        "Used": f"{counted(usage['calls'], 'call')}, {tokens:,} tokens, {cost_text(usage)}",
        "Time": f"{report['seconds']:,.1f} s" + (f"; {taken} s per answer" if taken else ""),
    }
    if report["repeats"] > 1:
        passes = (f"pass^{k} {value:.3f}" for k, value in enumerate(report["pass_hat"], 1) if value is not None)
        facts["Repeats"] = f"{report['repeats']}; {', '.join(passes)}; {len(report['flaky'])} flaky"
    facts["Loops"] = exhausted_text(report["exhausted"]) if report["exhausted"] else ""
    facts["Updates"] = updates_text(report["updates"]) if "updates" in report else ""
    facts["Episodes"] = episodes_text(report["episodes"]) if "episodes" in report else ""
    facts["Passages"] = passages_text(report["passages"]) if "passages" in report else ""
    facts["Stand-ins"] = stand_ins_text(report)
    facts["Refused"] = " ".join(refused_texts(report))
    facts["Interrupted"] = interrupted_text(report.get("interrupted_calls", 0))
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{safe(text)}</dd>" for name, text in facts.items() if text) + "</dl>"


def _fields(report: Mapping[str, Any]) -> Iterator[str]:
    """The score of each field, and which values were taken for which."""
    for name, field in report.get("fields", {}).items():
        yield (
            f"<figure><figcaption>{safe(name)}: {safe(field_score(field))}, {safe(field['metric'])}</figcaption>"
            + _confusion(confusion_rows(field))
            + "</figure>"
        )


def _confusion(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head, *rest = ([safe(cell) for cell in row] for row in rows)
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    for first, *cells in rest:
        counts = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        lines.append(f"<tr><th>{first}</th>{counts}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _table(report: Mapping[str, Any]) -> Iterator[str]:
    rows = report["rows"]
    yield '<div><input type="radio" name="only" id="only-all" checked><label for="only-all">all</label>'
    for name in STATUSES:
        if report["answers"].get(name):
            yield f'<input type="radio" name="only" id="only-{name}"><label for="only-{name}">{name}</label>'
    loops = ["Loops stopped"] if report["exhausted"] else []
    fields = list(report.get("fields", ()))
    yield "<table><thead><tr>" + "".join(
        f"<th>{name}</th>"
        for name in (
            "inputs",
            *map(safe, fields),
            *("item", "status"),
            *(() if fields else ("answer", "expected")),
            *("reason", "output"),
            *loops,
            *("cost", "seconds", "run"),
        )
    )
    yield "</tr></thead><tbody>"
    share = min(_LONGEST, _TEXTS // max(1, len(rows)))
    asked = min(_LONGEST_INPUT, _INPUTS // max(1, len(rows)))
    for row in rows:
        item = row["title"] + (f" ({row['repeat'] + 1})" if report["repeats"] > 1 else "")
        answer = as_text(row["output"]) if "output" in row else ""
        cells = (
            folded(inputs_text(row["inputs"]), asked),
            *(folded(field_text(row["fields"].get(name)), share // 4) for name in fields),
            folded(item, _LONGEST),
            f'<span class="status">{escape(row["status"])}</span>',
            *(folded(row[name], share // 4) for name in (() if fields else ("read", "gold"))),
            folded(row["reason"], share // 4),
            folded("as the answer" if answer and answer == row["read"] else answer, share // 2),
        )
        stopped = [f"{row['exhausted']:,}" if row["exhausted"] else ""] if loops else []
        figures = (*stopped, cost_text(row["usage"]), f"{row['seconds']:.2f}")
        yield (
            f'<tr class="{escape(row["status"])}">'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "".join(f'<td class="number">{safe(figure)}</td>' for figure in figures)
            + f"<td>{safe(row['run'])}</td></tr>"
        )
    yield "</tbody></table></div>"
