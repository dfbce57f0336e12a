"""A reproduction in words: its plan before the first call, and its table at the end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from merrow_runtime.provenance import named
from merrow_server.evaluations.tables import Style, bare
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import cells, visible
from merrow_server.reports.run_report import cost_text
from merrow_server.reproductions.table import INSIDE, LOOK, OUTSIDE, reasons_of

SIMULATED = "SIMULATED"
_COLOURS = {INSIDE: "green", OUTSIDE: "red", LOOK: "yellow"}
_MOST_NAMED = 6
_LONGEST_CELL, _LONGEST_SENTENCE = 120, 1_000
"""Characters that are shown of a text of others: of the name of a model, and of why a row is as it is."""


def plan_lines(plan: Mapping[str, Any], style: Style = bare) -> Iterator[str]:
    """What it may use, cheapest rows first, and what is missing. Of a simulated one every line says so."""
    return _marked(_plan(plan, style), style, is_simulated=plan["simulated"])


def _marked(lines: Iterable[str], style: Style, *, is_simulated: bool) -> Iterator[str]:
    for line in lines:
        yield f"{style(SIMULATED, fg='yellow')}  {line}".rstrip() if is_simulated else line


def _plan(plan: Mapping[str, Any], style: Style) -> Iterator[str]:
    place = {row: number for number, row in enumerate(plan["order"])}
    rows = [row for row in plan["rows"] if not row["other_system"]]
    asking = sorted((row for row in rows if row["asks"]), key=lambda row: place[row["row"]])
    yield _head(plan, len(asking))
    if asking:
        shown = [["ROW", "SYSTEM", "CALLS", "TOKENS", "COST", "MODELS"]]
        shown += [_plan_row(row, row["estimate"]) for row in asking]
        yield from aligned(shown, style)
        yield _sum(plan["estimate"], len(asking))
    lacking: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        for one in row["missing"]:
            lacking.setdefault((one["what"], one["get"]), []).append(row["row"])
    if lacking:
        yield ""
        yield style("Not run:", bold=True)
    for (what, _), names in lacking.items():
        yield f"  {_names(names)}: {sentence(what)}"
    commands = list(dict.fromkeys(get for _, get in lacking if get is not None))
    if commands:
        yield ""
        yield style("To get what is missing:", bold=True)
        yield from (f"  {visible(command)}" for command in commands)


def sum_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """What all of it may use, and how many rows are not run, each with the first reason of its kind: for who agrees to it."""
    rows = [row for row in plan["rows"] if not row["other_system"]]
    asking = sum(row["asks"] for row in rows)
    yield _head(plan, asking)
    if asking:
        yield _sum(plan["estimate"], asking)
    lacking = [row for row in rows if row["missing"]]
    if lacking:
        reasons = dict.fromkeys(row["missing"][0]["what"] for row in lacking)
        yield f"{counted(len(lacking), 'row')} can't be run: {sentence(' '.join(reasons))}"


def _head(plan: Mapping[str, Any], asking: int) -> str:
    title = visible(plan["title"])
    return (
        f"{title}: {counted(asking, 'row')} can be run by {visible(named(plan['endpoint']))}."
        if asking
        else f"{title}: no row can be run."
    )


def _sum(found: Mapping[str, Any], asking: int) -> str:
    also = " A job that several rows share counts once." if asking > 1 else ""
    return (
        f"In all about {found['calls']:,} calls, {found['tokens']:,} tokens, {_money(found['cost_usd'])}"
        f" and {_hours(found['hours'])}.{also}"
    )


def _plan_row(row: Mapping[str, Any], estimate: Mapping[str, Any]) -> list[str]:
    models = ", ".join(dict.fromkeys(row["models"].values()))
    cost = _money(estimate["cost_usd"])
    return [row["row"], row["system"], f"{estimate['calls']:,}", f"{estimate['tokens']:,}", cost, _cell(models)]


def _money(usd: float | None) -> str:
    return "at an unknown price" if usd is None else f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def _hours(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else counted(max(1, round(hours * 60)), "minute")


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def report_lines(shown: Mapping[str, Any], style: Style = bare) -> Iterator[str]:
    """The table, then the reasons. Of a simulated one every line says so."""
    return _marked(_report(shown, style), style, is_simulated=shown["simulated"])


def _report(shown: Mapping[str, Any], style: Style) -> Iterator[str]:
    yield f"{visible(shown['title'])} ({shown['at']})"
    for table, several in groupby(shown["rows"], key=lambda row: row["table"]):
        yield ""
        yield style(table, bold=True)
        yield from aligned(table_rows(list(several), is_simulated=shown["simulated"]), style)
    reasons = reasons_of(shown["rows"])
    if reasons:
        yield ""
        yield style("Reasons:", bold=True)
    for reason, names in reasons.items():
        yield f"  {_names(names)}: {sentence(reason)}"
    yield ""
    states = [row["status"] for row in shown["rows"] if row["status"] != "paper only"]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    yield f"{counted(len(states), 'row')} of ours: {', '.join(counts)}. {cost_text(shown['usage'])} used."


def table_rows(rows: Sequence[Mapping[str, Any]], *, is_simulated: bool) -> list[list[str]]:
    """The rows of a table with its heads, as texts."""
    paper = [] if is_simulated else ["PAPER", "DIFFERENCE", "VERDICT"]
    found = [["ROW", "SYSTEM", "OURS", *paper, "MODEL", "DATE", "COST"]]
    for row in rows:
        theirs = [] if is_simulated else [_paper(row), _difference(row), row["verdict"] or ""]
        found.append([row["row"], row["system"], _ours(row), *theirs, *_source(row)])
    return found


def _ours(row: Mapping[str, Any]) -> str:
    ours = row["ours"]
    if ours is None:
        return "" if row["status"] == "paper only" else str(row["status"])
    value = f"{ours['value']:.1f}"
    if ours["interval"] is not None:
        low, high = ours["interval"]
        value += f" [{low:.1f}, {high:.1f}]"
    times = f" x {ours['repeats']}" if ours["repeats"] > 1 else ""
    return f"{value} {row['unit']}, n = {ours['items']}{times}"


def _paper(row: Mapping[str, Any]) -> str:
    if row["paper"] is None:
        return "not known"
    only = ", the paper's figure only" if row["status"] == "paper only" else ""
    cost = "" if row["paper_cost"] is None else f", ${row['paper_cost']}"
    return f"{row['paper']} {row['unit']}{cost}{only}"


def _difference(row: Mapping[str, Any]) -> str:
    found = row["difference"]
    if found is None:
        return ""
    ends = "" if found["interval"] is None else f" [{found['interval'][0]:+.1f}, {found['interval'][1]:+.1f}]"
    return f"{found['value']:+.1f}{ends}"


def _source(row: Mapping[str, Any]) -> list[str]:
    date = "" if row["at"] is None else time.strftime("%Y-%m-%d", time.localtime(row["at"]))
    return [_cell(row["model"] or ""), date, "" if row["usage"] is None else cost_text(row["usage"])]


def sentence(text: str) -> str:
    """A sentence of others on one line, as far as it is shown."""
    return _one_line(text, _LONGEST_SENTENCE)


def _cell(text: str) -> str:
    return _one_line(text, _LONGEST_CELL)


def _one_line(text: str, longest: int) -> str:
    line = visible(" ".join(text[: longest + 1].split()))
    return line if len(text) <= longest else f"{line[: longest - 3].rstrip()}..."


def aligned(rows: Sequence[Sequence[str]], style: Style = bare) -> Iterator[str]:
    """Rows in columns, the first of them in bold."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        text = "  ".join(value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True))
        yield style(text.rstrip(), bold=True) if number == 0 else text.rstrip()
