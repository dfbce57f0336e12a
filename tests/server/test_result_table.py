"""Rows of results are searched in whole values, also where only the beginnings of long ones are kept."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from merrow_optimizer.evaluation.items import Item, RecordLocation
from merrow_server.evaluations.known_items import NAME, KnownItems, packed
from merrow_server.results.table import Cell, Column, Json, PageRequest, ResultTable

ROWS, COLUMNS = 1_000, 40


class Letters(ResultTable):
    """Some rows have a long letter, whose last word is a name; it notes how much is read of how many."""

    def __init__(self, letters: dict[int, str]) -> None:
        super().__init__()
        self.letters = letters
        self.columns = [Column("item", "Item", "item"), *(Column(f"c{at}", "", "answer") for at in range(COLUMNS - 1))]
        self.verdicts = ["right"] * ROWS
        self.reads: list[tuple[int, int]] = []

    def read(self, places: Sequence[int], longest: int) -> list[tuple[Json, list[Cell]]]:
        self.reads.append((len(places), longest))
        texts = (self.letters.get(place, "short") for place in places)
        rest: list[Cell] = [""] * (COLUMNS - 2)
        return [
            ({"key": str(place)}, [f"i{place}", text if len(text) <= longest else f"{text[:longest]}…", *rest])
            for place, text in zip(places, texts, strict=True)
        ]

    def found(self, **asked: str) -> list[str]:
        return [row["key"] for row in self.page(PageRequest(**asked))["rows"]]


def test_a_word_at_the_end_of_a_long_value_is_found_in_the_order_of_the_rows() -> None:
    letters = {7: "x" * 9_000 + " Osei", 500: "osei " + "x" * 9_000, 900: "x" * 9_000 + " Ruiz", 3: "osei"}
    table = Letters(letters)
    assert table.found(search="OSEI") == ["3", "7", "500"]
    assert table.found(search="osei", within="c0") == ["3", "7", "500"]
    assert table.found(search="osei", within="item") == []
    assert table.found(search="osei x") == ["7", "500"]
    assert table.found(search="i900 ruiz") == ["900"]


def test_only_rows_that_are_not_known_whole_are_read_again() -> None:
    table = Letters({7: "x" * 9_000 + " Osei"})
    assert table.found(search="i7") == [f"{number}" for number in range(ROWS) if f"i{number}".startswith("i7")][:100]
    before = len(table.reads)
    assert table.found(search="osei") == ["7"]
    again = [(count, longest) for count, longest in table.reads[before:] if longest > 9_000]
    assert again == [(1, max(longest for _, longest in again))]
    before = len(table.reads)
    assert table.found(search="xx") == ["7"]
    assert [longest for _, longest in table.reads[before:] if longest > 9_000] == [], "its beginning has the word"


def test_a_search_reads_again_no_more_than_a_bounded_part_of_all() -> None:
    long = "x" * 190_000
    table = Letters(dict.fromkeys(range(ROWS), long) | {ROWS - 1: f"{long} Osei"})
    assert table.found(search="osei") == []
    again = sum(count for count, longest in table.reads if longest > 100_000)
    assert 300 < again < 400


def test_the_lines_of_items_are_kept_and_an_older_journal_has_none() -> None:
    items = [
        Item(name, {}, gold, place=RecordLocation(Path("own.csv"), line))
        for name, gold, line in (("b", 1, 3), ("a", 2, 2))
    ]
    known = KnownItems.of({NAME: packed(items)})
    assert [(name, known.place(name), known.line(known.place(name)), known.gold(name)) for name in known] == [
        ("b", 0, 3, "1"),
        ("a", 1, 2, "2"),
    ]
    assert [known.title(name) for name in "bac"] == ["b", "a", "c"]
    hashed = Item("0123456789ab", {}, 1, place=RecordLocation(Path("own.csv"), 7), has_own_id=False)
    known = KnownItems.of({NAME: packed([replace(hashed, id="202412010930", has_own_id=True), hashed])})
    assert [known.title(name) for name in known] == ["202412010930", "0123456789ab (line 7)"]
    older = gzip.compress(b"".join(f'["{name}", "", "{"0" * 64}"]\n'.encode() for name in "ba"))
    known = KnownItems.of({NAME: base64.b64encode(older).decode()})
    assert [(name, known.line(known.place(name))) for name in known] == [("b", 0), ("a", 0)]
