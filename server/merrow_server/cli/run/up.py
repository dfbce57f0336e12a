"""``merrow up``: a workflow as a service on this machine."""

from __future__ import annotations

import signal
from typing import Any

import click

from merrow_runtime.installing import how_to_install
from merrow_runtime.program.workflow_files import whole_path
from merrow_server.cli import INTERRUPTED, OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.running import ASKING_OPTIONS, SANDBOX_OPTIONS, process_options
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo

OFTEN = {
    "Service": ("--port", "--most-runs", "--grace"),
    "Model": ("--model", "--base-url", "--concurrency"),
    "Cost": ("--total-usd", "--budget-usd", "--budget-tokens", "--budget-seconds"),
}
"""The options that people use, by what they are for."""


@click.command(
    "up",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow up flow.mmd                          says where it is, and the token
    MERROW_UP_TOKEN=$TOKEN merrow up flow.mmd --port 9000 --total-usd 2
    curl -H "Authorization: Bearer $TOKEN" -d '{"PROBLEM": "What is 6 times 7?"}' http://127.0.0.1:9000/runs
    """,
)
@click.argument("file", metavar="FILE", shell_complete=shell_completion.files)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0: any free one."
)
@click.option(
    "--model", metavar="MODEL", help="Use this model instead of the workflow's; nodes that name a model keep it."
)
@click.option(
    "--total-usd",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="USD",
    help="Start no more runs once all together have cost this many US dollars.",
)
@click.option(
    "--most-runs",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="How many runs may be under way at the same time.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0, max=86_400),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds that runs have to finish when the service is stopped.",
)
@with_options(ASKING_OPTIONS)
@with_options(SANDBOX_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    port: int,
    model: str | None,
    total_usd: float,
    most_runs: int,
    grace: float,
    **given: Any,
) -> None:
    """Serve the workflow in FILE (FILE.md#2: its second block) over HTTP and as a tool of the Model Context Protocol.

    Only programs on this machine can reach it, and only with the token. Each request is a run in the journal.
    A request that is repeated with the same Idempotency-Key gets the run that it began the first time, and is
    not paid for twice. --budget-usd, --budget-tokens
    and --budget-seconds limit each run.

    Ctrl-C and SIGTERM end it: no new run begins, and runs under way have --grace seconds to finish. `merrow
    resume` continues those that are then stopped.
    """
    try:
        from merrow_server.service.serving import ServiceLimits, serve
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "uvicorn"):
            raise
        raise InputError(f"merrow up needs packages that are not installed; {how_to_install('up')}") from None
    from merrow_runtime import RunOptions
    from merrow_runtime.program.loading import load

    workflow = load(whole_path(file))
    options = RunOptions(model=model, **process_options(given))
    ended_by = serve(
        workflow, options, port, ServiceLimits(most_runs, total_usd, grace), lambda line: echo(visible(line))
    )
    ctx.exit(INTERRUPTED if ended_by == signal.SIGINT else OK)
