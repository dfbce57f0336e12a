"""Connections to Merrow's own files of SQLite: each failure, whatever is in the file, is one sentence that names the file."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.sql import PATIENCE, Absence, DatabaseFailure

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

_PROBE = 64 << 10
"""Bytes that there must be room for: SQLite's shared memory takes half of that before anything is read."""
IN_MEMORY = ":memory:"
_PAUSE = 0.001
"""Seconds between two tries of a statement while another program holds the file."""
T = TypeVar("T")


class DamagedError(sqlite3.DatabaseError):
    """What SQLite says of the file can't be read itself, since it quotes bytes of it that are not text."""

    sqlite_errorname = "SQLITE_CORRUPT"


class Cursor(sqlite3.Cursor):
    """A cursor whose failures know their connection."""

    def execute(self, *given: Any) -> Any:
        try:
            return super().execute(*given)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)

    def executemany(self, *given: Any) -> Any:
        try:
            return super().executemany(*given)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)

    def executescript(self, script: str) -> Any:
        try:
            return super().executescript(script)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _told(self, problem)  # noqa: B904 (it has its cause)


class DatabaseConnection(sqlite3.Connection):
    """A connection to one file. ``path`` names it; ``refused`` says why it is open for reading alone, None where it isn't."""

    path: str = IN_MEMORY
    refused: StoreFailure | None = None
    _copy: TemporaryDirectory[str] | None = None

    def cursor(self, factory: Any = Cursor) -> Any:
        return super().cursor(factory)

    # Of these three, Python's own make a cursor of their own, whatever `cursor` gives.

    def execute(self, *given: Any) -> Any:
        return self.cursor().execute(*given)

    def executemany(self, *given: Any) -> Any:
        return self.cursor().executemany(*given)

    def executescript(self, script: str) -> Any:
        return self.cursor().executescript(script)

    def transaction(self, work: Callable[[DatabaseConnection], T], patience: float = PATIENCE) -> T:
        """See `merrow_runtime.store.sql.Database.transaction`."""
        if self.in_transaction:  # of `Writer.begin_reading`
            self.execute("COMMIT")
        execute_patiently(self, "BEGIN IMMEDIATE", patience)
        try:
            result = work(self)
            self.execute("COMMIT")
        except BaseException:
            if self.in_transaction:
                self.execute("ROLLBACK")
            raise
        return result

    def now(self) -> float:
        """See `merrow_runtime.store.sql.Database.now`."""
        return time.time()

    def outlast_power(self) -> None:
        """See `merrow_runtime.store.sql.Database.outlast_power`."""
        if self.in_transaction:
            self.execute("COMMIT")
        self.execute("PRAGMA synchronous = FULL")

    def size(self) -> int:
        """Bytes that are in use in the file."""
        pages, free, each = (
            self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * each)

    def shrink(self, pages: int | None = None) -> None:
        """Shrink the file by pages that are no longer needed: all, or at most a given number."""
        pragma = "PRAGMA incremental_vacuum" + ("" if pages is None else f"({pages})")
        self.transaction(lambda database: database.execute(pragma).fetchall())

    def close(self) -> None:
        super().close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def keep(self, copy: TemporaryDirectory[str]) -> None:
        """Remove a folder, of the copy that this is a connection to, when it is closed."""
        self._copy = copy


def opened(path: str, address: str | None = None, **options: Any) -> DatabaseConnection:
    """A connection to the file at ``path``; ``address`` is its URI where it needs one. Raises `DatabaseFailure`."""
    try:
        connection = sqlite3.connect(address or path, factory=DatabaseConnection, uri=address is not None, **options)
    except sqlite3.Error as problem:
        problem.path = path  # type: ignore[attr-defined]
        raise explained(problem) from problem
    connection.path = path
    return connection


def execute_patiently(database: DatabaseConnection, statement: str, patience: float = PATIENCE) -> None:
    """Execute ``statement``, for up to ``patience`` seconds while another program holds the file. Raises `DatabaseFailure`.

    SQLite's own timeout is not enough: where a lock that is held already has to grow, as when two programs turn on WAL in a
    new file at the same time, SQLite gives up at once.
    """
    try:
        database.execute(statement)
    except DatabaseFailure as failure:
        if failure.why != "busy" or not patience:
            raise
        with Absence.noted():
            _execute_until(time.monotonic() + patience, database, statement)


def _execute_until(end: float, database: DatabaseConnection, statement: str) -> None:
    while True:
        time.sleep(_PAUSE)
        try:
            database.execute(statement)
        except DatabaseFailure as failure:
            if failure.why != "busy" or time.monotonic() >= end:
                raise
        else:
            return


def _told(cursor: sqlite3.Cursor, problem: sqlite3.Error | UnicodeDecodeError) -> DatabaseFailure:
    """A failure in a sentence with the file that it is about; of one that quotes what is no text, that the file is damaged."""
    error = problem if isinstance(problem, sqlite3.Error) else DamagedError("the file holds what is not text")
    connection = cursor.connection
    if isinstance(connection, DatabaseConnection):
        error.path, error.refused = connection.path, connection.refused  # type: ignore[attr-defined]
    failure = explained(error)
    failure.__cause__ = error
    return failure


