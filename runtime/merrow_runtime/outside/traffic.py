"""How much a server may send between two requests, whatever carries it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from merrow_runtime.values import is_deeper

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

MOST_MESSAGES = 1_000
"""What a server may send during one call that answers nothing: notifications, requests of its own, answers that come late."""
DEEPEST = 100
"""Levels of a message."""
_LONGEST_NUMBER = 10


class MessageTraffic:
    """What goes to a server and comes from it. ``end`` is called with what the server did, the rest of a sentence after its name,
    when it goes beyond a limit; then nothing more is read.
    """

    def __init__(self, end: Callable[[str], None]) -> None:
        self._end = end
        self._open: set[str] = set()
        """Requests that wait for an answer. A number may come back as a text."""
        self._last = 0
        self._came = 0

    def sent(self, message: object) -> None:
        """A message goes to the server."""
        if isinstance(message, JSONRPCRequest):
            self._open.add(str(message.id))
            self._last += 1
            self._came = 0

    def takes(self, message: object) -> bool:
        """Whether a message of the server is passed on."""
        if is_deeper(_payload(message), DEEPEST):
            self._end(f"sent a message of more than {DEEPEST} levels")
            return False
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            name = str(message.id)
            if name in self._open:
                self._open.discard(name)
                return True
            if not (name.isdecimal() and len(name) < _LONGEST_NUMBER and 0 < int(name) <= self._last):
                self._end("answered a request that was never made")
                return False
        self._came += 1
        if self._came > MOST_MESSAGES:
            self._end(f"sent more than {MOST_MESSAGES:,} messages that answer nothing during one call")
        return self._came <= MOST_MESSAGES


def _payload(message: object) -> object:
    if isinstance(message, JSONRPCNotification | JSONRPCRequest):
        return message.params
    if isinstance(message, JSONRPCError):
        return message.error.data
    return message.result if isinstance(message, JSONRPCResponse) else None


class Incoming:
    """A transport's stream of messages from the server, as far as its `MessageTraffic` takes them."""

    def __init__(self, stream: Any, traffic: MessageTraffic) -> None:
        self._stream, self._traffic = stream, traffic

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._stream.receive()
        if not isinstance(item, Exception) and not self._traffic.takes(item.message):
            raise anyio.EndOfStream
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outgoing:
    """A transport's stream of messages to the server, of which its `MessageTraffic` hears."""

    def __init__(self, stream: Any, traffic: MessageTraffic) -> None:
        self._stream, self._traffic = stream, traffic

    async def send(self, item: SessionMessage) -> None:
        self._traffic.sent(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
