"""The journal that a team or many workers share: all that `Store` does, in a schema of a PostgreSQL database."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store import lease, rows, sql
from merrow_runtime.store.address import StoreAddress, author
from merrow_runtime.store.contract import CallRecord, RunRecord
from merrow_runtime.store.database import RUN_PLACES, Store, is_taken
from merrow_runtime.store.journal import BODY, DatabaseJournal, sharing
from merrow_runtime.store.names import new_number
from merrow_runtime.store.postgres.connection import PostgresConnection
from merrow_runtime.store.postgres.opening import connect
from merrow_runtime.store.postgres.writer import PostgresWriter
from merrow_runtime.store.pruning import Pruned
from merrow_runtime.store.schema import WORKFLOW
from merrow_runtime.store.sql import PATIENCE, Database, Statement, Values

_BEGIN = (
    f"WITH begun AS (INSERT INTO runs (number, {rows.RUN_COLUMNS}) VALUES (?, {RUN_PLACES}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 (texts of this package)
    " RETURNING number, id), held AS (INSERT INTO holders (run, holder, host, pid, born, beat, cancel)"
    " SELECT id, ?, ?, ?, ?, extract(epoch FROM clock_timestamp()), 0 FROM begun), used AS (INSERT INTO uses (run, part, body)"
    f" SELECT begun.number, '{WORKFLOW}', bodies.number FROM begun, bodies WHERE hash = ? RETURNING 1)"
    " SELECT number, (SELECT count(*) FROM used) FROM begun"
)
_OURS = "SELECT number, 1 FROM runs JOIN holders ON holders.run = runs.id WHERE id = ? AND holder = ?"
_CALL = (
    f"INSERT INTO calls (run, again, {rows.CALL_COLUMNS})"  # noqa: S608 (texts of this package)
    f" VALUES ({', '.join('?' * (rows.CALL_COLUMNS.count(',') + 3))}) ON CONFLICT DO NOTHING"
)
_KEY = (
    "run = ? AND node = ? AND path = ? AND redo = ? AND sample = ? AND step = ? AND attempt = ? AND request_hash = ?"
    " AND endpoint = ?"
)
_SAME = f"SELECT {rows.CALL_COLUMNS} FROM calls WHERE {_KEY} AND again = ?"  # noqa: S608 (texts of this package)
_COUNT = f"SELECT coalesce(max(again), -1) + 1 FROM calls WHERE {_KEY}"  # noqa: S608 (texts of this package)


class SharedStore(Store):
    """A `Store` in a database. The runs of each job are beside those of people, and a store sees one kind of them."""

    _database: PostgresConnection

    def __init__(self, address: StoreAddress, job: str = "", *, waits: float = PATIENCE) -> None:
        """Use `reached`, or `of_job`. Raises `StoreFailure`."""
        database = connect(address, job, lasts=not job, waits=waits)
        super().__init__(PostgresWriter(database, lasts=not job))
        self._workflows: set[bytes] = set()
        """The hashes of workflows that are in the journal."""
        self._begun: dict[int, tuple[tuple[str, Values], ...]] = {}
        """What put the runs that this process works on into the journal, by their numbers, which a server that crashes may
        forget.
        """
        database.returned = lambda: [statement for each in list(self._begun.values()) for statement in each]

    @classmethod
    def reached(cls, address: StoreAddress, *, reading: bool = False) -> SharedStore:
        """The journal at an address; ``reading`` also where its user may not write. Raises `StoreFailure`."""
        store = cls(address)
        if store.refused is not None and not reading:
            store.close()
            raise store.refused
        return store

    @property
    def place(self) -> str:
        return self._database.address.shown

    def journal_id(self) -> str:
        """A text that is the same for all who have this very journal open."""
        return str(self._rows("SELECT journal FROM merrow", ())[0][0])

    def of_job(self, identity: str, *, alone: bool = False, spread: bool = False, reading: bool = False) -> Store:
        if reading:
            return SharedStore(self._database.address, identity, waits=self._database.waits)
        self._work()
        own = SharedStore(self._database.address, identity, waits=self._database.waits)
        with own._lasting():
            own._note_opening(alone=alone, spread=spread)
        return own

    def _work(self) -> None:
        """From now on wait for a server that is away: what this process has begun is worth more than a quick answer."""
        self._database.waits = sql.AWAY

    @contextlib.contextmanager
    def _lasting(self) -> Iterator[None]:
        """Within it, what is done at once is on the server's disk when it is done."""
        if self._database.lasts:
            yield
            return
        self._database.asked("SET synchronous_commit TO on")
        try:
            yield
        finally:
            with contextlib.suppress(StoreFailure):  # a new connection begins without
                self._database.asked("SET synchronous_commit TO off")

    @contextlib.contextmanager
    def looking_into(self, identity: str) -> Iterator[Store | None]:
        sql = "SELECT EXISTS (SELECT FROM every_run WHERE job = ?) OR EXISTS (SELECT FROM every_opening WHERE job = ?)"
        if not self._rows(sql, (identity, identity))[0][0]:
            yield None
            return
        with contextlib.closing(self.of_job(identity, reading=True)) as own:
            yield own

    def remove_journal(self, identity: str) -> None:
        def work(database: Database) -> None:
            database.execute("DELETE FROM every_run WHERE job = ?", (identity,))
            database.execute("DELETE FROM every_opening WHERE job = ?", (identity,))

        self._writer.now(work)

    def take(self, run: str) -> tuple[RunRecord, DatabaseJournal]:
        self._work()
        with self._lasting():
            return super().take(run)

    def begin(self, run: RunRecord) -> DatabaseJournal:
        self._work()
        holder = lease.Holder.here()
        self._writer.flush()
        return self._journal(run.id, self._put(run, holder), holder, is_new=True)

    async def begin_off_loop(self, run: RunRecord) -> DatabaseJournal:
        self._work()
        holder = lease.Holder.here()
        try:
            number = await self.off_loop(lambda store: store._put(run, holder))
        except asyncio.CancelledError:
            # The thread may put it in all the same. Nobody works on it then.
            self._writer.write_later(lease.releasing(run.id, holder))
            raise
        return self._journal(run.id, number, holder, is_new=True)

    def _put(self, run: RunRecord, holder: lease.Holder) -> int:
        """Put a new run into the journal, with its lease, by the connection of this store; its number."""
        workflow = rows.workflow_text(run)
        key = b"" if workflow is None else rows.hash_of(workflow)
        if workflow is not None and key not in self._workflows:
            self._database.changed(BODY, (key, workflow))
            self._workflows.add(key)
        given = new_number()
        values = (given, *rows.run_values(run), holder.token, holder.host, holder.pid, holder.born, key)
        begun = self._database.changed(_BEGIN, values).fetchone()
        if begun is None:
            # Where the connection was lost meanwhile, it may have been this process.
            begun = self._database.execute(_OURS, (run.id, holder.token)).fetchone()
        if begun is None:
            raise is_taken(run.id)
        number: int
        number, used = begun
        body = () if workflow is None else ((BODY, (key, workflow)),)
        self._begun[number] = (*body, (_BEGIN, values))
        if workflow is not None and not used:
            # The text went since: with the last moments of a server, or when runs were pruned.
            for sql, given_values in sharing(number, WORKFLOW, workflow):
                self._database.changed(sql, given_values)
        return number

    def _journal(self, run: str, number: int, holder: lease.Holder | None, *, is_new: bool = False) -> DatabaseJournal:
        given = self._writer, run, number, holder, self.cache.writer
        is_of_job = self._opening is not None
        return SharedJournal(*given, is_new=is_new, is_of_job=is_of_job, ended=lambda: self._begun.pop(number, None))

    def prune(self, older_than_s: float | None, max_bytes: int | None) -> Pruned:
        pruned = super().prune(older_than_s, max_bytes)
        unused = "DELETE FROM bodies WHERE NOT EXISTS (SELECT FROM uses WHERE uses.body = bodies.number)"
        self._writer.now(lambda database: database.execute(unused))
        return pruned

    def close(self) -> None:
        self._database.waits = PATIENCE
        super().close()

    def _stray_asks(self) -> list[str]:
        """The server keeps no question without its run, and a session sees but the runs of people, or of one job."""
        return []

    def list_only_mine(self) -> None:
        self._writer.author = author()

    def tidy(self, older_than_s: float | None, max_bytes: int | None) -> None:
        """Nobody's settings delete what others keep; see `prune`."""


