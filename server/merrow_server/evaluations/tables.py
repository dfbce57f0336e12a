"""Evaluations as text: the table, the score, two compared; in colours where a terminal wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.statistics.paired import disagreement, interval_text, p_text
from merrow_server.evaluations.episodes import episodes_text
from merrow_server.evaluations.evaluation_data import (
    confusion_rows,
    field_score,
    field_text,
    inputs_text,
    refused_texts,
    score_text,
)
from merrow_server.evaluations.masking import masking_text
from merrow_server.evaluations.passages import passages_text
from merrow_server.evaluations.stand_ins import stand_ins_mark, stand_ins_text
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
_WIDTHS = {"inputs": 40, "item": 28, "read": 28, "gold": 28, "reason": 48, "field": 32, "value": 24}
_LOOKED_AT = 20
"""Of a text, so many times the width of its column are looked at."""
CUT = 1_000
"""Characters of an input that a table needs."""
MOST_ROWS = 50
"""Rows of failures that are printed after an evaluation; `merrow show` prints all."""


def table_lines(rows: Iterable[Mapping[str, Any]], style: Style = bare, fields: Sequence[str] = ()) -> Iterator[str]:
    """A line for each answer, below a heading: what was asked, then what came of it, of scored ``fields`` each in a column. The
    rows are gone through twice, since all decide how wide a column is.
    """
    after = ("item", "item", "status", "answer", "expected", "reason", "Loops stopped", "cost", "seconds", "run")
    heads = ("inputs", *map(visible, fields), *after)
    widths = [cells(head) for head in heads]
    repeated = stopped = False
    for row in rows:
        repeated, stopped = repeated or row["repeat"] > 0, stopped or row["exhausted"] > 0
        widths = [max(width, cells(value)) for width, value in zip(widths, _values(row, fields), strict=True)]
    whole = not fields
    before = [True] * (len(fields) + 1)
    shown = [*before, not repeated, repeated, True, whole, whole, True, stopped, *[True] * 3]
    status = len(fields) + 2

    def line(values: Iterable[str], colour: Callable[[str], str] | None) -> str:
        several = zip(values, widths, shown, strict=True)
        padded = [value + " " * (width - cells(value)) for value, width, is_shown in several if is_shown]
        if colour is None:
            padded = [style(value, bold=True) for value in padded]
        else:
            padded[status] = colour(padded[status])
        return "  ".join(padded).rstrip()

    yield line(heads, None)
    for row in rows:
        yield line(_values(row, fields), partial(style, fg=_COLOUR.get(row["status"])))


def _values(row: Mapping[str, Any], fields: Sequence[str]) -> tuple[str, ...]:
    """The cells of a row; the item without and with the number of its answer."""
    item = _cell(row["title"], "item")
    return (
        _cell(inputs_text(row["inputs"]), "inputs"),
        *(_cell(field_text(row["fields"].get(name)), "field") for name in fields),
        item,
        f"{item} ({row['repeat'] + 1})",
        row["status"],
        _cell(row["read"], "read"),
        _cell(row["gold"], "gold"),
        _cell(row["reason"], "reason"),
        f"{row['exhausted']:,}" if row["exhausted"] else "",
        cost_text(row["usage"]),
        duration(row["seconds"]),
        visible(row["run"]),
    )


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
    rows: Sequence[Mapping[str, Any]] = report["rows"]
    if not whole:
        rows = list(islice((row for row in rows if row["status"] != "right"), MOST_ROWS))
    if len(rows):
        yield from table_lines(rows, style, list(report.get("fields", ())))
        more = 0 if whole else sum(report["answers"].values()) - report["answers"]["right"] - len(rows)
        if more:
            yield f"and {more:,} more: merrow show {report['evaluation']}"
        yield ""
    yield from summary_lines(report, style)


def summary_lines(report: Mapping[str, Any], style: Style = bare) -> Iterator[str]:
    """The score, the answers by status, repeats and what it used."""
    if report["score"] is None:
        yield f"{style('No score', bold=True)}{stand_ins_mark(report)} ({report['metric']})"
    else:
        yield f"{style('Score', bold=True)} {score_text(report)} ({report['metric']}, 95 % interval)"
    yield from field_lines(report)
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
    yield from filter(None, [visible(stand_ins_text(report))])
    if "masking" in report:
        yield masking_text(report["masking"])
    if "updates" in report:
        yield updates_text(report["updates"])
    if "episodes" in report:
        yield episodes_text(report["episodes"])
    if "passages" in report:
        yield passages_text(report["passages"])
    if "people" in report:
        yield people_text(report["people"])
    usage = report["usage"]
    calls = counted(usage["calls"], "call")
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    yield from filter(None, [interrupted_text(report.get("interrupted_calls", 0))])
    taken = f"; {seconds} s per answer" if (seconds := seconds_text(report.get("answer_seconds"))) else ""
    yield f"{calls}, {tokens:,} tokens, {cost_text(usage)}, {duration(report['seconds'])}{taken}"


def field_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The score of each field, and which values were taken for which."""
    fields: Mapping[str, Mapping[str, Any]] = report.get("fields", {})
    width = max((cells(visible(name)) for name in fields), default=0)
    for name, field in fields.items():
        shown = visible(name)
        yield f"  {shown}{' ' * (width - cells(shown))}  {field_score(field)} ({field['metric']})"
        if field["score"] not in (None, 1):
            yield from (f"    {line}" for line in _aligned(confusion_rows(field)))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    shown = [[_cell(value, "value") for value in row] for row in rows]
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        yield "  ".join(value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)).rstrip()


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
    for name, each in compared.fields.items():
        interval = interval_text(each.interval, each.test)
        yield f"  {visible(name)} {each.difference:+.3f} {interval}, {p_text(each.p)} ({each.test})"
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
