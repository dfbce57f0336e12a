"""``merrow optimize``: a search for a better workflow."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
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
    from merrow_runtime.workflow import Workflow
    from merrow_server.optimizations.prepared_search import SearchAsked


OFTEN = {
    "Data": ("--dataset", "--map", "--gold", "--metric"),
    "Search": ("--strategy", "--optimizer-model", "--out"),
    "Model": ("--model",),
    "Cost": ("--dry-run", "--budget-usd"),
}
"""The options that people use, by what they are for."""


@click.command(
    "optimize",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow optimize flow.mmd --dataset gsm8k_validate.jsonl --budget-usd 2
    merrow optimize flow.mmd --dataset own.csv --map problem=question --gold answer --metric numeric --dry-run
    merrow optimize flow.mmd --dataset own.jsonl --gold answer --strategy guided --budget-evaluations 600
    merrow optimize flow.mmd --dataset own.jsonl --gold answer --strategy evolve --set alpha=0.1 --set repeats=2
    merrow optimize flow.mmd --dataset own.jsonl --gold answer --optimizer-model gpt-5 --goal "shorter answers"
    merrow optimize flow.mmd --dataset own.jsonl --gold answer --strategy evolve --proposer model --judge-items 20
    merrow optimize --operators operators.yaml --dataset own.jsonl --gold answer --budget-usd 2
    merrow optimize flow.mmd --dataset own.jsonl --gold answer --from 4f2a     begin with the best of another search
    """,
)
@click.argument("file", metavar="[FILE]", required=False, shell_complete=shell_completion.files)
@with_options(DATA_OPTIONS)
@click.option(
    "--operators",
    metavar="FILE",
    shell_complete=shell_completion.files,
    help="An operator library to use; without FILE, start with one step that solves the whole problem, and score the workflows"
    " in its start/ first. `built-in` searches without a library.",
)
@click.option(
    "--memory", metavar="M", help="The memory of the start: none, all, last:N, tokens:N or summary; all without FILE."
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, max=2),
    metavar="T",
    help="The temperature of the start; by default that of FILE, or 0.2 without FILE. At 0 repeats of an item count once.",
)
@click.option(
    "--strategy",
    type=click.Choice(["guided", "evolve", "climb", "random", "mcts"]),
    default="climb",
    show_default=True,
    help="How candidates are chosen. guided needs about half of the answers of climb, and the package numpy.",
)
@click.option(
    "--proposer",
    type=click.Choice(["moves", "model", "both"]),
    help="Who makes candidates: safe moves and crossover, a model, or both; without it, both where a model is named.",
)
@click.option(
    "--optimizer-model",
    metavar="MODEL",
    help="The model that proposes; by default, the one in your settings. --judge-model judges its proposals.",
)
@click.option("--goal", default="", metavar="TEXT", help="What should improve, for the model that proposes.")
@click.option(
    "--budget-evaluations",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop at this many answers, held-out ones included.",
)
@with_options(MODEL_OPTIONS)
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    help="How many candidates to work on at the same time.",
)
@click.option(
    "--objective",
    type=click.Choice(["score", "pareto"]),
    default="score",
    show_default=True,
    help="Show the best, or all that no other beats in both score and cost.",
)
@click.option(
    "--max-cost-per-item",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="Skip candidates that would use more for one item, by a dry run.",
)
@click.option("--max-nodes", type=click.IntRange(min=1), metavar="N", help="How many nodes a candidate may have.")
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    metavar="P",
    help="Stop after P draws without a new best: a rule of thumb.",
)
@click.option(
    "--sure",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    metavar="A",
    help="Drop children early that fall behind. One that is as good as the best is dropped with at most this probability (climb:"
    " 0.05; evolve and mcts: only with this option).",
)
@click.option(
    "--set",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    help="A constant of evolve or mcts: alpha, lambda, sample, repeats, crossover, crossover-from; to stop max-rounds, top, z,"
    " rounds; for a model that proposes candidates, failures, repairs, former.",
)
@click.option(
    "--held-out",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    metavar="N",
    help="Hold out at most this many items.",
)
@click.option(
    "--judge-items",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="At the end, read N held-out items with each of up to 20 judged candidates: what the judge's scores are worth.",
)
@click.option("--small", is_flag=True, help="Search with few items, and hold none out: no test is claimed.")
@click.option(
    "--from",
    "begin_with",
    metavar="OPT",
    shell_complete=shell_completion.searches,
    help="Score the best candidates of this search first, as their files are now.",
)
@click.option(
    "--out",
    metavar="FOLDER",
    shell_complete=shell_completion.files,
    help="The folder for candidates; by default, one beside FILE.",
)
@format_option("How to print; json prints one event on each line.")
@click.pass_context
def command(ctx: click.Context, /, file: str | None, **given: Any) -> None:
    """Search for a better workflow than FILE: change it by safe moves, or have a model propose changes, score the candidates, and
    compare the best one with FILE on items that played no part in the search.

    Every candidate is valid before it costs a call, and none is scored twice. `merrow resume` continues a
    search that stopped, and nothing is paid for twice. FILE itself is not changed.

    A finished search exits with 0 even if it found no improvement; one that stopped before its end exits with
    1.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.sessions.search import carry_out
    from merrow_server.optimizations.starts import extracted_from, start_of

    if given["dataset"] is None:
        raise InputError("Name the data: merrow optimize FILE --dataset F.")
    workflow, shapes = start_of(file, given["operators"], given["memory"], given["temperature"])
    wanted = replace(_wanted(given), shapes=shapes, extracted_from=extracted_from(given["operators"]))
    with closing(Store.open()) as user:
        if given["dry_run"]:
            asyncio.run(_dry_run(user, workflow, wanted, as_json=given["output"] == "json"))
            return
        ctx.exit(asyncio.run(carry_out(user, workflow, wanted, given["out"], as_json=given["output"] == "json")))


def _wanted(given: dict[str, Any]) -> SearchAsked:
    from merrow_optimizer.optimization.plan import Bounded
    from merrow_server.optimizations.prepared_search import SearchAsked

    bounds = Bounded(
        given["budget_evaluations"],
        given["max_cost_per_item"],
        given["max_nodes"],
        given["patience"],
        given["held_out"],
        given["small"],
        given["objective"],
        given["sure"],
        _constants(given["constants"]),
        given["judge_items"],
    )
    return SearchAsked(
        asked_of(given),
        given["strategy"],
        given["proposer"],
        given["seed"],
        given["jobs"],
        bounds,
        given["begin_with"],
        given["optimizer_model"],
        given["goal"],
    )


def _constants(pairs: Sequence[str]) -> dict[str, float]:
    """``NAME=VALUE`` as names with numbers. Raises `InputError`."""
    constants: dict[str, float] = {}
    for pair in pairs:
        name, mark, number = pair.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not mark or not math.isfinite(value):
            raise InputError(f"--set {pair!r} is not a constant with a number; write --set NAME=NUMBER.")
        if name in constants:
            raise InputError(f"--set {name} is given twice.")
        constants[name] = value
    return constants


async def _dry_run(user: Store, workflow: Workflow, wanted: SearchAsked, *, as_json: bool) -> None:
    from merrow_optimizer.evaluation.data.names import data_name
    from merrow_server.optimizations.prepared_search import plan_object, prepare_search
    from merrow_server.optimizations.search_words import plan_lines

    prepared = await prepare_search(workflow, wanted, user)
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
