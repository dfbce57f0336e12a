"""What the journal has, one row each, in columns."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_server.rendering.output import STATUS_COLOURS
from merrow_server.rendering.snippet import cells
from merrow_server.rendering.terminal import echo, style


def print_rows(rows: Sequence[tuple[str, ...]], otherwise: str | None = "yellow") -> None:
    """Print at least one row. The second column is a status, in its colour; one that has none is coloured ``otherwise``."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        padded = [value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)]
        padded[1] = style(padded[1], fg=STATUS_COLOURS.get(row[1], otherwise))
        echo("  ".join(padded).rstrip())
