"""CSV as every command writes it: what it holds is read as it is, and no spreadsheet computes any of it.

`merrow_optimizer.evaluation.data.csv_marks` has the mark that keeps a text from being a formula, and takes it off again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from merrow_optimizer.evaluation.data.csv_marks import marked


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, without a last line end: the names of the columns, then the rows. None is an empty cell; a text that a
    spreadsheet would take for a formula has an apostrophe before it.
    """
    written = _Rows()
    # A carriage return in a text ends a row for readers; it is put in quotes only where it is in the writer's own line ends.
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if cell is None else marked(cell) if isinstance(cell, str) else cell for cell in row])
    return "\n".join(row.removesuffix("\r\n") for row in written)


class _Rows(list[str]):
    """What a writer of CSV writes, row by row."""

    write = list.append
