"""How much of an endpoint's answer is read, whatever the endpoint sends: memory stays bounded, decompression included."""

from __future__ import annotations

import codecs
import importlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT = 16 * 2**20
"""Bytes of an answer that is not streamed, of an error, and of one event of a stream. JSON can take twenty times its size once
it is parsed.
"""
STREAM_LIMIT = 64 * 2**20
"""Bytes of an event stream. Each token comes in an event of its own that is a hundred times its size."""

EVENTS = "merrow.events"
"""The extension of a response that has its `Events`."""
_DATA = b"data:"
_DONE = b"[DONE]"
"""The data of the event after the last one."""


class TooLargeError(Exception):
    """An answer has more bytes than are read. ``limit`` is in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(slots=True)
class Events:
    """The lines of an event stream that its reader in the ``openai`` package can take: that knows no limit, and expects JSON in
    each event, also in those that are a sign of life and have no data. ``is_done`` tells that the stream has come to its end,
    which that reader keeps to itself.
    """

    is_done: bool = False

    async def kept(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Lines with data, and the empty ones after events. Raises `TooLargeError` for an event of more than `ANSWER_LIMIT`."""
        begun: list[bytes] = []
        ended = waiting = 0
        """Bytes of the event so far, in lines that have ended and in the one that has not."""
        is_first = True
        async for piece in pieces:
            begun.append(piece)
            waiting += len(piece)
            if b"\n" in piece or b"\r" in piece:
                lines = b"".join(begun).splitlines(keepends=True)
                # A carriage return at the end may be half of an end of line.
                begun = [] if lines[-1].endswith(b"\n") else [lines.pop()]
                waiting = sum(map(len, begun))
                if is_first and lines:
                    lines[0], is_first = lines[0].removeprefix(codecs.BOM_UTF8), False
                for line in lines:
                    ended = ended + len(line) if line.strip(b"\r\n") else 0
                yield b"".join(map(self._line, lines))
            if ended + waiting > ANSWER_LIMIT:
                raise TooLargeError(ANSWER_LIMIT)
        rest = b"".join(begun)
        rest = rest.removeprefix(codecs.BOM_UTF8) if is_first else rest
        yield b"".join(map(self._line, rest.splitlines(keepends=True)))

    def _line(self, line: bytes) -> bytes:
        data = line[len(_DATA) :].strip() if line.startswith(_DATA) else b""
        self.is_done = self.is_done or data.startswith(_DONE)
        has_data = data and not data.startswith(b":")  # which is a comment that was taken for data
        return line if has_data or not line.strip(b"\r\n") else b""


def bounded_client() -> Any:
    """The class of the ``openai`` package's client over aiohttp, with answers of which no more is read than the limits allow:
    beyond them, reading raises `TooLargeError`. Bytes are counted as they arrive and again after decompression.
    """
    httpx: Any = importlib.import_module("httpx2")
    openai: Any = importlib.import_module("openai")

    class BoundedBody(httpx.AsyncByteStream):  # type: ignore[misc]  # a base that is imported only when it is needed
        """What is left of a body, whoever reads on. The package reads on after the last event, so that the connection stays."""

        def __init__(self, pieces: AsyncIterator[bytes], response: httpx2.Response) -> None:
            self._pieces, self._response = pieces, response

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._pieces

        async def aclose(self) -> None:
            await self._response.aclose()

    class BoundedClient(openai.DefaultAioHttpClient):  # type: ignore[misc]  # as above
        async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
            response: httpx2.Response = await super().send(request, stream=True, **options)
            is_stream = "event-stream" in response.headers.get("content-type", "")
            limit, events = STREAM_LIMIT if is_stream else ANSWER_LIMIT, Events()
            pieces = _counted(response.aiter_raw(), limit)
            codings = response.headers.get("content-encoding")
            if codings is not None:
                packed = BoundedBody(pieces, response)
                unpacked = httpx.Response(200, headers={"content-encoding": codings}, stream=packed, request=request)
                pieces = _counted(unpacked.aiter_bytes(), limit)
            bounded: httpx2.Response = httpx.Response(
                response.status_code,
                headers=[header for header in response.headers.raw if header[0].lower() != b"content-encoding"],
                stream=BoundedBody(events.kept(pieces) if is_stream else pieces, response),
                request=request,
                extensions={**response.extensions, EVENTS: events},
            )
            if not stream:
                await bounded.aread()
            return bounded

    return BoundedClient


async def _counted(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > limit:
            raise TooLargeError(limit)
        yield piece
