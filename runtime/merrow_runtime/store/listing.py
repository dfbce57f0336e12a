"""All that a journal lists, whatever its kind: one list, and one way to find what an id or the beginning of one means."""

from __future__ import annotations

from typing import Any

from merrow_runtime.errors import UsageFailure
from merrow_runtime.records import record
from merrow_runtime.store.glance import TABLES, Kind
from merrow_runtime.store.writer import Writer

_BRANCHES = [
    f"SELECT '{kind}' AS kind, id, {file} AS file, status, started, ended, seconds, error, '' AS author FROM {table}"  # noqa: S608
    for kind, (table, file, _) in TABLES.items()
]
_LISTING = " UNION ALL ".join(_BRANCHES)


@record(frozen=True, slots=True)
class JobEntry:
    """A row of the list. ``file`` is the whole path of the workflow or of the solved cases; ``status`` is what was written down
    last; times are in seconds since 1970, ``seconds`` None where they are not known.
    """

    kind: Kind
    id: str
    file: str
    status: str
    started: float
    ended: float | None
    seconds: float | None
    error: str | None
    author: str = ""
    """Who began it, in a journal that several share."""


class JobListing:
    """The entries of a journal. Everything raises `StoreFailure` where it can't be read."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._cursor = writer.database.cursor()

    def newest(self, limit: int, file: str | None = None) -> list[JobEntry]:
        """The newest, newest first, of one file where given by its whole path."""
        where, values = self._writer.shown("file", file)
        # Of each kind no more than are asked for: in a journal of a million runs that is an index's beginning.
        some = " UNION ALL ".join(
            f"SELECT * FROM (SELECT * FROM ({branch}) AS kind {where} ORDER BY started DESC, id LIMIT ?) AS newest"  # noqa: S608
            for branch in _BRANCHES
        )
        return self._entries("ORDER BY started DESC, id LIMIT ?", (*(*values, limit) * len(_BRANCHES), limit), some)

    def exactly(self, identity: str) -> JobEntry | None:
        """What has this id; None where there is none."""
        entries = self._entries("WHERE id = ?", (identity,))
        return entries[0] if entries else None

    def has_below(self, identity: str) -> bool:
        """Whether something has this id, or one that is below it, with a ``/`` behind it."""
        return bool(
            self._entries("WHERE id = ? OR substr(id, 1, ?) = ? LIMIT 1", (identity, len(identity) + 1, f"{identity}/"))
        )

    def find(self, prefix: str) -> JobEntry | None:
        """What has the id ``prefix``, else the only one whose id begins so; None where there is none. Raises `UsageFailure` where
        there are several, naming two.
        """
        exact = self.exactly(prefix)
        if exact is not None or not prefix:
            return exact
        pattern = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        entries = self._entries("WHERE id LIKE ? ESCAPE '\\' ORDER BY started DESC, id LIMIT 3", (pattern,))
        kinds = {entry.kind for entry in entries}
        if len(kinds) > 1:
            other = next(entry for entry in entries if entry.kind != entries[0].kind)
            both = f"{entries[0].kind} {entries[0].id} and {other.kind} {other.id}"
            raise UsageFailure(f"{prefix!r} is the beginning of the ids of {both}; give more of the id.")
        if len(entries) > 1:
            several = TABLES[entries[0].kind][2]
            raise UsageFailure(
                f"Several {several} begin with {prefix!r}; give more of the id: {entries[0].id}, {entries[1].id}, ..."
            )
        return entries[0] if entries else None

    def _entries(self, rest: str, values: tuple[Any, ...], listing: str = _LISTING) -> list[JobEntry]:
        sql = (
            f"SELECT kind, id, file, status, started, ended, seconds, error, author FROM ({listing}) AS listing {rest}"  # noqa: S608
        )
        self._writer.flush()
        return [JobEntry(*row) for row in self._cursor.execute(sql, values)]
