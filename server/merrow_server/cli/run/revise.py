"""``merrow revise``: another workflow for a run, which keeps what still holds."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.given.run_names import run_meant
from merrow_server.cli.options.common import format_option
from merrow_server.cli.texts.difference import difference_lines
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_runtime.revising.revision_requests import RevisionRequest
    from merrow_runtime.store.contract import RevisionRecord
    from merrow_runtime.store.database import Store

_LOOK = 0.1
"""Seconds between looks at what became of a revision."""

_PATIENCE = 30.0
"""Seconds after which this command no longer waits for the process that works on the run."""


@click.command(
    "revise",
    cls=Command,
    epilog="""
    merrow revise 4f2a better.mmd                  the run 4f2a continues as better.mmd
    merrow revise flow.mmd flow.mmd                the latest run of a file, with the file as it is now
    merrow revise 4f2a better.mmd --format json
    merrow revise 4f2a --apply 2                   agree to a change of a model that waits for that
    """,
)
@click.argument("run", shell_complete=shell_completion.unfinished_runs)
@click.argument("file", metavar="[FILE]", required=False, shell_complete=shell_completion.files)
@click.option(
    "--apply", "apply", type=click.IntRange(min=1), metavar="N", help="Apply revision N, which is waiting for approval."
)
@click.option(
    "--refuse", type=click.IntRange(min=1), metavar="N", help="Refuse revision N, which is waiting for approval."
)
@format_option("How to print the outcome.")
@click.pass_context
def command(
    ctx: click.Context, /, run: str, file: str | None, apply: int | None, refuse: int | None, output: str
) -> None:
    """Have the run RUN continue as the workflow in FILE, whichever process works on it. No model is asked.

    Finished results that are still valid are kept, even if their nodes have other names now, and are not paid
    for again. A running node continues if it has not changed; otherwise it is cancelled. A run that has
    stopped continues with FILE when it is resumed.

    The exit code is 1 when FILE can't replace the workflow; the run then continues unchanged.
    """
    from merrow_runtime.revising.revision_requests import ask_for
    from merrow_runtime.store.database import Store

    if sum(option is not None for option in (file, apply, refuse)) != 1:
        raise InputError("Name the FILE that the run is to continue as, or a revision with --apply N or --refuse N.")
    with closing(Store.open()) as store:
        identity = run_meant(store, run)
        if file is None:
            _decide(store, identity, apply, refuse)
            return
        asked = ask_for(store, identity, file)
        ended = _awaited(store, asked) if asked.is_under_way else asked.record
        worked_on = asked.is_under_way and store.is_worked_on(identity)
        status = store.run(identity).status
    _show(identity, ended, as_json=output == "json", worked_on=worked_on, status=status)
    if ended.state == "refused":
        ctx.exit(NOT_WELL)


def _decide(store: Store, run: str, apply: int | None, refuse: int | None) -> None:
    """Agree to a revision of a model that waits for that, or refuse it."""
    number = apply if apply is not None else refuse
    assert number is not None  # noqa: S101 (one of them is said)
    if not store.decide_revision(run, number, apply=apply is not None):
        raise InputError(f"Revision {number} of run {run} does not wait for anybody to agree; see: merrow show {run}")
    echo(f"Revision {number} of run {run} is {'to be applied' if apply is not None else 'refused'}.")


def _awaited(store: Store, asked: RevisionRequest) -> RevisionRecord:
    """How a revision ended that another process was asked for; as it stands where that takes too long."""
    end = time.monotonic() + _PATIENCE
    while True:
        # In this order: a process that ends may settle it with its last commit.
        worked_on = store.is_worked_on(asked.run)
        record = next(
            (revision for revision in store.revisions(asked.run) if revision.number == asked.record.number), None
        )
        if record is None:
            raise InputError(f"Run {asked.run} was deleted from the journal.")
        if record.state not in ("asked", "open") or not worked_on or time.monotonic() > end:
            return record
        time.sleep(_LOOK)


def _show(run: str, record: RevisionRecord, *, as_json: bool, worked_on: bool, status: str) -> None:
    from merrow_runtime.revising.difference import RevisionDifference

    if as_json:
        told: dict[str, Any] = {"run": run, "revision": record.number, "state": record.state}
        if record.reason:
            told["reason"] = record.reason
        emit(json.dumps({**told, "diff": dict(record.adopted)}, indent=2))
        return
    if record.state == "refused":
        complain(f"Revision {record.number} of run {run} is refused. {visible(record.reason)}")
        return
    if record.state == "unchanged":
        echo(f"Nothing differs in revision {record.number} that run {run} would notice.")
        return
    applied = record.state == "applied"
    echo(f"Revision {record.number} of run {run} is {'applied' if applied else 'asked for'}.")
    if record.adopted:
        for line in difference_lines(RevisionDifference.from_json(record.adopted)):
            echo(line)
    cancelled = record.adopted.get("cancelled")
    if cancelled:
        echo(f"cancelled {visible(', '.join(cancelled))}")
    if worked_on:
        if not applied:
            echo(f"The process that works on the run has not looked at it yet; see: merrow show {run}")
    elif status == "finished":
        echo(f"The run has finished since then; see: merrow show {run}")
    else:
        echo(f"No process works on the run. To continue it with this workflow: merrow resume {run}")
