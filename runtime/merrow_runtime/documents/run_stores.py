"""The stores of one run, opened when they are first used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from merrow_runtime.documents.by_embedding import Unembedded, search_by_embedding, unembedded
from merrow_runtime.documents.database import Found
from merrow_runtime.documents.file_store import FileStore
from merrow_runtime.documents.kept_store import KeptStore
from merrow_runtime.documents.places import StorePlace, place_of
from merrow_runtime.documents.vectors import VectorFile
from merrow_runtime.errors import InputError, StoreFailure
from merrow_runtime.requests import Vector
from merrow_runtime.store.location import state_folder
from merrow_runtime.visit import Visit
from merrow_runtime.workflow import Workflow

FOLDER = "stores"
"""Where kept stores are, in the user's state folder, and the indexes of files in a folder of theirs."""
_INDEXES = "indexes"
_VECTORS = "vectors/vectors.sqlite"
"""Not among the kept stores, each of which may have any name."""


def stores_folder() -> Path:
    """The folder of the user's kept stores."""
    return state_folder() / FOLDER


@cache
def _forgotten() -> VectorFile:
    return VectorFile(None)


class RunStores:
    """The stores of a run of a workflow whose file is in the folder ``root``. ``copies``: what is added to kept stores stays in
    the run, and is gone with it. ``leaves_nothing``: no index is written either.
    """

    def __init__(self, root: Path | None, *, copies: bool = False, leaves_nothing: bool = False) -> None:
        self._root = root
        self._folder = stores_folder()
        self.are_copies = copies or leaves_nothing
        self._indexes = None if leaves_nothing else self._folder / _INDEXES
        self._versions: dict[tuple[StorePlace, Visit], str] = {}
        self._kept: dict[str, KeptStore] = {}
        self._vectors: VectorFile | None = None
        self._files: dict[StorePlace, FileStore] = {}

    def place_of(self, workflow: Workflow, name: str) -> StorePlace:
        """The store that a workflow, or a file that it calls, declares as ``name``."""
        return place_of(workflow, name, self._root)

    def check(self, place: StorePlace) -> None:
        """See that the documents of a store can be read, and index them. Raises `InputError` and `StoreFailure`."""
        store = self._store(place)
        if isinstance(store, FileStore):
            store.refreshed()
        else:
            store.version()

    def version(self, place: StorePlace) -> str:
        """What the documents of a store are known by now. Raises `InputError` and `StoreFailure`."""
        return self._store(place).version()

    def version_for(self, place: StorePlace, visit: Visit) -> str:
        """The same for a visit of a node, as it was when this was first asked: also after a revision it is that visit. Empty
        where the documents can't be read, which is told when they are searched.
        """
        key = place, visit.lasting
        if key not in self._versions:
            try:
                self._versions[key] = self.version(place)
            except (InputError, StoreFailure):
                return ""
        return self._versions[key]

    async def search(self, place: StorePlace, query: str, wanted: int) -> Sequence[Found]:
        """The best documents for a query. Raises `InputError` and `StoreFailure`."""
        return await asyncio.to_thread(self._store(place).search, query, wanted)

    async def search_by_embedding(
        self, place: StorePlace, maker: str, query: str, wanted: int
    ) -> Sequence[Found] | Unembedded:
        """The same by the vectors that ``maker``, a model with its endpoint, makes of texts; or those that it has to make first.
        Raises `InputError` and `StoreFailure`.
        """
        return await asyncio.to_thread(
            search_by_embedding, self._store(place), place, self.vectors, maker, query, wanted
        )

    async def keep_vectors(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of texts, by their keys. Raises `StoreFailure`."""
        await asyncio.to_thread(self.vectors.put, vectors)

    @property
    def vectors(self) -> VectorFile:
        """The vectors of texts, which all runs of the user share; where nothing is left, those of one process."""
        if self._vectors is None:
            self._vectors = _forgotten() if self._indexes is None else VectorFile(self._folder / _VECTORS)
        return self._vectors

    def unembedded(self, place: StorePlace, maker: str) -> dict[bytes, str]:
        """The texts of a store whose vectors are not known, by the keys of these. It writes nothing. Raises `InputError` and
        `StoreFailure`.
        """
        vectors = self.vectors if self._indexes is None or (self._folder / _VECTORS).is_file() else None
        return unembedded(self._store(place).unindexed(), vectors, maker)

    async def add(self, place: StorePlace, key: str, text: str, source: str, where: str) -> None:
        """Add a text to a kept store, from ``where`` in ``source``, unless it was added under this key. Raises `StoreFailure`."""
        await asyncio.to_thread(self._kept_store(place.store.name).add, key, text, place.store.keep, source, where)

    def close(self) -> None:
        """Close the files."""
        stores: list[KeptStore | FileStore] = [*self._kept.values(), *self._files.values()]
        for store in stores:
            store.close()
        if self._vectors is not None and self._vectors.path is not None:
            self._vectors.close()
            self._vectors = None

    def _kept_store(self, name: str) -> KeptStore:
        known = self._kept.get(name)
        if known is None:
            known = self._kept[name] = KeptStore(name, self._folder, is_copy=self.are_copies)
        return known

    def _store(self, place: StorePlace) -> FileStore | KeptStore:
        if place.store.is_kept:
            return self._kept_store(place.store.name)
        known = self._files.get(place)
        if known is None:
            known = self._files[place] = FileStore(*place, self._indexes)
        return known
