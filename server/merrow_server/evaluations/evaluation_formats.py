"""Evaluations for other programs, in each of `FORMATS`. ``report`` is that of `evaluations.evaluation_data`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON
from merrow_server.evaluations.evaluation_data import inputs_text, score_text
from merrow_server.rendering.csv_text import csv_lines
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


def formatted(report: Mapping[str, Any], form: str, failed: Sequence[str] = ()) -> Iterator[str]:
    """An evaluation in one of `FORMATS`, part after part, so that rows which are read while they are used need not be in memory
    together; ``failed`` has a sentence for each gate that is not passed.
    """
    if form == "json":
        yield from _as_json(report)
    elif form == "csv":
        yield from _lines(_as_csv(report))
    elif form == "junit":
        from merrow_server.evaluations.evaluation_junit import junit_lines

        yield from _lines(junit_lines(report))
    elif form == "github":
        yield from _lines(as_github(report, failed))
    elif form == "html":
        from merrow_server.evaluations.evaluation_html import html_lines

        yield from _lines(html_lines(report, failed))
    else:
        from merrow_server.evaluations.evaluation_inspect import as_inspect

        yield from as_inspect(report)


def _lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines with their ends, but for the last one."""
    before = ""
    for line in lines:
        yield f"{before}{line}"
        before = "\n"


def _as_json(report: Mapping[str, Any]) -> Iterator[str]:
    """The whole report, each of its rows on a line of its own: indented, a row would take thirty lines, and ten times as long."""
    head, tail = json.dumps({**report, "rows": []}, indent=2).split('\n  "rows": []', 1)
    yield f'{head}\n  "rows": ['
    mark = ""
    for row in report["rows"]:
        yield f"{mark}\n    {json.dumps(row)}"
        mark = ","
    yield f"\n  ]{tail}" if mark else f"]{tail}"


def _as_csv(report: Mapping[str, Any]) -> Iterator[str]:
    """A row for each answer, below the names of the columns; a last one says what model played a person, if one did."""
    rows = ({**row, "inputs": inputs_text(row["inputs"]), "calls": row["usage"]["calls"]} for row in report["rows"])
    shown = ({**row, "cost_usd": row["usage"]["cost_usd"]} for row in rows)
    fields = list(report.get("fields", ()))
    mark = [f"{SIMULATED_PERSON}: {report['person']['model']}"] if "person" in report else []
    first, *rest = COLUMNS
    names = [part for name in fields for part in (name, f"{name}.gold", f"{name}.value")]
    return csv_lines(
        (first, *names, *rest, *(["person"] if mark else [])),
        ([row[first], *_of_fields(row, fields), *(row[name] for name in rest), *mark] for row in shown),
    )


def _of_fields(row: Mapping[str, Any], fields: Sequence[str]) -> Iterator[Any]:
    """What is in the columns of the fields: the answer, the right one, and what it is worth."""
    for name in fields:
        field = row["fields"].get(name, {})
        yield from (field.get("read", ""), field.get("gold", ""), field.get("value", ""))


def as_github(report: Mapping[str, Any], failed: Sequence[str]) -> Iterator[str]:
    """An annotation with the score, one for each gate that ``failed``, and one for each of the first ten items not right."""
    file = workflow_text(report["workflow"])
    yield annotation("notice", file, f"Score {score_text(report)} ({report['metric']})", "merrow evaluate")
    for sentence in failed:
        yield annotation("error", file, sentence, "merrow evaluate: gate failed")
    for row in islice((row for row in report["rows"] if row["status"] != "right"), 10):
        text = f"{row['reason']} Answer: {row['read']}. Expected: {row['gold']}. Run: {row['run']}"
        yield annotation("warning", file, plain(text), visible(f"Item {row['title']}: {row['status']}"))
