"""What was learned of endpoints' dialects, kept so that no later run pays for learning it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from merrow_runtime.store.rows import Damaged, object_of
from merrow_runtime.store.writer import Writer


class DialectTable:
    """Facts (plain data) by origin and model."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def get(self, origin: str, model: str) -> Mapping[str, Any] | None:
        """What is known, or None. Raises `StoreFailure`."""
        row = self._writer.database.execute(
            "SELECT learned FROM dialects WHERE origin = ? AND model = ?", (origin, model)
        ).fetchone()
        if row is None:
            return None
        try:
            return object_of(row[0])
        except Damaged:
            return None  # It is learned again.

    def put(self, origin: str, model: str, learned: Mapping[str, Any]) -> None:
        """Keep what is known now in the place of what was. Raises `StoreFailure`."""
        text = json.dumps(learned)
        self._writer.now(
            lambda database: database.execute(
                "INSERT OR REPLACE INTO dialects (origin, model, learned) VALUES (?, ?, ?)", (origin, model, text)
            )
        )
