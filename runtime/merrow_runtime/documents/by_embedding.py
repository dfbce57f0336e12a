"""Documents of a store that are near to a query by their vectors, as far as all of these are known."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from merrow_runtime.documents.database import DocumentPlace, Found
from merrow_runtime.documents.nearest import VectorTable
from merrow_runtime.documents.vectors import VectorFile, vector_key
from merrow_runtime.documents.words import storable
from merrow_runtime.errors import StoreFailure
from merrow_runtime.requests import Vector

LONGEST_EMBEDDED = 24_000
"""Bytes in UTF-8 of the beginning of a text that is embedded: models that embed take some 8,000 tokens."""
MOST_BYTES = 2_000_000_000
"""Of the vectors of a store that are searched together."""
_FLOAT_BYTES = 4
_TABLES = 4
"""How many tables of vectors a process keeps for the next search."""
_KEPT_BYTES = 1_000_000_000
"""Of all of them together; the last one is kept however large it is."""


class SearchedStore(Protocol):
    """A store whose documents can be found by their numbers."""

    def version(self) -> str: ...
    def texts(self) -> list[tuple[DocumentPlace, str]]: ...
    def found(self, scored: Iterable[tuple[DocumentPlace, float]]) -> list[Found]: ...


@dataclass(frozen=True, slots=True)
class Unembedded:
    """Texts whose vectors are not known yet, by the keys of these."""

    texts: Mapping[bytes, str]


def embedded_text(text: str) -> str:
    """The part of a text that is embedded. One without any sign has no meaning, and no server takes it: it is a space."""
    packed = storable(text).encode()[:LONGEST_EMBEDDED]
    return packed.decode("utf-8", "ignore") or " "


def search_by_embedding(
    store: SearchedStore, place: Hashable, vectors: VectorFile, maker: str, query: str, wanted: int
) -> list[Found] | Unembedded:
    """The ``wanted`` documents whose vectors are nearest to that of the query, the nearest first and equal ones by file and row;
    or the texts that have to be embedded first. ``place`` is which store it is, ``maker`` the model with its endpoint.

    Raises `InputError` and `StoreFailure`.
    """
    asked = embedded_text(query)
    key = vector_key(maker, asked)
    table = _table(store, place, vectors, maker)
    known = vectors.get([key])
    if isinstance(table, Unembedded) or not known:
        missing = dict(table.texts) if isinstance(table, Unembedded) else {}
        return Unembedded(missing if known else {**missing, key: asked})
    if not table.places:
        return []
    _check_lengths({table.vectors.length * _FLOAT_BYTES, len(known[key])}, vectors, maker)
    return store.found([(table.places[at], cosine) for at, cosine in table.vectors.nearest(known[key], wanted)])


def unembedded(texts: Iterable[str], vectors: VectorFile | None, maker: str) -> dict[bytes, str]:
    """Those of some texts whose vectors are not known, by their keys."""
    keyed = {vector_key(maker, part): part for part in map(embedded_text, texts)}
    known = vectors.known(list(keyed)) if vectors is not None else ()
    return {key: text for key, text in keyed.items() if key not in known}


@dataclass(frozen=True, slots=True, eq=False)
class _StoreVectors:
    """The vectors of all documents of a store in one version, in the order of the documents."""

    places: Sequence[DocumentPlace]
    vectors: VectorTable


def _table(store: SearchedStore, place: Hashable, vectors: VectorFile, maker: str) -> _StoreVectors | Unembedded:
    version = store.version()
    which = vectors.identity, place, version, maker
    with _lock:
        known = _known.get(which)
        if known is not None:
            _known.move_to_end(which)
            return known
    texts = store.texts()
    keys = [vector_key(maker, embedded_text(text)) for _, text in texts]
    missing = set(keys) - vectors.known(keys)
    if missing:
        parts = {key: embedded_text(text) for key, (_, text) in zip(keys, texts, strict=True) if key in missing}
        return Unembedded(parts)
    table = _StoreVectors([one for one, _ in texts], _read(keys, vectors, maker))
    if store.version() != version:
        return table  # it was changed meanwhile
    with _lock:
        _known[which] = table
        while len(_known) > 1 and (
            len(_known) > _TABLES or sum(len(one.vectors.packed) for one in _known.values()) > _KEPT_BYTES
        ):
            _known.popitem(last=False)
    return table


def _read(keys: Sequence[bytes], vectors: VectorFile, maker: str) -> VectorTable:
    if not keys:
        return VectorTable(0, 0, b"")
    first = len(vectors.get(keys[:1])[keys[0]])
    if first * len(keys) > MOST_BYTES:
        raise StoreFailure(
            f"{len(keys):,} documents with vectors of {first // _FLOAT_BYTES:,} numbers take more than the"
            f" {MOST_BYTES // 1_000_000_000} GB that are searched; find them by their words, or divide the store."
        )
    found: dict[bytes, Vector] = vectors.get(keys)
    _check_lengths(set(map(len, found.values())), vectors, maker)
    return VectorTable(len(keys), first // _FLOAT_BYTES, b"".join([found[key] for key in keys]))


def _check_lengths(lengths: set[int], vectors: VectorFile, maker: str) -> None:
    """Raise `StoreFailure` where a model by the same name makes other vectors than it did."""
    if len(lengths) > 1:
        least, most = min(lengths) // _FLOAT_BYTES, max(lengths) // _FLOAT_BYTES
        model = maker.rpartition("\n")[2]
        where = "" if vectors.path is None else f" ({vectors.path})"
        raise StoreFailure(
            f"The model `{model}` made vectors of {least:,} and of {most:,} numbers, so that its server has another one by that"
            f" name now; delete the file of vectors{where}, so that all texts are embedded again."
        )


_known: OrderedDict[tuple[Hashable, ...], _StoreVectors] = OrderedDict()
_lock = threading.Lock()
