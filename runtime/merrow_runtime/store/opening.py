"""A connection to a journal, with the tables of this version: created, or migrated from those of an older one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import lease, packing
from merrow_runtime.store.connection import (
    DatabaseConnection,
    can_not_write,
    execute_patiently,
    forbid_writes,
    opened,
    opened_for_reading,
)
from merrow_runtime.store.location import private_file
from merrow_runtime.store.schema import HOLDERS, OLDEST, STEPS, TABLES, VERSION, statements
from merrow_runtime.store.sql import PATIENCE
from merrow_runtime.store.writer import BUSY

_OPTIONS: dict[str, Any] = {"timeout": PATIENCE, "isolation_level": None, "check_same_thread": False}
_LOOK = 0.1
"""Seconds between two looks at whether an older Merrow still works on a run."""


def connect(path: str) -> DatabaseConnection:
    """A connection to the journal at ``path``, which is migrated where an older version wrote it. Raises `StoreFailure`."""
    database = opened(path, **_OPTIONS)
    _prepare(database)
    if database.execute("PRAGMA user_version").fetchone()[0] == 0:
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    execute_patiently(database, "PRAGMA journal_mode = WAL")
    # A committed row survives the death of the process; after a loss of power the last ones may be gone, none half.
    database.execute("PRAGMA synchronous = NORMAL")
    # Keys of answers are spread over their index: a large cache uses more than the usual 2 MB.
    database.execute("PRAGMA cache_size = -16000")
    try:
        _bring_up_to_date(database)
    except StoreFailure:
        database.close()
        raise
    database.execute(f"PRAGMA busy_timeout = {int(BUSY * 1000)}")  # from here on `transaction` waits
    return database


def connect_for_reading(path: Path) -> DatabaseConnection:
    """The same to one that may be where nothing can be written, such as a read-only file system or a full disk: then it is
    read, as it is or in a copy, and each write fails. Raises `StoreFailure`.
    """
    try:
        private_file(path)
        return connect(str(path))
    except StoreFailure as refused:
        if not can_not_write(refused):
            raise
        database = opened_for_reading(path, refused, _is_current, **_OPTIONS)
        if database is None:
            raise
        _prepare(database)
        if not _is_current(database):
            _bring_up_to_date(database)
        forbid_writes(database)
        return database


def _prepare(database: DatabaseConnection) -> None:
    database.text_factory = _text
    packing.teach(database)
    database.execute("PRAGMA foreign_keys = ON")


def _is_current(database: DatabaseConnection) -> bool:
    return bool(database.execute("PRAGMA user_version").fetchone()[0] == VERSION)


def _bring_up_to_date(database: DatabaseConnection) -> None:
    """Make the tables, or change those of an older version, in one transaction; while a process works on a run with an
    older version, wait for it up to `PATIENCE` seconds.
    """
    end = time.monotonic() + PATIENCE
    while (worker := database.transaction(_change)) is not None:
        if time.monotonic() >= end:
            run, host, pid = worker
            raise StoreFailure(
                f"The journal of runs is from an older Merrow, and process {pid} on {host} still works on run {run} with it;"
                " try again when that has ended."
            )
        time.sleep(_LOOK)


def _change(database: DatabaseConnection) -> tuple[str, str, int] | None:
    """Bring the tables up to date, inside a transaction; who works on a run with an older version, where that must wait."""
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreFailure(
            f"The journal {_name(database)} was written by a newer Merrow; update this one, or name another state folder."
        )
    if version < OLDEST and version != 0:
        raise StoreFailure(
            f"The journal {_name(database)} was written before Merrow's first release, in a form of its own; move the file away"
            " to begin a new one."
        )
    if version == VERSION:
        return None
    if 0 < version < HOLDERS and (worker := lease.older_worker(database)) is not None:
        return worker
    for script in (STEPS[number] for number in range(version, VERSION)) if version else (TABLES,):
        for statement in statements(script):
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")
    return None


def _name(database: DatabaseConnection) -> str:
    return database.path


def _text(stored: bytes) -> str:
    """A text of the database. Bytes that are not text are read as none, which makes their row damaged; else they would hide
    all rows that are read with them.
    """
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return ""
