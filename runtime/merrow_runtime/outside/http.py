"""A server that is reached at an address: streamable HTTP by the package ``mcp``, with bounds around its client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from merrow_runtime.models.limits import ANSWER_LIMIT, STREAM_LIMIT
from merrow_runtime.models.origins import is_loopback, origin_of
from merrow_runtime.outside.stdio import LONGEST_LINE

_CONNECT_SECONDS = 15.0
_GOODBYE_SECONDS = 2.0
_UNAUTHORIZED = 401


class HttpServer:
    """The two streams that a session with the server at ``url`` needs, as an async context manager. ``proxy`` is as in the user's
    settings. ``end`` is called with what the server did, the rest of a sentence after its name; then the streams end.

    A redirect to another origin is not followed. ``status`` is that of the last answer to a message, where it was
    an error.
    """

    def __init__(self, url: str, *, proxy: str | bool | None, seconds: float, end: Callable[[str], None]) -> None:
        self._url, self._proxy, self._seconds, self._end = url, proxy, seconds, end
        self._stack = contextlib.AsyncExitStack()
        self.status: int | None = None

    async def __aenter__(self) -> tuple[Any, Any]:
        origin = origin_of(self._url)
        from_environment = self._proxy is None and not is_loopback(origin)
        client = _BoundedClient(
            self,
            proxy=self._proxy if isinstance(self._proxy, str) else None,
            trust_env=from_environment,
            # Compressed answers are refused: their size would be the server's to choose.
            headers={"accept-encoding": "identity", "user-agent": "merrow"},
            # How long a call may take is the session's.
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS, write=self._seconds),
        )
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(client)
            streams = await stack.enter_async_context(
                streamable_http_client(self._url, http_client=client, max_sse_event_size=LONGEST_LINE)
            )
            self._stack = stack.pop_all()
        return streams

    async def __aexit__(self, *given: Any) -> None:
        await self._stack.__aexit__(*given)

    def check(self, response: httpx2.Response) -> None:
        """Look at an answer before its body is read. Raises `EndedError`."""
        if response.status_code == _UNAUTHORIZED:
            self.refuse("requires you to sign in (OAuth), which is not supported so far")
        if response.next_request is not None:
            place = origin_of(str(response.next_request.url), "redirect")
            if place != origin_of(self._url):
                self.refuse(f"redirects to {place}, which is another address; if you trust it, use that address")
        if response.headers.get("content-encoding", "identity") != "identity":
            self.refuse("sent a compressed answer, which it was asked not to")
        # The client also tries to open a stream with GET, which many servers refuse: that is no answer to a message.
        if response.request.method == "POST":
            self.status = response.status_code if response.is_error else None

    def refuse(self, why: str) -> None:
        """End the session. Raises `EndedError`."""
        self._end(why)
        raise EndedError(why)


class EndedError(Exception):
    """The session has ended, and its server was told of."""


class _BoundedClient(httpx2.AsyncClient):
    def __init__(self, server: HttpServer, **given: Any) -> None:
        super().__init__(**given)
        self._server = server

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        is_streamed = options.pop("stream", False)
        # A session that is over says so with DELETE, and its server may not listen any more.
        async with asyncio.timeout(_GOODBYE_SECONDS if request.method == "DELETE" else None):
            response = await super().send(request, stream=True, **options)
        try:
            self._server.check(response)
        except EndedError:
            await response.aclose()
            raise
        is_events = "event-stream" in response.headers.get("content-type", "")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 (for the type checker)
        response.stream = _CountedStream(response.stream, STREAM_LIMIT if is_events else ANSWER_LIMIT, self._server)
        if not is_streamed:
            await response.aread()
        return response


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, server: HttpServer) -> None:
        self._stream, self._limit, self._server = stream, limit, server

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > self._limit:
                self._server.refuse(f"sent more than {self._limit // 2**20} MB in one answer")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
