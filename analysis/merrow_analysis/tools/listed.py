"""The tools that an agent may use, as its key `tools` lists them."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.text import Span

PERSON = "person"
"""The tool with which an agent asks a person. It is Merrow's own, so it is neither pinned nor declared."""


def listed_tools(text: str) -> Iterator[tuple[str, Span]]:
    """The names in a list such as ``web.search, person``, each once, with their places in it."""
    seen: set[str] = set()
    start = 0
    for piece in text.split(","):
        name = piece.strip()
        if name and name not in seen:
            seen.add(name)
            begin = start + len(piece) - len(piece.lstrip())
            yield name, (begin, begin + len(name))
        start += len(piece) + 1
