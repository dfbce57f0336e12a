"""Documents in files: found by an index of their words, which is kept beside the journal and follows the files."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from merrow_analysis.definitions.stores import StoreSettings
from merrow_runtime.documents.database import FORMAT, DocumentDatabase, DocumentPlace, Found, NewDocument
from merrow_runtime.documents.reading import (
    MOST_ROWS,
    DocumentFile,
    FileDocument,
    can_be_appended,
    documents_of,
    files_of,
    read_bytes,
    too_many_rows,
)
from merrow_runtime.errors import StoreFailure

_SETTLED = 2.0
"""Seconds after which the time of a change tells a file from a later one of the same size."""
_DIGEST_BYTES = 12


class _Seen(NamedTuple):
    """A file as it was when it was looked at: bytes, time of its change in ns, when that was, and its hash."""

    size: int
    changed: int
    seen: float
    hash: str


class FileStore:
    """A store whose documents are in files. ``folder`` is the workflow's, ``root`` its workspace, ``indexes`` the folder of
    indexes (None: one in memory).
    """

    def __init__(self, store: StoreSettings, folder: Path, root: Path, indexes: Path | None) -> None:
        self.store = store
        self._folder, self._root, self._indexes = folder, root, indexes
        self._database: DocumentDatabase | None = None
        self._seen: dict[str, _Seen] = {}
        self._indexed = ""

    def version(self) -> str:
        """What its documents are known by: a hash of its files. Raises `InputError` where they can't be read."""
        return self._looked(self._files())

    def search(self, query: str, wanted: int) -> list[Found]:
        """The best documents for a query, of the files as they are now. Raises `InputError` and `StoreFailure`."""
        return self.refreshed().search(query, wanted)

    def texts(self) -> list[tuple[DocumentPlace, str]]:
        """See `DocumentDatabase.texts`. Raises `InputError` and `StoreFailure`."""
        return self.refreshed().texts()

    def found(self, scored: Iterable[tuple[DocumentPlace, float]]) -> list[Found]:
        """See `DocumentDatabase.found`. Raises `StoreFailure`."""
        return self._opened().found(scored)

    def unindexed(self) -> Iterator[str]:
        """What is searched of each document, read from the files alone. Raises `InputError`."""
        for file in self._files():
            for document in documents_of(file, read_bytes(file, self.store), self.store):
                yield document.searched

    def refreshed(self) -> DocumentDatabase:
        """The index, made or brought up to date. Raises `InputError` and `StoreFailure`."""
        files = self._files()
        version = self._looked(files)
        database = self._opened()
        if version != self._indexed:
            self._bring_up_to_date(database, files, version)
            self._indexed = version
        return database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _files(self) -> list[DocumentFile]:
        return files_of(self.store, self._folder, self._root)

    def _looked(self, files: Sequence[DocumentFile]) -> str:
        """The version of all files; those that have not changed since they were seen are not read."""
        if not self._seen:
            self._seen = self._known()
        seen: dict[str, _Seen] = {}
        for file in files:
            try:
                status = file.path.stat()
            except OSError:
                status = None  # told when it is read
            known = self._seen.get(file.name)
            if (
                known is None
                or status is None
                or (known.size, known.changed) != (status.st_size, status.st_mtime_ns)
                or known.seen - known.changed / 1e9 < _SETTLED
            ):
                now = time.time()
                digest = hashlib.sha256(read_bytes(file, self.store)).hexdigest()
                known = _Seen(status.st_size if status else 0, status.st_mtime_ns if status else 0, now, digest)
            seen[file.name] = known
        self._seen = seen
        whole = hashlib.sha256(repr((FORMAT, self.store.match, self.store.shown)).encode())
        for name, known in sorted(seen.items()):
            whole.update(f"{name}\0{known.hash}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:32]

    def _known(self) -> dict[str, _Seen]:
        database = self._opened()
        with database.lock, database.told():
            rows = database.connection.execute("SELECT path, size, changed, seen, hash FROM files").fetchall()
        return {path: _Seen(*rest) for path, *rest in rows}

    def _opened(self) -> DocumentDatabase:
        if self._database is None:
            path = None if self._indexes is None else self._indexes / f"{self._index_name()}.sqlite"
            try:
                self._database = DocumentDatabase(path, self.store.name)
            except StoreFailure:
                if path is None or not path.is_file():
                    raise
                # An index is only made of the files: one that is damaged, or of another version, is made again.
                for file in (path, path.with_name(f"{path.name}-journal")):
                    file.unlink(missing_ok=True)
                self._database = DocumentDatabase(path, self.store.name)
        return self._database

    def _index_name(self) -> str:
        """The index's own name: by where the documents are, and what of them is searched and shown."""
        where = str((self._folder / (self.store.file or self.store.folder or ".")).resolve())
        said = repr((FORMAT, where, self.store.file is not None, self.store.match, self.store.shown))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _bring_up_to_date(self, database: DocumentDatabase, files: Sequence[DocumentFile], version: str) -> None:
        with database.transaction() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
            if row is not None and row[0] == version:
                return  # another process was quicker
            before = dict(connection.execute("SELECT path, hash FROM files").fetchall())
            for name in before.keys() - self._seen.keys():
                gone = connection.execute("SELECT id FROM documents WHERE file = ?", (name,)).fetchall()
                database.remove([number for (number,) in gone])
                connection.execute("DELETE FROM files WHERE path = ?", (name,))
            for file in files:
                seen = self._seen[file.name]
                if before.get(file.name) != seen.hash:
                    data = read_bytes(file, self.store)
                    seen = self._seen[file.name] = seen._replace(hash=hashlib.sha256(data).hexdigest())
                    if not self._append(database, file, data):
                        self._index(database, file, data)
                connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", (file.name, *seen))
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('version', ?)", (version,))

    def _append(self, database: DocumentDatabase, file: DocumentFile, data: bytes) -> bool:
        """Index the rows that were written behind those which are known; whether nothing else has changed."""
        connection = database.connection
        known = connection.execute("SELECT size, hash FROM files WHERE path = ?", (file.name,)).fetchone()
        if known is None or not can_be_appended(file, self.store):
            return False
        size, digest = known
        before = data[:size]
        if not before.endswith(b"\n") or hashlib.sha256(before).hexdigest() != digest:
            return False
        last = connection.execute("SELECT max(row) FROM documents WHERE file = ?", (file.name,)).fetchone()[0] or 0
        now = time.time()
        rows = documents_of(file, data[size:], self.store, before.count(b"\n") + 1)
        new = [_new(file, row, document, now) for row, document in enumerate(rows, last + 1)]
        if last + len(new) > MOST_ROWS:
            raise too_many_rows(file, self.store)
        database.add(new)
        return True

    def _index(self, database: DocumentDatabase, file: DocumentFile, data: bytes) -> None:
        """Bring the documents of one file up to date. Those that it had before keep their entries in the index."""
        connection = database.connection
        known: dict[bytes, list[tuple[int, int, str]]] = {}
        for number, row, place, digest in connection.execute(
            "SELECT id, row, place, digest FROM documents WHERE file = ? ORDER BY row DESC", (file.name,)
        ):
            known.setdefault(digest, []).append((number, row, place))
        new = []
        now = time.time()
        for row, document in enumerate(documents_of(file, data, self.store), 1):
            made = _new(file, row, document, now)
            same = known.get(made.digest)
            if same:
                number, *place = same.pop()
                if place != [row, document.place]:
                    connection.execute(
                        "UPDATE documents SET row = ?, place = ? WHERE id = ?", (row, document.place, number)
                    )
                continue
            new.append(made)
        database.remove([number for entries in known.values() for number, _, _ in entries])
        database.add(new)


def _new(file: DocumentFile, row: int, document: FileDocument, now: float) -> NewDocument:
    """A document as it is indexed. It is known by all of it but its place."""
    said = f"{document.searched}\0{document.text}\0{document.source}".encode()
    digest = hashlib.blake2b(said, digest_size=_DIGEST_BYTES).digest()
    searched = None if document.searched == document.text else document.searched
    return NewDocument(file.name, row, digest, document.text, searched, document.source, document.place, now)
