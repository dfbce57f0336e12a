"""Connections to endpoints: one client for a process, event loop and origin, shared and closed."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.limits import response_bound
from merrow_runtime.models.origins import is_loopback, origin_of

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

OFFLINE_HINT = ", or use the embedded model with: --base-url offline"
"""How the sentence about missing packages ends."""
_CONNECT_SECONDS = 15.0
_KEEPALIVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and how requests go. ``proxy``: an address, False for none, None for what the environment says
    (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``), which never counts for this very machine.
    ``environment_headers``: organization, project and custom headers that the environment sets for the ``openai``
    package go along; they belong to the origin that the environment means.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 64
    proxy: str | bool | None = field(default=None, repr=False)
    environment_headers: bool = False


class Client:
    """Sends requests as the ``openai`` package would: to its address, with its headers, over its transport.

    They are built once here. The package builds them again for each request and walks typed results, which takes more than
    half of the time of a call; plain requests need none of it.
    """

    def __init__(self, package: AsyncOpenAI, transport: httpx2.AsyncClient, *, has_key: bool) -> None:
        httpx: Any = importlib.import_module("httpx2")
        self._package = package
        self._transport = transport
        self._headers = httpx.Headers()
        for name, value in {**package.auth_headers, **package.default_headers}.items():
            if isinstance(value, str) and (has_key or name.lower() != "authorization"):
                self._headers[name] = value
        self._request, self._url = httpx.Request, httpx.URL
        self._addresses: dict[str, httpx2.URL] = {}

    async def send(self, path: str, seconds: float, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        """The answer to a GET, or with ``body`` to a POST of it as JSON, its own body still to be read: the caller closes it.

        Connecting, and each wait for bytes, may take up to ``seconds``. Raises ``httpx2.HTTPError``, ``aiohttp.ClientError``,
        `OSError`.
        """
        if path not in self._addresses:
            self._addresses[path] = self._url(str(self._package.base_url).rstrip("/") + path)
        limits = {"connect": min(seconds, _CONNECT_SECONDS), "read": seconds, "write": seconds, "pool": seconds}
        content = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        request = self._request(
            "GET" if body is None else "POST",
            self._addresses[path],
            headers=self._headers,
            content=content,
            extensions={"timeout": limits},
        )
        return await self._transport.send(request, stream=True)

    def events(self, response: httpx2.Response) -> AsyncIterator[object]:
        """The events of an answer that is streamed, as plain data. Raises ``openai.APIError`` for one that is an error."""
        openai = importlib.import_module("openai")
        stream: AsyncIterator[object] = openai.AsyncStream(cast_to=object, response=response, client=self._package)
        return stream

    async def close(self) -> None:
        """Close its connections."""
        await self._package.close()


@dataclass(slots=True)
class _Shared:
    client: Client
    users: int = 0


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Connection, _Shared]] = WeakKeyDictionary()


async def acquire(connection: Connection) -> Client:
    """The client for a connection; each `acquire` is followed by one `release` on the same event loop."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        # Import and certificates take most of a second: in a thread, so that a language server answers meanwhile.
        made = await asyncio.to_thread(_client, connection)
        clients.setdefault(connection, _Shared(made))
    shared = clients[connection]
    shared.users += 1
    return shared.client


async def release(connection: Connection) -> None:
    """Give a client back; the last one closes it."""
    clients = _clients.get(asyncio.get_running_loop(), {})
    shared = clients.get(connection)
    if shared is None:
        return
    shared.users -= 1
    if shared.users <= 0:
        del clients[connection]
        await shared.client.close()


def _client(connection: Connection) -> Client:
    try:
        openai, httpx = importlib.import_module("openai"), importlib.import_module("httpx2")
        importlib.import_module("aiohttp")
    except ImportError as problem:
        raise EndpointFailure(
            f"Real endpoints need the package {problem.name}, which is not installed; install it with: pip install"
            f" 'openai[aiohttp]'{OFFLINE_HINT}",
            fatal=True,
            remedy="packages",
            sent=False,
        ) from None
    from_environment = connection.proxy is None and not is_loopback(origin_of(connection.base_url))
    has_tls = connection.base_url.casefold().startswith("https:") or from_environment or bool(connection.proxy)
    transport = openai.DefaultAioHttpClient(
        verify=has_tls,  # without TLS anywhere, reading the certificates would be a waste
        follow_redirects=False,
        trust_env=from_environment,
        proxy=connection.proxy if isinstance(connection.proxy, str) else None,
        limits=httpx.Limits(
            max_connections=connection.concurrency,
            max_keepalive_connections=connection.concurrency,
            keepalive_expiry=_KEEPALIVE_SECONDS,
        ),
        event_hooks={"response": [response_bound()]},
    )
    client: AsyncOpenAI = openai.AsyncOpenAI(
        # The package takes an empty key for a missing one and then reads the environment's.
        api_key=connection.api_key or "none",
        base_url=connection.base_url,
        max_retries=0,
        http_client=transport,
        default_headers=None if connection.environment_headers else _without_environment(connection, openai.Omit()),
    )
    client.admin_api_key = None
    if not connection.environment_headers:
        client.organization = client.project = None
    return Client(client, transport, has_key=bool(connection.api_key))


def _without_environment(connection: Connection, omit: Any) -> dict[str, Any]:
    """Headers that take precedence over those of OPENAI_CUSTOM_HEADERS, which may hold a key for another origin."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    names = {name.strip() for name, colon, _ in (line.partition(":") for line in lines) if colon}
    ours = {
        "accept": "application/json",
        "authorization": f"Bearer {connection.api_key or 'none'}",
        "content-type": "application/json",
    }
    return ours | {name: ours.get(name.lower(), omit) for name in names}
