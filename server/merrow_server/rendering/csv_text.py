"""CSV as every command writes it: what it holds is read as it is, and no spreadsheet computes any of it.

`merrow_optimizer.evaluation.data.csv_marks` has the mark that keeps a text from being a formula, and takes it off again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from merrow_optimizer.evaluation.data.csv_marks import marked


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, without a last line end: the names of the columns, then the rows. None is an empty cell; a text that a
    spreadsheet would take for a formula has an apostrophe before it.
    """
    return "\n".join(csv_lines(columns, rows))


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The same row by row."""
    # A carriage return in a text ends a row for readers; it is put in quotes only where it is in the writer's own line ends.
    writer: Any = csv.writer(_Same(), lineterminator="\r\n")
    yield writer.writerow(columns).removesuffix("\r\n")
    for row in rows:
        cells = ["" if cell is None else marked(cell) if isinstance(cell, str) else cell for cell in row]
        yield writer.writerow(cells).removesuffix("\r\n")


class _Same:
    """What a writer of CSV writes to: it gets each row back as a text."""

    def write(self, text: str) -> str:
        return text
