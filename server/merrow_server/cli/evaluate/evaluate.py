"""``merrow evaluate``: a workflow scored on a data set."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option, with_options
from merrow_server.cli.options.data import DATA_OPTIONS, MODEL_OPTIONS, asked_of
from merrow_server.cli.options.engine import ENGINE_OPTIONS, check_engine, cluster_of
from merrow_server.cli.options.gates import GATE_OPTIONS, any_gate, check_gates, gates_of
from merrow_server.cli.options.masking import MASK_OPTIONS
from merrow_server.cli.options.refining import REFINE_OPTIONS
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit
from merrow_server.reports.run_report import workflow_text

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.evaluations import EvaluationRecord


OFTEN = {
    "Data": ("--dataset", "--map", "--gold", "--limit"),
    "Scores": ("--metric", "--compare", "--fail-under"),
    "Model": ("--model",),
    "Cost": ("--dry-run", "--budget-usd"),
}
"""The options that people use, by what they are for."""


@click.command(
    "evaluate",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow evaluate flow.mmd --dataset arithmetic                           30 problems that come with Merrow
    merrow evaluate flow.mmd --dataset flow-tasks                           a game, slides and a website, judged as products
    merrow evaluate flow.mmd --dataset gsm8k_validate.jsonl                 the score, with its interval
    merrow evaluate flow.mmd --dataset own.csv --map problem=question --gold answer --metric numeric
    merrow evaluate flow.mmd --dataset own.jsonl --gold answer --limit 20 --dry-run
    merrow evaluate flow.mmd --dataset own.jsonl --gold answer --fail-under 0.8
    merrow evaluate flow.mmd --dataset mails.csv --gold category=category --gold urgency=urgency --fail-under category=0.9
    merrow evaluate flow.mmd --dataset gsm8k_validate.jsonl --memory none,all,last:3
    merrow evaluate flow.mmd --dataset flow-tasks --mask 0.2 --refine both --repeat 5
    merrow evaluate a.mmd b.mmd --dataset own.jsonl --gold answer --models gpt-4o-mini,gpt-4o
    merrow evaluate flow.mmd --dataset own.jsonl --gold answer --engine dask --scheduler tcp://10.0.0.7:8786
    merrow evaluate --compare 4f2a 9c1d                                     two evaluations, item by item
    merrow evaluate --compare old.mmd new.mmd --dataset own.jsonl --gold answer
    """,
)
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=shell_completion.files)
@with_options(DATA_OPTIONS)
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Answers to each item.")
@with_options(MODEL_OPTIONS)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    shell_complete=shell_completion.evaluations_or_files,
    help="Compare two evaluations, or two workflows on --dataset.",
)
@click.option(
    "--memory",
    "memories",
    metavar="M,...",
    help="Evaluate with each of these memories: none, all, last:N, tokens:N, summary. Prints a table.",
)
@click.option("--models", metavar="MODEL,...", help="Evaluate with each of these models. Prints a table.")
@click.option(
    "--override-models", is_flag=True, help="--model and --models take the place of models that nodes name, too."
)
@click.option(
    "--refine",
    type=click.Choice(["on", "off", "both"]),
    is_flag=False,
    flag_value="on",
    help="Have a model change the workflow while it runs; `both` evaluates without and with it. Prints a table.",
)
@with_options(REFINE_OPTIONS[1:])
@with_options(MASK_OPTIONS)
@with_options(ENGINE_OPTIONS)
@with_options(GATE_OPTIONS)
@format_option(forms=("text", "json", "csv", "junit", "github", "html", "inspect"))
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], compare: tuple[str, str] | None, **given: Any) -> None:
    """Score the workflow in FILE on a data set: what it got right, where it failed, what it cost, and how certain that is.

    Nothing is paid for twice: an answer that is known for the same workflow, model and item is reused, even if
    nodes were renamed, and `merrow resume` continues an evaluation that stopped. Failures of an endpoint don't
    count as wrong answers.

    A finished evaluation exits with 1 only because of a gate (--fail-under, --fail-under-lower, --max-drop,
    --fail-if-worse,
    --allow-errors); one that stopped before it finished always does.
    """
    from merrow_runtime.store.database import Store

    file = files[0] if files else None
    given["refined"] = (False, True) if given["refine"] == "both" else (None,)
    given["refine"] = {"on": True, "off": False}.get(given["refine"])
    is_table = (
        len(files) > 1 or len(given["refined"]) > 1 or given["memories"] is not None or given["models"] is not None
    )
    _check(file, compare, given)
    if is_table:
        _check_table(compare, given)
    with closing(Store.open()) as user:
        if compare is not None:
            ctx.exit(_compare(user, compare, given))
        assert file is not None  # noqa: S101 (see `_check`)
        if is_table:
            ctx.exit(asyncio.run(_table(user, files, given)))
        baseline = None if given["baseline"] is None else user.evaluations.get(given["baseline"])
        if given["dry_run"]:
            asyncio.run(_dry_run(user, file, given))
            return
        from merrow_server.cli.sessions.evaluation import report
        from merrow_server.cli.sessions.watching import reporting

        code, record = asyncio.run(_evaluated(user, file, given))
        passes = False
        with reporting(code):
            passes = report(user, record, gates_of(given), baseline, given["output"])
        ctx.exit(code if code != OK or passes else NOT_WELL)


