"""Searches in words: what one may cost, how it is going, and how it came out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_optimizer.evaluation.statistics.paired import interval_text, p_text
from merrow_optimizer.evaluation.statistics.ranks import LEAST, RankCorrelation
from merrow_optimizer.optimization.plan import SearchPlan, affords
from merrow_optimizer.optimization.question_costs import QuestionsForecast, forecast_questions
from merrow_optimizer.optimization.questions import EVERY
from merrow_optimizer.optimization.readings import ASIDE
from merrow_optimizer.optimization.rounds import BEST
from merrow_optimizer.search.candidates import START
from merrow_runtime.running.forecast_figures import Bounds
from merrow_server.evaluations.stand_ins import stand_ins_of, stand_ins_text
from merrow_server.evaluations.tables import Style, bare, exhausted_text
from merrow_server.files import MARKDOWN_SUFFIXES
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import cells, visible
from merrow_server.reports.run_report import cost_text, workflow_text
from merrow_server.times import duration

if TYPE_CHECKING:
    from merrow_optimizer.optimization.record import RecordedCandidate, SearchRecord
    from merrow_optimizer.search.held_out import HeldOutResult

_WIDEST = 60
_MOST_ROWS = 40


def plan_lines(plan: SearchPlan, dataset: str, part: str) -> Iterator[str]:
    """What a search sees, what a candidate costs, and how many the budget affords: before the first call."""
    split = plan.split
    held = {None: "none is held out", ASIDE: f"{len(split.held_out)} set aside for the end"}.get(
        split.part, f"{len(split.held_out)} of the part {split.part} held out for the end"
    )
    yield f"{counted(len(split.searched), 'item')} of {visible(dataset)} (part {part}) to search with, {held}."
    yield from filter(None, [visible(stand_ins_text(stand_ins_of(plan.base)))])
    item = plan.forecast
    calls = _range(item.calls, "{:,.0f}")
    sentence = f"The start makes {calls} call{'' if calls == '1' else 's'} for one item"
    asked = f"A candidate is asked for {counted(plan.block, 'answer')} or more"
    if item.cost_usd.most is None:
        yield f"{sentence}. What they cost is not known, because the model has no known price. {asked}."
    else:
        costs = _money(item.cost_usd, plan.block)
        yield f"{sentence}, at {_money(item.cost_usd)}. {asked}, which cost about {costs} if it is like the start."
    questions = forecast_questions(plan)
    if questions is not None:
        yield from _question_lines(plan, questions)
    affordable = affords(plan)
    if affordable is None:
        patience = plan.bounds.patience
        if patience is None:
            yield "Nothing bounds the number of candidates but time."
        else:
            draws = "1 draw brings" if patience == 1 else f"{patience:,} draws bring"
            yield f"Candidates are tried until {draws} no better one."
    else:
        least, most = affordable
        many = f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
        many = counted(least, "candidate") if least == most else f"{many} candidates"
        reserved = f", with {plan.reserved:,} answers on held-out items reserved" if split.held_out else ""
        yield f"That affords about {many} beside the start{reserved}."


def _question_lines(plan: SearchPlan, asked: QuestionsForecast) -> Iterator[str]:
    """When a model is asked for candidates, and what that may cost."""
    models, rounds = asked.models, plan.rounds
    name, judge = visible(models.optimizer), visible(models.judge or "")
    shown = f"{counted(len(plan.split.shown), 'item')} may be shown to it and score nobody"
    if rounds is None:
        yield f"{name} proposes candidates, {EVERY} draws apart, which {judge} judges; {shown}."
    else:
        many = counted(rounds.candidates, "candidate")
        picks = f", of which {judge} picks one" if judge else ""
        yield f"{name} proposes {many} in each round{picks}; {shown}."
    calls, cost = asked.each.calls, asked.each.cost_usd
    sentence = f"A question takes {_range(calls, '{:,.0f}')} calls with repairs and the judge"
    times = "" if asked.most is None else f", at most {counted(asked.most, 'time')}"
    if cost.most is None:
        yield f"{sentence}{times}. What they cost is not known, because a model has no known price."
    else:
        whole = "" if asked.most is None else f": {_money(Bounds(0, cost.most), asked.most)} in all"
        yield f"{sentence}, at {_money(cost)}{times}{whole}."


def _range(bounds: Bounds, form: str) -> str:
    if bounds.most is None:
        return f"{form.format(bounds.least)} or more"
    return (
        form.format(bounds.least)
        if bounds.least == bounds.most
        else f"{form.format(bounds.least)} to {form.format(bounds.most)}"
    )


def _money(bounds: Bounds, times: int = 1) -> str:
    least, most = bounds.least * times, (bounds.most or 0) * times
    return "$0" if most == 0 else f"${most:.4f}" if least == most else f"${least:.4f} to ${most:.4f}"


def report_lines(search: SearchRecord, *, whole: bool, style: Style = bare) -> Iterator[str]:
    """How a search came out; ``whole`` with the table of its candidates."""
    record = search.search
    if whole:
        yield from table_lines(search, style)
        yield ""
    if record.over is not None:
        yield visible(record.over)
    usage = search.usage
    yield (
        f"{counted(len(search.candidates), 'candidate')}, {counted(search.answers, 'answer')}, {counted(usage.calls, 'call')},"
        f" {counted(usage.tokens, 'token')}, {cost_text(usage.to_json())}, {duration(record.seconds)}"
    )
    if search.exhausted:
        yield exhausted_text(search.exhausted)
    yield from filter(None, [visible(stand_ins_text(record.plan))])
    yield from _proposal_lines(search)
    if not search.candidates or search.told is None:
        return
    yield ""
    yield from _found(search, style)
    crown = search.candidates[search.crown]
    folder = record.plan["folder"]
    yield ""
    yield f"The candidates are files in {visible(workflow_text(folder))}: {search.candidates[0].file} is the start."
    if crown.number != START:
        # Only at the end it is written once more, under a name of its own.
        file = str(Path(workflow_text(folder)) / (BEST if search.is_complete else crown.file))
        before = workflow_text(record.workflow)
        sentence = f"The best is {file}."
        if not before.lower().rstrip("0123456789").removesuffix("#").endswith(MARKDOWN_SUFFIXES):
            sentence += f" To see what it changes: diff {shlex.quote(before)} {shlex.quote(file)}"
        yield visible(sentence)


def found_lines(search: SearchRecord) -> Iterator[str]:
    """What a search found, in sentences, without its files."""
    if search.search.over is not None:
        yield visible(search.search.over)
    yield from _proposal_lines(search)
    if search.candidates and search.told is not None:
        yield from _found(search, bare)


def _found(search: SearchRecord, style: Style) -> Iterator[str]:
    crown = search.candidates[search.crown]
    if crown.number == START:
        if search.is_complete:
            yield f"{style('No improvement found', bold=True)}: no candidate is estimated to be better than the start."
        else:
            yield "No candidate is estimated to be better than the start so far."
    else:
        yield from _path_lines(search, style)
    yield from _held_out_lines(search, style)
    thrifty = search.thrifty()
    if thrifty is not None:
        yield (
            f"Round {thrifty.number} is the cheapest of those that are about as good: estimated {thrifty.told or 0:.3f},"
            f" {_cost(thrifty)} an item."
        )
    if search.settings.get("objective") == "pareto":
        yield "No other candidate beats these in estimated score and cost at once:"
        for candidate in search.front():
            yield f"  {candidate.file}  {candidate.told or 0:.3f}  {_cost(candidate)} an item"


def _proposal_lines(search: SearchRecord) -> Iterator[str]:
    """What a model that proposes came to: the share of valid candidates by form, and whether its judge is worth something."""
    proposals = search.proposals
    if proposals is None:
        return
    sentence = f"A model was asked for candidates {counted(proposals.questions, 'time')}"
    sentence += f", {counted(proposals.failed, 'time')} without a usable one." if proposals.failed else "."
    for form, name in (("moves", "as moves"), ("graph", "as whole workflows")):
        tally = proposals.tallies[form]
        if tally.proposed:
            first, valid = tally.first / tally.proposed, tally.valid / tally.proposed
            sentence += f" {tally.proposed:,} {name}: {first:.0%} valid at the first try, {valid:.0%} after repair."
    yield sentence
    if any(candidate.judged is not None for candidate in search.candidates):
        yield from judge_lines(search)


def judge_lines(search: SearchRecord) -> Iterator[str]:
    """What the judge's scores are worth: against scores on held-out items where some were read for that, else on those that were
    searched with, which it saw none of.
    """
    held_out, searched = search.judge_held_out, search.judge_searched
    if held_out.pairs >= LEAST:
        yield f"The judge's scores and those on held-out items: {_agreement(held_out)}."
        return
    yield f"The judge's scores and those on the items searched with, which it did not see: {_agreement(searched)}."
    if search.search.plan["held_out"]["items"]:
        yield (
            f"On held-out items that is not known, since they were read with {counted(held_out.pairs, 'judged candidate')};"
            " --judge-items N reads N of them with each."
        )


def _agreement(ranks: RankCorrelation) -> str:
    """A rank correlation in words."""
    many = counted(ranks.pairs, "candidate")
    if ranks.pairs < LEAST:
        return f"{many} {'is' if ranks.pairs == 1 else 'are'} too few for a rank correlation"
    if ranks.value is None:
        return f"no rank correlation, because one of the two is the same for all {ranks.pairs} candidates"
    if ranks.interval is None:
        return f"rank correlation {ranks.value:+.2f} of {many}, too few for an interval"
    lower, upper = ranks.interval
    return f"rank correlation {ranks.value:+.2f} [{lower:+.2f}, {upper:+.2f}] of {many}"


def _path_lines(search: SearchRecord, style: Style) -> Iterator[str]:
    line = search.line_of(search.crown)
    crown, start = line[-1], search.candidates[START]
    before = "" if start.told is None else f", the start {start.told:.3f}"
    yield (
        f"{style('Best', bold=True)}: round {crown.number}, estimated {crown.told or 0:.3f} on"
        f" {counted(len(crown.scores), 'answer')}{before}; expect about .06 less on other items: it was chosen for this score."
    )
    for candidate in line[1:]:
        told = "" if candidate.told is None else f" ({candidate.told:.3f})"
        other = f" with round {candidate.parents[1]}" if len(candidate.parents) > 1 else ""
        yield f"  round {candidate.number}: {visible(candidate.title)}{other}{told}"


def _held_out_lines(search: SearchRecord, style: Style) -> Iterator[str]:
    result = search.held_out
    held = search.search.plan["held_out"]
    were = f"The {counted(len(held['items']), 'held-out item')} {'was' if len(held['items']) == 1 else 'were'} not read"
    if result is not None:
        yield held_out_text(result, style)
        start, crown = result.start_cost, result.crown_cost
        if start is not None and crown is not None:
            yield f"One item costs {_dollars(start)} with the start and {_dollars(crown)} with the best, by a dry run."
    elif held["part"] is None:
        yield "No item was held out, so that nothing is claimed about other items."
    elif search.crown == START and search.is_complete:
        yield f"{were}: there is nothing to compare."
    else:
        yield f"{were} yet."


def held_out_text(result: HeldOutResult, style: Style = bare) -> str:
    """What the held-out items say, in a sentence or two."""
    text = (
        f"{style('Held out', bold=True)}: best {result.crown:.3f}, start {result.start:.3f} on {counted(result.items, 'item')}:"
        f" {result.difference:+.3f} {interval_text(result.interval, result.test)}"
    )
    if result.p is None:
        times = "once" if result.read_before == 1 else f"{result.read_before} times"
        text += f"; these items were read {times} before, so there is no p."
    elif result.is_improvement:
        text += f", {p_text(result.p)} ({result.test}): better."
    else:
        text += f", {p_text(result.p)} ({result.test}): no difference is shown."
        if result.showable < 1:
            text += f" This many items would show a difference of {result.showable:.3f} with probability .8."
        else:
            text += " So few items show no difference with probability .8, however large it is."
    if result.left_out:
        text += f" {counted(result.left_out, 'item')} could not be scored for both."
    return text


def table_lines(search: SearchRecord, style: Style = bare) -> Iterator[str]:
    """A line for each candidate, the best first."""
    order = sorted(
        search.candidates, key=lambda candidate: (candidate.told is None, -(candidate.told or 0.0), candidate.number)
    )
    judged = any(candidate.judged is not None for candidate in order)
    stopped = any(candidate.exhausted for candidate in order)
    heads = ("round", "of", "by", "estimated", "scored", "answers", "calls", "cost")
    table = [(*heads, *_given("Loops stopped", stopped), *_given("judged", judged), "change")]
    table += [
        (
            str(candidate.number),
            "+".join(map(str, candidate.parents)) or "-",
            candidate.kind or candidate.operator or "-",
            "" if candidate.told is None else f"{candidate.told:.3f}",
            "" if candidate.mean is None else f"{candidate.mean:.3f}",
            str(len(candidate.scores)),
            str(candidate.calls),
            "unknown" if candidate.cost is None else _dollars(candidate.cost),
            *_given(f"{candidate.exhausted:,}" if candidate.exhausted else "", stopped),
            *_given("/".join(f"{mark:g}" for mark in candidate.criteria.values()), judged),
            _short(candidate.title) or "the start",
        )
        for candidate in order[:_MOST_ROWS]
    ]
    widths = [max(cells(row[column]) for row in table) for column in range(len(table[0]))]
    for number, row in enumerate(table):
        padded = [value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)]
        if number == 0:
            padded = [
                style(value, bold=True) + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)
            ]
        elif row[0] == str(search.crown):
            padded[0] = style(padded[0], fg="green")
        yield "  ".join(padded).rstrip()
    if judged:
        names = next(candidate.criteria for candidate in order if candidate.criteria)
        yield f"judged: {', '.join(map(visible, names))}, from 1 to 10 each"
    if len(order) > _MOST_ROWS:
        yield f"and {len(order) - _MOST_ROWS:,} more, all with: merrow show {search.id} --format json"


def _given(cell: str, is_there: bool) -> tuple[str, ...]:
    """The cell of a column that a table has only where some row has something in it."""
    return (cell,) if is_there else ()


def _cost(candidate: RecordedCandidate) -> str:
    return counted(candidate.calls, "call") if candidate.cost is None else _dollars(candidate.cost)


def _dollars(cost: float) -> str:
    return f"about ${cost:.4f}" if cost else "$0"


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if cells(line) <= _WIDEST else line[: _WIDEST - 3] + "..."
