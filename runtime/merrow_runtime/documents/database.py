"""A file of SQLite with documents and the index of their words: what both kinds of stores consist of."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from merrow_runtime.documents.sqlite_file import SqliteFile
from merrow_runtime.documents.words import TOKENIZER, chosen, searchable, words_of

FORMAT = 1
"""The number of the tables and of how words are taken apart; an index of another one is made again."""
_KNOWN_WORDS = 10_000
"""Words whose number of documents is remembered."""
_WORDS_IN_MEMORY = 16_000_000
"""Bytes of new words that SQLite keeps before it writes them: with its 1 MB a first index of 100,000 documents takes a fifth
longer.
"""
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
INSERT INTO words (words, rank) VALUES ('hashsize', {_WORDS_IN_MEMORY});
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
"""  # noqa: S608 (a number of this module)


class Found(NamedTuple):
    """A document that was found, or is listed. ``row`` counts from 1 in its file, and in a kept store is never given again."""

    row: int
    text: str
    source: str
    place: str
    score: float = 0.0
    added: float = 0.0


class DocumentPlace(NamedTuple):
    """Where a document is in its store: the same in each index of the same files."""

    file: str
    row: int


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


class DocumentDatabase(SqliteFile):
    """A connection to such a file, as `SqliteFile` has it. ``name`` is the store's."""

    def __init__(self, path: Path | None, name: str) -> None:
        super().__init__(path, f"The store {name}", _TABLES, FORMAT)
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._documents = 0
        self._counted_at: tuple[int, int] | None = None

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
            return self._found("id = ?", (((number,), -score) for number, score in scored[:wanted]))

    def found(self, scored: Iterable[tuple[DocumentPlace, float]]) -> list[Found]:
        """The documents at these places with their scores, the highest first; equal ones by file and row."""
        with self.lock, self.told():
            return self._found("file = ? AND row = ?", scored)

    def _found(self, condition: str, scored: Iterable[tuple[Sequence[str | int], float]]) -> list[Found]:
        found = []
        sql = f"SELECT file, row, text, source, place, added FROM documents WHERE {condition}"  # noqa: S608 (texts of this module)
        for values, score in scored:
            row = self.connection.execute(sql, values).fetchone()
            if row is not None:  # else another process has just removed it
                found.append((-score, row[0], Found(row[1], row[2], row[3], row[4], float(f"{score:.6g}"), row[5])))
        return [document for _, _, document in sorted(found, key=lambda one: (one[0], one[1], one[2].row))]

    def texts(self) -> list[tuple[DocumentPlace, str]]:
        """The place and the searched text of each document, in their order."""
        with self.lock, self.told():
            rows = self.connection.execute(
                "SELECT file, row, coalesce(searched, text) FROM documents ORDER BY file, row"
            )
            return [(DocumentPlace(file, row), text) for file, row, text in rows]

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