class SharedJournal(DatabaseJournal):
    """The journal of a run that another process may work on at the same time without knowing: one that was frozen, and thaws.
    Both use the call that was kept first.
    """

    def __init__(self, *given: Any, ended: Callable[[], object], **named: Any) -> None:
        super().__init__(*given, **named)
        self._ended = ended
        self._again: dict[tuple[Any, ...], int] = {}
        """How many calls with a key are known; see `merrow_runtime.store.postgres.dialect.SHARED`."""

    async def _keeping(self, call: CallRecord) -> Statement:
        key = call.key
        place = (key.node, key.path, key.redo, key.sample, key.step, key.attempt, call.request_hash, call.endpoint)
        again = self._again.get(place, 0)
        if not again and self.resumed:
            (again,) = await self._row(_COUNT, (self._number, *place))
        self._again[place] = again + 1
        run, *columns = rows.call_values(self._number, call)
        return _CALL, (run, again, *columns)

    async def finish(self, *given: Any, **named: Any) -> None:
        await super().finish(*given, **named)
        self._ended()

    async def close(self) -> None:
        await super().close()
        self._ended()

    async def _stored(self, statement: Statement, call: CallRecord) -> CallRecord:
        key = call.key
        run, again = statement[1][:2]
        place = (key.node, key.path, key.redo, key.sample, key.step, key.attempt, call.request_hash, call.endpoint)
        found = await self._row(_SAME, (run, *place, again))
        if found is None:
            return call
        try:
            stored = rows.call_of(found)
        except rows.Damaged:
            return call
        if (stored.started, stored.result_text) != (call.started, call.result_text) and call.origin == "endpoint":
            # Both were paid for, and one answer counts.
            await self.record_lost(key, call.request_hash, call.usage, "twice")
        return stored