def _check(file: str | None, compare: tuple[str, str] | None, given: dict[str, Any]) -> None:
    """Raise `InputError` for options that don't go together."""
    if compare is None and (file is None or given["dataset"] is None):
        raise InputError("Name a workflow and its data: merrow evaluate FILE --dataset F.")
    if compare is not None:
        _check_comparison(file, given)
    check_gates(given)
    check_engine(given)


def _check_comparison(file: str | None, given: dict[str, Any]) -> None:
    """Raise `InputError` for options that don't go with --compare."""
    if file is not None:
        raise InputError("--compare takes two evaluations or workflows, and no FILE beside them.")
    if any_gate(given):
        raise InputError("--compare has no gates; evaluate the second one with --baseline and the first one's id.")
    if given["output"] not in ("text", "json"):
        raise InputError("A comparison is printed as text or json.")


def _check_table(compare: tuple[str, str] | None, given: dict[str, Any]) -> None:
    """Raise `InputError` for options that don't go with a table."""
    if compare is not None or any_gate(given):
        raise InputError("A table of evaluations has no gates and no --compare; evaluate one workflow for these.")
    if given["models"] is not None and given["model"] is not None:
        raise InputError("Name models either with --models or with --model.")
    if given["output"] not in ("text", "json"):
        raise InputError("A table of evaluations is printed as text or json; show each with: merrow show ID")


async def _table(user: Store, files: tuple[str, ...], given: dict[str, Any]) -> int:
    from merrow_server.cli.sessions.evaluation_table import carry_out, cells_of, dry_run

    table = cells_of(files, given["models"], given["memories"], given["refined"])
    asked, as_json = asked_of(given, given["repeat"]), given["output"] == "json"
    if given["dry_run"]:
        await dry_run(user, table, asked, as_json=as_json)
        return OK
    async with cluster_of(given) as cluster:
        return await carry_out(user, table, asked, as_json=as_json, cluster=cluster)


