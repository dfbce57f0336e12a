"""``merrow suggest``: checked and judged improvements of a workflow by a model."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option, with_options
from merrow_server.cli.options.running import BUDGET_OPTIONS
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_server.suggestions.prepared_suggestions import SuggestionRequest


OFTEN = {
    "Suggestions": ("--n", "--node", "--goal", "--dataset", "--apply"),
    "Model": ("--optimizer-model", "--judge-model"),
    "Cost": ("--dry-run", "--budget-usd", "--yes"),
}
"""The options that people use, by what they are for."""


@click.command(
    "suggest",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow suggest flow.mmd                             four improvements, checked, judged, as differences
    merrow suggest flow.mmd --apply 2                   write the second one; what is known is not paid again
    merrow suggest flow.mmd --node SOLVE                only new prompts of one node
    merrow suggest flow.mmd --goal "shorter answers"
    merrow suggest flow.mmd --dataset own.jsonl         the model sees what the last evaluation got wrong
    merrow suggest flow.mmd --dry-run                   what it would cost
    """,
)
@click.argument("file", metavar="FILE", shell_complete=shell_completion.files)
@click.option(
    "--n", "count", type=click.IntRange(1, 16), default=4, show_default=True, help="How many suggestions to ask for."
)
@click.option("--node", metavar="NODE", help="Improve only the prompt of this node.")
@click.option("--goal", default="", metavar="TEXT", help="What should improve, in your words.")
@click.option("--apply", "chosen", type=click.IntRange(min=1), metavar="K", help="Write the K-th suggestion into FILE.")
@click.option(
    "--optimizer-model", metavar="MODEL", help="The model that suggests; by default, the one in your settings."
)
@click.option("--judge-model", metavar="MODEL", help="The model that judges; by default, the one that suggests.")
@click.option("--model", metavar="MODEL", help="The model that the workflow uses, to estimate what a run costs.")
@click.option("--base-url", metavar="URL", help="The endpoint.")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="F",
    shell_complete=shell_completion.files,
    help="Show the model what the last evaluation on this data got wrong (part validate only).",
)
@click.option(
    "--seed", type=int, default=42, show_default=True, help="Random seed for the choice of mutations and for orders."
)
@click.option("--fresh", is_flag=True, help="Ask again even for known answers.")
@with_options(BUDGET_OPTIONS)
@click.option("--yes", is_flag=True, help="Accept the cost without being asked.")
@click.option("--dry-run", is_flag=True, help="Show how many calls it would make and what they may cost; make no call.")
@format_option()
@click.pass_context
def command(ctx: click.Context, /, file: str, **given: Any) -> None:
    """Ask a model for improvements of the workflow in FILE.

    Only suggestions that pass every check are shown: they are valid, and change only nodes, edges, prompts,
    `samples`, `temperature` and `memory`. A model scores the suggestions in two orders; its scores are advice. Nothing
    is written without --apply.

    The exit code is 1 if no suggestion passed.
    """
    from merrow_runtime.store.database import Store
    from merrow_server.cli.sessions.asking_session import run

    with closing(Store.open()) as user:
        ctx.exit(run(_suggest(user, file, given)))


async def _suggest(user: Store, file: str, given: dict[str, Any]) -> int:
    from merrow_runtime.program.loading import load
    from merrow_server.cli.sessions.asking_session import carry_out
    from merrow_server.cli.sessions.suggesting import finishing_file, operators_beside
    from merrow_server.opening import open_diagram
    from merrow_server.suggestions.prepared_suggestions import prepare

    workflow = load(file)
    opened = open_diagram(file, None, use_files=True)
    prepared = await prepare(workflow, _asked(given), user, operators=operators_beside(file))
    as_json = given["output"] == "json"
    if not given["dry_run"]:
        finish = finishing_file(opened, given["chosen"], as_json=as_json)
        return await carry_out(prepared, finish, agreed=given["yes"], as_json=as_json)
    await prepared.close()
    if as_json:
        emit(json.dumps(prepared.forecast(), indent=2))
    else:
        echo(prepared.sentence())
        echo("No call was made.")
    return OK


def _asked(given: dict[str, Any]) -> SuggestionRequest:
    from merrow_server.continuing import changed_by
    from merrow_server.suggestions.prepared_suggestions import SuggestionRequest

    same = ("node", "goal", "optimizer_model", "judge_model", "model", "base_url", "datasets", "seed", "fresh")
    return SuggestionRequest(given["count"], **{name: given[name] for name in same}, limits=changed_by(given).limits)
