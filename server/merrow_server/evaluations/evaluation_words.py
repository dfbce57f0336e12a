"""Evaluations in words, for editors: in a lens, in a message, and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.data.names import short_name
from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON
from merrow_runtime.provenance import OFFLINE_ORIGIN, named
from merrow_server.evaluations.evaluation_data import score_text
from merrow_server.evaluations.stand_ins import stand_ins_mark
from merrow_server.evaluations.tables import report_lines, summary_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import workflow_text
from merrow_server.times import ago


def lens_title(evaluation: Mapping[str, Any]) -> str:
    """The last evaluation in a few words: score and interval, items, age, and whether the text is another one now."""
    lower, upper = evaluation["interval"]
    words = [
        f"Score {evaluation['score']:.3f} [{lower:.3f}, {upper:.3f}]",
        f"n = {evaluation['counted']:,}{stand_ins_mark(evaluation)}",
        ago(evaluation["started"]),
    ]
    return " · ".join([*words, *(["before this change"] if evaluation["changed"] else [])])


def facts(evaluation: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an evaluation was of: data, metric, and who answered."""
    repeats = "" if evaluation["repeats"] == 1 else f", each item {evaluation['repeats']} times"
    data = f"{visible(workflow_text(evaluation['dataset']))} (part {visible(evaluation['part'])}{repeats})"
    origin = named(evaluation["endpoint"])
    by = f"{visible(evaluation['model'])} at {origin}" if evaluation["model"] else origin
    person = (
        [("people", f"{SIMULATED_PERSON}, {visible(evaluation['person']['model'])}")] if "person" in evaluation else []
    )
    return [("data", data), ("metric", visible(evaluation["metric"])), ("answered by", by), *person]


def last_text(evaluation: Mapping[str, Any]) -> str:
    """The last evaluation, in sentences for a hover."""
    changed = " The workflow does something else now." if evaluation["changed"] else ""
    return f"Last evaluation, {ago(evaluation['started'])}: score {score_text(evaluation)}.{changed}"


def ended_text(evaluation: Mapping[str, Any]) -> str:
    """How an evaluation ended, for a message."""
    *_, usage = lines = list(summary_lines(evaluation))
    ended = (
        ""
        if evaluation["status"] == "finished"
        else f"Evaluation {evaluation['evaluation']} was {_WORDS[evaluation['status']]}. "
    )
    error = f" {evaluation['error']}" if evaluation["error"] else ""
    return f"{ended}{lines[0]}: {lines[1]}; {usage}.{error}"


_WORDS = {
    "cancelled": "cancelled",
    "stopped": "stopped before its end",
    "interrupted": "interrupted",
    "running": "left",
}


def cost_sentence(forecast: Mapping[str, Any]) -> str:
    """What an evaluation may cost, to agree to it."""
    cost = forecast["cost_usd"]["most"]
    money = "for a price that is not known" if cost is None else f"for at most about ${cost:.4f}" if cost else "for $0"
    items = counted(forecast["items"], "item")
    times = "" if forecast["repeats"] == 1 else f", each {forecast['repeats']} times"
    least, most = forecast["calls"]["least"], forecast["calls"]["most"]
    calls = f"{least:,.0f}"
    if least != most:
        calls += " or more" if most is None else f" to {most:,.0f}"
    calls += " call" if calls == "1" else " calls"
    return (
        f"{items} of {visible(short_name(Path(forecast['dataset'])))} (part {visible(forecast['part'])}){times}:"
        f" {calls} to {named(forecast['endpoint'])}, {money}; what is known already costs nothing."
        f"{' What the judge uses comes on top.' if (forecast.get('judging') or {}).get('most') else ''}"
    )


def may_cost(forecast: Mapping[str, Any]) -> bool:
    """Whether an evaluation is not known to be free."""
    if forecast["endpoint"] == OFFLINE_ORIGIN:
        return False
    return bool(forecast["cost_usd"]["most"] != 0 or (forecast.get("judging") or {}).get("most"))


def report_text(report: Mapping[str, Any]) -> str:
    """A whole evaluation as a page of plain text, failures first."""
    head = (
        f"Evaluation {report['evaluation']} of {visible(workflow_text(report['workflow']))}\n"
        f"{'; '.join(f'{name} {value}' for name, value in facts(report))}\n{report['status']}, {ago(report['started'])}"
    )
    error = [visible(report["error"])] if report["error"] else []
    return "\n".join([head, *error, "", *report_lines(report, whole=True)])
