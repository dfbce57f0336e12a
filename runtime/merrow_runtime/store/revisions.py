"""Revisions of runs in the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.store import asks, lease, rows
from merrow_runtime.store.contract import AskRecord, RevisionRecord, RevisionState
from merrow_runtime.store.sql import Database, Statement

_COLUMNS = "number, state, trigger, reason, at, adopted, view, text"
_WRITE = (
    f"INSERT INTO revisions (run, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, number) DO UPDATE SET"  # noqa: S608
    " state = excluded.state, reason = excluded.reason, at = excluded.at, adopted = excluded.adopted, text = excluded.text"
)

LATE = "The run had finished before its workflow could change."


def has_finished(run: str) -> str:
    """That a run has finished, and what to do instead of revising it: a sentence."""
    return (
        f"Run {run} has finished, so nothing of it is left to change; run the other workflow with what still holds:"
        f" merrow run FILE --run {run}"
    )


def write(run: int, revision: RevisionRecord) -> Statement:
    """What keeps how a revision stands; ``run`` is the number of its run."""
    return _WRITE, (
        run,
        revision.number,
        revision.state,
        revision.trigger,
        rows.storable(revision.reason),
        revision.at or time.time(),
        rows.text_of(revision.adopted),
        rows.storable(revision.view),
        rows.storable_json(revision.text) if revision.text else "",
    )


def read(database: Database, run: int, states: Sequence[RevisionState] = ()) -> list[RevisionRecord]:
    """The revisions of a run, in the order of their numbers; those in one of some ``states`` where there are any. Raises
    `StoreFailure`.
    """
    where, values = (f"AND state IN ({', '.join('?' * len(states))})", states) if states else ("", ())
    revisions = database.execute(
        f"SELECT {_COLUMNS} FROM revisions WHERE run = ? {where} ORDER BY number",  # noqa: S608 (texts of this module)
        (run, *values),
    ).fetchall()
    return [_record(row) for row in revisions]


def _record(row: Any) -> RevisionRecord:
    number, state, trigger, reason, at, adopted, view, text = row
    try:
        told = json.loads(adopted)
    except ValueError:
        told = {}
    return RevisionRecord(number, state, trigger, view, text, told if isinstance(told, dict) else {}, reason, at)


def add(
    database: Database, run: str, made: Callable[[int], RevisionRecord], unneeded: Sequence[AskRecord] = ()
) -> RevisionRecord:
    """Put a new revision into the journal, inside a transaction: ``made`` gives it for the next number of the run. It closes the
    questions that are ``unneeded`` with it, unless a process works on the run by now, which decides that. Raises
    `UsageFailure` where the run has finished by now.
    """
    row = database.execute("SELECT number, status FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        raise StoreFailure(f"Run {run} was deleted from the journal.")
    number, status = row
    if status == "finished":
        raise UsageFailure(has_finished(run))
    sql = "SELECT coalesce(max(number), 0) FROM revisions WHERE run = ?"
    last: int = database.execute(sql, (number,)).fetchone()[0]
    revision = made(last + 1)
    database.execute(*write(number, revision))
    for ask in () if lease.is_held(database, run) else unneeded:
        database.execute(*asks.withdrawing(number, ask))
    return revision


def too_late(run: int) -> Statement:
    """What refuses the revisions that nobody has looked at, for the commit with which a run finishes."""
    told = rows.text_of({"refused": [LATE]})
    sql = "UPDATE revisions SET state = 'refused', reason = ?, adopted = ?, at = ? WHERE run = ? AND state = 'asked'"
    return sql, (LATE, told, time.time(), run)


def decide(database: Database, run: str, number: int, state: RevisionState) -> bool:
    """Agree to a revision that waits for that, or decline it, inside a transaction; False where it does not wait."""
    changed = database.execute(
        "UPDATE revisions SET state = ? WHERE run = (SELECT number FROM runs WHERE id = ?) AND number = ? AND state = 'waiting'",
        (state, run, number),
    )
    return changed.rowcount > 0
