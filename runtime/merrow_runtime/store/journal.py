"""The journal of one run: every finished call, saved before its result is used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.provenance import Provenance
from merrow_runtime.requests import CallKey
from merrow_runtime.store import asks, revisions, rows
from merrow_runtime.store.beating import Lease, sign
from merrow_runtime.store.cache import dropped, kept
from merrow_runtime.store.contract import AskRecord, CallRecord, Pages, RevisionRecord, RunFailed, RunStatus, Told
from merrow_runtime.store.lease import BEAT, STALE, Holder, releasing
from merrow_runtime.store.packing import CALLS, NODES, pack
from merrow_runtime.store.schema import DEFINITIONS
from merrow_runtime.store.sql import Database, Statement
from merrow_runtime.store.writer import Writer
from merrow_runtime.usage import NOTHING, Usage

_TURN = 0.02
"""Seconds after which a run yields to others in its event loop."""

_PLACES = ", ".join("?" * (rows.CALL_COLUMNS.count(",") + 2))
_CALL = f"INSERT INTO calls (run, {rows.CALL_COLUMNS}) VALUES ({_PLACES})"  # noqa: S608 (texts of this package)
_UNUSABLE = (
    "UPDATE calls SET usable = 0 WHERE run = ? AND node = ? AND sample = ? AND step = ? AND attempt = ? AND path = ?"
    " AND redo = ? AND request_hash = ? AND endpoint = ?"
)
BODY = "INSERT OR IGNORE INTO bodies (hash, body) VALUES (?, ?)"
_USE = (
    "INSERT INTO uses (run, part, body) VALUES (?, ?, (SELECT number FROM bodies WHERE hash = ?))"
    " ON CONFLICT (run, part) DO UPDATE SET body = excluded.body"
)
_NODES = "INSERT INTO nodes (run, several) VALUES (?, ?)"
_LOST = (
    "INSERT INTO lost (run, node, sample, step, attempt, request_hash, usage, why, at, path, redo)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_MARKS = f"SELECT count(*) FROM lost WHERE run = ? AND why = '{rows.SENT}'"  # noqa: S608 (a text of this package)
_DROP = f"DELETE FROM lost WHERE run = ? AND at = ? AND why = '{rows.SENT}'"  # noqa: S608 (a text of this package)


class DatabaseJournal:
    """`merrow_runtime.store.contract.RunJournal` in a database. It holds the run's lease, if there is one, until it is closed."""

    def __init__(
        self,
        writer: Writer,
        run: str,
        number: int,
        holder: Holder | None,
        answers: Writer,
        *,
        is_new: bool = False,
        is_of_job: bool = False,
    ) -> None:
        """``number`` is the run's in the table of runs; ``answers`` writes to where the cache is, ``writer`` or another.
        ``holder`` has the run's lease; None if only this process has the journal, so that no run in it needs one. For a run
        that ``is_new`` there is nothing to read, and of one that ``is_of_job`` people know nothing.
        """
        self.run = run
        self._number = number
        self._writer = writer
        self._answers = answers
        self._holder = holder
        self._is_of_job = is_of_job
        self._cancel = False
        self._lost_lease = False
        self._signed = _clocks()
        self._is_beating = False
        self._yielded = time.monotonic()
        self._release: Statement | None = None
        if holder is not None:
            self._release = releasing(run, holder)
        self._released = False
        self._known, self._spent = ({}, NOTHING) if is_new else _known(writer.database, number)
        self._before = 0 if is_new else _last_nodes(writer.database, number)
        self.resumed = bool(self._known)
        self.interrupted = 0 if is_new else _marks(writer.database, number)
        self._sent: dict[tuple[Any, ...], tuple[float, asyncio.Future[bool]]] = {}
        self._last_sent = 0.0
        self._asks = self._withdrawn = False
        """Whether this process has put questions to people, or found some; and withdrawn some since it read them."""

    def learn(self) -> None:
        """See `merrow_runtime.store.contract.RunJournal.learn`. Raises `StoreFailure`."""
        last = max((number for numbers in self._known.values() for number in numbers.values()), default=0)
        new, _ = _known(self._writer.database, self._number, last)
        for key, numbers in new.items():
            self._known.setdefault(key, {}).update(numbers)
        self.resumed = bool(self._known)

    async def recall(
        self, key: CallKey, request_hash: str, endpoint: str | None = None, since: float = 0.0
    ) -> CallRecord | None:
        """The call, if it finished before this journal was opened, or `learn` was called last; with ``endpoint`` only where that
        gave the answer, and only where it began after ``since``.

        None also if its record is damaged. Raises `StoreFailure`.
        """
        self._show_life()
        await self._check()
        numbers = self._known.get((*_parts(key), request_hash), {})
        number = max(numbers.values(), default=None) if endpoint is None else numbers.get(endpoint)
        if number is None:
            return None
        sql = f"SELECT {rows.CALL_COLUMNS} FROM {CALLS} WHERE run = ? AND number = ?"  # noqa: S608 (texts of this module)
        row = await self._row(sql, (self._number, number))
        try:
            call = None if row is None else rows.call_of(row)
            return call if call is not None and call.started >= since else None
        except rows.Damaged:
            return None

    async def record_definitions(self, definitions: str, frame: str = "") -> None:
        """Save the nodes' definitions with the next commit, and show from now on that the run is alive."""
        self._show_life()
        for statement in sharing(self._number, f"{DEFINITIONS} {frame}".strip(), definitions):
            self._writer.write_later(statement)

    def outlast_power(self) -> None:
        """See `merrow_runtime.store.contract.RunJournal.outlast_power`. Raises `StoreFailure`."""
        self._writer.database.outlast_power()

    async def record_call(self, call: CallRecord, answer: bytes | None = None, *, alone: bool = False) -> CallRecord:
        """Save a finished call, and its result under ``answer`` in the cache; returns once both are committed: the call, or
        the one that another process had saved in its place by then. Raises `StoreFailure`.
        """
        self._show_life()
        await self._check()
        statement = await self._keeping(call)
        elsewhere: asyncio.Future[bool] | None = None
        if answer is not None:
            keeping = kept(answer, call.result_text, time.time())
            if self._answers is self._writer:
                self._writer.write_later(keeping)
            else:
                # It is committed first: if the process dies between the two commits, it is not paid for again.
                elsewhere = self._answers.write(keeping, at_once=alone)
        if call.origin == "endpoint":
            self.drop_sent(call.key, call.request_hash)
        done = self._writer.write(statement, at_once=alone)
        if elsewhere is None:
            await done
        else:
            await asyncio.gather(elsewhere, done)
        if not done.result():
            call = await self._stored(statement, call)
        if alone and time.monotonic() - self._yielded > _TURN:
            # Nothing else may have yielded: cancellation, readers and the heartbeat must get their turn.
            await asyncio.sleep(0)
            self._yielded = time.monotonic()
        return call

    async def _keeping(self, call: CallRecord) -> Statement:
        """What puts a call into the journal."""
        return _CALL, rows.call_values(self._number, call)

    async def _stored(self, statement: Statement, call: CallRecord) -> CallRecord:
        """The call that is in the journal in the place of one that was to be kept, and was not by ``statement``."""
        del statement
        return call

    async def record_unusable(self, call: CallRecord, answer: bytes | None) -> None:
        """See `merrow_runtime.store.contract.RunJournal.record_unusable`. Raises `StoreFailure`."""
        await self._check()
        values = (*_parts(call.key), call.request_hash, call.endpoint)
        done = [self._writer.write((_UNUSABLE, (self._number, *values)))]
        if answer is not None:
            done.append(self._answers.write(dropped(answer)))
        await asyncio.gather(*done)

    async def record_sent(self, key: CallKey, request_hash: str, usage: Usage, *, alone: bool = False) -> None:
        """See `merrow_runtime.store.contract.RunJournal.record_sent`. Raises `StoreFailure`."""
        self._show_life()
        await self._check()
        # The moment names the mark: no two of a run have the same.
        self._last_sent = at = max(time.time(), math.nextafter(self._last_sent, math.inf))
        self.drop_sent(key, request_hash)
        done = self._writer.write(self._lost(key, request_hash, usage, rows.SENT, at), at_once=alone, lasts=False)
        self._sent[*_parts(key), request_hash] = at, done
        await asyncio.shield(done)  # who is cancelled here still has it taken away, once it is there
        await self._check()

    def drop_sent(self, key: CallKey, request_hash: str) -> None:
        """See `merrow_runtime.store.contract.RunJournal.drop_sent`: with the next commit."""
        sent = self._sent.pop((*_parts(key), request_hash), None)
        if sent is None:
            return
        at, done = sent
        drop = _DROP, (self._number, at)
        if done.done():
            self._writer.write_later(drop)
        else:
            done.add_done_callback(lambda _: self._writer.write_later(drop))

    async def record_lost(self, key: CallKey, request_hash: str, usage: Usage, why: str) -> None:
        """Count a call that may have been paid for but has no result. Raises `StoreFailure`."""
        await self._check()
        self.drop_sent(key, request_hash)
        await self._writer.write(self._lost(key, request_hash, usage, why, time.time()))

    def _lost(self, key: CallKey, request_hash: str, usage: Usage, why: str, at: float) -> Statement:
        node, sample, step, attempt, path, redo = _parts(key)
        used = rows.usage_text(usage)
        return _LOST, (self._number, node, sample, step, attempt, request_hash, used, why, at, path, redo)

    def record_told(self, several: Sequence[Told]) -> asyncio.Future[bool]:
        """Save a report; the future is done once it is committed, or fails with `StoreFailure`."""
        if self._lost_lease:
            refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            refused.set_exception(self._taken_over())
            return refused
        return self._writer.write((_NODES, (self._number, rows.told_text(several))))

    def add_revision(self, made: Callable[[int], RevisionRecord]) -> RevisionRecord:
        """Save a new revision at once: ``made`` returns it for its number. Raises `StoreFailure`."""
        if self._is_unsure():
            self._writer.database.transaction(self._sign)
        self._refuse_lost()
        added: RevisionRecord = self._writer.now(lambda database: revisions.add(database, self.run, made))
        return added

    async def record_revision(self, revision: RevisionRecord, definitions: str = "") -> None:
        """Save the state of a revision, with all pending data, in one commit. Raises `StoreFailure`."""
        await self._check()
        if definitions:
            for statement in sharing(self._number, f"{DEFINITIONS} !{revision.number}", definitions):
                self._writer.write_later(statement)
        await self._writer.write(revisions.write(self._number, revision))

    def update_revision(self, revision: RevisionRecord) -> None:
        """Keep what has become known of a revision, at once where no other program is in the way. What fails is tried again with
        the next write, which reports it.
        """
        self._writer.write_later(revisions.write(self._number, revision))
        self._writer.flush(0.0)

    def asked_revisions(self) -> list[RevisionRecord]:
        """The unhandled revisions that a person has requested, accepted or declined in another process. Raises `StoreFailure`."""
        if self._holder is None or self._is_of_job:
            return []
        return revisions.read(self._writer.database, self._number, ("asked", "agreed", "declined"))

    def ask(self, ask: AskRecord) -> asyncio.Future[bool]:
        """See `merrow_runtime.store.contract.RunJournal.ask`. The future fails with `StoreFailure`."""
        self._show_life()
        self._asks = True
        if self._lost_lease:
            refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            refused.set_exception(self._taken_over())
            return refused
        return self._writer.write_soon(asks.asking(self._number, ask))

    def asks(self) -> list[AskRecord]:
        """See `merrow_runtime.store.contract.RunJournal.asks`. Raises `StoreFailure`."""
        if self._withdrawn:
            self._writer.flush()  # What it has put itself it knows: that may still wait, for the commit of the run's end.
            self._withdrawn = False
        number = self._number
        known = asks.read(self._writer.database, number)
        now = self._writer.database.now()
        if any(ask.state == "asked" and ask.due is not None and ask.due <= now for ask in known):
            self._writer.now(lambda database: asks.expire(database, number))
            known = asks.read(self._writer.database, number)
        self._asks = self._asks or bool(known)
        return known

    def withdraw(self, ask: AskRecord) -> None:
        """See `merrow_runtime.store.contract.RunJournal.withdraw`."""
        self._withdrawn = True
        self._writer.write_later(asks.withdrawing(self._number, ask))

    def pages(self) -> Pages:
        """The reports since this journal was opened, oldest first."""
        return _Pages(self._writer.database, self._number, self._before)

    async def finish(
        self,
        status: RunStatus,
        outputs: Mapping[str, Any] | None,
        usage: Usage,
        error: str | None,
        seconds: float = 0.0,
        sources: Sequence[Provenance] = (),
        failure: RunFailed | None = None,
    ) -> None:
        """Save how the run ended, after ``seconds`` of work by this process, and why it failed. The run is then released, and
        if it has finished, requests made at the last moment are refused.

        Raises `StoreFailure`.
        """
        await self._check()
        if self._release is not None:
            self._writer.write_later(self._release)
        if status == "finished":
            self._writer.write_later(revisions.too_late(self._number))
        if status != "waiting" and self._asks:
            self._writer.write_later(asks.withdrawing(self._number))
        await self._writer.write(
            (
                "UPDATE runs SET status = ?, ended = ?, outputs = ?, usage = ?, error = ?, seconds = coalesce(seconds, 0) + ?,"
                " sources = ?, failure = ? WHERE number = ?",
                (
                    status,
                    None if status == "waiting" else time.time(),
                    None if outputs is None else json.dumps(outputs),
                    rows.usage_text(usage),
                    rows.storable(error),
                    seconds,
                    rows.text_of(sources),
                    None if failure is None else rows.text_of(failure),
                    self._number,
                ),
            )
        )
        self._released = True
        if self._answers is not self._writer and status == "finished":
            self._pack()

    def _pack(self) -> None:
        """Compress a finished run of an evaluation or a search with the next commit."""
        statements = pack(self._writer.database, self._number)
        for statement in statements:
            self._writer.write_later(statement)

    def spent(self) -> Usage:
        """What the run had used before this journal was opened, including in processes that died."""
        return self._spent

    def cancel_requested(self) -> bool:
        """Whether the user asked for this run to end (``merrow cancel``), as of the last heartbeat."""
        return self._cancel

    async def close(self) -> None:
        """Write pending data and release the run."""
        if self._is_beating:
            self._writer.beating.end(self)
            self._is_beating = False
        if self._released:
            return
        if self._release is None:
            self._writer.flush()
            return
        with contextlib.suppress(StoreFailure):
            await self._writer.write(self._release)

    async def until_there(self) -> None:
        """See `merrow_runtime.store.contract.RunJournal.until_there`. Raises `StoreFailure`."""
        if self._holder is not None and not self._is_of_job:
            await self._writer.until_there()

    async def _row(self, sql: str, values: Sequence[Any]) -> Any:
        """The first row of a query, read while the event loop goes on; None where there is none. Raises `StoreFailure`."""
        return await self._writer.off_loop(lambda writer: writer.database.execute(sql, values).fetchone())

    async def _check(self) -> None:
        """Raise `StoreFailure` where another process has the run. One that was frozen looks first: another may have made its next
        call meanwhile.
        """
        if self._is_unsure():
            await self._writer.off_loop(lambda writer: writer.database.transaction(self._sign))
        self._refuse_lost()

    def _is_unsure(self) -> bool:
        return self._holder is not None and not self._released and _passed(self._signed) > STALE / 3

    def _refuse_lost(self) -> None:
        if self._lost_lease:
            raise self._taken_over()

    def _taken_over(self) -> StoreFailure:
        return StoreFailure(f"Run {self.run} was taken over by another process, since this one gave no sign of life.")

    def _show_life(self) -> None:
        """Show from now on that the run is alive."""
        if not self._is_beating and self._holder is not None:
            self._is_beating = True
            self._writer.beating.begin(self)

    def _sign(self, database: Database) -> None:
        sign(database, {self.run: self})

    def look(self, lease: Lease | None, now: float) -> bool:
        """See `merrow_runtime.store.beating.Held`."""
        assert self._holder is not None  # noqa: S101 (only who has a lease shows life)
        if lease is None or lease[0] != self._holder.token:
            self._lost_lease = True
            return False
        _, cancel, beat = lease
        self._cancel = bool(cancel)
        self._signed = _clocks()
        return now - beat >= BEAT


