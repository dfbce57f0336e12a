"""``merrow evaluate``: a workflow scored on a data set."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, OK, Command
from merrow_server.cli.gate_options import GATE_OPTIONS, check_gates, gates_of
from merrow_server.cli.given import words
from merrow_server.cli.options import with_options
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit
from merrow_server.run_report import workflow_text

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.evaluations import EvaluationRecord
    from merrow_server.evaluations.preparing import Asked


@click.command(
    "evaluate",
    cls=Command,
    epilog="""
    merrow evaluate flow.mmd --dataset arithmetic                           30 problems that come with Merrow
    merrow evaluate flow.mmd --dataset gsm8k_validate.jsonl                 the score, with its interval
    merrow evaluate flow.mmd --dataset own.csv --map problem=question --gold answer --metric numeric
    merrow evaluate flow.mmd --dataset own.jsonl --gold answer --limit 20 --dry-run
    merrow evaluate flow.mmd --dataset own.jsonl --gold answer --fail-under 0.8
    merrow evaluate --compare 4f2a 9c1d                                     two evaluations, item by item
    merrow evaluate --compare old.mmd new.mmd --dataset own.jsonl --gold answer
    """,
)
@click.argument("file", metavar="[FILE]", required=False, shell_complete=words.files)
@click.option(
    "--dataset",
    metavar="F",
    shell_complete=words.files,
    help="The data: JSON Lines, a JSON array or CSV; or `arithmetic`, which comes with Merrow.",
)
@click.option("--reader", metavar="NAME", help="The form of the data; without it, as its name says.")
@click.option(
    "--map", "mapping", multiple=True, metavar="INPUT=FIELD", help="The field that an input of the workflow gets."
)
@click.option("--gold", metavar="FIELD", help="The field with the right answer.")
@click.option("--part", metavar="PART", help="validate, test or all.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N items.")
@click.option("--items", multiple=True, metavar="ID", help="Only this item; @FILE reads ids, one a line.")
@click.option("--metric", metavar="NAME", help="What an answer is worth; without it, what the data asks for.")
@click.option("--metric-option", "metric_options", multiple=True, metavar="NAME=VALUE", help="An option of the metric.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Answers to each item.")
@click.option("--seed", type=int, default=42, show_default=True, help="Decides the order of items, and shuffles.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Calls at the same time.")
@click.option("--fresh", is_flag=True, help="Ask again what is known already.")
@click.option("--model", metavar="MODEL", help="In place of the workflow's model; nodes that name their own keep it.")
@click.option(
    "--judge-model", metavar="MODEL", help="The model that the metric judge asks; without it, the workflow's."
)
@click.option("--base-url", metavar="URL", help="The endpoint; `offline` is the embedded model.")
@click.option("--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Stop at this much money.")
@click.option("--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Stop at this many tokens.")
@click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds.")
@click.option("--dry-run", is_flag=True, help="Say how many calls it would make and what they may cost; call nothing.")
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    shell_complete=words.evaluations_or_files,
    help="Compare two evaluations, or two workflows on --dataset.",
)
@with_options(GATE_OPTIONS)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "csv", "junit", "github", "html", "inspect"]),
    default="text",
    help="How to print.",
)
@click.pass_context
def command(ctx: click.Context, /, file: str | None, compare: tuple[str, str] | None, **given: Any) -> None:
    """Score the workflow in FILE on a data set: what it got right, where it failed, what it cost, and how sure that is.

    Nothing is paid twice: an answer that is known by workflow, model and item is not asked for again, whatever its nodes
    are called; `merrow resume` goes on where an evaluation stopped. Failures of an endpoint are not wrong answers.

    A finished evaluation exits with 1 only by a gate (--fail-under, --fail-under-lower, --max-drop, --fail-if-worse,
    --allow-errors), one that stopped before its end always does.
    """
    from merrow_runtime.store.database import Store

    _check(file, compare, given)
    with closing(Store.open()) as user:
        if compare is not None:
            ctx.exit(_compare(user, compare, given))
        assert file is not None  # noqa: S101 (see `_check`)
        baseline = None if given["baseline"] is None else user.evaluations.get(given["baseline"])
        if given["dry_run"]:
            asyncio.run(_dry_run(user, file, given))
            return
        from merrow_server.cli.evaluation_session import report

        code, record = asyncio.run(_evaluated(user, file, given))
        passes = report(user, record, gates_of(given), baseline, given["output"])
        ctx.exit(code if code != OK or passes else NOT_WELL)


def _check(file: str | None, compare: tuple[str, str] | None, given: dict[str, Any]) -> None:
    """Raise `InputError` for options that don't go together."""
    if compare is None and (file is None or given["dataset"] is None):
        raise InputError("Name a workflow and its data: merrow evaluate FILE --dataset F.")
    if compare is not None and file is not None:
        raise InputError("--compare takes two evaluations or workflows, and no FILE beside them.")
    check_gates(given)


