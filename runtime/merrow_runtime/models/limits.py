"""How much of an endpoint's answer is read, whatever the endpoint sends: memory stays bounded, decompression included."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

ANSWER_LIMIT = 16 * 2**20
"""Bytes of an answer that is not streamed, and of an error. JSON can take twenty times its size once it is parsed."""
STREAM_LIMIT = 64 * 2**20
"""Bytes of an event stream. Each token comes in an event of its own that is a hundred times its size."""


class TooLargeError(Exception):
    """An answer has more bytes than are read. ``limit`` is in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def response_bound() -> Callable[[Any], Awaitable[None]]:
    """A response hook for an ``httpx2`` client: reading a response's body raises `TooLargeError` beyond its limit.

    Bytes are counted as they arrive and again after decompression.
    """
    httpx: Any = importlib.import_module("httpx2")

    class Bounded(httpx.AsyncByteStream):  # type: ignore[misc]  # a base that is imported only when it is needed
        def __init__(self, source: Callable[[], Any], close: Callable[[], Awaitable[None]], limit: int) -> None:
            self._source, self._close, self._limit = source, close, limit

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._source():
                size += len(piece)
                if size > self._limit:
                    raise TooLargeError(self._limit)
                yield piece

        async def aclose(self) -> None:
            await self._close()

    async def bound(response: Any) -> None:
        streamed = "event-stream" in response.headers.get("content-type", "")
        limit = STREAM_LIMIT if streamed else ANSWER_LIMIT
        stream = response.stream
        bounded = Bounded(stream.__aiter__, stream.aclose, limit)
        codings = response.headers.get("content-encoding")
        if codings is not None:
            packed = httpx.Response(
                200, headers={"content-encoding": codings}, stream=bounded, request=response.request
            )
            bounded = Bounded(packed.aiter_bytes, stream.aclose, limit)
            del response.headers["content-encoding"]
        response.stream = bounded

    return bound
