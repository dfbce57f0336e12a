"""Usable answers by content, in the same database as the journal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from merrow_runtime.store.rows import Damaged, object_of
from merrow_runtime.store.sql import Statement
from merrow_runtime.store.writer import Writer

_KEEP = "INSERT OR REPLACE INTO answers (key, reply, used) VALUES (?, ?, ?)"
_DROP = "DELETE FROM answers WHERE key = ?"
_FIND = "SELECT reply, used FROM answers WHERE key = ?"
_MOVE = "UPDATE answers SET number = (SELECT max(number) + 1 FROM answers), used = ? WHERE key = ?"

FRESH = 3600.0
"""Seconds for which an answer that was used keeps its place in the order of use: most uses write nothing."""


class Cache:
    """`merrow_runtime.store.contract.AnswerCache` in a database. The engine makes the keys, hashes of all that decides an
    answer.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._cursor = writer.database.cursor()

    async def get(self, key: bytes, *, more: bool = False) -> Mapping[str, Any] | None:
        """The reply kept under ``key``, which counts as used now (to the hour); None where there is none. Raises
        `StoreFailure`.

        ``more`` says that others are asked for in this turn of the event loop: they share one look at the database.
        """
        if more:
            self.writer.begin_reading()
        row = await self.writer.off_loop(lambda writer: self._found(writer, key))
        if row is None:
            return None
        try:
            reply = object_of(row[0])
        except Damaged:
            return None  # Damaged: it is asked for again, and replaced.
        now = time.time()
        if not 0.0 <= now - row[1] < FRESH:
            self.writer.write_later((_MOVE, (now, key)))
        return reply

    def _found(self, writer: Writer, key: bytes) -> Any:
        cursor = self._cursor if writer is self.writer else writer.database.cursor()
        return cursor.execute(_FIND, (key,)).fetchone()


def kept(key: bytes, reply: str, now: float) -> Statement:
    """What keeps a reply, in JSON, as the one used last."""
    return _KEEP, (key, reply, now)


def dropped(key: bytes) -> Statement:
    """What forgets the reply that is kept under ``key``."""
    return _DROP, (key,)
