"""A file of SQLite of a store: its tables, made where there are none, and what SQLite says as sentences."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.location import private_file

_PATIENCE = 20.0
"""Seconds that a statement waits for another process which writes."""


class SqliteFile:
    """A connection to such a file, which any thread may use; None is one in memory, gone when it is closed.

    ``name`` is how sentences call it, ``tables`` are statements, and ``version`` is that of the tables. All methods raise
    `StoreFailure` with a sentence that names the file.
    """

    def __init__(self, path: Path | None, name: str, tables: str, version: int) -> None:
        self.path, self._name = path, name
        self.lock = threading.RLock()
        if path is not None:
            private_file(path)
        with self.told():
            # An empty name is a file of SQLite's own, which it removes.
            self.connection = sqlite3.connect(
                "" if path is None else path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self.connection.execute("PRAGMA cache_size = -64000")
            if path is None:
                self.connection.execute("PRAGMA synchronous = OFF")
            with self.transaction():
                known = self.connection.execute("PRAGMA user_version").fetchone()[0]
                if known == 0:
                    for statement in tables.split(";\n"):
                        self.connection.execute(statement)
                    self.connection.execute(f"PRAGMA user_version = {version}")
        if known not in (0, version):
            self.close()
            raise StoreFailure(f"{name} ({path}) was written by another version of Merrow; update this one.")

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Make a sentence of what SQLite says."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as problem:
            raise StoreFailure(self._sentence(problem)) from problem

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do all of it or nothing, alone among all processes."""
        with self.lock, self.told():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _sentence(self, problem: Exception) -> str:
        which = self._name + ("" if self.path is None else f" ({self.path})")
        code = getattr(problem, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return f"{which} is locked by another program; try again when it has ended."
        if code.startswith("SQLITE_FULL"):
            return f"{which} can't grow, since the disk is full; make room and try again."
        if "fts5" in str(problem) and "module" in str(problem):
            return "Stores need SQLite with FTS5, which this Python was built without; use another Python."
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
            return f"{which} can't be written; check who owns its folder."
        return f"{which} is damaged, or the file is not a store; move it away to begin a new one."

    def close(self) -> None:
        """Close the file."""
        with self.lock, contextlib.suppress(sqlite3.Error):
            self.connection.close()
