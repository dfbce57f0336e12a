"""What the kinds of job have in common in the user's store: ids, a status that any process may change, what they came by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.store import rows
from merrow_runtime.store.rows import Report, ignored
from merrow_runtime.store.sql import Database
from merrow_runtime.store.writer import Writer

ListedStatus = Literal["running", "finished", "stopped", "cancelled"]


class PlannedRecord(Protocol):
    """A record with what a resume needs."""

    @property
    def plan(self) -> Mapping[str, Any]: ...


R = TypeVar("R", bound=PlannedRecord)
S = TypeVar("S")
T = TypeVar("T")


class _KeptPlan(dict[str, Any]):
    """What is kept of a plan, and parts of it: where a name that must be there is missing, the record is damaged."""

    __slots__ = ("_sentence",)

    def __init__(self, kept: Iterable[tuple[str, Any]] = (), sentence: str = "") -> None:
        """A copy that another module makes, such as ``dataclasses.asdict``, has no ``sentence``, and the usual `KeyError`."""
        super().__init__(
            (name, _KeptPlan(value.items(), sentence) if sentence and isinstance(value, dict) else value)
            for name, value in kept
        )
        self._sentence = sentence

    def __missing__(self, name: str) -> Any:
        raise StoreFailure(self._sentence) if self._sentence else KeyError(name)


class Listed(Generic[R]):
    """The rows of one table. Everything raises `StoreFailure` where the store can't be read or written.

    A subclass says how its ``table`` is called, which is the command that lists them, too; what one and several are called
    (``word``, ``words``), how another is made where a record is ``damaged``, its ``columns`` (``id`` first, ``plan`` last),
    and makes a record of a row.
    """

    table: str
    only: str = ""
    """What of the table they are, as a condition of SQL; "": all of it."""
    listed_by: str = ""
    """The command that lists them, where it is not called like the table."""
    file = "workflow"
    """The column with the path of the file that one is of."""
    word: str
    words: str
    damaged: str
    columns: str

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._cursor = writer.database.cursor()

    async def off_loop(self, work: Callable[[Self], T]) -> T:
        """What ``work`` gives of the same rows; see `Writer.off_loop`."""
        return await self._writer.off_loop(lambda writer: work(self._by(writer)))

    def _by(self, writer: Writer) -> Self:
        if writer is self._writer:
            return self
        other = copy(self)
        other._writer, other._cursor = writer, writer.database.cursor()
        return other

    def _record(self, row: Sequence[Any]) -> R:
        raise NotImplementedError

    def _begin(self, database: Database, begun: R) -> None:
        """Put a row into the table, in the caller's transaction."""
        names = self.columns.split(", ")
        values = [column_of(getattr(begun, name)) for name in names[:-1]]
        plan = rows.text_of(dict(begun.plan))
        places = ", ".join("?" * len(names))
        database.execute(f"INSERT INTO {self.table} ({self.columns}) VALUES ({places})", [*values, plan])  # noqa: S608

    def update(
        self,
        identity: str,
        status: ListedStatus,
        error: str | None = None,
        ended: float | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Keep how one goes on or ended; ``seconds`` are added to those that it took before."""
        sql = f"UPDATE {self.table} SET status = ?, error = ?, ended = ?, seconds = seconds + ? WHERE id = ?"  # noqa: S608
        values = (status, column_of(error), ended, seconds, identity)
        self._writer.now(lambda database: database.execute(sql, values))

    def add_seconds(self, identity: str, seconds: float) -> asyncio.Future[bool]:
        """Keep that one took so many more seconds; done once it is committed."""
        return self._writer.write((f"UPDATE {self.table} SET seconds = seconds + ? WHERE id = ?", (seconds, identity)))  # noqa: S608

    def identity(self, prefix: str) -> str | None:
        """The id that is ``prefix``, else the only one that begins so; None where there is none.

        Raises `UsageFailure` where there are several.
        """
        ids = [row[0] for row in self._rows(f"SELECT id FROM {self._source} WHERE id = ?", (prefix,))]  # noqa: S608
        if not ids and prefix.isalnum():
            sql = f"SELECT id FROM {self._source} WHERE id >= ? AND id < ? LIMIT 3"  # noqa: S608
            ids = [row[0] for row in self._rows(sql, (prefix, f"{prefix}\U0010ffff"))]
        if len(ids) > 1:
            raise UsageFailure(
                f"Several {self.words} begin with {prefix!r}; give more of the id: {ids[0]}, {ids[1]}, ..."
            )
        return ids[0] if ids else None

    def id_of(self, prefix: str) -> str:
        """The id that ``prefix`` begins, as `identity` has it. Raises `UsageFailure` where there is none, or are several."""
        identity = self.identity(prefix)
        if identity is None:
            raise UsageFailure(f"There is no {self.word} {prefix!r}; list them with: {self._command}")
        return identity

    def get(self, prefix: str) -> R:
        """The one with this id, or with the only id that begins with it. Raises `UsageFailure`."""
        identity = self.id_of(prefix)
        records = self._rows(f"SELECT {self.columns} FROM {self.table} WHERE id = ?", (identity,))  # noqa: S608
        if not records:  # an index may name what its table does not have
            raise StoreFailure(self._is_damaged(identity))
        return self._record(records[0])

    def newest(self, limit: int = 20, workflow: str | None = None, report: Report = ignored) -> list[R]:
        """The newest, newest first, of one workflow where given. A damaged record is left out, and ``report`` called with a
        sentence about it.
        """
        where, values = self._writer.shown(self.file, workflow)
        sql = f"SELECT {self.columns} FROM {self._listed} {where} ORDER BY number DESC LIMIT ?"  # noqa: S608
        return readable(self._rows(sql, (*values, limit)), self._record, report)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._rows(f"SELECT count(*) FROM {self._listed}", ())[0][0])  # noqa: S608

    def delete(self, identity: str) -> None:
        """Take one with all that it has out of the store. Answers of models stay in the cache."""
        sql = f"DELETE FROM {self.table} WHERE id = ?"  # noqa: S608
        self._writer.now(lambda database: database.execute(sql, (identity,)))

    def replan(self, identity: str, plan: Mapping[str, Any]) -> None:
        """Keep what a later resume needs, where that changed."""
        sql, text = f"UPDATE {self.table} SET plan = ? WHERE id = ?", rows.text_of(dict(plan))  # noqa: S608
        self._writer.now(lambda database: database.execute(sql, (text, identity)))

    def status(self, identity: str) -> ListedStatus | None:
        """How one is by what was written down last, whoever wrote it; None where it was deleted."""
        statuses = self._rows(f"SELECT status FROM {self.table} WHERE id = ?", (identity,))  # noqa: S608
        return statuses[0][0] if statuses else None

    def older_than(self, seconds: float) -> list[str]:
        """The ids of those that began, and ended where they did, so long ago."""
        before = time.time() - seconds
        sql = f"SELECT id FROM {self._listed} WHERE started < ? AND coalesce(ended, started) < ?"  # noqa: S608
        return [row[0] for row in self._rows(sql, (before, before))]

    @property
    def _source(self) -> str:
        return f"(SELECT * FROM {self.table} WHERE {self.only}) AS {self.table}" if self.only else self.table  # noqa: S608 (a subclass's)

    @property
    def _listed(self) -> str:
        """Those that are listed, and deleted where they are old."""
        return self._source

    @property
    def _command(self) -> str:
        return f"merrow {self.listed_by or self.table}"

    def _fields(self, row: Sequence[Any]) -> dict[str, Any]:
        """A row by the names of its columns, with its plan read. Raises `StoreFailure`."""
        with self._reading(row[0]):
            plan = _KeptPlan(rows.object_of(row[-1]).items(), self._is_damaged(row[0]))
        return {**dict(zip(self.columns.split(", ")[:-1], row, strict=False)), "plan": plan}

    @contextmanager
    def _reading(self, identity: str) -> Iterator[None]:
        """Something that is kept of this one is read; raises `StoreFailure` where that is damaged."""
        try:
            with rows.reading():
                yield
        except rows.Damaged:
            raise StoreFailure(self._is_damaged(identity)) from None

    def _is_damaged(self, identity: str) -> str:
        return (
            f"The record of {self.word} {identity} is damaged in the journal; {self.damaged}."
            f" To remove it, use: {self._command} --delete {identity}"
        )

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        self._writer.flush()
        return self._cursor.execute(sql, values).fetchall()


class Keeping(Listed[R]):
    """Those that have beside their row what they came by, plain data by keys: in the table ``kept_in``, by its column ``of``."""

    kept_in: str
    of: str

    def begin(self, begun: R) -> None:
        """Put a new one into the store."""
        self._writer.now(lambda database: self._begin(database, begun))

    def keep(self, identity: str, key: str, content: Mapping[str, Any]) -> asyncio.Future[bool]:
        """Keep something that one came by, in place of what had this key; done once it is committed."""
        sql = f"INSERT OR REPLACE INTO {self.kept_in} ({self.of}, key, said) VALUES ({self._number}, ?, ?)"  # noqa: S608
        return self._writer.write((sql, (identity, rows.storable(key), rows.text_of(dict(content)))))

    def kept(self, identity: str) -> dict[str, Mapping[str, Any]]:
        """All that one came by, by keys."""
        sql = f"SELECT key, said FROM {self.kept_in} WHERE {self.of} = {self._number} ORDER BY key"  # noqa: S608
        contents = self._rows(sql, (identity,))
        with self._reading(identity):
            return {key: rows.object_of(content) for key, content in contents}

    @property
    def _number(self) -> str:
        return f"(SELECT number FROM {self.table} WHERE id = ?)"  # noqa: S608


def readable(records: Iterable[S], read: Callable[[S], T], report: Report = ignored) -> list[T]:
    """What is read of each record, in their order. One whose parts are damaged is left out, and ``report`` called with a sentence
    about it.
    """
    values: list[T] = []
    for record in records:
        try:
            values.append(read(record))
        except StoreFailure as damaged:
            report(str(damaged))
    return values


def read_by(database: Database, dataset: str, part: str, reader: str, semantic: str) -> None:
    """Note that a part of the data with this hash is read, in the caller's transaction: by which evaluation or search
    (``reader``), and of what workflow, by its semantic hash.
    """
    database.execute(
        "INSERT OR IGNORE INTO readings (dataset, part, reader, semantic, at) VALUES (?, ?, ?, ?, ?)",
        (dataset, part, reader, semantic, time.time()),
    )


def column_of(value: Any) -> Any:
    """A value as a column has it."""
    return rows.storable(value) if isinstance(value, str) else value
