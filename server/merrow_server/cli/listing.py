"""The journal as the command line lists it: what there is of a kind, or of all, and what of it is deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from merrow_runtime.program.workflow_files import whole_path
from merrow_server.cli.kinds import door
from merrow_server.cli.texts.listing import print_rows
from merrow_server.errors import InputError
from merrow_server.kept_work import kept_in, state_of
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit
from merrow_server.reports.run_report import workflow_text
from merrow_server.times import ago, duration

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed


def list_kind(
    kind: str,
    limit: int,
    workflow: str | None,
    deleted: tuple[str, ...],
    prune: float | None,
    output: str,
    *,
    mine: bool = False,
) -> None:
    """Print the newest of a kind (``all``: of every kind), of one workflow where given, or only ``mine``; or delete those that
    are named, and those older than ``prune`` days. Raises `InputError`, `RunFailure`.
    """
    from merrow_runtime.store.database import Store

    deletes = bool(deleted) or prune is not None
    if kind == "all" and deletes:
        raise InputError("Only one kind at a time is deleted; add --kind run, for example.")
    with closing(Store.open(reading=not deletes)) as user:
        if deletes:
            if kind == "run":
                _delete_runs(user, deleted, prune)
            else:
                _delete(user, kept_in(user, kind), deleted, prune)
            return
        if mine:
            user.list_only_mine()
        file = None if workflow is None else whole_path(workflow)
        entries = _everything(user, limit, file) if kind == "all" else door(kind).listed(user, limit, file)
    if output == "json":
        emit(json.dumps(entries, indent=2))
    elif entries:
        print_rows([_row(kind, entry) for entry in entries], None if kind == "run" else "yellow")
    else:
        echo("Nothing is in the journal yet." if kind == "all" else door(kind).none(workflow), err=True)


def list_waiting(limit: int, workflow: str | None, output: str, *, mine: bool = False) -> None:
    """Print the newest runs that wait for people, each with its open questions. Raises `RunFailure`."""
    from merrow_runtime.running.run import open_question
    from merrow_runtime.store.database import Store
    from merrow_server.cli.texts.questions import question_lines

    with closing(Store.open(reading=True)) as user:
        if mine:
            user.list_only_mine()
        runs = user.waiting(limit, None if workflow is None else whole_path(workflow))
    if output == "json":
        shown = [
            {
                "run": run.id,
                "workflow": run.workflow,
                "started": run.started,
                **({"author": run.author} if run.author else {}),
                "asks": [open_question(ask) for ask in run.asks],
            }
            for run in runs
        ]
        emit(json.dumps(shown, indent=2))
        return
    if not runs:
        echo("No run waits for an answer.", err=True)
    for run in runs:
        author = f"  {visible(run.author)}" if run.author else ""
        echo(f"{run.id}  {ago(run.started)}  {visible(workflow_text(run.workflow))}{author}")
        for line in question_lines([open_question(ask) for ask in run.asks]):
            echo(line)
        if not run.asks:
            echo(f"  all its questions are closed; continue it with: merrow resume {run.id}")


def _everything(user: Store, limit: int, file: str | None) -> list[dict[str, Any]]:
    return [
        {
            "kind": entry.kind,
            "id": entry.id,
            "status": state_of(user, entry),
            "started": entry.started,
            "seconds": entry.seconds,
            "file": entry.file,
            "error": entry.error,
            **({"author": entry.author} if entry.author else {}),
        }
        for entry in user.listing.newest(limit, file)
    ]


def _row(kind: str, entry: dict[str, Any]) -> tuple[str, ...]:
    if kind != "all":
        return door(kind).row(entry)
    took = "" if entry["seconds"] is None else duration(entry["seconds"])
    file = visible(workflow_text(entry["file"]))
    author = (visible(entry["author"]),) if entry.get("author") else ()
    return (entry["id"], entry["status"], entry["kind"], ago(entry["started"]), took, file, *author)


def _delete_runs(user: Store, named: Iterable[str], days: float | None) -> None:
    for run in named:
        user.delete(run)
    if days is not None:
        gone = user.prune(days * 86_400, None)
        echo(f"{gone.runs} runs and {gone.answers} kept answers were deleted.", err=True)


def _delete(user: Store, kept: Listed[Any], named: Iterable[str], days: float | None) -> None:
    """Delete what is ``named``, and what began more than ``days`` ago but for what a process works on, and say how many those
    were.
    """
    from merrow_runtime.jobs.life import delete, is_open

    for name in named:
        delete(user, kept, name)
    if days is None:
        return
    old = [record for record in kept.older_than(days * 86_400) if not is_open(user, record)]
    for identity in old:
        delete(user, kept, identity)
    echo(f"1 {kept.word} was deleted." if len(old) == 1 else f"{len(old)} {kept.words} were deleted.", err=True)
