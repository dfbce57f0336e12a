"""What ``merrow plan`` does, and prints and writes of plans."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from merrow_runtime.store.database import Store
from merrow_server.asking_jobs import EndedJob
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.sessions.asking_session import Finish, carry_out, run
from merrow_server.cli.sessions.evaluation import notice
from merrow_server.errors import InputError
from merrow_server.files import SourceText, Target, create, created, read, write_stdout
from merrow_server.output_files import check_folder
from merrow_server.plan_files import task_of
from merrow_server.plans.plan_data import PlanOutcome
from merrow_server.plans.plan_words import report_lines, used_text
from merrow_server.plans.prepared_plan import PlanRequest, PreparedPlan, prepare
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit

Json = dict[str, Any]


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
        return run(
            _plan(replace(asked, task=task, given=given), user, output, folder, as_json=as_json, dry_run=dry_run)
        )


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
    plans = prepare(asked, user, output=output, folder=folder)
    if not dry_run:
        finish = finishing(output, folder, as_json=as_json)
        return await carry_out(plans, finish, agreed=True, as_json=as_json)
    await plans.close()
    _print_forecast(plans, as_json=as_json)
    return OK


def finishing(output: Path | None, folder: Path | None, *, as_json: bool) -> Finish[PlanOutcome]:
    """Writes plans where they are wanted, or prints the best one, with what there is to say of them all."""

    def finish(_ended: EndedJob[PlanOutcome], told: Json) -> int:
        plans = told["plans"]
        files = _written([shown["text"] for shown in plans], output, folder)
        if as_json:
            for shown, file in zip(plans, files, strict=False):
                shown["file"] = file
            emit(json.dumps(told, indent=2, ensure_ascii=False))
        else:
            print_plans(told, files)
        if plans:
            return OK
        complain("No plan can be used, and nothing is written.")
        return NOT_WELL

    return finish


def print_plans(told: Json, files: list[str]) -> None:
    """Print a report on plans: in words for people, then the ``files`` that were written, or without any the best plan."""
    for line in report_lines(told):
        echo(line, err=True)
    if told["notice"] is not None:
        notice(visible(told["notice"]))
    echo(used_text(told), err=True)
    for file in files:
        echo(f"{file} is written.")
    if told["plans"] and not files:
        write_stdout(SourceText(told["plans"][0]["text"]))


def _written(texts: list[str], output: Path | None, folder: Path | None) -> list[str]:
    """Write the plans where they are wanted, the best one first; the names of the files."""
    if not texts:
        return []
    if output is not None:
        create(output, texts[0])
        return [str(output)]
    if folder is None:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} can't be made: {problem.strerror}.") from None
    files = [folder / f"{number}.mmd" for number in range(1, len(texts) + 1)]
    with created(zip(files, texts, strict=True)) as made:
        return [str(file) for file in made]


def _print_forecast(plans: PreparedPlan, *, as_json: bool) -> None:
    """Say what would be asked, and what it may cost."""
    messages = () if plans.asked.given is not None else plans.wanted.request().messages
    if as_json:
        shown = {
            "endpoint": plans.chosen.endpoint.origin,
            "model": plans.wanted.model,
            **plans.bounds.to_json(),
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        emit(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for message in messages:
        echo(f"{message.role}:")
        for line in message.content.split("\n"):
            echo(f"| {visible(line)}")
    forecast = plans.bounds
    calls, tokens, cost = forecast.calls, forecast.tokens, forecast.cost_usd
    money = "unknown" if cost is None else "$0" if cost[1] == 0 else f"${cost[0]:.4f} to ${cost[1]:.4f}"
    echo(f"\nendpoint: {plans.chosen.endpoint.origin}")
    echo(f"calls: {calls[0]} to {calls[1]}; tokens: about {tokens[0]:,} to {tokens[1]:,}; cost: {money}")
    echo("No call was made.")
