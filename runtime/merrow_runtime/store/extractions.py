"""Extractions of operators in the user's store: each with all that it has come by, so that it continues anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.store import rows
from merrow_runtime.store.listed import Listed, ListedStatus


@record(frozen=True, slots=True)
class ExtractionRecord:
    """An extraction as the store knows it. ``cases`` is the whole path of the file with the solved cases; ``dataset`` the hash
    of all of them, ``part`` the part that is used; ``model`` carries out workflows, ``generator`` names and words operators;
    ``plan`` is all else that a resume needs, as plain data. ``error`` says why it stopped before its end.
    """

    id: str
    cases: str
    status: ListedStatus
    started: float
    dataset: str
    part: str
    metric: str
    model: str
    generator: str
    seed: int
    plan: Mapping[str, Any]
    ended: float | None = None
    seconds: float = 0.0
    error: str | None = None


_NUMBER = "(SELECT number FROM extractions WHERE id = ?)"
_KEEP = f"INSERT OR REPLACE INTO extracted (extraction, key, said) VALUES ({_NUMBER}, ?, ?)"  # noqa: S608


class Extractions(Listed[ExtractionRecord]):
    """The extractions of a store. Everything raises `StoreFailure` where the store can't be read or written."""

    table, listed_by, file = "extractions", "runs --kind extraction", "cases"
    word, words, damaged = "extraction", "extractions", "begin another extraction"
    columns = "id, cases, status, started, dataset, part, metric, model, generator, seed, ended, seconds, error, plan"

    def _record(self, row: Sequence[Any]) -> ExtractionRecord:
        return ExtractionRecord(**self._fields(row))

    def begin(self, extraction: ExtractionRecord) -> None:
        """Put a new extraction into the store."""
        self._writer.now(lambda database: self._begin(database, extraction))

    def keep(self, extraction: str, key: str, said: Mapping[str, Any]) -> asyncio.Future[None]:
        """Keep something that it came by, in place of what had this key; done once it is committed."""
        return self._writer.write((_KEEP, (extraction, rows.storable(key), rows.text_of(dict(said)))))

    def kept(self, extraction: str, beginning: str = "") -> dict[str, Mapping[str, Any]]:
        """All that it came by, by keys; those that begin so where given."""
        sql = f"SELECT key, said FROM extracted WHERE extraction = {_NUMBER} ORDER BY key"  # noqa: S608
        found = self._rows(sql, (extraction,))
        with self._reading(extraction):
            return {key: rows.object_of(said) for key, said in found if key.startswith(beginning)}