async def _dry_run(user: Store, file: str, given: dict[str, Any]) -> None:
    from merrow_optimizer.evaluation.data.names import data_name
    from merrow_optimizer.evaluation.plan import forecast
    from merrow_runtime.program.loading import load
    from merrow_server.cli.sessions.evaluation import notice
    from merrow_server.cli.texts.evaluations import forecast_text
    from merrow_server.evaluations.prepared_evaluation import forecast_json, prepare, remarks

    prepared = await prepare(load(file), asked_of(given, given["repeat"]), user)
    try:
        gates_of(given).named(prepared.again.get("fields", {}))
        if given["output"] == "json":
            emit(json.dumps(forecast_json(user, prepared), indent=2))
        else:
            data = prepared.data
            echo(forecast_text(forecast(prepared.plan, user.evaluations.known), data_name(data.file), data.part))
            for sentence in remarks(user, prepared):
                notice(sentence)
            echo("No call was made. A question whose answer can't be used is asked up to twice more.")
    finally:
        await prepared.close()


async def _evaluated(user: Store, file: str, given: dict[str, Any]) -> tuple[int, EvaluationRecord]:
    from merrow_runtime.program.loading import load
    from merrow_server.cli.sessions.evaluation import begun, watch
    from merrow_server.evaluations.prepared_evaluation import prepare

    prepared = await prepare(load(file), asked_of(given, given["repeat"]), user)
    try:
        gates_of(given).named(prepared.again.get("fields", {}))
        async with cluster_of(given) as cluster:
            record = begun(user, prepared)
            return await watch(user, record, prepared, cluster), record
    finally:
        await prepared.close()


def _compare(user: Store, compare: tuple[str, str], given: dict[str, Any]) -> int:
    from merrow_server.evaluations.evaluation_data import comparison, evaluation_object, other_metrics, score_text
    from merrow_server.evaluations.stand_ins import stand_ins_text
    from merrow_server.evaluations.tables import comparison_lines
    from merrow_server.evaluations.updates import seconds_text, updates_of, updates_text
    from merrow_server.rendering.counts import counted
    from merrow_server.rendering.terminal import style

    workflows = [argument for argument in compare if Path(argument.partition("#")[0]).is_file()]
    if workflows and given["dataset"] is None:
        raise InputError(f"To compare the workflow {workflows[0]}, name the data: --dataset F.")
    if given["dry_run"]:
        from merrow_server.cli.sessions.evaluation_table import Cell, dry_run

        table, asked = [Cell(workflow, None, None) for workflow in workflows], asked_of(given, given["repeat"])
        asyncio.run(dry_run(user, table, asked, as_json=given["output"] == "json"))
        return OK
    named = {argument: user.evaluations.get(argument) for argument in compare if argument not in workflows}
    records: list[EvaluationRecord] = []
    for name in compare:
        if name in named:
            records.append(named[name])
            continue
        code, record = asyncio.run(_evaluated(user, name, given))
        if code != OK:
            return code
        records.append(user.evaluations.get(record.id))
    before, after = records
    if before.dataset != after.dataset:
        raise InputError(
            f"Evaluations {before.id} and {after.id} are of different data, so their items can't be compared."
        )
    if why := other_metrics(before, after):
        from merrow_server.cli.sessions.evaluation import notice

        notice(why)
    result = comparison(user, before, after)
    several = [(compared, user.evaluations.scores(compared.id)) for compared in records]
    objects = [{**evaluation_object(user, *scored), **updates_of(user, *scored)} for scored in several]
    if given["output"] == "json":
        emit(json.dumps({"before": objects[0], "after": objects[1], **result.to_json()}, indent=2))
        return OK
    for shown in objects:
        taken = seconds_text(shown["answer_seconds"])
        used = f"{counted(shown['usage']['calls'], 'call')}{f', {taken} s per answer' if taken else ''}"
        echo(f"{shown['evaluation']}  {score_text(shown)}  {used}  {visible(workflow_text(shown['workflow']))}")
        if "updates" in shown:
            echo(f"{' ' * len(shown['evaluation'])}  {updates_text(shown['updates'])}")
    for sentence in dict.fromkeys(stand_ins_text(shown) for shown in objects):
        if sentence:
            echo(visible(sentence))
    for line in comparison_lines(result, before.id, after.id, style):
        echo(line)
    return OK
