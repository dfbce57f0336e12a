"""Connections to PostgreSQL that do what `merrow_runtime.store.sql.Database` asks, and come back when the server does."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import RawCursor
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import IntDumper

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.address import StoreAddress, author
from merrow_runtime.store.postgres.dialect import translated
from merrow_runtime.store.sql import PATIENCE, Absence, DatabaseFailure, Interruption, Values

T = TypeVar("T")

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of, failures tell

_CONNECT = 8
"""Seconds that a server has to answer when a connection is made."""
_HURRIED = 2
"""The same for a process that was asked to end."""
_SILENCE = 5.0
"""Seconds without an answer to a statement after which another connection shows whether the server is still there."""
_PROBE = 5
"""Seconds that it has to answer there."""
_IDLE = 10
"""Seconds after which the server gives up a transaction whose process has stopped: what it holds others wait for."""
_PAUSE = 0.25
"""Seconds between two tries to reach a server that is away."""
_TRIES = 50
"""How often a transaction is made again that another one was in the way of."""
_LONGEST = 300
"""Characters of what a server says that are shown."""
_SERVER = "extract(epoch FROM pg_postmaster_start_time())::text"
_NEXT = "split_part(next_xid, ':', 1)::bigint * 4294967296 + split_part(next_xid, ':', 2)::bigint"
_STATUS = (
    f"SELECT CASE WHEN {_SERVER} = $2 OR $1::bigint < (SELECT {_NEXT} FROM pg_control_checkpoint())"  # noqa: S608
    " THEN pg_xact_status($1::text::xid8) END"
)
"""A server that crashes may forget the numbers that it gave out last, and gives them to others. Below the next one after its
recovery they are what they were.
"""
_END_WHAT_STANDS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1)) AND application_name = $2"
    " AND state = 'active' AND wait_event = 'ClientRead' AND query_start < clock_timestamp() - make_interval(secs => $3)"
)
"""Of several statements that are sent together a server may have some and wait for the rest. For a process that has stopped then
it waits without end, since its own limit, `_IDLE`, is for what it was sent completely.
"""
_NAME = "merrow"
"""What a server knows our connections by."""
_SHOWN = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]+")
_AWAY: dict[str, tuple[DatabaseFailure, float]] = {}
"""By address how a server was found away, and until when what does not wait for it leaves it alone: for as long as it took to
find out. Who gives up asks it for much, one after the other, and one that is frozen takes seconds each time.
"""
_CLOCK = 1.0
"""Seconds for which the server's clock is taken to go on like that of this process."""


_LEFT: list[psycopg.Connection[Any]] = []
"""Connections of the process that this one was forked from."""


class _Flag(IntDumper):
    """SQLite keeps a truth value as 0 or 1."""

    def dump(self, obj: Any) -> Any:
        return super().dump(int(obj))


class _Text(Dumper):
    """A text for any column. PostgreSQL keeps no character 0: it becomes a visible escape."""

    def dump(self, obj: str) -> bytes:
        return (obj.replace("\0", "\\x00") if "\0" in obj else obj).encode()


