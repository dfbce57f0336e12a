"""``merrow extract``: operators from solved cases."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option, with_options
from merrow_server.cli.options.data import DATA_OPTIONS, MODEL_OPTIONS, asked_of
from merrow_server.errors import InputError
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_server.extractions.prepared_extraction import ExtractionAsked

_NOT_HERE = ("--dataset", "--fresh")


def _named(option: Any) -> list[str]:
    """The names of an option of a shared list."""

    def bare() -> None: ...

    return list(option(bare).__click_params__[0].opts)


OFTEN = {
    "Data": ("--map", "--gold", "--solution", "--metric", "--limit"),
    "Operators": ("--out", "--coverage"),
    "Model": ("--optimizer-model",),
    "Cost": ("--dry-run", "--budget-usd"),
}
"""The options that people use, by what they are for."""


@click.command(
    "extract",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow extract math_validate.jsonl                              operators.yaml, with cases/ and start/ beside it
    merrow extract own.jsonl --map problem=question --gold answer --solution worked --metric numeric
    merrow extract math_validate.jsonl --optimizer-model gpt-5 --model gpt-4o-mini --budget-usd 2
    merrow extract math_validate.jsonl --dry-run                    calls, tokens and dollars by stage
    merrow extract math_validate.jsonl --without clustering         an ablation
    merrow extract cases.jsonl --reader math --replay operators.replay.jsonl
    """,
)
@click.argument("cases", metavar="CASES", shell_complete=shell_completion.files)
@with_options([option for option in DATA_OPTIONS if not set(_named(option)) & set(_NOT_HERE)])
@click.option(
    "--solution", metavar="FIELD", help="The field with the worked solution; by default, the one that the reader knows."
)
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    default="operators.yaml",
    show_default=True,
    shell_complete=shell_completion.files,
    help="The library to write; its report, cases/ and start/ are beside it.",
)
@click.option(
    "--optimizer-model", metavar="MODEL", help="The model that names operators; by default, the one in your settings."
)
@click.option(
    "--paths",
    type=click.IntRange(1, 20),
    default=6,
    show_default=True,
    help="Independent paths to more general operators.",
)
@click.option("--steps", type=click.IntRange(1, 10), default=3, show_default=True, help="Steps of each path.")
@click.option(
    "--coverage",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="The share of the cases that the set must cover.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(["initial", "clustering", "deep"]),
    help="Leave a stage out, as in the paper's ablations.",
)
@click.option(
    "--aggregate",
    type=click.Choice(["cover", "model"]),
    default="cover",
    show_default=True,
    help="How paths are put together: the smallest set that covers enough cases, or as the model says.",
)
@with_options([option for option in MODEL_OPTIONS if not set(_named(option)) & set(_NOT_HERE)])
@click.option("--record", metavar="FILE", help="Write the answers that models give now to this file.")
@click.option("--replay", metavar="FILE", shell_complete=shell_completion.files, help="Answer from this file only.")
@format_option()
@click.pass_context
def command(ctx: click.Context, /, cases: str, **given: Any) -> None:
    """Extract operators from the solved CASES: a file of problems with their solutions.

    A model splits each case into steps, and names, words and generalises the operators. Their signatures,
    which steps share an operator, whether a prompt repeats a case, and the smallest set are computed and
    checked. Then every case is rewritten with the set and run.

    `merrow resume` continues an extraction that stopped, and nothing is paid for twice. The exit code is 1 if
    there is no set, or if it covers less than --coverage.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.sessions.extraction import carry_out
    from merrow_server.extractions.files import check_place

    wanted = _wanted(cases, given)
    with closing(Store.open()) as user:
        if given["dry_run"]:
            asyncio.run(_dry_run(user, wanted, as_json=given["output"] == "json"))
            return
        check_place(Path(wanted.out))
        ctx.exit(asyncio.run(carry_out(user, wanted, as_json=given["output"] == "json")))


def _wanted(cases: str, given: dict[str, Any]) -> ExtractionAsked:
    from dataclasses import replace

    from merrow_optimizer.extraction.plan import ExtractionSettings
    from merrow_server.extractions.prepared_extraction import ExtractionAsked

    if given["record"] is not None and given["replay"] is not None:
        raise InputError("Answers are either recorded or replayed; leave out --record or --replay.")
    if "deep" in given["without"] and given["aggregate"] == "model":
        raise InputError(
            "--aggregate model puts paths together, and --without deep leaves them out; choose one of them."
        )
    without = tuple(dict.fromkeys(given["without"]))
    asked = replace(asked_of({**given, "dataset": cases, "fresh": False}), solution=given["solution"])
    return ExtractionAsked(
        asked,
        ExtractionSettings(given["paths"], given["steps"], given["coverage"], without, given["aggregate"]),
        given["optimizer_model"],
        given["out"],
        given["record"],
        given["replay"],
    )


async def _dry_run(user: Store, wanted: ExtractionAsked, *, as_json: bool) -> None:
    from merrow_optimizer.evaluation.data.names import data_name
    from merrow_server.extractions.extraction_data import plan_object
    from merrow_server.extractions.extraction_words import plan_lines
    from merrow_server.extractions.prepared_extraction import prepare_extraction

    prepared = await prepare_extraction(wanted, user)
    try:
        if as_json:
            emit(json.dumps(plan_object(prepared), indent=2))
            return
        for line in plan_lines(prepared.plan, data_name(prepared.data.file), prepared.data.part):
            echo(line)
        for note in prepared.notes:
            echo(f"Note: {note}")
        echo("No call was made.")
    finally:
        await prepared.close()
