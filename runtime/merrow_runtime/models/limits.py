"""How much of an endpoint's answer is read, whatever the endpoint sends: memory stays bounded, decompression included."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

ANSWER_LIMIT = 16 * 2**20
"""Bytes of an answer that is not streamed, and of an error. JSON can take twenty times its size once it is parsed."""
STREAM_LIMIT = 64 * 2**20
"""Bytes of an event stream. Each token comes in an event of its own that is a hundred times its size."""
CODINGS = ("gzip", "deflate")
"""The compressions that are understood (RFC 9110, 8.4.1)."""

_MOST_CODINGS = 2
"""How many times an answer may be compressed, one over the other."""
_GZIP, _ZLIB = zlib.MAX_WBITS | 16, zlib.MAX_WBITS
_UNPACKED = 2**16
"""Bytes that are unpacked at a time."""


class TooLargeError(Exception):
    """An answer has more bytes than are read. ``limit`` is in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class UndecodableError(Exception):
    """An answer is not compressed as its headers say, or in a way that nobody asked for."""


def pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body of an answer, as it comes in and decompressed. Bytes are counted as they arrive and again after decompression.

    Raises `TooLargeError` beyond the limit, `UndecodableError`, ``aiohttp.ClientError``, `OSError`.
    """
    limit = STREAM_LIMIT if "event-stream" in response.headers.get("content-type", "") else ANSWER_LIMIT
    read = _bounded(response.content.iter_any(), limit)
    codings = ",".join(response.headers.getall("content-encoding", ()))
    if not codings:
        return read
    named = [one for one in (each.strip().casefold() for each in codings.split(",")) if one not in ("", "identity")]
    if len(named) > _MOST_CODINGS or not set(named) <= set(CODINGS):
        raise UndecodableError
    for coding in reversed(named):
        read = _bounded(_unpacked(read, coding), limit)
    return read


async def whole(response: aiohttp.ClientResponse) -> bytes:
    """All of a body; raises what `pieces` does."""
    return b"".join([piece async for piece in pieces(response)])


async def _bounded(read: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for piece in read:
        size += len(piece)
        if size > limit:
            raise TooLargeError(limit)
        yield piece


async def _unpacked(read: AsyncIterator[bytes], coding: str) -> AsyncIterator[bytes]:
    """What is compressed in one way, a little at a time."""
    unpacker = None
    try:
        async for piece in read:
            left = piece
            while left:
                if unpacker is None or unpacker.eof:  # gzip may have several members
                    unpacker = zlib.decompressobj(_window(coding, left))
                yield unpacker.decompress(left, _UNPACKED)
                left = unpacker.unconsumed_tail or unpacker.unused_data
        if unpacker is not None:
            yield unpacker.flush()
    except zlib.error:
        raise UndecodableError from None
    if unpacker is not None and not unpacker.eof:
        raise UndecodableError


def _window(coding: str, beginning: bytes) -> int:
    """What zlib calls the format: many servers send bare deflate under the name of zlib's, which begins with its method."""
    if coding == "gzip":
        return _GZIP
    return _ZLIB if beginning[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS
