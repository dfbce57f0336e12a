"""How people ranked products for the same item: each ranking by its rater and the hashes of item and products."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from typing import Any

from merrow_runtime.store.writer import Writer

_BYTES = 16
Groups = Sequence[Sequence[str]]
"""Products, the best first; those in one group tie."""


class Rankings:
    """The rankings of a store. ``item`` is the hash of an item, products are answers as `output_text` has them."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def put(self, item: str, rater: str, groups: Groups) -> None:
        """Keep how somebody ranked products, in place of what they said of the same ones before. Raises `StoreFailure`."""
        kept = json.dumps([sorted(_hash(product).hex() for product in group) for group in groups])
        values = (_hash(item), _products([product for group in groups for product in group]), rater, kept, time.time())
        sql = "INSERT OR REPLACE INTO rankings (item, products, rater, said, at) VALUES (?, ?, ?, ?, ?)"
        self._writer.now(lambda database: database.execute(sql, values))

    def of(self, item: str, products: Sequence[str]) -> dict[str, list[list[str]]]:
        """By rater how exactly these products were ranked, in the order in which the raters came. Raises `StoreFailure`."""
        named = {_hash(product).hex(): product for product in products}
        sql = "SELECT rater, said FROM rankings WHERE item = ? AND products = ? ORDER BY number"
        rankings = {rater: json.loads(text) for rater, text in self._rows(sql, (_hash(item), _products(products)))}
        return {
            rater: [[named[digest] for digest in group] for group in groups]
            for rater, groups in rankings.items()
            if sorted(digest for group in groups for digest in group) == sorted(named)
        }

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return self._writer.database.execute(sql, values).fetchall()


def _products(products: Sequence[str]) -> bytes:
    return hashlib.sha256(b"".join(sorted(map(_hash, set(products))))).digest()[:_BYTES]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES]
