"""Server-sent events: what an endpoint sends while it writes an answer."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator

_FIELD = b"data:"


async def data_of_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event in a body that comes in ``pieces``, by the rules of the HTML standard (section 9.2): an event ends
    with an empty line, what is unfinished at the end is none, and fields other than ``data`` are left out.
    """
    data: list[bytes] = []
    async for line in _lines(pieces):
        if not line:
            if data:
                yield b"\n".join(data)
                data = []
        elif line.startswith(_FIELD):
            data.append(line[len(_FIELD) :].removeprefix(b" "))
        elif line == b"data":
            data.append(b"")


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines without their ends: a line feed, a carriage return, or both. The last may be unfinished."""
    begun: list[bytes] = []
    is_first = True
    async for piece in pieces:
        begun.append(piece)
        if b"\n" not in piece and b"\r" not in piece:
            continue
        lines = b"".join(begun).splitlines(keepends=True)
        # A carriage return at the end may be half of an end of line.
        begun = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        if is_first and lines:
            lines[0], is_first = lines[0].removeprefix(codecs.BOM_UTF8), False
        for line in lines:
            yield line.rstrip(b"\r\n")
    # What a last carriage return ends; what nothing ends is in no event.
    for line in b"".join(begun).splitlines():
        yield line
