"""The stores of a workflow: documents that its nodes look things up in, and what they have kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.types import JSON, NUMBER, TEXT, Type, TypeTable
from merrow_analysis.definitions.validation import Path

DOCUMENT: Type = "Document"
"""The type of what a store gives: a record, in workflows that declare stores."""
DOCUMENT_FIELDS: Mapping[str, Type] = {
    "text": TEXT,
    "source": TEXT,
    "place": TEXT,
    "store": TEXT,
    "row": NUMBER,
    "score": NUMBER,
}
TEXT_FIELD = "text"
"""The field of a file's rows that is searched and shown where nothing else is said."""
STORE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What stores that runs add to may be called: it names a file."""
KEPT = 1_000
"""How many texts a store keeps where nothing is said."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """A store as the front matter declares it: of the rows of a ``file``, of the passages of the files in a ``folder`` (both are
    paths from the workflow's folder), or of at most ``keep`` texts that runs have kept under its name.
    ``match`` are the fields of
    rows that are searched, ``show`` those whose text a document has.
    """

    name: str
    keep: int | None = None
    file: str | None = None
    folder: str | None = None
    match: tuple[str, ...] = (TEXT_FIELD,)
    show: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether runs add to it."""
        return self.file is None and self.folder is None

    def to_json(self) -> dict[str, Any]:
        """What decides which documents it has and how they are shown, as plain data."""
        if self.is_kept:
            return {"keep": self.keep}
        path = {"file": self.file} if self.file is not None else {"folder": self.folder}
        return {**path, "match": list(self.match), "show": list(self.shown)}

    @property
    def shown(self) -> tuple[str, ...]:
        """The fields that make a document's text."""
        return self.show or self.match


def read_stores(written: Mapping[str, Any], wrong: set[Path]) -> dict[str, StoreSettings]:
    """The stores of a block that fits the schema, without those at ``wrong`` places."""
    stores: dict[str, StoreSettings] = {}
    for name, body in written.items():
        if any(path[:3] == ("workflow", "stores", name) for path in wrong):
            continue
        says: Mapping[str, Any] = body if isinstance(body, dict) else {}
        file, folder = says.get("file"), says.get("folder")
        keep = None if file or folder else int(says.get("keep", KEPT))
        match = _fields(says.get("match")) or (TEXT_FIELD,)
        stores[name] = StoreSettings(name, keep, _path(file), _path(folder), match, _fields(says.get("show")))
    return stores


def with_documents(types: TypeTable) -> TypeTable:
    """The types of a workflow with that of documents, unless it declares another of that name."""
    if DOCUMENT in types.parents:
        return types
    records = {**types.records, DOCUMENT: DOCUMENT_FIELDS}
    return TypeTable({**types.parents, DOCUMENT: JSON}, types.words, records, types.unions, types.broken)


def knows_documents(types: TypeTable) -> bool:
    """Whether the type of documents is among these types, as stores give them."""
    return types.records.get(DOCUMENT) == DOCUMENT_FIELDS


def _path(written: object) -> str | None:
    return written.strip() if isinstance(written, str) else None


def _fields(written: object) -> tuple[str, ...]:
    names = [written] if isinstance(written, str) else written if isinstance(written, list) else []
    return tuple(dict.fromkeys(str(name).strip() for name in names))
