"""Texts that runs have kept: a file of the user's for each store, beside the journal. Each visit of a node adds its text once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from merrow_runtime.documents.database import DocumentDatabase, DocumentPlace, Found, NewDocument
from merrow_runtime.documents.words import storable

_ENDING = ".sqlite"
EMPTY = "empty"
"""The version of a store that nothing was added to."""
_KEY_BYTES = 16


def names_in(folder: Path) -> list[str]:
    """The names of the kept stores in a folder."""
    if not folder.is_dir():
        return []
    return sorted(path.stem for path in folder.iterdir() if path.suffix == _ENDING and path.is_file())


class KeptStore:
    """The store called ``name`` in ``folder``. With ``is_copy`` it is a copy in memory of what is there when it is first used,
    and what is added is gone when it is closed. All methods raise `StoreFailure`.
    """

    def __init__(self, name: str, folder: Path, *, is_copy: bool = False) -> None:
        self.name, self.is_copy = name, is_copy
        self.path = folder / f"{name}{_ENDING}"
        self._database: DocumentDatabase | None = None

    def version(self) -> str:
        """What its texts are known by: their number, and a hash of all that was done to them."""
        database = self._opened(adding=False)
        if database is None:
            return EMPTY
        with database.lock, database.told():
            row = database.connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
        return EMPTY if row is None else f"{database.count()}:{row[0]}"

    def search(self, query: str, wanted: int) -> list[Found]:
        """The best texts for a query."""
        database = self._opened(adding=False)
        return [] if database is None else database.search(query, wanted)

    def texts(self) -> list[tuple[DocumentPlace, str]]:
        """See `DocumentDatabase.texts`."""
        database = self._opened(adding=False)
        return [] if database is None else database.texts()

    def found(self, scored: Iterable[tuple[DocumentPlace, float]]) -> list[Found]:
        """See `DocumentDatabase.found`."""
        database = self._opened(adding=False)
        return [] if database is None else database.found(scored)

    def unindexed(self) -> Iterator[str]:
        """What is searched of each text."""
        for _, text in self.texts():
            yield text

    def listed(self, first: int = 0, most: int = -1) -> list[Found]:
        """The texts in the order in which they were added, without the ``first`` ones."""
        database = self._opened(adding=False)
        return [] if database is None else database.listed(first, most)

    def count(self) -> int:
        """How many texts it has."""
        database = self._opened(adding=False)
        return 0 if database is None else database.count()

    def latest(self) -> float | None:
        """When the latest text was added, in seconds since 1970; None where there is none."""
        database = self._opened(adding=False)
        if database is None:
            return None
        with database.lock, database.told():
            row = database.connection.execute("SELECT max(added) FROM documents").fetchone()
        return None if row[0] is None else float(row[0])

    def add(self, key: str, text: str, keep: int | None, source: str = "", place: str = "") -> bool:
        """Add a text, and forget the oldest beyond ``keep``; whether it was added. It is not where something was added under this
        ``key`` before, and where the same text is there.
        """
        text, source, place = storable(text), storable(source), storable(place)
        database = self._opened(adding=True)
        assert database is not None  # noqa: S101 (it is made to be added to)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
        with database.transaction() as connection:
            if not connection.execute("INSERT OR IGNORE INTO keys VALUES (?)", (name,)).rowcount:
                return False
            if connection.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone():
                return False
            database.add([NewDocument("", None, digest, text, None, source, place, time.time())])
            _changed(database, f"+{digest.hex()}")
            if keep is not None:
                _forgotten(database, max(0, database.count() - keep))
        return True

    def forget(self, rows: list[int] | None) -> int:
        """Forget texts by their rows, or all; how many there were."""
        database = self._opened(adding=False)
        if database is None:
            return 0
        with database.transaction() as connection:
            numbers = [number for (number,) in connection.execute("SELECT id FROM documents")]
            gone = numbers if rows is None else sorted(set(numbers).intersection(rows))
            database.remove(gone)
            for number in gone:
                _changed(database, f"-{number}")
        return len(gone)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _opened(self, *, adding: bool) -> DocumentDatabase | None:
        if self._database is None:
            is_there = self.path.is_file()
            if not is_there and not adding:
                return None
            if not self.is_copy:
                self._database = DocumentDatabase(self.path, self.name)
            else:
                self._database = DocumentDatabase(None, self.name)
                if is_there:
                    original = DocumentDatabase(self.path, self.name)
                    try:
                        with original.lock, original.told():
                            original.connection.backup(self._database.connection)
                    finally:
                        original.close()
        return self._database


def _forgotten(database: DocumentDatabase, count: int) -> None:
    oldest = database.connection.execute("SELECT id FROM documents ORDER BY id LIMIT ?", (count,)).fetchall()
    database.remove([number for (number,) in oldest])


def _changed(database: DocumentDatabase, what: str) -> None:
    """Note a change in the hash of all changes."""
    connection = database.connection
    row = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
    now = hashlib.sha256(f"{row[0] if row else ''}{what}".encode()).hexdigest()[:32]
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('version', ?)", (now,))
