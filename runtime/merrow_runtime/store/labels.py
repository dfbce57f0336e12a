"""What people said of answers: each by the hashes of its item and of the answer, so that it holds in every evaluation."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from typing import Any, Literal

from merrow_runtime.store.writer import Writer, explained

Verdict = Literal["good", "bad", "better", "worse", "equal"]
"""Of one answer, ``good`` or ``bad``; of one beside another one, how it is compared with that."""

_BYTES = 16


class Labels:
    """The labels of a store. ``item`` is the hash of an item, ``output`` an answer as `output_text` has it."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def put(self, item: str, output: str, verdict: Verdict, other: str | None = None) -> None:
        """Keep what a person said of an answer, or of it beside the ``other`` one, in place of what was said before.

        Raises `StoreFailure`.
        """
        values = (_hash(item), _hash(output), b"" if other is None else _hash(other), verdict, time.time())
        sql = "INSERT OR REPLACE INTO labels (item, output, other, verdict, at) VALUES (?, ?, ?, ?, ?)"
        self._writer.now(lambda database: database.execute(sql, values))

    def drop(self, item: str, output: str) -> None:
        """Take back what was said of an answer. Raises `StoreFailure`."""
        values = (_hash(item), _hash(output), b"")
        sql = "DELETE FROM labels WHERE item = ? AND output = ? AND other = ?"
        self._writer.now(lambda database: database.execute(sql, values))

    def get(self, item: str, output: str, other: str | None = None) -> Verdict | None:
        """What was said of it; None where nothing was. Raises `StoreFailure`."""
        values = (_hash(item), _hash(output), b"" if other is None else _hash(other))
        found = self._rows("SELECT verdict FROM labels WHERE item = ? AND output = ? AND other = ?", values)
        return found[0][0] if found else None

    @property
    def edition(self) -> int:
        """A number that grows whenever something is said."""
        return int(self._rows("SELECT coalesce(max(number), 0) FROM labels", ())[0][0])

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return self._writer.database.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise explained(problem) from problem


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES]
