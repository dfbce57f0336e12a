"""The vectors of texts, kept by what made them and by the text, so that no text is embedded twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from merrow_runtime.documents.sqlite_file import SqliteFile
from merrow_runtime.requests import Vector

_FORMAT = 1
"""The number of the tables, and of how the embedded model makes vectors."""
_KEY_BYTES = 16
_AT_ONCE = 500
"""Keys that are looked for in one query."""
_TABLES = """
CREATE TABLE vectors (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, numbers BLOB NOT NULL);
CREATE TABLE file (identity BLOB NOT NULL);
INSERT INTO file VALUES (randomblob(16));
"""


def vector_key(maker: str, text: str) -> bytes:
    """What the vector of a text is known by; ``maker`` is a model at an endpoint."""
    said = f"{_FORMAT}\n{maker}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=_KEY_BYTES).digest()


class VectorFile(SqliteFile):
    """A file of vectors by their keys, as `SqliteFile` has it."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "The file of vectors", _TABLES, _FORMAT)
        with self.lock, self.told():
            self.identity: bytes = self.connection.execute("SELECT identity FROM file").fetchone()[0]
            """It is another one where the file was removed and made again."""

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have a vector."""
        return {key for (key,) in self._rows("key", keys)}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of the keys that have one."""
        return dict(self._rows("key, numbers", keys))

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors; those that are kept already stay."""
        with self.transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors (key, numbers) VALUES (?, ?)", vectors.items())

    def _rows(self, columns: str, keys: Sequence[bytes]) -> Iterator[Any]:
        with self.lock, self.told():
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                sql = f"SELECT {columns} FROM vectors WHERE key IN ({marks})"  # noqa: S608 (texts of this module)
                yield from self.connection.execute(sql, some)
