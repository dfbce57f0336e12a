"""Items of a data set outside the memory: of each only its id and the place of its text in a temporary file are kept in it."""

from __future__ import annotations

import json
import tempfile
import threading
import weakref
from array import array
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import overload

from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item, RecordLocation

_IN_MEMORY = 4 << 20
"""Bytes of items that are in memory after all: most data sets are smaller, and need no file."""

LAST = 256
"""So many items that were read last are in memory, too: those that are being answered, which several ask for."""


class ItemFile:
    """Items written one after another and read again in any order. Their file has no name, so that nobody else changes it, and
    it ends with this; that of the data may change meanwhile. ``source`` is where they are from.
    """

    def __init__(self, source: Path) -> None:
        self._source = source
        # It is closed by `finalize`, as soon as nobody can read an item any more.
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._starts = array("Q", [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, item: Item) -> None:
        """Write an item. Raises `DataError` where there is no room for it, `RecursionError` where it is nested too deeply."""
        assert item.place is not None  # noqa: S101 (items of a file have one)
        text = json.dumps([item.id, item.inputs, item.gold, item.extra, item.place.line, item.has_own_id]).encode()
        try:
            self._file.seek(self._starts[-1])
            self._file.write(text)
        except OSError as problem:
            raise DataError.of(
                f"The items can't be kept in {tempfile.tempdir or 'a temporary file'}: {problem.strerror or problem}. Make room"
                " there, or set TMPDIR to another folder.",
                self._source,
            ) from None
        self._starts.append(self._starts[-1] + len(text))

    def item(self, number: int) -> Item:
        """The item that was written as this one, from 0."""
        start, end = self._starts[number], self._starts[number + 1]
        with self._lock:
            self._file.seek(start)
            text = self._file.read(end - start)
        own, inputs, gold, extra, line, has_own_id = json.loads(text)
        return Item(own, inputs, gold, extra, RecordLocation(self._source, line), has_own_id)


class KeptItems(Sequence[Item]):
    """Items of a file in an order, each read when it is needed. ``numbers`` are those in the file, by id."""

    def __init__(self, file: ItemFile, numbers: dict[str, int]) -> None:
        self.numbers = numbers
        self._item = lru_cache(LAST)(file.item)
        self.ids: Sequence[str] = list(numbers)
        """The ids in the same order."""

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        if isinstance(place, slice):
            return [self.of(own) for own in self.ids[place]]
        return self.of(self.ids[place])

    def of(self, own: str) -> Item:
        """The item with this id. Raises `KeyError`."""
        return self._item(self.numbers[own])


class ItemsById:
    """Any items by their ids, each read when it is asked for where it is not in memory."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._kept: KeptItems | dict[str, Item] = (
            items if isinstance(items, KeptItems) else {item.id: item for item in items}
        )

    @property
    def ids(self) -> Collection[str]:
        """The ids, in the order of the items."""
        return self._kept.ids if isinstance(self._kept, KeptItems) else self._kept.keys()

    def __getitem__(self, own: str) -> Item:
        return self._kept.of(own) if isinstance(self._kept, KeptItems) else self._kept[own]

    def __contains__(self, own: object) -> bool:
        return own in (self._kept.numbers if isinstance(self._kept, KeptItems) else self._kept)
