"""Jobs of kinds that need no table of their own, such as plans and suggestions: each with all that it has come by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.store.glance import TABLES, Kind
from merrow_runtime.store.listed import Keeping, ListedStatus
from merrow_runtime.store.writer import Writer

JOBS: tuple[Kind, ...] = ("plan", "suggestion", "reproduction")


@record(frozen=True, slots=True)
class JobRecord:
    """A job as the store knows it. ``file`` is the whole path of what it is of, "" where it is of no file; ``plan`` is all that a
    resume needs, as plain data. ``error`` says why it stopped before its end.
    """

    id: str
    kind: Kind
    file: str
    status: ListedStatus
    started: float
    plan: Mapping[str, Any]
    ended: float | None = None
    seconds: float = 0.0
    error: str | None = None


class Jobs(Keeping[JobRecord]):
    """The jobs of one kind. Everything raises `StoreFailure` where the store can't be read or written."""

    table, file, kept_in, of = "jobs", "file", "kept", "job"
    columns = "id, kind, file, status, started, ended, seconds, error, plan"

    def __init__(self, writer: Writer, kind: Kind) -> None:
        """``kind`` is what one is called."""
        super().__init__(writer)
        self.kind = kind
        self.word, self.words = kind, TABLES[kind][2]
        self.only, self.listed_by = f"kind = '{kind}'", f"runs --kind {kind}"
        self.damaged = f"ask for other {self.words}"

    def _record(self, row: Sequence[Any]) -> JobRecord:
        return JobRecord(**self._fields(row))