def _clocks() -> tuple[float, float]:
    """Now, by the clock that nobody sets, and by the one that goes on while the machine sleeps."""
    return time.monotonic(), time.time()


def _passed(clocks: tuple[float, float]) -> float:
    """The seconds since then, by the clock that says more."""
    return max(now - then for now, then in zip(_clocks(), clocks, strict=True))


_Key = tuple[str, int, str, int, str, int, str]


def _parts(key: CallKey) -> tuple[str, int, str, int, str, int]:
    return key.node, key.sample, key.step, key.attempt, key.path, key.redo


def sharing(run: int, part: str, body: str) -> tuple[Statement, Statement]:
    """Stores a text, shared by all runs, as part of a run."""
    key = rows.hash_of(body)
    return (BODY, (key, body)), (_USE, (run, part, key))


def _known(database: Database, run: int, last: int = 0) -> tuple[dict[_Key, dict[str, int]], Usage]:
    """The numbers of a run's calls after the ``last`` one, by identity and by the endpoint that answered; their total usage."""
    spent = NOTHING
    known: dict[_Key, dict[str, int]] = {}
    for row in database.execute(
        "SELECT node, sample, step, attempt, path, redo, request_hash, number, usage, origin, endpoint"  # noqa: S608
        f" FROM {CALLS} WHERE run = ? AND number > ? ORDER BY number",
        (run, last),
    ):
        *_, number, usage, origin, endpoint = row
        known.setdefault(row[:7], {})[endpoint] = number
        if origin == "endpoint":
            spent += rows.usage_or_unknown(usage)
    for (usage,) in database.execute("SELECT usage FROM lost WHERE run = ?", (run,)):
        spent += rows.usage_or_unknown(usage)
    return known, spent