def explained(problem: sqlite3.Error) -> DatabaseFailure:
    """The failure of a journal in a sentence that names the file, where it is known, and the remedy."""
    code = getattr(problem, "sqlite_errorname", "") or ""
    path = getattr(problem, "path", IN_MEMORY)
    which = "" if path == IN_MEMORY else f" {path}"
    if code.startswith("SQLITE_READONLY") and (refused := getattr(problem, "refused", None)) is not None:
        return DatabaseFailure(str(refused), "read-only")
    if is_full(problem):
        return disk_full(path)
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DatabaseFailure("The journal of runs is locked by another program; try again when it has ended.", "busy")
    if code.startswith("SQLITE_CONSTRAINT_FOREIGNKEY"):
        return DatabaseFailure("The run was deleted from the journal while it went on.")
    if is_damage(problem):
        return DatabaseFailure(
            f"The journal of runs is damaged, or the file{which} is not a journal; move it away to begin a new one.",
            "damaged",
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return DatabaseFailure(
            f"The journal of runs{which} can't be written; check who owns its folder, or run with --no-store.",
            "read-only",
        )
    return DatabaseFailure(f"The journal of runs{which} failed: {problem}.")


def disk_full(path: str) -> DatabaseFailure:
    """The failure of a journal for which there is no room."""
    where = "" if path == IN_MEMORY else f" ({path})"
    return DatabaseFailure(
        f"The disk with the journal of runs is full{where}; make room, then resume the run or repeat the command.",
        "full",
    )


def is_damage(problem: sqlite3.Error) -> bool:
    """Whether a file holds something else than it should. No statement of Merrow is wrong in a file that it has made or migrated:
    where SQLite says so, tables or columns are missing in this one.
    """
    code = getattr(problem, "sqlite_errorname", "") or ""
    return code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or code == "SQLITE_ERROR"


def is_full(problem: BaseException | None) -> bool:
    """Whether a write failed because there is no room for it.

    SQLite says so of its file and of nothing beside it: where the shared memory of a log can't be made, that is an I/O error.
    """
    code = getattr(problem, "sqlite_errorname", "") or ""
    if code.startswith("SQLITE_FULL") or code == "SQLITE_IOERR_WRITE":
        return True
    path = getattr(problem, "path", IN_MEMORY)
    return code.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")) and path != IN_MEMORY and has_no_room(Path(path).parent)


def can_not_write(failure: StoreFailure) -> bool:
    """Whether a file can't be opened since it, or what SQLite makes beside it, can't be written; it may still be read."""
    problem = failure.__cause__.__cause__ if isinstance(failure.__cause__, DatabaseFailure) else failure.__cause__
    if isinstance(problem, OSError):
        return problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
    code = getattr(problem, "sqlite_errorname", "") or ""
    return code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) or is_full(problem)


def has_no_room(folder: Path) -> bool:
    """Whether nothing more can be written in a folder since its disk, or what the user may use of it, is full."""
    import tempfile  # here and below, since a shell that completes an id waits for it

    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            written = file.write(b"\0" * _PROBE)
            return written is not None and written < _PROBE
    except OSError as problem:
        return problem.errno in (errno.ENOSPC, errno.EDQUOT)


def opened_for_reading(
    path: Path, refused: StoreFailure, is_current: Callable[[DatabaseConnection], bool], **options: Any
) -> DatabaseConnection | None:
    """A connection for reading alone to a file that can't be written; ``refused`` is what any write then fails with.

    A file without a log, and whose tables ``is_current`` says are those of this version, is read where it is. Any other is
    copied, with its log, to a folder that is removed when the connection is closed: SQLite can't read a log without writing
    beside it, and the tables of an older version have to be changed. The caller does that, and then forbids writes
    (`forbid_writes`). None where there is no such file to read. Raises `StoreFailure`, also where it can't be copied.
    """
    if not path.is_file() or not os.access(path, os.R_OK):
        return None
    log = path.with_name(path.name + "-wal")
    if not log.exists() or log.stat().st_size == 0:
        connection = opened(str(path), f"{path.absolute().as_uri()}?immutable=1", **options)
        connection.refused = refused
        if is_current(connection):
            return connection
        connection.close()
    return _copied((path, log), refused, options)


def forbid_writes(connection: DatabaseConnection) -> None:
    """Let each write fail from here on, as one of a file that can't be written. Raises `DatabaseFailure`."""
    connection.execute("PRAGMA query_only = ON")


def _copied(files: Iterable[Path], refused: StoreFailure, options: Mapping[str, Any]) -> DatabaseConnection:
    import shutil
    import tempfile

    path, *others = files
    folder = tempfile.TemporaryDirectory(prefix="merrow-journal-", ignore_cleanup_errors=True)
    copy = Path(folder.name) / path.name
    try:
        for file in (path, *others):
            if file.exists():
                shutil.copyfile(file, copy.with_name(file.name))
        connection = opened(str(copy), **options)
    except (OSError, DatabaseFailure) as problem:
        folder.cleanup()
        raise StoreFailure(
            f"{refused} To be read, it is copied to {tempfile.gettempdir()}, which failed"
            f" ({getattr(problem, 'strerror', None) or problem.__cause__ or problem})."
        ) from problem
    connection.path, connection.refused = str(path), refused
    connection.keep(folder)
    return connection
