"""A file of SQLite with documents and the index of their words: what both kinds of stores consist of."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from merrow_runtime.documents.words import TOKENIZER, chosen, searchable, words_of
from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.location import private_file

FORMAT = 1
"""The number of the tables and of how words are taken apart; an index of another one is made again."""
_PATIENCE = 20.0
"""Seconds that a statement waits for another process which writes."""
_KNOWN_WORDS = 10_000
"""Words whose number of documents is remembered."""
_TABLES = f"""
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT NOT NULL,
    row INTEGER NOT NULL,
    digest BLOB NOT NULL,
    text TEXT NOT NULL,
    searched TEXT,
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    added REAL NOT NULL
);
CREATE INDEX documents_by_file ON documents (file, row);
CREATE INDEX documents_by_digest ON documents (digest);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize="{TOKENIZER}");
CREATE VIRTUAL TABLE counts USING fts5vocab(words, 'row');
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    seen REAL NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE keys (key BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Found(NamedTuple):
    """A document that was found, or is listed. ``row`` counts from 1 in its file, and in a kept store is never given again."""

    row: int
    text: str
    source: str
    place: str
    score: float = 0.0
    added: float = 0.0


class NewDocument(NamedTuple):
    """A document that is added. ``searched`` is what is searched where that is something else than its text; ``digest`` is what
    it is known by.
    """

    file: str
    row: int | None
    digest: bytes
    text: str
    searched: str | None
    source: str
    place: str
    added: float


class DocumentDatabase:
    """A connection to such a file, which any thread may use; None is one in memory, gone when it is closed.

    All methods raise `StoreFailure` with a sentence that names the file.
    """

    def __init__(self, path: Path | None, name: str) -> None:
        self.path, self._name = path, name
        self.lock = threading.RLock()
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._documents = 0
        self._counted_at: tuple[int, int] | None = None
        if path is not None:
            private_file(path)
        with self.told():
            # An empty name is a file of SQLite's own, which it removes.
            self.connection = sqlite3.connect(
                "" if path is None else path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self.connection.execute("PRAGMA cache_size = -64000")
            if path is None:
                self.connection.execute("PRAGMA synchronous = OFF")
            with self.transaction():
                version = self.connection.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in _TABLES.split(";\n"):
                        self.connection.execute(statement)
                    self.connection.execute(f"PRAGMA user_version = {FORMAT}")
        if version not in (0, FORMAT):
            self.close()
            raise StoreFailure(f"The store {name} ({path}) was written by another version of Merrow; update this one.")

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Make a sentence of what SQLite says."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as problem:
            raise StoreFailure(self._sentence(problem)) from problem

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do all of it or nothing, alone among all processes."""
        with self.lock, self.told():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _sentence(self, problem: Exception) -> str:
        which = f"The store {self._name}" + ("" if self.path is None else f" ({self.path})")
        code = getattr(problem, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return f"{which} is locked by another program; try again when it has ended."
        if code.startswith("SQLITE_FULL"):
            return f"{which} can't grow, since the disk is full; make room and try again."
        if "fts5" in str(problem) and "module" in str(problem):
            return "Stores need SQLite with FTS5, which this Python was built without; use another Python."
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
            return f"{which} can't be written; check who owns its folder."
        return f"{which} is damaged, or the file is not a store; move it away to begin a new one."

    def count(self) -> int:
        """How many documents there are."""
        with self.lock, self.told():
            return int(self.connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def add(self, documents: Iterable[NewDocument]) -> None:
        """Add documents, inside a transaction. The row of one without a row is its number, which is never given again."""
        known = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'documents'").fetchone()
        numbered = list(enumerate(documents, (known[0] if known else 0) + 1))
        self.connection.executemany(
            "INSERT INTO documents (id, file, row, digest, text, searched, source, place, added)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((number, one.file, one.row or number, *one[2:]) for number, one in numbered),
        )
        self.connection.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            ((number, searchable(one.text if one.searched is None else one.searched)) for number, one in numbered),
        )

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove documents by their numbers, inside a transaction."""
        for number in numbers:
            known = self.connection.execute(
                "SELECT coalesce(searched, text) FROM documents WHERE id = ?", (number,)
            ).fetchone()
            if known is not None:
                self.connection.execute(
                    "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (number, searchable(known[0]))
                )
                self.connection.execute("DELETE FROM documents WHERE id = ?", (number,))

    def search(self, query: str, wanted: int) -> list[Found]:
        """The ``wanted`` documents that the words of ``query`` tell apart best (BM25), the best first; equal ones by file and
        row.
        """
        with self.lock, self.told():
            counts = self._document_counts(words_of(query))
            words = chosen(counts, self._documents, wanted)
            if not words:
                return []
            match = " OR ".join(f'"{word}"' for word in words)
            scored = self.connection.execute(
                "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? ORDER BY score, rowid LIMIT ?",
                (match, wanted + 1),
            ).fetchall()
            if len(scored) > wanted and scored[wanted][1] == scored[wanted - 1][1]:
                # Which of the equal ones are in is decided by all of them.
                scored = self.connection.execute(
                    "SELECT words.rowid, bm25(words) AS score FROM words JOIN documents ON documents.id = words.rowid"
                    " WHERE words MATCH ? ORDER BY score, documents.file, documents.row LIMIT ?",
                    (match, wanted),
                ).fetchall()
            found = []
            for number, score in scored[:wanted]:
                row = self.connection.execute(
                    "SELECT file, row, text, source, place, added FROM documents WHERE id = ?", (number,)
                ).fetchone()
                found.append((score, row[0], Found(row[1], row[2], row[3], row[4], float(f"{-score:.6g}"), row[5])))
            return [document for _, _, document in sorted(found, key=lambda one: (one[0], one[1], one[2].row))]

    def listed(self, first: int = 0, most: int = -1) -> list[Found]:
        """The documents in their order, without the ``first`` ones."""
        with self.lock, self.told():
            rows = self.connection.execute(
                "SELECT row, text, source, place, 0.0, added FROM documents ORDER BY file, row LIMIT ? OFFSET ?",
                (most, first),
            )
            return [Found(*row) for row in rows]

    def _document_counts(self, words: Sequence[str]) -> dict[str, int]:
        """How many documents have each word."""
        # Both change when this or another process has changed the file.
        now = self.connection.execute("PRAGMA data_version").fetchone()[0], self.connection.total_changes
        if now != self._counted_at:
            self._counts.clear()
            self._documents, self._counted_at = self.count(), now
        counts: dict[str, int] = {}
        for word in words:
            known = self._counts.get(word)
            if known is None:
                row = self.connection.execute("SELECT doc FROM counts WHERE term = ?", (word,)).fetchone()
                known = self._counts[word] = 0 if row is None else int(row[0])
                if len(self._counts) > _KNOWN_WORDS:
                    self._counts.popitem(last=False)
            counts[word] = known
        return counts

    def close(self) -> None:
        """Close the file."""
        with self.lock, contextlib.suppress(sqlite3.Error):
            self.connection.close()
