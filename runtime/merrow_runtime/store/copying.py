"""Copies a journal into another one, row by row, whichever databases have them. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.asks import ASK_COLUMNS
from merrow_runtime.store.database import Store
from merrow_runtime.store.packing import CALLS, NODES, OUTPUTS
from merrow_runtime.store.rows import CALL_COLUMNS, RUN_COLUMNS
from merrow_runtime.store.sql import Database

_SCORED = (
    "item, repeat, status, value, usage, seconds, run, work, scored, read, reason, output, exhausted, fields, others"
)


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows that belong to one of another table, which their column ``of`` has the number of."""

    name: str
    of: str
    columns: str
    source: str = ""
    """What is read in its place."""


_OF_RUN = (
    _Table("definitions", "run", "body"),
    _Table("calls", "run", CALL_COLUMNS, CALLS),
    _Table("lost", "run", "node, sample, step, attempt, request_hash, usage, why, at, path, redo"),
    _Table("nodes", "run", "several", NODES),
    _Table("asks", "run", ASK_COLUMNS),
    _Table("revisions", "run", "number, state, trigger, reason, at, adopted, view, text"),
)
_KINDS: Mapping[str, tuple[str, Sequence[_Table]]] = {
    "evaluations": (
        "id, workflow, status, started, ended, seconds, error, dataset, part, metric, model, seed, repeats, plan",
        (_Table("scores", "evaluation", _SCORED),),
    ),
    "optimizations": (
        "id, workflow, status, started, ended, seconds, error, dataset, part, metric, model, strategy, proposer, seed, jobs,"
        " over, held_out, plan",
        (
            _Table(
                "candidates", "optimization", "candidate, parents, operator, title, key, calls, nodes, cost, told, text"
            ),
            _Table("draws", "optimization", "draw, candidate, crown, told, places, outcome"),
            _Table("trials", "optimization", f"candidate, draw, {_SCORED}"),
            _Table("proposals", "optimization", "draw, said"),
        ),
    ),
    "extractions": (
        "id, cases, status, started, ended, seconds, error, dataset, part, metric, model, generator, seed, plan",
        (_Table("extracted", "extraction", "key, said"),),
    ),
    "jobs": ("id, kind, file, status, started, ended, seconds, error, plan", (_Table("kept", "job", "key, said"),)),
}
_ALONE = {
    "answers": ("key, reply, used", "used"),
    "labels": ("item, output, other, verdict, at, note", "number"),
    "rankings": ("item, products, rater, said, at", "number"),
    "readings": ("dataset, part, reader, semantic, at", "number"),
    "dialects": ("origin, model, learned", "origin"),
}
"""Tables of their own, with their columns and the order in which rows are copied."""


@dataclass(slots=True)
class Copied:
    """What was copied, by what several are called; ``there`` counts those that the other journal has already."""

    counts: dict[str, int] = field(default_factory=dict)
    there: int = 0


def copy(source: Store, target: Store) -> Copied:
    """Copy all that one journal has into another: each run, and each job with all that it came by, is there as a whole or not at
    all, so what was stopped is copied to its end by copying again. What a process works on is refused. Raises `StoreFailure`.
    """
    copied = Copied()
    _copy_runs(source, target, copied)
    for table, (columns, children) in _KINDS.items():
        for number, *row in _rows(source, f"SELECT number, {columns} FROM {table} ORDER BY number"):  # noqa: S608
            identity = row[0]
            with source.looking_into(identity) as own:
                if own is not None and own.is_open_elsewhere:
                    raise StoreFailure(f"A process works on {identity}; copy the journal when that has ended.")
                if own is not None:
                    with closing(target.of_job(identity)) as there:
                        _copy_runs(own, there, copied)
            _copy_one(source, target, table, columns, number, row, children, copied)
    for table, (columns, order) in _ALONE.items():
        rows = list(_rows(source, f"SELECT {columns} FROM {table} ORDER BY {order}"))  # noqa: S608
        places = ", ".join("?" * (columns.count(",") + 1))
        sql = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})"  # noqa: S608
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            target._writer.now(partial(_put, sql, some))
        copied.counts[table] = len(rows)
    return copied


_AT_ONCE = 500


def _put(sql: str, several: Sequence[Any], database: Database) -> None:
    database.executemany(sql, several)


def _copy_runs(source: Store, target: Store, copied: Copied) -> None:
    columns = RUN_COLUMNS.replace("outputs", OUTPUTS)
    for number, *row in _rows(source, f"SELECT number, {columns} FROM runs ORDER BY number"):  # noqa: S608
        if source.is_worked_on(row[0]):
            raise StoreFailure(f"A process works on run {row[0]}; copy the journal when that has ended.")
        _copy_one(source, target, "runs", RUN_COLUMNS, number, row, _OF_RUN, copied)


def _copy_one(
    source: Store,
    target: Store,
    table: str,
    columns: str,
    number: int,
    row: Sequence[Any],
    children: Sequence[_Table],
    copied: Copied,
) -> None:
    """Copy one row with those that belong to it, in one transaction, unless it is there."""
    if target._database.execute(f"SELECT 1 FROM {table} WHERE id = ?", (row[0],)).fetchone() is not None:  # noqa: S608
        copied.there += 1
        return
    given = [(child, _children(source, child, number)) for child in children]
    shared = "SELECT part, hash, bodies.body FROM uses JOIN bodies ON bodies.number = uses.body WHERE run = ?"
    texts = list(_rows(source, shared, (number,))) if table == "runs" else []

    def work(database: Database) -> None:
        places = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING number"  # noqa: S608
        new = database.execute(sql, row).fetchone()[0]
        for child, rows in given:
            named = f"INSERT INTO {child.name} ({child.of}, {child.columns})"
            several = [(new, *one) for one in rows]
            database.executemany(f"{named} VALUES ({', '.join('?' * (child.columns.count(',') + 2))})", several)
        for part, key, body in texts:
            database.execute("INSERT OR IGNORE INTO bodies (hash, body) VALUES (?, ?)", (key, body))
            use = "INSERT INTO uses (run, part, body) VALUES (?, ?, (SELECT number FROM bodies WHERE hash = ?))"
            database.execute(use, (new, part, key))

    target._writer.now(work)
    copied.counts[table] = copied.counts.get(table, 0) + 1


def _children(source: Store, child: _Table, number: int) -> list[Any]:
    order = "number" if child.name in ("asks", "calls", "lost", "nodes", "scores", "trials", "revisions") else child.of
    sql = f"SELECT {child.columns} FROM {child.source or child.name} WHERE {child.of} = ? ORDER BY {order}"  # noqa: S608
    return list(_rows(source, sql, (number,)))


def _rows(source: Store, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
    yield from source._database.execute(sql, values).fetchall()


def opened_at(place: str, *, insecure: bool, reading: bool) -> Store:
    """The journal at a place that a person names: a file, or the URL of a database. Raises `UsageFailure`, `StoreFailure`."""
    from merrow_runtime.errors import UsageFailure
    from merrow_runtime.store.address import is_address, read_address, shared

    if is_address(place):
        address = read_address(place, insecure=insecure)
        store: Store = shared("store.postgres.shared_store", "SharedStore").reached(address, reading=reading)
        return store
    if reading and not Path(place).is_file():
        raise UsageFailure(f"There is no journal {place}.")
    return Store.open(Path(place), reading=reading)
