"""Connections to endpoints: one client for a process, event loop and origin, shared and closed."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import ssl
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.limits import CODINGS
from merrow_runtime.models.origins import is_loopback, origin_of

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

        Connecting, and each wait for bytes, may take up to ``seconds``. Raises ``aiohttp.ClientError``, `OSError`.
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

    Raises `EndpointFailure` where the package for requests is missing.
    """
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        proxy = _proxy_of(connection)
        # Import and certificates take a quarter of a second: in a thread, so that a language server answers meanwhile.
        trusted = await asyncio.to_thread(_prepare, has_tls=_has_tls(connection.base_url) or _has_tls(proxy or ""))
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


def _prepare(*, has_tls: bool) -> ssl.SSLContext | bool:
    """Import what requests need; which certificates are trusted. Raises `EndpointFailure`."""
    try:
        importlib.import_module("aiohttp")
        return _trusted() if has_tls else True
    except ImportError as problem:
        raise EndpointFailure(
            f"Real endpoints need the package {problem.name}, which is not installed; install it with: pip install"
            f" {problem.name}{OFFLINE_HINT}",
            fatal=True,
            remedy="packages",
            sent=False,
        ) from None


def _trusted() -> ssl.SSLContext:
    """Trusts what ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` name, otherwise what the system trusts."""
    paths = ssl.get_default_verify_paths()
    has_own = paths.cafile is not None or paths.capath is not None
    named = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
    if named or (has_own and sys.platform not in ("win32", "darwin")):
        return ssl.create_default_context()
    truststore: Any = importlib.import_module("truststore")
    context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return context


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
    return headers | (_environment_headers() if connection.environment_headers else {})


def _environment_headers() -> dict[str, str]:
    """The headers that the environment sets for the ``openai`` package, as it reads them."""
    headers = {}
    for variable, name in (("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")):
        if os.environ.get(variable):
            headers[name] = os.environ[variable]
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().casefold()] = value.strip()
    return headers


def _proxy_of(connection: Connection) -> str | None:
    """The address of the proxy that requests pass through; None where there is none."""
    if isinstance(connection.proxy, str):
        return connection.proxy
    if connection.proxy is not None or is_loopback(origin_of(connection.base_url)):
        return None
    address = urlsplit(connection.base_url)
    proxies = getproxies()
    proxy = proxies.get(address.scheme.casefold()) or proxies.get("all")
    if not proxy or proxy_bypass(address.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _has_tls(address: str) -> bool:
    return address.casefold().startswith("https:")