class _Number(Loader):
    """A sum of whole numbers is a whole number."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


class _Connection(psycopg.Connection[Any]):
    """A connection that is not waited for without end.

    A server that was stopped, or whose machine is, keeps its sockets and answers nothing. It can't be told from a statement that
    takes long, so ``is_there`` is asked every few seconds; None: a few seconds without an answer are enough.
    """

    is_there: Callable[[], bool] | None = None

    @classmethod
    def _connect_gen(cls, *given: Any, **named: Any) -> Generator[Any, Any, Any]:
        """As the method does that this replaces, which makes the connection; a process that was asked to end gives it up."""
        connecting, begun = super()._connect_gen(*given, **named), time.monotonic()
        try:
            wanted = next(connecting)
            while True:
                ready = yield wanted
                if not ready and Interruption.is_wanted and time.monotonic() - begun > _patience(_HURRIED):
                    raise psycopg.OperationalError("it gives no answer")
                wanted = connecting.send(ready)
        except StopIteration as end:
            return end.value

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """As the method does that this replaces, which all statements go through."""
        return super().wait(self._watched(gen), *given, **named)

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                # Where nothing came, psycopg says so ten times a second.
                silent = 0.0 if ready else time.monotonic() - heard
                if silent > _patience(_SILENCE):
                    with Absence.noted(heard):
                        if Interruption.is_wanted or self.is_there is None or not self.is_there():
                            self.close()
                            raise psycopg.OperationalError("it gives no answer")
                    silent = 0.0
                if not silent:
                    heard = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


class PostgresCursor:
    """`merrow_runtime.store.sql.Cursor` on a connection: the last statement with its rows."""

    __slots__ = ("_connection", "_cursor")

    def __init__(self, connection: PostgresConnection, cursor: psycopg.Cursor[Any] | None = None) -> None:
        self._connection, self._cursor = connection, cursor

    @property
    def rowcount(self) -> int:
        return -1 if self._cursor is None else self._cursor.rowcount

    def execute(self, sql: str, values: Values = (), /) -> PostgresCursor:
        self._cursor = self._connection.execute(sql, values)._cursor
        return self

    def fetchone(self) -> Any:
        return None if self._cursor is None else self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        return [] if self._cursor is None else self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


class PostgresConnection:
    """A connection to the journal at an address, as the runs of one ``job`` see it ("" for those of people).

    ``lasts`` says that a commit is on the server's disk when it returns; where it is not, a server that crashes loses the last
    moments, and a process that dies loses nothing. It belongs to one thread.
    """

    def __init__(
        self,
        address: StoreAddress,
        job: str = "",
        *,
        lasts: bool = True,
        waits: float = PATIENCE,
        seconds: int = _CONNECT,
        is_open: bool = True,
    ) -> None:
        """A server has ``seconds`` to let it in. While it is away, a statement is tried again for ``waits`` seconds: `PATIENCE`,
        or `AWAY` where something is worked on, which then holds for the first connection, too. One that isn't ``is_open``
        is made by `reconnect`. Raises `DatabaseFailure`.
        """
        self.address = address
        self.job = job
        self.refused: StoreFailure | None = None
        self.waits = waits
        self._seconds = seconds
        self.returned: Callable[[], Sequence[tuple[str, Values]]] | None = None
        """What is to be executed again after the server has crashed, and may have lost the last moments."""
        self.lasts = lasts
        self._clock: tuple[float, float] = (0.0, -_CLOCK)
        self._depth = 0
        self._server = ""
        self.closing = False
        self._open: _Connection | None = None
        self._process = os.getpid()
        if is_open:
            self.reconnect(time.monotonic() + waits if waits > PATIENCE else 0.0)

    @property
    def _connection(self) -> _Connection:
        assert self._open is not None  # noqa: S101 (whoever made it so opens it first)
        return self._open

    @property
    def is_open(self) -> bool:
        """Whether it was connected; the connection may have been lost since."""
        return self._open is not None

    def wait(self) -> float:
        """The seconds for which a server is waited for that is away: all that waits in a process gives up at the same moment."""
        return max(0.0, self.waits - Absence.lasted())

    def _connected(self, seconds: int) -> tuple[_Connection, str]:
        """A new connection, and since when its server runs."""
        try:
            connection = self._reached(seconds)
            connection.adapters.register_dumper(bool, _Flag)
            connection.adapters.register_dumper(str, _Text)
            connection.adapters.register_loader("numeric", _Number)
            settings = {
                "search_path": self.address.schema,
                "merrow.job": self.job,
                "merrow.author": author(),
                "synchronous_commit": "on" if self.lasts else "off",
                "idle_in_transaction_session_timeout": f"{_IDLE}s",
            }
            sql = f"SELECT {_SERVER}, " + ", ".join(
                f"set_config(${2 * k + 1}, ${2 * k + 2}, false)" for k in range(len(settings))
            )
            row = connection.execute(sql, [part for setting in settings.items() for part in setting]).fetchone()
        except (psycopg.Error, UnicodeError) as problem:
            raise self.failure(problem) from problem
        pid = connection.info.backend_pid
        connection.is_there = lambda: self._answers(pid)
        return connection, str((row or [""])[0])

    def _reached(self, seconds: int) -> _Connection:
        connection: _Connection = _Connection.connect(
            self.address.url,
            autocommit=True,
            cursor_factory=RawCursor,
            connect_timeout=seconds,
            application_name=_NAME,
            keepalives_idle=15,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=30_000,
            client_encoding="UTF8",
        )
        return connection

    def _answers(self, pid: int) -> bool:
        """Whether the server answers on a connection of its own, and has begun what it was told on that of process ``pid``. What
        that waits for is ended where it belongs to a process that has stopped.
        """
        try:
            with self._reached(_PROBE) as other:
                with suppress(psycopg.Error):  # of another user, who may not be ended
                    other.execute(_END_WHAT_STANDS, [pid, _NAME, _IDLE])
                row = other.execute("SELECT state FROM pg_stat_activity WHERE pid = $1", [pid]).fetchone()
        except psycopg.Error as problem:
            # One that has too many connections, or can't be told who asks, is there.
            return problem.sqlstate is not None
        return row is None or not str(row[0]).startswith("idle")

    @property
    def in_transaction(self) -> bool:
        return self._depth > 0

    def cursor(self) -> PostgresCursor:
        return PostgresCursor(self)

    def execute(self, sql: str, values: Values = (), /) -> PostgresCursor:
        text, order = translated(sql)
        given = values if isinstance(values, Mapping) else list(values)
        bound = [given[place] for place in order]  # type: ignore[index]
        return self.asked(text, bound)

    def asked(self, text: str, values: Sequence[Any] = ()) -> PostgresCursor:
        """A statement in PostgreSQL's own SQL. Outside of a transaction it is tried again where the connection was lost."""
        end = time.monotonic() + self.wait()
        while True:
            try:
                return self._asked_once(text, values)
            except DatabaseFailure as failure:
                if failure.why != "away" or self._depth:
                    raise
                self.reconnect(end)

    def _asked_once(self, text: str, values: Sequence[Any] = ()) -> PostgresCursor:
        try:
            return PostgresCursor(self, self._connection.execute(text, values))
        except (psycopg.Error, UnicodeError) as problem:
            raise self.failure(problem) from problem

    def changed(self, sql: str, values: Values = ()) -> PostgresCursor:
        """A single statement that changes rows, committed by itself. Where the connection is lost it is made
        again, though it may have been. Raises `DatabaseFailure`.
        """
        if self.refused is not None:
            raise DatabaseFailure(str(self.refused), "read-only")
        return self.execute(sql, values)

    def script(self, text: str) -> None:
        """Statements without values, in the transaction that is open."""
        try:
            self._connection.execute(text.encode())
        except psycopg.Error as problem:
            raise self.failure(problem) from problem

    def rollback(self) -> None:
        """Take back what was not committed."""
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")

    def executemany(self, sql: str, several: Sequence[Sequence[Any]], /) -> PostgresCursor:
        cursor = PostgresCursor(self)
        for values in several:
            cursor = self.execute(sql, values)
        return cursor

    def transaction(self, work: Callable[[Any], T], patience: float = PATIENCE, *, is_alone: bool = True) -> T:
        """See `merrow_runtime.store.sql.Database.transaction`. Where it ``is_alone``, what it reads nobody changes before it is
        committed; ``work`` is done again where another transaction was in the way, and where the server was away for up to
        ``patience`` seconds, or as long as this connection `waits`. Without patience, a server that is away is tried once.
        """
        if self.refused is not None:
            raise DatabaseFailure(str(self.refused), "read-only")
        waits = max(patience, self.waits) - Absence.lasted() if patience else 0.0
        end, tries = time.monotonic() + waits, 0
        while True:
            number: int | None = None
            server = self._server
            try:
                self._asked_once("BEGIN ISOLATION LEVEL SERIALIZABLE" if is_alone else "BEGIN")
                self._depth += 1
                result = work(self)
                number = self.asked("SELECT pg_current_xact_id_if_assigned()::text::bigint").fetchone()[0]
                self.asked("COMMIT")
            except BaseException as problem:
                self._depth = 0
                again = self._ended(problem, number, server, end)
                tries += 1
                if again is None:
                    return result
                if not again or tries > _TRIES:
                    raise
            else:
                self._depth = 0
                return result

    def _ended(self, problem: BaseException, number: int | None, server: str, end: float) -> bool | None:
        """Whether a transaction that failed is to be made again; None where it was committed all the same."""
        why = problem.why if isinstance(problem, DatabaseFailure) else ""
        if why == "away":
            self.reconnect(end)
            return None if number is not None and self.was_committed(number, server) else True
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")
        return why == "conflict"

    def commit(self, kinds: Mapping[str, Sequence[Sequence[Any]]], *, lasts: bool, end: float) -> dict[str, int]:
        """Execute statements in one transaction, each for several values, and commit it. How many rows each has written.

        What was lost with the connection is committed again until the moment ``end`` (`time.monotonic`), unless it had been.
        Raises `DatabaseFailure`.
        """
        if self.refused is not None:
            raise DatabaseFailure(str(self.refused), "read-only")
        tries = 0
        while True:
            number: int | None = None
            server = self._server
            written: dict[str, int] = {}
            try:
                with self._connection.pipeline() as pipeline:
                    begun = self._connection.execute("BEGIN")
                    if lasts != self.lasts:
                        self._connection.execute(f"SET LOCAL synchronous_commit TO {'on' if lasts else 'off'}")
                    begun = self._connection.execute("SELECT pg_current_xact_id()::text::bigint")
                    cursors = [(sql, self._sent(sql, several)) for sql, several in kinds.items()]
                    pipeline.sync()
                    number = int((begun.fetchone() or [0])[0])
                    for sql, sent in cursors:
                        written[sql] = sum(cursor.rowcount for cursor in sent)
                self._connection.execute("COMMIT")
            except (psycopg.Error, UnicodeError) as problem:
                failure = self.failure(problem)
                tries += 1
                if failure.why == "away":
                    self.reconnect(end)
                    if number is not None and self.was_committed(number, server):
                        return written
                    continue
                with suppress(psycopg.Error):
                    self._connection.execute("ROLLBACK")
                if failure.why == "conflict" and tries < _TRIES:
                    continue
                raise failure from problem
            else:
                return written

    def _sent(self, sql: str, several: Sequence[Sequence[Any]]) -> list[psycopg.Cursor[Any]]:
        text, order = translated(sql)
        cursors = []
        for values in several:
            cursor = self._connection.cursor()
            cursor.execute(text, [values[place] for place in order])  # type: ignore[index]
            cursors.append(cursor)
        return cursors

    def was_committed(self, number: int, server: str) -> bool:
        """Whether a transaction was committed whose connection was lost meanwhile, to a server that ran since ``server``."""
        try:
            status = self._connection.execute(_STATUS, [str(number), server]).fetchone()
        except psycopg.Error:  # its number was never written, so it is one of the future
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
            return False
        return status is not None and status[0] == "committed"

    def reconnect(self, end: float) -> None:
        """Connect again, trying until the moment ``end``, and once where that has passed. Raises `DatabaseFailure`."""
        self.close()
        if Interruption.is_wanted and Interruption.away is not None:
            raise Interruption.away
        failure, until = _AWAY.get(self.address.url, (None, 0.0))
        if failure is not None and end <= time.monotonic() < until:
            raise DatabaseFailure(str(failure), failure.why) from failure.__cause__
        with Absence.noted():
            self._reconnect(end)

    def _reconnect(self, end: float) -> None:
        waits = time.monotonic() < end
        while True:
            tried = time.monotonic()
            try:
                self._open, server = self._connected(self._seconds if waits or not self._server else _HURRIED)
                if server != self._server and self.returned is not None:
                    for sql, values in self.returned():
                        self._again(sql, values)
                self._server = server
            except DatabaseFailure as failure:
                if Interruption.is_wanted and failure.why == "away":
                    Interruption.away = failure
                if failure.why == "away":
                    _AWAY[self.address.url] = failure, 2 * time.monotonic() - tried
                if failure.why != "away" or time.monotonic() >= end or self.closing or Interruption.is_wanted:
                    raise
                time.sleep(_PAUSE)
            else:
                _AWAY.pop(self.address.url, None)
                return

    def _again(self, sql: str, values: Values) -> None:
        text, order = translated(sql)
        self._asked_once(text, [values[place] for place in order])  # type: ignore[index]

    def now(self) -> float:
        """Seconds since 1970 by the server's clock, which all who share the journal go by."""
        said, at = self._clock
        passed = time.monotonic() - at
        if passed >= _CLOCK:
            said = float(self.asked("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()[0])
            self._clock, passed = (said, time.monotonic()), 0.0
        return said + passed

    def known_now(self) -> float:
        """The same, by what the server said last, without asking it."""
        said, at = self._clock
        return said + time.monotonic() - at

    def outlast_power(self) -> None:
        """See `merrow_runtime.store.sql.Database.outlast_power`: what a run commits outside of a job always is."""

    def size(self) -> int:
        """Bytes of the tables with all that belongs to them."""
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relnamespace = $1::regnamespace AND relkind = 'r'"
        )
        return int(self.asked(sql, [self.address.schema]).fetchone()[0])

    def shrink(self, pages: int | None = None) -> None:
        """The server does that by itself."""

    def close(self) -> None:
        if self._open is None:
            return
        if self._process != os.getpid():
            # The server would be told that the process has ended which this one was forked from.
            _LEFT.append(self._open)
            return
        with suppress(psycopg.Error):
            self._open.close()

    def failure(self, problem: Exception) -> DatabaseFailure:
        """What went wrong, in a sentence that names the server and the remedy; never a password."""
        where = f"The journal at {self.address.shown}"
        state = getattr(problem, "sqlstate", None) or ""
        said = _said(problem)
        if isinstance(problem, UnicodeError):
            return DatabaseFailure(f"{where} failed: a text can't be stored ({said}).")
        if state in ("40001", "40P01") or state == "23505":
            return DatabaseFailure("The journal of runs is used by others too much; try again.", "conflict")
        if state == "53100":
            return DatabaseFailure(
                f"The disk of {where[0].lower()}{where[1:]} is full; make room there, then resume the run or repeat the command.",
                "full",
            )
        if state in ("42501", "25006"):
            return DatabaseFailure(
                f"{where} can be read by you and not written ({said}); ask who runs it.", "read-only"
            )
        if state == "23503":
            return DatabaseFailure("The run was deleted from the journal while it went on.")
        if state in ("28P01", "28000"):
            return DatabaseFailure(
                f"{where} does not let you in: {said}. Name the file with your password in PGPASSFILE, or set PGPASSWORD."
            )
        if state in ("3D000",):
            return DatabaseFailure(f"{where} isn't there: {said}.")
        if state.startswith(("42", "22P05", "22021", "XX")):
            return DatabaseFailure(f"{where} is damaged, or holds another program's tables: {said}.", "damaged")
        if not state and any(words in said for words in ("certificate", "signature", "does not support SSL")):
            return DatabaseFailure(
                f"{where} does not prove who it is: {said}. Name the file with the certificate of its authority with"
                " sslrootcert=FILE in the URL, or ask who runs it."
            )
        if isinstance(problem, psycopg.OperationalError) or state.startswith(("08", "57P", "53", "25P03")):
            if not state and "password" in said:
                return DatabaseFailure(
                    f"{where} does not let you in: {said}. Name the file with your password in PGPASSFILE, or set PGPASSWORD."
                )
            return DatabaseFailure(f"{where} can't be reached: {said}. Try again when it is there.", "away")
        return DatabaseFailure(f"{where} failed: {said}.")


def _patience(seconds: float) -> float:
    """The seconds that an answer is waited for: less than so many where the process was asked to end."""
    if not Interruption.is_wanted:
        return seconds
    return _HURRIED if Interruption.away is None else 0.0


def _said(problem: Exception) -> str:
    """What a server or its client says, in one short line that can drive no terminal."""
    diagnosed = getattr(getattr(problem, "diag", None), "message_primary", None)
    line = str(diagnosed or problem).strip().partition("\n")[0]
    return _SHOWN.sub(" ", line)[:_LONGEST].rstrip(". ")
