"""What the environment, and the system, say of the way to an endpoint: proxies, trusted certificates, more headers."""

from __future__ import annotations

import importlib
import os
import re
import ssl
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from merrow_runtime.models.origins import is_loopback

_HASHED = re.compile(r"[0-9a-fA-F]{8}\.[0-9]")
"""The names under which OpenSSL looks for certificates in a folder."""


def trusted_certificates() -> ssl.SSLContext:
    """Trust what ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` name, else what the system trusts."""
    named = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
    if named or (sys.platform not in ("win32", "darwin") and _finds_certificates()):
        return ssl.create_default_context()
    truststore: Any = importlib.import_module("truststore")
    context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return context


def _finds_certificates() -> bool:
    """Whether OpenSSL finds the system's certificates without help; each connection opens faster then. A Python that was built
    on another system may look in a folder whose files have other names than OpenSSL looks for.
    """
    paths = ssl.get_default_verify_paths()
    if paths.cafile is not None or paths.capath is None:
        return paths.cafile is not None
    try:
        return any(_HASHED.fullmatch(file.name) for file in Path(paths.capath).iterdir())
    except OSError:
        return True  # OpenSSL lists nothing: it opens what it looks for


def headers_of_environment() -> dict[str, str]:
    """The headers that the environment sets for the ``openai`` package, as it reads them."""
    headers = {}
    for variable, name in (("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")):
        value = os.environ.get(variable, "").strip()
        if value:
            headers[name] = value
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if name and colon:
            headers[name.casefold()] = value
    return headers


def proxy_of_environment(base_url: str, origin: str) -> str | None:
    """The proxy for an address, which is of ``origin``; None where it has none. This very machine never has one."""
    if is_loopback(origin):
        return None
    address, proxies = urlsplit(base_url), getproxies()
    proxy = (proxies.get(address.scheme) or proxies.get("all") or "").strip()
    # With the port, and without: only so an IPv6 address is found in NO_PROXY.
    if not proxy or proxy_bypass(address.netloc) or proxy_bypass(address.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