def _asked(given: dict[str, Any]) -> Asked:
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_server.cli.given.values import read_values
    from merrow_server.evaluations.preparing import Asked

    same = (
        "dataset",
        "reader",
        "gold",
        "part",
        "limit",
        "items",
        "metric",
        "seed",
        "model",
        "judge_model",
        "base_url",
        "concurrency",
        "fresh",
    )
    return Asked(
        **{name: given[name] for name in same},
        mapping=read_values(given["mapping"], "--map"),
        metric_options={
            name: _plain(value) for name, value in read_values(given["metric_options"], "--metric-option").items()
        },
        repeats=given["repeat"],
        limits=Limits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"]),
    )


def _plain(text: str) -> Any:
    """An option's value: a number where it is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if type(value) in (int, float) else text


async def _dry_run(user: Store, file: str, given: dict[str, Any]) -> None:
    from merrow_optimizer.evaluation.plan import forecast
    from merrow_runtime.program.loading import load
    from merrow_server.cli.evaluation_text import forecast_text
    from merrow_server.evaluations.preparing import forecast_json, prepare

    prepared = await prepare(load(file), _asked(given), user)
    try:
        if given["output"] == "json":
            emit(json.dumps(forecast_json(user, prepared), indent=2))
        else:
            data = prepared.data
            echo(forecast_text(forecast(prepared.plan, user.evaluations.known), str(data.file), data.part))
            echo("No call was made. A question whose answer can't be used is asked up to twice more.")
    finally:
        await prepared.close()


async def _evaluated(user: Store, file: str, given: dict[str, Any]) -> tuple[int, EvaluationRecord]:
    from merrow_runtime.program.loading import load
    from merrow_server.cli.evaluation_session import begun, watch
    from merrow_server.evaluations.preparing import prepare

    prepared = await prepare(load(file), _asked(given), user)
    record = begun(user, prepared)
    return await watch(user, record, prepared), record


def _compare(user: Store, compare: tuple[str, str], given: dict[str, Any]) -> int:
    from merrow_server.evaluations.report import comparison, evaluation_object, score_text
    from merrow_server.evaluations.tables import comparison_lines
    from merrow_server.rendering.terminal import style

    found: list[EvaluationRecord] = []
    for one in compare:
        if not Path(one.partition("#")[0]).is_file():
            found.append(user.evaluations.get(one))
            continue
        if given["dataset"] is None:
            raise InputError(f"To compare the workflow {one}, name the data: --dataset F.")
        code, record = asyncio.run(_evaluated(user, one, given))
        if code != OK:
            return code
        found.append(user.evaluations.get(record.id))
    before, after = found
    if before.dataset != after.dataset:
        raise InputError(
            f"Evaluations {before.id} and {after.id} are of different data, so their items can't be compared."
        )
    result = comparison(user, before, after)
    objects = [evaluation_object(user, one, user.evaluations.scores(one.id)) for one in found]
    if given["output"] == "json":
        emit(json.dumps({"before": objects[0], "after": objects[1], **result.to_json()}, indent=2))
        return OK
    for shown in objects:
        echo(f"{shown['evaluation']}  {score_text(shown)}  {visible(workflow_text(shown['workflow']))}")
    for line in comparison_lines(result, before.id, after.id, style):
        echo(line)
    return OK
