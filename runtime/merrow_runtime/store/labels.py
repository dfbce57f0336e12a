"""What people said of answers: each by the hashes of its item and of the answer, so that it holds in every evaluation."""

from __future__ import annotations

import hashlib
import time
from typing import Any, Literal, NamedTuple

from merrow_runtime.store.writer import Writer

Verdict = Literal["good", "bad", "better", "worse", "equal"]
"""Of one answer, ``good`` or ``bad``; of one beside another one, how it is compared with that."""

_BYTES = 16


class AnswerLabel(NamedTuple):
    """What a person said of an answer, with a ``note`` in words of their own; it is empty where they left none."""

    verdict: Verdict
    note: str


class Labels:
    """The labels of a store. ``item`` is the hash of an item, ``output`` an answer as `output_text` has it."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def put(
        self, item: str, output: str, verdict: Verdict, other: str | None = None, *, note: str | None = None
    ) -> None:
        """Keep what a person said of an answer, or of it beside the ``other`` one, in place of what was said before; a ``note``
        of None leaves the one that is there. Raises `StoreFailure`.
        """
        place = (_hash(item), _hash(output), b"" if other is None else _hash(other))
        sql = (
            "INSERT OR REPLACE INTO labels (item, output, other, verdict, at, note) VALUES (?1, ?2, ?3, ?4, ?5,"
            " coalesce(?6, (SELECT note FROM labels WHERE item = ?1 AND output = ?2 AND other = ?3), ''))"
        )
        values = (*place, verdict, time.time(), note)
        self._writer.now(lambda database: database.execute(sql, values))

    def drop(self, item: str, output: str) -> None:
        """Take back what was said of an answer. Raises `StoreFailure`."""
        values = (_hash(item), _hash(output), b"")
        sql = "DELETE FROM labels WHERE item = ? AND output = ? AND other = ?"
        self._writer.now(lambda database: database.execute(sql, values))

    def get(self, item: str, output: str, other: str | None = None) -> Verdict | None:
        """The verdict on it; None where there is none. Raises `StoreFailure`."""
        label = self.label(item, output, other)
        return None if label is None else label.verdict

    def label(self, item: str, output: str, other: str | None = None) -> AnswerLabel | None:
        """What was said of it; None where nothing was. Raises `StoreFailure`."""
        values = (_hash(item), _hash(output), b"" if other is None else _hash(other))
        labels = self._rows("SELECT verdict, note FROM labels WHERE item = ? AND output = ? AND other = ?", values)
        return AnswerLabel(*labels[0]) if labels else None

    @property
    def edition(self) -> int:
        """A number that grows whenever something is said."""
        return int(self._rows("SELECT coalesce(max(number), 0) FROM labels", ())[0][0])

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return self._writer.database.execute(sql, values).fetchall()


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES]
