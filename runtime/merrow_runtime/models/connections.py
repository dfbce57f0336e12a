"""Connections to endpoints: one client for a process, event loop and origin, shared and closed."""

from __future__ import annotations

import asyncio
import importlib
import json
import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.environment import headers_of_environment, proxy_of_environment, trusted_certificates
from merrow_runtime.models.limits import CODINGS
from merrow_runtime.models.origins import origin_of

if TYPE_CHECKING:
    import aiohttp

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


def sendable(connection: Connection) -> Connection:
    """The connection without blanks around its address and its key. Raises `UsageFailure` for a key that can't be sent."""
    key = (connection.api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageFailure("The key has characters that no key has: copy it again where it is set.", remedy="key")
    return replace(connection, base_url=connection.base_url.strip(), api_key=key or None)


class Client:
    """Sends requests over connections that it keeps open for the next ones."""

    def __init__(
        self, base_url: str, session: aiohttp.ClientSession, headers: Mapping[str, str], proxy: str | None
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._session = session
        self._headers = headers
        self._proxy = proxy
        self._timeout: type[aiohttp.ClientTimeout] = importlib.import_module("aiohttp").ClientTimeout

    def send(
        self, path: str, seconds: float, body: Mapping[str, Any] | None = None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The answer to a GET, or with ``body`` to a POST of it as JSON, within the context; its own body is still to be read,
        by `merrow_runtime.models.limits.pieces`.

        Connecting, and each wait for bytes, may take up to ``seconds``. Raises ``aiohttp.ClientError``, `OSError`, and
        `ValueError` for a header or an address that can't be sent.
        """
        return self._session.request(
            "GET" if body is None else "POST",
            self._base_url + path,
            # Not those of the session: that would give them to the proxy as well, the key as its password.
            headers=self._headers,
            data=None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
            timeout=self._timeout(None, sock_connect=min(seconds, _CONNECT_SECONDS), sock_read=seconds),
            proxy=self._proxy,
            # The key stays where it was sent.
            allow_redirects=False,
        )

    @property
    def is_proxied(self) -> bool:
        """Whether requests go through a proxy."""
        return self._proxy is not None

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()


@dataclass(slots=True)
class _Shared:
    client: Client
    users: int = 0


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Connection, _Shared]] = WeakKeyDictionary()


async def acquire(connection: Connection) -> Client:
    """The client for a connection; each `acquire` is followed by one `release` on the same event loop.

    Raises `EndpointFailure` where the package for requests is missing, or the proxy has an address that can't be used.
    """
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        # Import and certificates take a quarter of a second, and some systems look up names to tell the proxy: in a thread, so
        # that a language server answers meanwhile.
        proxy, trusted = await asyncio.to_thread(_prepare, connection)
        if connection not in clients:
            clients[connection] = _Shared(_client(connection, proxy, trusted))
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


def _prepare(connection: Connection) -> tuple[str | None, ssl.SSLContext | bool]:
    """Import what requests need; the proxy, and which certificates are trusted. Raises `EndpointFailure`."""
    proxy = _proxy_of(connection)
    try:
        importlib.import_module("aiohttp")
        return proxy, trusted_certificates() if _has_tls(connection.base_url) or _has_tls(proxy or "") else True
    except ImportError as problem:
        raise EndpointFailure(
            f"Real endpoints need the package {problem.name}, which is not installed; install it with: pip install"
            f" {problem.name}{OFFLINE_HINT}",
            fatal=True,
            remedy="packages",
            sent=False,
        ) from None


def _client(connection: Connection, proxy: str | None, trusted: ssl.SSLContext | bool) -> Client:
    aiohttp: Any = importlib.import_module("aiohttp")
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connection.concurrency, keepalive_timeout=_KEEPALIVE_SECONDS, ssl=trusted),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # `limits.pieces` does that, up to a limit
        trust_env=False,  # which would read passwords from .netrc too; `_proxy_of` reads what counts
    )
    return Client(connection.base_url, session, _headers(connection), proxy)


def _headers(connection: Connection) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "accept-encoding": ", ".join(CODINGS),
        "content-type": "application/json",
        "user-agent": "merrow",
    }
    if connection.api_key:
        headers["authorization"] = f"Bearer {connection.api_key}"
    return headers | (headers_of_environment() if connection.environment_headers else {})


def _proxy_of(connection: Connection) -> str | None:
    """The address of the proxy that requests pass through; None where there is none. Raises `EndpointFailure`."""
    if connection.proxy is False:
        return None
    origin = origin_of(connection.base_url)
    proxy = connection.proxy if isinstance(connection.proxy, str) else proxy_of_environment(connection.base_url, origin)
    if proxy is not None:
        try:
            address = urlsplit(proxy)
            origin_of(address._replace(netloc=address.netloc.rpartition("@")[2]).geturl())
        except (ValueError, UsageFailure):
            raise EndpointFailure(
                f"The proxy for {origin} has an address that can't be used: it must be like `http://proxy:3128`, and SOCKS is"
                " not supported; correct `proxy` in your settings, or HTTPS_PROXY, HTTP_PROXY or ALL_PROXY.",
                fatal=True,
                sent=False,
            ) from None
    return proxy


def _has_tls(address: str) -> bool:
    return address.casefold().startswith("https:")
