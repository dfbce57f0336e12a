"""Results of cases as text: a line for each case, then what is not well, then one line for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.cases.results import CaseResult, CaseStatus, counts
from merrow_runtime.usage import NOTHING
from merrow_runtime.values import as_text
from merrow_server.cases.reports import line_of
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import style
from merrow_server.reports.run_report import cost_text
from merrow_server.times import duration

if TYPE_CHECKING:
    from merrow_server.cases.suites import Suite

_COLOUR = {
    CaseStatus.PASSED: "green",
    CaseStatus.FAILED: "red",
    CaseStatus.STALE: "yellow",
    CaseStatus.SKIPPED: "cyan",
    CaseStatus.XFAILED: "cyan",
    CaseStatus.XPASSED: "yellow",
    CaseStatus.ERROR: "red",
}
_MOST_LINES = 12
_MOST_WIDTH = 200


def case_line(suite: Suite, result: CaseResult) -> str:
    """One line: how it ended, which case, of how many repeats, seconds and cost where an endpoint answered."""
    word = style(f"{result.status.value:<8}", fg=_COLOUR[result.status], bold=not result.is_good)
    line = f"{word} {visible(f'{suite.path}::{result.case.id}')}"
    figures = []
    if result.case.repeat > 1 and result.source is not None:
        figures.append(f"{result.passed} of {result.case.repeat} passed")
    if result.source == "endpoint":
        figures += [duration(result.seconds), cost_text(result.usage.to_json())]
    return f"{line}  {style(', '.join(figures), dim=True)}" if figures else line


def summary_lines(results: Sequence[tuple[Suite, CaseResult]], seconds: float, *, allow_stale: bool) -> Iterator[str]:
    """What is not well with its places, what a recording changed, and one line for all."""
    for suite, result in results:
        if result.status in (CaseStatus.FAILED, CaseStatus.STALE, CaseStatus.ERROR, CaseStatus.XPASSED):
            yield ""
            yield from _detail(suite, result)
    skipped = next((result for _, result in results if result.status is CaseStatus.SKIPPED), None)
    if skipped is not None:
        yield ""
        yield f"{style('skipped', fg='cyan')}: {skipped.message}"
    for suite, result in results:
        for answer in result.changed:
            yield ""
            yield f"{style('changed', fg='yellow')}: {visible(f'{suite.path}::{result.case.id}')}" + (
                f", repeat {answer.repeat + 1}" if result.case.repeat > 1 else ""
            )
            yield from _block("before", as_text(_one(answer.before)))
            yield from _block("after", as_text(_one(answer.after)))
    by_status = counts(result for _, result in results)
    each = ", ".join(
        style(f"{number} {status}", fg=_COLOUR[CaseStatus(status)]) for status, number in by_status.items()
    )
    used = sum((result.usage for _, result in results), NOTHING)
    cost = f", {cost_text(used.to_json())}" if used.calls else ""
    total = counted(len(results), "case")
    yield ""
    yield f"{total}: {each}, in {duration(seconds)}{cost}"
    if allow_stale and by_status.get(CaseStatus.STALE.value):
        yield "Stale cases are allowed, and say nothing of the workflow."


def _detail(suite: Suite, result: CaseResult) -> Iterator[str]:
    place = visible(f"{suite.path}:{line_of(suite, result)}")
    word = style(result.status.value, fg=_COLOUR[result.status], bold=True)
    yield f"{style(place, bold=True)}: {word}: {visible(result.case.id)}"
    yield f"    {visible(result.message)}"
    if result.expected is not None:
        yield from _block("expected", result.expected)
    if result.actual is not None:
        yield from _block("actual", result.actual)
    if result.run is not None and result.status is not CaseStatus.XPASSED:
        yield f"    {style(f'merrow show {result.run}', dim=True)}"


def _block(name: str, text: str) -> Iterator[str]:
    lines = text.rstrip().split("\n")
    shown = lines[:_MOST_LINES]
    more = len(lines) - _MOST_LINES
    if more > 0:
        shown.append(f"… ({counted(more, 'more line')})")
    for number, line in enumerate(shown):
        head = f"{name:<8}" if number == 0 else " " * 8
        cut = line if len(line) <= _MOST_WIDTH else f"{line[: _MOST_WIDTH - 1]}…"
        yield f"    {style(head, dim=True)}  {visible(cut)}"


def _one(outputs: Any) -> Any:
    """The value of the one output; all where there are several."""
    return next(iter(outputs.values())) if isinstance(outputs, dict) and len(outputs) == 1 else outputs
