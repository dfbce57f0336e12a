"""``merrow reproduce``: a paper's experiments, and its table beside ours."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.errors import InputError
from merrow_server.rendering.terminal import echo, emit, style

_PAPERS = ("mermaidflow", "flow", "a2flow")


@click.command(
    "reproduce",
    cls=Command,
    epilog="""
    merrow reproduce mermaidflow --data data              calls, tokens, dollars and hours; what is missing
    merrow reproduce mermaidflow --data data --budget-usd 16
    merrow reproduce a2flow --data data --rows "io-*" --items 3 --yes     a look at three items a row
    merrow reproduce flow --models exec=gpt-5-mini,optimizer=gpt-5 --budget-usd 5
    merrow reproduce a2flow --exact                       the paper's arithmetic, without a model or a key
    merrow reproduce a2flow --simulate --data data --items 3 --yes
    merrow resume repro/mermaidflow                       continue one that stopped
    """,
)
@click.argument("paper", type=click.Choice(_PAPERS))
@click.option(
    "--data",
    default=".",
    show_default=True,
    metavar="FOLDER",
    shell_complete=shell_completion.files,
    help="The folder with the data sets, by name and SHA-256; `merrow datasets` lists them.",
)
@click.option("--rows", metavar="ROW,...", help="Only these rows; `io-*` means all whose names begin with io-.")
@click.option(
    "--items",
    type=click.IntRange(min=1),
    metavar="N",
    help="A look: N items a row, each answered once, without a verdict.",
)
@click.option(
    "--models", metavar="ROLE=MODEL,...", help="Other models than the paper's: exec, optimizer, judge, generator."
)
@click.option("--base-url", metavar="URL", help="The endpoint to use.")
@click.option("--concurrency", type=click.IntRange(min=1), help="How many calls to make at the same time.")
@click.option(
    "--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Begin it, and stop once this much is spent."
)
@click.option("--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Stop at this many tokens.")
@click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds.")
@click.option("--yes", "agreed", is_flag=True, help="Begin it without a budget.")
@click.option("--plan", "--dry-run", "only_plan", is_flag=True, help="Only show what it may cost; the default.")
@click.option("--exact", is_flag=True, help="Check the paper's arithmetic; no model is asked.")
@click.option("--simulate", is_flag=True, help="Have the embedded offline model answer; every line says SIMULATED.")
@click.option(
    "--other-data", is_flag=True, help="Also take files that are not the published ones; their rows have no verdict."
)
@click.option(
    "--recipes",
    metavar="FOLDER",
    help="For a2flow: play TextCraft with Minecraft's crafting recipes as JSON, in the place of Merrow's own.",
)
@click.option(
    "--out",
    metavar="FOLDER",
    shell_complete=shell_completion.files,
    help="The folder for operators and candidates; by default, one with the id, such as repro/flow.",
)
@format_option(forms=("text", "html", "json"))
@click.option("-o", "--output", "file", metavar="FILE", help="Write the html to this file.")
@click.pass_context
def command(ctx: click.Context, /, paper: str, **given: Any) -> None:
    """Reproduce the experiments of a paper, MermaidFlow, Flow or A2Flow, and print its table beside ours: the
    difference with its interval, whether that includes the paper's figure, and why ours may differ.

    Without --yes or --budget-usd it only shows what the rows may cost and what is missing. The cheapest row
    comes first; one that does not fit the rest of the budget is not begun. Nothing is paid for twice: `merrow resume`
    continues one that stopped. Data is never downloaded; a row whose data or environment is missing is not
    run, which is not a score of 0.

    It exits with 0 if the rows that were asked for have ended; without --rows, those that could be run.
    """
    if given["exact"]:
        ctx.exit(_exact(paper, Path(given["data"]), given["output"]))
    if given["file"] is not None and given["output"] != "html":
        raise InputError("-o writes a page; add --format html.")
    ctx.exit(_reproduced(paper, given))


def _reproduced(paper: str, given: dict[str, Any]) -> int:
    from merrow_optimizer.evaluation.plan import EvaluationLimits
    from merrow_runtime.store.database import Store
    from merrow_server.cli.sessions.reproduction import carry_out
    from merrow_server.reproductions.request import ReproductionRequest, check_recipes, models_of

    rows = tuple(row.strip() for row in (given["rows"] or "").split(",") if row.strip())
    limits = EvaluationLimits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"])
    same = ("data", "out", "items", "base_url", "concurrency", "simulate", "other_data", "recipes")
    request = ReproductionRequest(
        paper, rows, models=models_of(given["models"]), limits=limits, **{name: given[name] for name in same}
    )
    check_recipes(request)
    agreed = not given["only_plan"] and (given["agreed"] or limits.usd is not None)
    with closing(Store.open()) as user:
        return asyncio.run(carry_out(user, request, given["output"], given["file"], agreed=agreed))


def _exact(name: str, data: Path, output: str) -> int:
    from merrow_optimizer.reproducing.exact import exact
    from merrow_optimizer.reproducing.papers import read_paper
    from merrow_server.reproductions.exact_words import exact_lines

    if output == "html":
        raise InputError("Arithmetic is printed as text or json.")
    checks = list(exact(read_paper(name), data))
    if output == "json":
        emit(json.dumps([check.to_json() for check in checks], indent=2, ensure_ascii=False))
    else:
        for line in exact_lines(checks, style):
            echo(line)
    return NOT_WELL if any(check.is_right is False for check in checks) else 0
