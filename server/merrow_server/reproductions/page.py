"""The table of a reproduction as one HTML file without network and script; whatever names and reasons say is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from merrow_server.rendering.page_colours import COLOURS
from merrow_server.rendering.snippet import plain
from merrow_server.reproductions.table import reasons_of
from merrow_server.reproductions.words import SIMULATED, sentence, table_rows

_STYLE = (
    COLOURS
    + """
:root { color-scheme: light dark; --line: #8886; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } p, li { overflow-wrap: anywhere; }
table { border-collapse: collapse; } th { text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; vertical-align: top; }
td { overflow-wrap: break-word; max-width: 24rem; } td:first-child { white-space: nowrap; }
.mark { color: #b26a00; font-weight: 600; }
"""
)
_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'; base-uri 'none'; form-action 'none'"
)


def as_html(shown: Mapping[str, Any]) -> str:
    """The whole file."""
    return "\n".join(_lines(shown)) + "\n"


def _lines(shown: Mapping[str, Any]) -> Iterator[str]:
    mark = f'<span class="mark">{SIMULATED}</span> ' if shown["simulated"] else ""
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_safe(shown['title'])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{mark}{_safe(shown['title'])} ({_safe(shown['at'])})</h1>"
    for table, several in groupby(shown["rows"], key=lambda row: row["table"]):
        yield f"<h2>{mark}{_safe(table)}</h2>"
        yield _table(table_rows(list(several), is_simulated=shown["simulated"]), mark)
    reasons = reasons_of(shown["rows"])
    if reasons:
        yield f"<h2>{mark}Reasons</h2>\n<ul>"
        yield from (f"<li>{mark}{_safe(', '.join(rows))}: {_safe(sentence(why))}</li>" for why, rows in reasons.items())
        yield "</ul>"
    yield "</body>\n</html>"


def _table(rows: Sequence[Sequence[str]], mark: str) -> str:
    heads = "".join(f"<th>{_safe(head.capitalize())}</th>" for head in rows[0])
    body = "\n".join(_table_row(row, mark) for row in rows[1:])
    return f"<table>\n<tr>{heads}</tr>\n{body}\n</table>"


def _table_row(row: Sequence[str], mark: str) -> str:
    first, *rest = map(_safe, row)
    return f"<tr><td>{mark}{first}</td>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"


def _safe(text: str) -> str:
    return escape(plain(str(text)))
