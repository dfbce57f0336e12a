"""The journal of one run: every call that finished, kept before its result is used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from merrow_runtime.errors import StoreFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store import rows
from merrow_runtime.store.cache import ANSWER
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunStatus
from merrow_runtime.store.lease import BEAT, Holder
from merrow_runtime.store.writer import Writer, explained
from merrow_runtime.usage import NOTHING, Usage

_CALL = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_NODE = "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LOST = "INSERT INTO lost VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


class SqliteJournal:
    """`merrow_runtime.store.contract.RunJournal` in SQLite. It holds the run's lease until it is closed."""

    def __init__(self, writer: Writer, run: str, holder: Holder) -> None:
        self.run = run
        self._writer = writer
        self._holder = holder
        self._cancel = False
        self._lost_lease = False
        self._beating: asyncio.Task[None] | None = None
        self._known, self._spent = _known(writer.database, run)

    async def recall(self, key: CallKey, request_hash: str) -> CallRecord | None:
        """The call, if it finished before this journal was opened. Raises `StoreFailure`."""
        self._keep_beating()
        wanted = (key.node, key.sample, key.step, key.attempt, request_hash)
        if wanted not in self._known:
            return None
        try:
            row = self._writer.database.execute(
                f"SELECT {rows.CALL_COLUMNS} FROM calls WHERE run = ? AND node = ? AND sample = ? AND step = ?"  # noqa: S608
                " AND attempt = ? AND request_hash = ?",
                (self.run, *wanted),
            ).fetchone()
        except sqlite3.Error as problem:
            raise explained(problem) from problem
        return None if row is None else rows.call_of(row)

    async def record_call(self, call: CallRecord, answer: str | None = None) -> None:
        """Keep a call that finished, and its result under ``answer`` in the cache; returns once both are committed.

        Raises `StoreFailure`.
        """
        self._keep_beating()
        if call.origin == "endpoint":
            self._spent += call.usage
        result = rows.text_of(call.result)
        values = rows.call_values(self.run, call, result)
        self._check()
        done = self._writer.write((_CALL, values))
        if answer is not None:
            self._writer.write_later((ANSWER, (answer, result, time.time())))
        await done

    async def record_lost(self, key: CallKey, request_hash: str, usage: Usage, why: str) -> None:
        """Count a call that may have been paid and has no result. Raises `StoreFailure`."""
        self._spent += usage
        values = (self.run, key.node, key.sample, key.step, key.attempt, request_hash, rows.usage_text(usage), why)
        self._check()
        await self._writer.write((_LOST, (*values, time.time())))

    async def record_node(self, node: NodeRecord) -> None:
        """Keep how a node ended. It is written with the next commit: a node follows from its calls."""
        self._writer.write_later((_NODE, rows.node_values(self.run, node)))

    async def finish(
        self, status: RunStatus, outputs: Mapping[str, Any] | None, usage: Usage, error: str | None
    ) -> None:
        """Keep how the run ended. Raises `StoreFailure`."""
        self._check()
        await self._writer.write(
            (
                "UPDATE runs SET status = ?, ended = ?, outputs = ?, usage = ?, error = ? WHERE id = ?",
                (
                    status,
                    time.time(),
                    None if outputs is None else json.dumps(outputs),
                    rows.usage_text(usage),
                    rows.storable(error),
                    self.run,
                ),
            )
        )

    def spent(self) -> Usage:
        """What the run's calls to endpoints have used so far, those of processes that died included."""
        return self._spent

    def cancel_requested(self) -> bool:
        """Whether somebody asked for this run to end (``merrow cancel``), as of the last heartbeat."""
        return self._cancel

    async def close(self) -> None:
        """Write what waits and give the run free."""
        if self._beating is not None:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
        with contextlib.suppress(StoreFailure):
            await self._writer.write(
                ("UPDATE leases SET holder = NULL WHERE run = ? AND holder = ?", (self.run, self._holder.token))
            )

    def _check(self) -> None:
        if self._lost_lease:
            raise StoreFailure(
                f"Run {self.run} was taken over by another process, since this one gave no sign of life."
            )

    def _keep_beating(self) -> None:
        if self._beating is None:
            self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT / 4)
            try:
                self._writer.attempt(self._sign)
            except StoreFailure:
                continue  # The next write tells it, to somebody who can act on it.

    def _sign(self, database: sqlite3.Connection) -> None:
        row = database.execute("SELECT holder, cancel, beat FROM leases WHERE run = ?", (self.run,)).fetchone()
        if row is None or row[0] != self._holder.token:
            self._lost_lease = True
            return
        self._cancel = bool(row[1])
        now = time.time()
        if now - row[2] >= BEAT:
            database.execute("UPDATE leases SET beat = ? WHERE run = ?", (now, self.run))


def _known(database: sqlite3.Connection, run: str) -> tuple[set[tuple[str, int, str, int, str]], Usage]:
    spent = NOTHING
    known: set[tuple[str, int, str, int, str]] = set()
    try:
        for row in database.execute(
            "SELECT node, sample, step, attempt, request_hash, usage, origin FROM calls WHERE run = ?", (run,)
        ):
            known.add(row[:5])
            if row[6] == "endpoint":
                spent += rows.usage_of(row[5])
        for (usage,) in database.execute("SELECT usage FROM lost WHERE run = ?", (run,)):
            spent += rows.usage_of(usage)
    except sqlite3.Error as problem:
        raise explained(problem) from problem
    return known, spent
