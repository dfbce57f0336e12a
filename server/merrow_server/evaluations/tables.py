"""Evaluations as text: the table, the score, two compared; in colours where a terminal wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.statistics.paired import disagreement, interval_text, p_text
from merrow_server.evaluations.evaluation_data import inputs_text, refused_texts, score_text
from merrow_server.evaluations.masking import masking_text
from merrow_server.evaluations.simulated_people import person_mark, person_text
from merrow_server.evaluations.updates import seconds_text, updates_text
from merrow_server.rendering.counts import counted, interrupted_text
from merrow_server.rendering.snippet import cells, visible
from merrow_server.reports.run_report import cost_text
from merrow_server.times import duration

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.summary import Comparison

Style = Callable[..., str]
"""Gives a text a colour, as `merrow_server.rendering.terminal.style` does."""


def bare(text: str, **_: Any) -> str:
    """No colour."""
    return text


_COLOUR = {"right": "green", "wrong": "red", "failed": "red", "unanswered": "yellow", "invalid": "yellow"}
_WIDTHS = {"inputs": 40, "item": 24, "read": 28, "gold": 28, "reason": 48}
_LOOKED_AT = 20
"""Of a text, so many times the width of its column are looked at."""
CUT = 1_000
"""Characters of an input that a table needs."""
MOST_ROWS = 50
"""Rows of failures that are printed after an evaluation; `merrow show` prints all."""


def table_lines(rows: Sequence[Mapping[str, Any]], style: Style = bare) -> Iterator[str]:
    """A line for each answer, below a heading: what was asked, then what came of it."""
    repeated = any(row["repeat"] for row in rows)
    stopped = any(row["exhausted"] for row in rows)
    loops = ["Loops stopped"] if stopped else []
    table = [("inputs", "item", "status", "read", "gold", "reason", *loops, "cost", "seconds", "run")]
    for row in rows:
        name = f"{row['item']} ({row['repeat'] + 1})" if repeated else row["item"]
        table.append(
            (
                _cell(inputs_text(row["inputs"]), "inputs"),
                _cell(name, "item"),
                row["status"],
                _cell(row["read"], "read"),
                _cell(row["gold"], "gold"),
                _cell(row["reason"], "reason"),
                *([f"{row['exhausted']:,}" if row["exhausted"] else ""] if stopped else []),
                cost_text(row["usage"]),
                duration(row["seconds"]),
                visible(row["run"]),
            )
        )
    widths = [max(cells(row[column]) for row in table) for column in range(len(table[0]))]
    for number, line in enumerate(table):
        padded = [value + " " * (width - cells(value)) for value, width in zip(line, widths, strict=True)]
        if number:
            padded[2] = style(padded[2], fg=_COLOUR.get(line[2]))
        else:
            padded = [style(value, bold=True) for value in padded]
        yield "  ".join(padded).rstrip()


def _cell(text: str, column: str) -> str:
    """A text on one line, shortened to the width of its column."""
    width = _WIDTHS[column]
    line = visible(" ".join(text[: _LOOKED_AT * width].split()))
    if len(text) > _LOOKED_AT * width and cells(line) <= width:
        line += "..."
    if cells(line) <= width:
        return line
    kept = line[: width - 3]
    while cells(kept) > width - 3:
        kept = kept[:-1]
    return kept + "..."


def report_lines(report: Mapping[str, Any], *, whole: bool, style: Style = bare) -> Iterator[str]:
    """An evaluation: its table, failures first, then its score. ``whole`` lists what is right, too."""
    rows = report["rows"] if whole else [row for row in report["rows"] if row["status"] != "right"]
    shown = rows if whole else rows[:MOST_ROWS]
    if shown:
        yield from table_lines(shown, style)
        if len(rows) > len(shown):
            yield f"and {len(rows) - len(shown):,} more: merrow show {report['evaluation']}"
        yield ""
    yield from summary_lines(report, style)


def summary_lines(report: Mapping[str, Any], style: Style = bare) -> Iterator[str]:
    """The score, the answers by status, repeats and what it used."""
    if report["score"] is None:
        yield f"{style('No score', bold=True)}{person_mark(report)} ({report['metric']})"
    else:
        yield f"{style('Score', bold=True)} {score_text(report)} ({report['metric']}, 95 % interval)"
    answers = [f"{count:,} {status}" for status, count in report["answers"].items() if count]
    if report["missing"]:
        answers.append(f"{report['missing']:,} not asked yet")
    left = report["answers"]["unanswered"] + report["answers"]["invalid"]
    yield ", ".join(answers) + ("; the score leaves out what is unanswered or invalid" if left else "")
    if report["exhausted"]:
        yield exhausted_text(report["exhausted"])
    if report["repeats"] > 1:
        passes = ", ".join(
            f"pass^{k} {value:.3f}" for k, value in enumerate(report["pass_hat"], start=1) if value is not None
        )
        flaky = report["flaky"]
        named = f": {visible(', '.join(flaky[:8]))}{', ...' if len(flaky) > 8 else ''}" if flaky else ""
        yield f"{passes}; {len(flaky)} flaky{named}"
    yield from map(visible, refused_texts(report))
    yield from filter(None, [visible(person_text(report))])
    if "masking" in report:
        yield masking_text(report["masking"])
    if "updates" in report:
        yield updates_text(report["updates"])
    if "people" in report:
        yield people_text(report["people"])
    usage = report["usage"]
    calls = counted(usage["calls"], "call")
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    yield from filter(None, [interrupted_text(report.get("interrupted_calls", 0))])
    taken = f"; {seconds} s per answer" if (seconds := seconds_text(report.get("answer_seconds"))) else ""
    yield f"{calls}, {tokens:,} tokens, {cost_text(usage)}, {duration(report['seconds'])}{taken}"


def exhausted_text(answers: int) -> str:
    """How many answers came from Loops that still wanted another turn, in a sentence."""
    if answers == 1:
        return "1 answer comes from a Loop whose turns or budget ran out."
    return f"{answers:,} answers come from Loops whose turns or budget ran out."


def people_text(people: Mapping[str, Any]) -> str:
    """How far people agree with the metric, in a sentence."""
    lower, upper = people["interval"]
    answers = counted(people["items"], "answer")
    sentence = f"People agree with it on {people['share']:.3f} [{lower:.3f}, {upper:.3f}] of {answers} that they rated"
    if people["kappa"] is None:
        return f"{sentence}; Cohen's kappa needs both verdicts."
    lower, upper = people["kappa_interval"]
    return f"{sentence}, Cohen's kappa {people['kappa']:.3f} [{lower:.3f}, {upper:.3f}]."


def comparison_lines(compared: Comparison, before: str, after: str, style: Style = bare) -> Iterator[str]:
    """What turned from one evaluation to another, and how sure the difference is."""
    if compared.difference is None:
        yield f"{before} and {after} have scored no item in common."
        return
    difference = compared.difference
    yield (
        f"{style('Difference', bold=True)} {difference.difference:+.3f} {interval_text(difference.interval, difference.test)}"
        + (
            f" on {counted(difference.items, 'item')} ({after} minus {before}), {p_text(difference.p)} ({difference.test})"
        )
    )
    if disagrees := disagreement(difference.interval, difference.p):
        yield disagrees
    for word, colour, items in (("better", "green", compared.better), ("worse", "red", compared.worse)):
        if items:
            named = ", ".join(visible(item) for item in items[:20]) + (", ..." if len(items) > 20 else "")
            yield f"{style(word, fg=colour)} on {len(items):,}: {named}"
    if difference.showable < 1:
        yield f"This many items would show a difference of {difference.showable:.3f} with probability .8."
    else:
        yield "So few items show no difference with probability .8, however large it is."
    if compared.left_out:
        items = "1 item has" if compared.left_out == 1 else f"{compared.left_out:,} items have"
        yield f"{items} a score in only one of them, and no part in this."
