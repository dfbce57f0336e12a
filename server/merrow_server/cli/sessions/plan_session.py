"""What ``merrow plan`` does: says what it may cost, asks, and writes, prints or reports the plans."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from merrow_optimizer.planning.candidates import Told
from merrow_optimizer.planning.ranking import RULES
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.store.database import Store
from merrow_server.cli import INTERRUPTED, NOT_WELL, OK
from merrow_server.cli.output import complain
from merrow_server.cli.sessions.signals import cancelled_by_signals
from merrow_server.cli.status_line import status_line
from merrow_server.errors import InputError
from merrow_server.files import Source, Target, create, created, read, write_stdout
from merrow_server.output_files import check_folder
from merrow_server.plan_files import task_of
from merrow_server.plans.preparing import PlanOutcome, PlanRequest, PreparedPlan, prepare
from merrow_server.plans.report import report
from merrow_server.plans.words import cost_sentence, plan_lines, refused_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text


def plan(
    asked: PlanRequest, source: str | None, *, output: Path | None, folder: Path | None, as_json: bool, dry_run: bool
) -> int:
    """Plan, and print or write the plans; the exit code. ``source`` is a file that has the plans already.

    Raises `InputError`, `RunFailure`.
    """
    _check_places(output, folder)
    given = None if source is None else read(Target(source, Path(source))).text
    task = asked.task or task_of(given or "")
    if not task:
        raise InputError(f'{source} does not say its task; give it: merrow plan "TASK" --from {source}')
    with closing(Store.open()) as user:
        planned = _plan(replace(asked, task=task, given=given), user, output, folder, as_json=as_json, dry_run=dry_run)
        try:
            return asyncio.run(planned)
        except (asyncio.CancelledError, KeyboardInterrupt):
            echo(f"{style('Stopped', fg='yellow')}: answers that came are kept and not paid again.", err=True)
            return INTERRUPTED


def _check_places(output: Path | None, folder: Path | None) -> None:
    """Raise `InputError` before anything is paid where the plans could not be written."""
    if output is not None and output.exists():
        raise InputError(f"{output} is there already and is not overwritten; name a new file.")
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError(f"{output} can't be written: its folder does not exist.")
    if folder is not None:
        check_folder(folder)


async def _plan(
    asked: PlanRequest, user: Store, output: Path | None, folder: Path | None, *, as_json: bool, dry_run: bool
) -> int:
    prepared = prepare(asked, user)
    try:
        if dry_run:
            _print_forecast(prepared, as_json=as_json)
            return OK
        outcome = await prepared.known()
        if outcome is None:
            for notice in prepared.notices:
                echo(f"{style('Note:', fg='yellow')} {visible(notice)}", err=True)
            if prepared.forecast.calls[1]:
                echo(cost_sentence(prepared), err=True)
            with cancelled_by_signals(), _shown() as told:
                outcome = await prepared.run(told)
    except EndpointFailure as failure:
        complain(str(failure))
        return NOT_WELL
    finally:
        await prepared.close()
    return _report(prepared, outcome, output=output, folder=folder, as_json=as_json)


@contextlib.contextmanager
def _shown() -> Iterator[Told]:
    """How far it is, in one line on a terminal."""
    with status_line() as say:
        yield lambda what, done, most: say(f"{what} ({min(done + 1, most)} of {most} steps)")


def _report(
    prepared: PreparedPlan, outcome: PlanOutcome, *, output: Path | None, folder: Path | None, as_json: bool
) -> int:
    files = _written(outcome, output, folder)
    if as_json:
        emit(json.dumps(report(prepared, outcome, files), indent=2, ensure_ascii=False))
    else:
        rule = RULES[prepared.asked.rank]
        for line in (*refused_lines(outcome.refused), *plan_lines(outcome.plans, outcome.coverage, rule)):
            echo(line, err=True)
        if outcome.notice is not None:
            echo(f"{style('Note:', fg='yellow')} {visible(outcome.notice)}", err=True)
        echo(_used(outcome), err=True)
        for file in files:
            echo(f"{file} is written.")
        if outcome.plans and not files:
            write_stdout(Source(outcome.plans[0].candidate.text))
    if outcome.plans:
        return OK
    complain("No plan can be used, and nothing is written.")
    return NOT_WELL


def _used(outcome: PlanOutcome) -> str:
    """What it has cost: ``4 calls, 8,120 tokens, $0.0031``."""
    calls, known = outcome.used.calls, outcome.known
    if not calls:
        return "No call was made." if not known else "All answers were known already; no call was made."
    already = f" ({known} known already)" if known else ""
    said = counted(calls, "call")
    return f"{said}{already}, {outcome.used.tokens:,} tokens, {cost_text(outcome.used.to_json())}"


def _written(outcome: PlanOutcome, output: Path | None, folder: Path | None) -> list[str]:
    """Write the plans where they are wanted; the names of the files, the best plan first."""
    if not outcome.plans:
        return []
    if output is not None:
        create(output, outcome.plans[0].candidate.text)
        return [str(output)]
    if folder is None:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} can't be made: {problem.strerror}.") from None
    files = [folder / f"{number}.mmd" for number in range(1, len(outcome.plans) + 1)]
    with created((file, one.candidate.text) for file, one in zip(files, outcome.plans, strict=True)) as made:
        return [str(file) for file in made]


def _print_forecast(prepared: PreparedPlan, *, as_json: bool) -> None:
    """Say what would be asked, and what it may cost."""
    messages = () if prepared.asked.given is not None else prepared.wanted.request().messages
    if as_json:
        shown = {
            "endpoint": prepared.chosen.endpoint.origin,
            "model": prepared.wanted.model,
            **prepared.forecast.to_json(),
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        emit(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for message in messages:
        echo(f"{message.role}:")
        for line in message.content.split("\n"):
            echo(f"| {visible(line)}")
    forecast = prepared.forecast
    calls, tokens, cost = forecast.calls, forecast.tokens, forecast.cost_usd
    money = "unknown" if cost is None else "$0" if cost[1] == 0 else f"${cost[0]:.4f} to ${cost[1]:.4f}"
    echo(f"\nendpoint: {prepared.chosen.endpoint.origin}")
    echo(f"calls: {calls[0]} to {calls[1]}; tokens: about {tokens[0]:,} to {tokens[1]:,}; cost: {money}")
    echo("No call was made.")
