"""Connections to endpoints: one client of the ``openai`` package for a process, event loop and origin, shared and closed."""

from __future__ import annotations

import asyncio
import importlib
import os
import ssl
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.limits import bounded_client
from merrow_runtime.models.origins import is_local, is_loopback, origin_of

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

    from merrow_runtime.models.endpoint import Endpoint

OFFLINE_HINT = ", or use the embedded model with: --base-url offline"
"""How the sentence about missing packages ends."""
DEFAULT_CONCURRENCY = 64
LOCAL_CONCURRENCY = 4
"""Of a server on this machine or in its network that doesn't tell: more would wait in its queue, where their time runs."""
LOCAL_MAX_TOKENS = 4096
"""Tokens of an answer of a model on this machine or in its network, where nothing else is said: small ones may never end."""
_CONNECT_SECONDS = 15.0
_KEEPALIVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Azure:
    """What Azure OpenAI wants to know beside the address: the version of its interface, and the deployment that answers where it
    is not called as the model is. ``has_token`` tells that what stands for the key is a token of Entra ID.
    """

    version: str
    deployment: str | None = None
    has_token: bool = False

    @property
    def key_variable(self) -> str:
        """Where its key, or its token, is expected."""
        return "AZURE_OPENAI_AD_TOKEN" if self.has_token else "AZURE_OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class EndpointConnection:
    """Where and how requests go. ``proxy``: an address, False for none, None for what the environment says
    (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``), which never counts for this very machine.
    ``environment_headers``: organization, project and custom headers that the environment sets for the ``openai``
    package go along; they belong to the origin that the environment means. ``azure`` is None for all but Azure OpenAI.
    ``max_tokens`` is what an answer may have where the request says nothing, None for no limit. ``is_guessed`` tells that
    nobody set ``concurrency``: a server may know better.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = DEFAULT_CONCURRENCY
    proxy: str | bool | None = field(default=None, repr=False)
    environment_headers: bool = False
    azure: Azure | None = None
    max_tokens: int | None = None
    is_guessed: bool = False


def default_concurrency(origin: str) -> int:
    """How many calls are made at the same time where nobody says."""
    return LOCAL_CONCURRENCY if is_local(origin) else DEFAULT_CONCURRENCY


def concurrency_at(endpoint: Endpoint) -> int:
    """How many calls to an endpoint may be on their way at the same time where nothing else is said."""
    connection = getattr(endpoint, "connection", None)
    return connection.concurrency if isinstance(connection, EndpointConnection) else DEFAULT_CONCURRENCY


def sendable(connection: EndpointConnection) -> EndpointConnection:
    """The connection without blanks around its address and its key. Raises `UsageFailure` for a key that can't be sent."""
    key = (connection.api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageFailure("The key has characters that no key has: copy it again where it is set.", remedy="key")
    return replace(connection, base_url=connection.base_url.strip(), api_key=key or None)


def timeout(seconds: float) -> httpx2.Timeout:
    """For a request: connecting, and each wait for bytes, may take up to ``seconds``."""
    httpx: Any = importlib.import_module("httpx2")
    limits: httpx2.Timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS), pool=None)
    return limits


@dataclass(slots=True)
class _SharedClient:
    client: AsyncOpenAI
    users: int = 0


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[EndpointConnection, _SharedClient]] = WeakKeyDictionary()


async def acquire(connection: EndpointConnection) -> AsyncOpenAI:
    """The client for a connection; each `acquire` is followed by one `release` on the same event loop.

    Raises `EndpointFailure` where the package for requests is missing, or a proxy or certificates can't be used.
    """
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if connection not in clients:
        # Import and certificates take most of a second, and some systems look up names to tell the proxy: in a thread, so that a
        # language server answers meanwhile.
        made = await asyncio.to_thread(_client, connection)
        clients.setdefault(connection, _SharedClient(made))
    shared = clients[connection]
    shared.users += 1
    return shared.client


async def release(connection: EndpointConnection) -> None:
    """Give a client back; the last one closes it."""
    clients = _clients.get(asyncio.get_running_loop(), {})
    shared = clients.get(connection)
    if shared is None:
        return
    shared.users -= 1
    if shared.users <= 0:
        del clients[connection]
        await shared.client.close()


