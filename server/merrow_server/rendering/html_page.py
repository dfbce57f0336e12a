"""A report as one HTML file without network and script: its frame, the style that all of them share, and texts made safe."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from merrow_server.files import write_bytes
from merrow_server.rendering.counts import counted
from merrow_server.rendering.page_colours import COLOURS
from merrow_server.rendering.snippet import plain

_FOLDED = 120
"""Characters above which a text is folded, or line ends."""
_STYLE = (
    ":root { color-scheme: light dark; --good: #2e7d32; --bad: #c62828; --odd: #b26a00; --blue: #1976d2;"
    + " --line: #8886; --soft: #8882; }\n"
    + COLOURS
    + """\
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
h1, p, li, td, pre, dd { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
table { border-collapse: collapse; } th { text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; vertical-align: top; }
pre { white-space: pre-wrap; background: var(--soft); padding: .5rem; max-height: 30rem; overflow: auto; }
.number { text-align: right; white-space: nowrap; } summary { cursor: pointer; }
"""
)


def page(title: str, body: Iterable[str], style: str = "", images: bool = False) -> Iterator[str]:
    """The lines of a page whose ``body`` is HTML already; ``style`` comes after the one of all pages, and ``images`` says that
    pictures stand in it as data.
    """
    style = _STYLE + style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    if images:
        policy += "; img-src data:"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{safe(title)}</title>\n<style>{style}</style>\n</head>\n<body>"
    yield from body
    yield "</body>\n</html>"


def write_page(lines: Iterable[str], file: str | None) -> None:
    """Print a page, or write it to a ``file`` where one is named, a part after the other. Raises `InputError`."""
    parts = (part for line in lines for part in (line, "\n"))
    if file is None:
        from merrow_server.rendering.terminal import emit  # the editor extension has the rest of this module without it

        emit(parts)
    else:
        write_bytes(Path(file), (part.encode("utf-8", "surrogatepass") for part in parts))


def safe(text: object) -> str:
    """A text as HTML shows it, with what can't be seen made visible."""
    return escape(plain(str(text)), quote=False)


def folded(text: str, most: int) -> str:
    """A text, folded where it is long; what is beyond ``most`` characters is left out, and that is said."""
    text = plain(text)
    left = len(text) - most
    if left > 0:
        text = f"{text[:most]}\n... and {counted(left, 'more character')}, see merrow show"
    if len(text) <= _FOLDED and "\n" not in text:
        return escape(text, quote=False)
    line = text.partition("\n")[0]
    # The first line of a list or record says nothing.
    first = (line if line not in ("[", "{") else " ".join(text[: 2 * _FOLDED].split()))[:80]
    return (
        f"<details><summary>{escape(first, quote=False)}...</summary><pre>{escape(text, quote=False)}</pre></details>"
    )
