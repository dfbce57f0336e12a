"""``merrow batch``: a workflow run on every row of a data set, without references."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option, with_options
from merrow_server.cli.options.data import BATCH_OPTIONS, MODEL_OPTIONS, asked_of
from merrow_server.cli.options.engine import ENGINE_OPTIONS, check_engine, cluster_of
from merrow_server.cli.options.refining import REFINE_OPTIONS

if TYPE_CHECKING:
    from merrow_server.evaluations.evaluation_request import EvaluationRequest

OFTEN = {
    "Data": ("--dataset", "--map", "--limit", "--output"),
    "Model": ("--model",),
    "Cost": ("--dry-run", "--budget-usd"),
}
"""The options that people use, by what they are for."""


@click.command(
    "batch",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow batch triage.mmd --dataset mails.csv -o out.csv --dry-run         calls and cost before the first call
    merrow batch triage.mmd --dataset mails.csv --map problem=mail -o out.csv
    merrow batch triage.mmd --dataset mails.jsonl -o out.jsonl --limit 100 --budget-usd 2
    merrow runs --kind batch                                                 the batches in the journal
    merrow evaluate triage.mmd --dataset graded.csv --gold category=category grade the answers: they cost nothing again
    """,
)
@click.argument("file", shell_complete=shell_completion.files)
@with_options(BATCH_OPTIONS)
@click.option(
    "-o", "--output", "out", required=True, metavar="OUT", help="The file to write: NAME.csv or NAME.jsonl, a new one."
)
@with_options(MODEL_OPTIONS)
@click.option("--override-models", is_flag=True, help="--model takes the place of models that nodes name, too.")
@with_options(REFINE_OPTIONS)
@with_options(ENGINE_OPTIONS)
@format_option()
@click.pass_context
def command(ctx: click.Context, /, file: str, out: str, **given: Any) -> None:
    """Run the workflow in FILE on every row of a data set, and write what it answered into OUT.

    Each row of OUT has the columns of the data, a column for each field of the answer, the status and the cost. Nothing
    is paid for twice: `merrow resume` continues a batch that stopped, and `merrow evaluate` finds the answers of a batch.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.evaluations.batch_output import check_output

    check_engine(given)
    check_output(out)
    asked = replace(asked_of({**given, "golds": (), "metrics": (), "metric_options": ()}), batch=out)
    asked = replace(asked, part=asked.part or "all")
    with closing(Store.open()) as user:
        if given["dry_run"]:
            asyncio.run(_dry_run(user, file, asked, as_json=given["output"] == "json"))
            return
        ctx.exit(asyncio.run(_carried_out(user, file, asked, given)))


async def _dry_run(user: Any, file: str, asked: EvaluationRequest, *, as_json: bool) -> None:
    from merrow_optimizer.evaluation.data.names import data_name
    from merrow_optimizer.evaluation.plan import forecast
    from merrow_runtime.program.loading import load
    from merrow_server.cli.sessions.evaluation import notice
    from merrow_server.cli.texts.evaluations import forecast_text
    from merrow_server.evaluations.prepared_evaluation import forecast_json, prepare, remarks
    from merrow_server.rendering.terminal import echo, emit

    prepared = await prepare(load(file), asked, user)
    try:
        if as_json:
            emit(json.dumps(forecast_json(user, prepared), indent=2))
            return
        data = prepared.data
        echo(forecast_text(forecast(prepared.plan, user.evaluations.known), data_name(data.file), data.part))
        for sentence in remarks(user, prepared):
            notice(sentence)
        echo("No call was made. A question whose answer can't be used is asked up to twice more.")
    finally:
        await prepared.close()


async def _carried_out(user: Any, file: str, asked: EvaluationRequest, given: dict[str, Any]) -> int:
    from merrow_runtime.program.loading import load
    from merrow_server.cli.sessions.batch import watch_batch
    from merrow_server.cli.sessions.evaluation import begun
    from merrow_server.evaluations.prepared_evaluation import prepare

    prepared = await prepare(load(file), asked, user)
    try:
        async with cluster_of(given) as cluster:
            return await watch_batch(user, begun(user, prepared), prepared, cluster, given["output"])
    finally:
        await prepared.close()
