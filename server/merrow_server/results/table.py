"""A table of results: its columns, and its rows in any order, those that fit what is looked for, a page at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Json = dict[str, Any]
Cell = str | float | None
"""What a row has in a column; None where that is not known."""

MOST_ROWS = 200
"""Rows of a page."""
LINE = 240
"""Characters of a cell that a page shows."""
_FIGURES = ("number", "score", "cost", "seconds")
_PAGE = 256
"""Rows that are read at once."""
_READ_AT_ONCE = 16
"""Rows that a search reads again at once, of which each may be long."""
_SEARCHED, _SEARCHED_LEAST = 16_000_000, 400
"""Characters of all rows, and of one cell at least, that are kept to be searched and sorted by."""
_WHOLE, _READ = 200_000, 64_000_000
"""Characters of a cell, and of all rows, that a search reads again where what is kept of a row is cut and has not all words."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, by which it is asked for, its title, and what is in it. ``field`` is the field of the answer that it
    has; "" for none.
    """

    name: str
    title: str
    kind: Literal["item", "input", "answer", "expected", "verdict", "text", "number", "score", "cost", "seconds"]
    field: str = ""


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """Rows that are looked for by a field: those where the answer is ``read``, and the right value ``gold``; None: any."""

    name: str
    read: str | None = None
    gold: str | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which rows are wanted: of those with one of these ``verdicts`` (none: all), that have ``search`` in the column ``within``
    ("": in any that has texts), and the ``field`` so; sorted by the column ``sort`` ("": as they are); from ``offset`` on, at
    most ``limit``.
    """

    offset: int = 0
    limit: int = 100
    sort: str = ""
    descending: bool = False
    verdicts: tuple[str, ...] = ()
    search: str = ""
    within: str = ""
    field: FieldChoice | None = None


