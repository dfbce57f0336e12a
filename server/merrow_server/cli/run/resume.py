"""``merrow resume``: what ended early goes on, whatever it is."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.engine import ENGINE_OPTIONS
from merrow_server.cli.options.gates import GATE_OPTIONS, any_gate
from merrow_server.cli.options.running import RUN_OPTIONS
from merrow_server.errors import InputError, RunFailure
from merrow_server.rendering.terminal import echo

OFTEN = {
    "Cost": ("--budget-usd", "--budget-tokens", "--budget-seconds"),
    "Model": ("--base-url", "--reuse", "--replay", "--concurrency"),
    "Output": ("--verbose", "--json"),
    "Scores": ("--fail-under",),
}
"""The options that people use, by what they are for."""


@click.command(
    "resume",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow resume                             what was left unfinished last, of whatever kind
    merrow resume flow.mmd                    the latest run of a workflow
    merrow resume 4f2a                        a run by the beginning of its id
    merrow resume 4f2a --budget-usd 0.50      with more money, where it had run out
    merrow resume --due                       all waiting runs with an answer, or past a deadline
    merrow resume 9c1d                        an evaluation: the items that are left
    merrow resume 7e0b                        a search: what it would have drawn anyhow
    merrow resume 5c2d                        an extraction, a plan, suggestions: the questions that are left
    """,
)
@click.argument("run", required=False, shell_complete=shell_completion.unfinished)
@click.option(
    "--due",
    is_flag=True,
    help="Continue all runs that waited for an answer which has come, or whose deadline has passed.",
)
@click.option("--verbose", is_flag=True, help="Show answers as they arrive.")
@click.option("--jobs", type=click.IntRange(min=1, max=64), help="For a search: the number of jobs that it began with.")
@with_options(ENGINE_OPTIONS)
@with_options(RUN_OPTIONS)
@with_options(GATE_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, run: str | None, *, due: bool, **given: Any) -> None:
    """Continue the run RUN where it stopped: an id, the beginning of one, or a workflow file for its latest run.
    Without RUN, continue what was left unfinished last, whatever its kind.

    It runs what is in the journal (text, prompts, settings, inputs), even if the files have changed since. No
    finished call is made again, and what was spent counts towards the budget. A finished run is only shown
    again. RUN may also be an evaluation, a search, an
    extraction, a plan, a suggestion or a reproduction.
    """
    from merrow_runtime import Store
    from merrow_server.cli.given.run_names import job_meant, run_meant
    from merrow_server.cli.kinds import KINDS, door, refuse
    from merrow_server.kept_work import left_last

    if due:
        if run is not None:
            raise InputError("Name a run, or continue all that are due with --due.")
        ctx.exit(_resume_due(given))
    with closing(Store.open()) as store:
        left, entry = left_last(store) if run is None else None, job_meant(store, run)
        if left is not None:
            kind, identity = left
        else:
            kind, identity = ("run", run_meant(store, run)) if entry is None else (entry.kind, entry.id)
        named = f"{kind.capitalize()} {identity}:"
        if left is not None and not given["as_json"]:
            echo(named, err=True)
        refuse(given, kind, identity)
        if kind != "evaluation" and any_gate(given):
            raise InputError(f"Gates such as --fail-under go with an evaluation; {identity} is {KINDS[kind]}.")
        if left is None and kind == "run" and identity != run and not given["as_json"]:
            echo(named, err=True)
        ctx.exit(door(kind).resume(store, identity, given))


def _resume_due(given: dict[str, Any]) -> int:
    """Continue the waiting runs that can go on, one after the other; the exit code is that of the first that did not finish. Run
    regularly, it makes deadlines count where nobody looks.
    """
    from merrow_runtime import Store
    from merrow_server.cli import OK
    from merrow_server.cli.kinds import door
    from merrow_server.rendering.output import complain

    code = OK
    with closing(Store.open()) as store:
        runs = [run for run in store.ready() if not store.is_worked_on(run)]
        if not runs:
            echo("No waiting run can go on yet.", err=True)
        for run in runs:
            if not given["as_json"]:
                echo(f"Run {run}:", err=True)
            try:
                ended = door("run").resume(store, run, given)
            except RunFailure as failure:
                complain(str(failure))
                ended = NOT_WELL
            code = code or ended
    return code
