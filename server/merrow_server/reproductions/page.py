"""The table of a reproduction as one HTML file without network and script; whatever names and reasons say is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from merrow_server.rendering.html_page import page, safe
from merrow_server.reproductions.table import reasons_of
from merrow_server.reproductions.words import SIMULATED, sentence, table_rows

_STYLE = """
td { max-width: 24rem; } td:first-child { white-space: nowrap; } .mark { color: var(--odd); font-weight: 600; }
"""


def as_html(shown: Mapping[str, Any]) -> str:
    """The whole file."""
    return "\n".join(page(shown["title"], _lines(shown), _STYLE)) + "\n"


def _lines(shown: Mapping[str, Any]) -> Iterator[str]:
    mark = f'<span class="mark">{SIMULATED}</span> ' if shown["simulated"] else ""
    yield f"<h1>{mark}{safe(shown['title'])} ({safe(shown['at'])})</h1>"
    for table, several in groupby(shown["rows"], key=lambda row: row["table"]):
        yield f"<h2>{mark}{safe(table)}</h2>"
        yield _table(table_rows(list(several), is_simulated=shown["simulated"]), mark)
    reasons = reasons_of(shown["rows"])
    if reasons:
        yield f"<h2>{mark}Reasons</h2>\n<ul>"
        yield from (f"<li>{mark}{safe(', '.join(rows))}: {safe(sentence(why))}</li>" for why, rows in reasons.items())
        yield "</ul>"


def _table(rows: Sequence[Sequence[str]], mark: str) -> str:
    heads = "".join(f"<th>{safe(head.capitalize())}</th>" for head in rows[0])
    body = "\n".join(_table_row(row, mark) for row in rows[1:])
    return f"<table>\n<tr>{heads}</tr>\n{body}\n</table>"


def _table_row(row: Sequence[str], mark: str) -> str:
    first, *rest = map(safe, row)
    return f"<tr><td>{mark}{first}</td>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