class ResultTable:
    """The rows of one job. A kind says its ``columns``, the ``verdicts`` of the rows in the order that they have without
    sorting, and reads rows by their places.
    """

    columns: Sequence[Column]
    verdicts: Sequence[str]

    def __init__(self) -> None:
        self._ordered: tuple[PageRequest, Sequence[int]] | None = None
        self._texts: list[list[str]] | None = None
        self._cut: set[int] = set()
        """The rows of which not all is kept."""

    def head(self) -> Json:
        """What the whole job came to."""
        raise NotImplementedError

    def read(self, places: Sequence[int], longest: int) -> list[tuple[Json, list[Cell]]]:
        """Some rows: what there is beside the cells, ``key`` first, and the cells, of which texts are cut to ``longest``
        characters.
        """
        raise NotImplementedError

    def known(self, column: Column) -> Sequence[Any] | None:
        """What rows are sorted by in a column, where that is known without reading all of them: None."""
        raise NotImplementedError

    def pairs(self, field: str) -> Sequence[tuple[str, str]]:
        """The answer and the right value of a field in each row."""
        raise NotImplementedError

    def whole(self, key: str) -> Json:
        """All that is known of one row. Raises `UsageFailure` where there is none with this key."""
        raise NotImplementedError

    def page(self, asked: PageRequest) -> Json:
        """``{columns, verdicts, all, total, offset, rows}``: ``total`` of ``all`` rows are those that are looked for;
        ``verdicts`` says how many of all rows have which.
        """
        order = self._order(replace(asked, offset=0, limit=0))
        places = order[asked.offset : asked.offset + min(asked.limit, MOST_ROWS)]
        return {
            "columns": [
                {"name": one.name, "title": one.title, "kind": one.kind, "field": one.field} for one in self.columns
            ],
            "verdicts": dict(Counter(self.verdicts)),
            "all": len(self.verdicts),
            "total": len(order),
            "offset": asked.offset,
            "rows": [{**row, "cells": cells} for row, cells in self.read(places, LINE)],
        }

    def _order(self, asked: PageRequest) -> Sequence[int]:
        """The places of the rows that are looked for, in the order that is wanted."""
        if self._ordered is not None and self._ordered[0] == asked:
            return self._ordered[1]
        places: Sequence[int] = range(len(self.verdicts))
        if asked.verdicts:
            places = [place for place in places if self.verdicts[place] in asked.verdicts]
        if asked.field is not None:
            places = self._with_field(places, asked.field)
        words = asked.search.casefold().split()
        if words:
            places = self._with_words(places, words, asked.within)
        column = next((one for one in self.columns if one.name == asked.sort), None)
        if column is not None:
            values = self._values(column)
            known = [place for place in places if values[place] is not None]
            unknown = [place for place in places if values[place] is None]  # last, whichever way the others go
            places = [*sorted(known, key=lambda place: values[place], reverse=asked.descending), *unknown]
        self._ordered = asked, places
        return places

    def _with_field(self, places: Sequence[int], wanted: FieldChoice) -> list[int]:
        pairs = self.pairs(wanted.name)
        return [
            place
            for place in places
            if wanted.read in (None, pairs[place][0]) and wanted.gold in (None, pairs[place][1])
        ]

    def _with_words(self, places: Sequence[int], words: Sequence[str], within: str) -> list[int]:
        texts = self._all_texts()
        named = [at for at, one in enumerate(self.columns) if one.name == within]
        # Figures are no words: half of all costs have a 3 somewhere. Last is the reason, which has no column.
        at = named or [*(at for at, one in enumerate(self.columns) if one.kind not in _FIGURES), len(self.columns)]

        def has(row: Sequence[str]) -> bool:
            return all(any(word in row[each] for each in at) for word in words)

        found = {place for place in places if has(texts[place])}
        unsure = [place for place in places if place in self._cut and place not in found]
        read = 0
        for start in range(0, len(unsure), _READ_AT_ONCE):
            some = unsure[start : start + _READ_AT_ONCE]
            for place, (row, cells) in zip(some, self.read(some, _WHOLE), strict=True):
                whole = _texts_of_row(row, cells)
                read += sum(map(len, whole))
                if has(whole):
                    found.add(place)
            if read > _READ:
                break
        return [place for place in places if place in found]

    def _values(self, column: Column) -> Sequence[Any]:
        """What rows are sorted by: numbers where all that a column has are."""
        known = self.known(column)
        if known is not None:
            return known
        at = list(self.columns).index(column)
        texts = [row[at] for row in self._all_texts()]
        numbers = [_number(text) for text in texts]
        if all(number is not None or not text for number, text in zip(numbers, texts, strict=True)):
            return numbers
        return [text or None for text in texts]

    def _all_texts(self) -> list[list[str]]:
        """The cells of all rows as texts without case, by columns. The reason of a row is the last."""
        if self._texts is None:
            longest = max(_SEARCHED_LEAST, _SEARCHED // (1 + len(self.verdicts) * len(self.columns)))
            texts: list[list[str]] = []
            for row, cells in self._all_rows(longest):
                if any(isinstance(cell, str) and len(cell) > longest for cell in cells):
                    self._cut.add(len(texts))
                texts.append(_texts_of_row(row, cells))
            self._texts = texts
        return self._texts

    def _all_rows(self, longest: int) -> Iterator[tuple[Json, list[Cell]]]:
        everything = range(len(self.verdicts))
        for start in range(0, len(everything), _PAGE):
            yield from self.read(everything[start : start + _PAGE], longest)


def _texts_of_row(row: Json, cells: Sequence[Cell]) -> list[str]:
    """What is searched of a row: its cells as texts without case, and its reason."""
    texts = ["" if cell is None else str(cell).casefold() for cell in cells]
    return [*texts, str(row.get("reason", "")).casefold()]


def cut(text: str, longest: int) -> str:
    """A text as a cell shows it, with a sign where it is cut."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def texts_of(values: Mapping[str, Any]) -> Json:
    """Values by name, each as text."""
    from merrow_runtime.values import as_text

    return {name: as_text(value) for name, value in values.items()}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
