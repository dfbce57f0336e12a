"""What the journal keeps of the items of an evaluation: their ids, right answers, hashes and lines, packed into one text."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from merrow_optimizer.evaluation.items import Item, hash_of
from merrow_runtime.values import as_text

NAME = "known"
"""Of the text in a plan; plans of before had ``golds`` and ``hashes``, each by id."""
_GOLD = 200
"""Characters of a gold answer that are kept to be shown."""


def packed(items: Iterable[Item]) -> str:
    """The items as they are kept."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as lines:
        for item in items:
            gold = "" if item.gold is None else as_text(item.gold)[:_GOLD]
            line = 0 if item.place is None else item.place.line
            lines.write(f"{json.dumps([item.id, gold, hash_of(item), line, item.has_own_id])}\n".encode())
    return base64.b64encode(file.getbuffer()).decode()


class KnownItems:
    """The items of an evaluation, in their order."""

    def __init__(
        self,
        places: dict[str, int],
        golds: list[str],
        hashes: bytes,
        lines: Sequence[int] = (),
        unnamed: frozenset[int] = frozenset(),
    ) -> None:
        """Use `of`. ``hashes`` are 32 bytes for each item, or none at all; ``lines`` those of all items, or none; ``unnamed`` are
        the places of those without an id of their own.
        """
        self._places, self._golds, self._hashes, self._lines, self._unnamed = places, golds, hashes, lines, unnamed

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Self:
        """Those that the plan of an evaluation has. Raises `StoreFailure` where it is damaged."""
        places: dict[str, int] = {}
        golds: list[str] = []
        hashes = bytearray()
        in_file = array("q")
        unnamed: set[int] = set()
        text = plan.get(NAME)
        try:
            if text is not None:
                with gzip.GzipFile(fileobj=io.BytesIO(base64.b64decode(text, validate=True))) as lines:
                    # Before there were lines, and before it was kept which ids are their own, less was written of each.
                    for item, gold, digest, *more in map(json.loads, lines):
                        in_file.extend(more[:1])
                        if more[1:] == [False]:
                            unnamed.add(len(golds))
                        places[item] = len(golds)
                        golds.append(gold)
                        hashes += bytes.fromhex(digest)
        except (ValueError, TypeError, OSError, EOFError, zlib.error, RecursionError):
            text = None
        if text is None:
            known = plan["golds"]  # which raises `StoreFailure` where there is none
            of_items = plan.get("hashes", {})
            return cls(
                {item: place for place, item in enumerate(known)},
                list(known.values()),
                b"".join(bytes.fromhex(of_items[item]) for item in known) if of_items else b"",
            )
        return cls(places, golds, bytes(hashes), in_file if len(in_file) == len(golds) else (), frozenset(unnamed))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, item: object) -> bool:
        return item in self._places

    @property
    def has_hashes(self) -> bool:
        """Whether it is known what the items are: evaluations of an older Merrow lack that."""
        return bool(self._hashes)

    def place(self, item: str) -> int:
        """The place of an item, from 0, also of one that is not known."""
        return self._places.get(item, 0)

    def line(self, place: int) -> int:
        """The line in the data of the item at a place, from 1; 0 where an older Merrow did not keep it."""
        return self._lines[place] if self._lines else 0

    def title(self, item: str) -> str:
        """The name that people see for an item: its id, followed by its line in the data if the record has no id."""
        place = self._places.get(item)
        return item if place not in self._unnamed else f"{item} (line {self.line(place)})"

    def gold(self, item: str) -> str:
        """The right answer to an item, cut; empty where there is none."""
        place = self._places.get(item)
        return "" if place is None else self._golds[place]

    def hash(self, item: str) -> str | None:
        """The hash of an item, in hexadecimal; None where it is not known."""
        place = self._places.get(item)
        return None if place is None or not self._hashes else self._hashes[32 * place : 32 * place + 32].hex()
