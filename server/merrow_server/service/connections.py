"""Connections of clients: one that sends no whole head of a request in time is closed, so that it takes no place from others."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must have come, from its first byte, or from the beginning of the connection."""
MOST_OF_CLIENT = 64
"""Connections of one address that may be without the head of a request; the next one takes the place of the oldest."""
MOST_WAITING = 256
"""The same of all addresses."""


class Waiting:
    """The connections of a server on which the head of a request is awaited, the oldest first."""

    def __init__(self) -> None:
        self._of_client: dict[str, dict[HttpConnection, None]] = {}
        self._all: dict[HttpConnection, None] = {}

    def __contains__(self, connection: HttpConnection) -> bool:
        return connection in self._all

    def add(self, connection: HttpConnection) -> None:
        """The head of a request is awaited; where that are too many, those that wait longest are closed."""
        own = self._of_client.setdefault(connection.address, {})
        self._all[connection] = own[connection] = None
        for several, most in ((own, MOST_OF_CLIENT), (self._all, MOST_WAITING)):
            if len(several) > most:
                next(iter(several)).give_up()

    def discard(self, connection: HttpConnection) -> None:
        """It is awaited no longer."""
        if connection not in self._all:
            return
        del self._all[connection]
        own = self._of_client[connection.address]
        del own[connection]
        if not own:
            del self._of_client[connection.address]


class HttpConnection(H11Protocol):
    """A connection of one client of the server whose ``waiting`` it is in; see `connections`."""

    waiting: Waiting
    _late: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """Where the client is."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: Any) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._head_came()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close it: the head of a request has not come."""
        self._head_came()
        self.transport.abort()

    def _look(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_came()
        elif self not in self.waiting and not self.transport.is_closing():
            self._late = self.loop.call_later(HEAD_SECONDS, self.give_up)
            self.waiting.add(self)

    def _head_came(self) -> None:
        self.waiting.discard(self)
        if self._late is not None:
            self._late.cancel()
            self._late = None


def connections() -> type[HttpConnection]:
    """The class of the connections of one server."""
    return type("HttpConnection", (HttpConnection,), {"waiting": Waiting()})
