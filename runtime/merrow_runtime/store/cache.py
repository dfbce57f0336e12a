"""Usable answers by content, in the same database as the journal."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from merrow_runtime.store.rows import text_of
from merrow_runtime.store.writer import Writer, explained

ANSWER = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)"


class Cache:
    """`merrow_runtime.store.contract.AnswerCache` in SQLite. The engine makes the keys, hashes of all that decides an
    answer.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The reply kept under ``key``, which counts as used now; None where there is none. Raises `StoreFailure`."""
        try:
            row = self._writer.database.execute("SELECT reply FROM answers WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as problem:
            raise explained(problem) from problem
        if row is None:
            return None
        self._writer.write_later(("UPDATE answers SET used = ? WHERE key = ?", (time.time(), key)))
        reply: Mapping[str, Any] = json.loads(row[0])
        return reply

    async def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Keep a reply. It is written with the next commit: the journal holds the call already."""
        self._writer.write_later((ANSWER, (key, text_of(reply), time.time())))

    def clear(self) -> int:
        """Forget all answers; how many there were."""
        count: int = self._writer.now(lambda database: database.execute("DELETE FROM answers").rowcount)
        return count
