"""Extractions of operators in the user's store: each with all that it has come by, so that it continues anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.store.listed import Keeping, ListedStatus


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


class Extractions(Keeping[ExtractionRecord]):
    """The extractions of a store. Everything raises `StoreFailure` where the store can't be read or written."""

    table, listed_by, file = "extractions", "runs --kind extraction", "cases"
    word, words, damaged = "extraction", "extractions", "begin another extraction"
    columns = "id, cases, status, started, dataset, part, metric, model, generator, seed, ended, seconds, error, plan"
    kept_in, of = "extracted", "extraction"

    def _record(self, row: Sequence[Any]) -> ExtractionRecord:
        return ExtractionRecord(**self._fields(row))
