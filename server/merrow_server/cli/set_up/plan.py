"""``merrow plan``: a workflow planned from a task in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.running import BUDGET_OPTIONS
from merrow_server.errors import InputError

OFTEN = {
    "Plans": ("--candidates", "--output", "--all", "--from"),
    "Agents": ("--roles", "--max-agents"),
    "Model": ("--model", "--no-judge"),
    "Cost": ("--dry-run", "--budget-usd"),
}
"""The options that people use, by what they are for."""


@click.command(
    "plan",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow plan "A web page for our conference" -o flow.mmd        the best of three plans
    merrow plan @task.txt -n 5 --all plans                         five plans, the best one is plans/1.mmd
    merrow plan "..." --roles writer,editor --max-agents 2
    merrow plan --from plan.json -o flow.mmd                       plans from a file, ranked and judged
    merrow plan @task.txt --dry-run                                what it would ask and cost
    """,
)
@click.argument("task", metavar="[TASK]", required=False)
@click.option(
    "-n",
    "--candidates",
    "count",
    type=click.IntRange(1, 50),
    default=3,
    show_default=True,
    metavar="N",
    help="Ask for N plans.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=shell_completion.files,
    help="Write the best plan to FILE, which must not exist yet.",
)
@click.option(
    "--all",
    "folder",
    metavar="DIR",
    shell_complete=shell_completion.files,
    help="Write all plans into DIR, a new or empty folder; 1.mmd is the best.",
)
@click.option(
    "--rank",
    type=click.Choice(["expected", "paper", "code"]),
    default="expected",
    show_default=True,
    help="Rank by expected time and work, or as the paper on Flow or its code does.",
)
@click.option("--roles", metavar="A,B", help="Let agents have these roles only.")
@click.option("--max-agents", type=click.IntRange(min=1), metavar="N", help="Allow at most N agents.")
@click.option(
    "--max-nodes",
    type=click.IntRange(1, 500),
    default=50,
    show_default=True,
    metavar="N",
    help="Allow at most N tasks.",
)
@click.option(
    "--from",
    "source",
    metavar="F.json",
    shell_complete=shell_completion.files,
    help="Read the plans from this file instead of asking a model.",
)
@click.option("--no-judge", is_flag=True, help="Don't ask a judge which requirements each plan covers.")
@click.option(
    "--form",
    type=click.Choice(["json", "mermaid"]),
    default="json",
    show_default=True,
    help="Have the model write a plan in JSON, or a whole workflow in Mermaid.",
)
@click.option("--model", metavar="MODEL", help="Use this model instead of the one in your settings.")
@click.option("--optimizer-model", metavar="MODEL", help="The model that plans; without it, the one in your settings.")
@click.option(
    "--judge-model",
    metavar="MODEL",
    help="The model that judges; without it, the one in your settings, else the one that plans.",
)
@click.option("--base-url", metavar="URL", help="The endpoint to use; `offline` is the embedded model.")
@click.option("--fresh", is_flag=True, help="Ask again even for known answers.")
@with_options(BUDGET_OPTIONS)
@click.option("--dry-run", is_flag=True, help="Show what would be asked and what it may cost; make no call.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print what was planned.",
)
@click.pass_context
def command(ctx: click.Context, /, task: str | None, **given: Any) -> None:
    """Plan a workflow for TASK, a task in plain words; @FILE reads it from a file.

    The model is asked for several plans at once, which are ranked by how their tasks depend on each other. A
    judge says which requirements of the task each plan covers. Without -o or --all the best plan is printed.

    Answers are saved: running the same command again costs nothing. `merrow resume` continues what was interrupted:
    only the missing answers are asked for.
    Every file that is written is valid and runs with `merrow run`. The exit code is 1 when no plan can be used.
    """
    from merrow_server.cli.sessions.plan_session import plan
    from merrow_server.continuing import changed_by
    from merrow_server.plans.prepared_plan import PlanRequest

    if given["output"] is not None and given["folder"] is not None:
        raise click.UsageError("-o and --all can't be used together.", ctx)
    roles = tuple(filter(None, (role.strip() for role in (given["roles"] or "").split(","))))
    if given["roles"] is not None and not roles:
        raise click.BadParameter("name at least one role", ctx, param_hint="--roles")
    if given["form"] == "mermaid" and given["source"] is not None:
        raise click.UsageError("--from reads plans from a file, so no model is asked for --form mermaid.", ctx)
    text = _said(task)
    if not text and given["source"] is None:
        raise click.UsageError('Say the task: merrow plan "TASK", or merrow plan @FILE', ctx)
    ctx.exit(
        plan(
            PlanRequest(
                text,
                given["count"],
                given["rank"],
                roles,
                given["max_agents"],
                given["max_nodes"],
                judge=not given["no_judge"],
                as_mermaid=given["form"] == "mermaid",
                model=given["model"],
                optimizer_model=given["optimizer_model"],
                judge_model=given["judge_model"],
                base_url=given["base_url"],
                fresh=given["fresh"],
                limits=changed_by(given).limits,
            ),
            given["source"],
            output=None if given["output"] is None else Path(given["output"]),
            folder=None if given["folder"] is None else Path(given["folder"]),
            as_json=given["output_format"] == "json",
            dry_run=given["dry_run"],
        )
    )


def _said(task: str | None) -> str:
    """The task, as it is given or from the file that it names. Raises `InputError`."""
    from merrow_server.files import Target, read

    if task is None or not task.startswith("@"):
        return (task or "").strip()
    text = read(Target(task[1:], Path(task[1:]))).text.strip().replace("\r\n", "\n")
    if not text:
        raise InputError(f"{task[1:]} is empty; write the task into it.")
    return text
