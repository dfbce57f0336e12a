"""Evaluations for other programs, in each of `FORMATS`. ``report`` is that of `evaluations.evaluation_data`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON
from merrow_server.evaluations.evaluation_data import inputs_text, score_text
from merrow_server.rendering.csv_text import csv_text
from merrow_server.rendering.github import annotation
from merrow_server.rendering.snippet import plain, visible
from merrow_server.reports.run_report import workflow_text

FORMATS = ("json", "csv", "junit", "github", "html", "inspect")
WHOLE = ("html", "inspect")
"""Those that show answers."""

COLUMNS = (
    "inputs",
    "item",
    "repeat",
    "status",
    "value",
    "read",
    "gold",
    "reason",
    "cost_usd",
    "calls",
    "seconds",
    "run",
    "exhausted",
)


def formatted(report: Mapping[str, Any], form: str, failed: Sequence[str] = ()) -> str:
    """An evaluation in one of `FORMATS`; ``failed`` has a sentence for each gate that is not passed."""
    if form == "json":
        return as_json(report)
    if form == "csv":
        return as_csv(report)
    if form == "junit":
        from merrow_server.evaluations.evaluation_junit import as_junit

        return as_junit(report)
    if form == "github":
        return "\n".join(as_github(report, failed))
    if form == "html":
        from merrow_server.evaluations.evaluation_html import as_html

        return as_html(report, failed)
    from merrow_server.evaluations.evaluation_inspect import as_inspect

    return as_inspect(report)


def as_json(report: Mapping[str, Any]) -> str:
    """The whole report, each of its rows on a line of its own: indented, a row would take thirty lines, and ten times as long."""
    rows = ",\n    ".join(map(json.dumps, report["rows"]))
    head, tail = json.dumps({**report, "rows": []}, indent=2).split('\n  "rows": []', 1)
    return f'{head}\n  "rows": [\n    {rows}\n  ]{tail}' if rows else f'{head}\n  "rows": []{tail}'


def as_csv(report: Mapping[str, Any]) -> str:
    """A row for each answer, below the names of the columns; a last one says what model played a person, if one did."""
    rows = ({**row, "inputs": inputs_text(row["inputs"]), "calls": row["usage"]["calls"]} for row in report["rows"])
    shown = ({**row, "cost_usd": row["usage"]["cost_usd"]} for row in rows)
    if "person" not in report:
        return csv_text(COLUMNS, ([row[name] for name in COLUMNS] for row in shown))
    mark = f"{SIMULATED_PERSON}: {report['person']['model']}"
    return csv_text((*COLUMNS, "person"), ([*(row[name] for name in COLUMNS), mark] for row in shown))


def as_github(report: Mapping[str, Any], failed: Sequence[str]) -> Iterator[str]:
    """An annotation with the score, one for each gate that ``failed``, and one for each of the first ten items not right."""
    file = workflow_text(report["workflow"])
    yield annotation("notice", file, f"Score {score_text(report)} ({report['metric']})", "merrow evaluate")
    for sentence in failed:
        yield annotation("error", file, sentence, "merrow evaluate: gate failed")
    for row in [row for row in report["rows"] if row["status"] != "right"][:10]:
        text = f"{row['reason']} Read: {row['read']}. Gold: {row['gold']}. Run: {row['run']}"
        yield annotation("warning", file, plain(text), visible(f"Item {row['item']}: {row['status']}"))