def _marks(database: Database, run: int) -> int:
    """How many calls of a run were begun and have no end."""
    count: int = database.execute(_MARKS, (run,)).fetchone()[0]
    return count


_PAGE = 4
"""How many rows of nodes are read at a time; each row has nodes that were written together."""


class _Pages:
    """`Pages` of one run, starting after the row ``last``."""

    def __init__(self, database: Database, run: int, last: int) -> None:
        self._database = database
        self._run = run
        self._last = last

    def more(self) -> list[Told]:
        """The next ones. A damaged row is skipped. Raises `StoreFailure`."""
        told: list[Told] = []
        while not told:
            nodes = self._database.execute(
                f"SELECT number, several FROM {NODES} WHERE run = ? AND number > ? ORDER BY number LIMIT ?",  # noqa: S608
                (self._run, self._last, _PAGE),
            ).fetchall()
            if not nodes:
                break
            for number, several in nodes:
                self._last = number
                with contextlib.suppress(rows.Damaged):
                    told += rows.told_of(several, {0: {}}, rows.PastResults())
        return told


def _last_nodes(database: Database, run: int) -> int:
    """The number of the last row of nodes that a run has."""
    sql = f"SELECT max(number) FROM {NODES} WHERE run = ?"  # noqa: S608 (texts of this package)
    last: int | None = database.execute(sql, (run,)).fetchone()[0]
    return last or 0