def _client(connection: EndpointConnection) -> AsyncOpenAI:
    """Import the package and make its client. Raises `EndpointFailure`."""
    try:
        openai: Any = importlib.import_module("openai")
        importlib.import_module("aiohttp")
    except ImportError as problem:
        raise EndpointFailure(
            f"Real endpoints need the package {problem.name}, which is not installed; install it with: pip install"
            f" 'openai[aiohttp]'{OFFLINE_HINT}",
            fatal=True,
            remedy="packages",
            sent=False,
        ) from None
    given: dict[str, Any] = {
        "max_retries": 0,
        "http_client": _transport(connection),
        "default_headers": _headers(connection, openai.Omit()),
    }
    key, azure = connection.api_key, connection.azure
    if azure is None:
        # The package takes an empty key for a missing one.
        return openai.AsyncOpenAI(api_key=key or "none", base_url=connection.base_url, **given)  # type: ignore[no-any-return]
    return openai.AsyncAzureOpenAI(  # type: ignore[no-any-return]
        azure_endpoint=connection.base_url,
        azure_deployment=azure.deployment,
        api_version=azure.version,
        **{"azure_ad_token" if azure.has_token else "api_key": key or "none"},
        **given,
    )


def _transport(connection: EndpointConnection) -> Any:
    origin = origin_of(connection.base_url)
    from_environment = connection.proxy is None and not is_loopback(origin)
    has_tls = origin.startswith("https:") or from_environment or isinstance(connection.proxy, str)
    httpx: Any = importlib.import_module("httpx2")
    most = DEFAULT_CONCURRENCY if connection.is_guessed else connection.concurrency
    try:
        _refuse_socks(connection, from_environment=from_environment)
        return bounded_client()(
            # Without TLS anywhere, nothing is trusted: reading the certificates would be a waste.
            verify=httpx.create_ssl_context() if has_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            follow_redirects=False,  # the key stays where it was sent
            trust_env=from_environment,
            proxy=connection.proxy if isinstance(connection.proxy, str) else None,
            limits=httpx.Limits(
                max_connections=most,
                max_keepalive_connections=most,
                keepalive_expiry=_KEEPALIVE_SECONDS,
            ),
        )
    except OSError:  # TLS's own errors are some, too
        raise EndpointFailure(
            "The certificates that SSL_CERT_FILE or SSL_CERT_DIR name can't be read; correct these variables.",
            fatal=True,
            sent=False,
        ) from None
    except (ValueError, httpx.InvalidURL):
        raise EndpointFailure(
            f"The proxy for {origin} has an address that can't be used: it must be like `http://proxy:3128`, and SOCKS is"
            " not supported; correct `proxy` in your settings, or HTTPS_PROXY, HTTP_PROXY or ALL_PROXY.",
            fatal=True,
            sent=False,
        ) from None


def _refuse_socks(connection: EndpointConnection, *, from_environment: bool) -> None:
    """Raise `ValueError` for a SOCKS proxy: the package takes it, and aiohttp would speak HTTP to it."""
    address, named = urlsplit(connection.base_url), connection.proxy
    if from_environment and not proxy_bypass(address.hostname or ""):
        proxies = getproxies()
        named = proxies.get(address.scheme) or proxies.get("all")
    if isinstance(named, str) and named.casefold().startswith("socks"):
        raise ValueError(named)


def _headers(connection: EndpointConnection, omitted: Any) -> dict[str, Any]:
    """Headers in place of those of the environment (which may hold a key) where these are for another origin. Those of requests
    go before them: there, the package has the key for Azure.
    """
    if connection.environment_headers:
        return {}
    has_key = connection.azure is None and connection.api_key
    own = {
        "accept": "application/json",
        "authorization": f"Bearer {connection.api_key}" if has_key else omitted,
        "content-type": "application/json",
        "user-agent": "merrow",
    }
    for name in (*_custom_headers(), "OpenAI-Organization", "OpenAI-Project"):
        if name.lower() not in own:
            own[name] = omitted
    return own


def keyless_headers(connection: EndpointConnection) -> dict[str, Any] | None:
    """For each request without a key, which the package would refuse to send otherwise; None with one."""
    has_own = connection.environment_headers and any(name.lower() == "authorization" for name in _custom_headers())
    if connection.api_key or has_own:
        return None
    omitted = importlib.import_module("openai").Omit()
    return {"Authorization": omitted, "api-key": omitted}


def _custom_headers() -> set[str]:
    lines = (line.partition(":") for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"))
    return {name.strip() for name, colon, _ in lines if colon}
