"""Origins: scheme, host and port of an address, by which endpoints are told apart, trusted and given their key."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from merrow_runtime.errors import UsageFailure

OPENAI_ORIGIN = "https://api.openai.com"
OPENAI_BASE_URL = f"{OPENAI_ORIGIN}/v1"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str, what: str = "base URL") -> str:
    """The origin of an address: lower case, no default port, no user, no path.

    Raises `UsageFailure` for what isn't an ``http`` or ``https`` address of a host, or holds a user or a password; the
    message doesn't repeat the address.
    """
    parts, port = _parts(url, what)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def origin_or_none(url: str | None) -> str | None:
    """The origin of an address; None for what is none."""
    try:
        return None if url is None else origin_of(url)
    except UsageFailure:
        return None


def is_loopback(origin: str) -> bool:
    """Whether an origin is this very machine."""
    host = urlsplit(origin).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(origin: str) -> bool:
    """Whether an origin is this machine or one of a private network, where people keep models of their own."""
    if is_loopback(origin):
        return True
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host.endswith(".local") or (bool(host) and "." not in host)


def _parts(url: str, what: str) -> tuple[SplitResult, int | None]:
    wrong = UsageFailure(f"The {what} is not an address such as `https://host/v1`; correct it where it is set.")
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in _DEFAULT_PORTS or not _is_host(parts.hostname or ""):
        raise wrong
    if parts.username is not None:  # "" in front of a password alone
        raise UsageFailure(
            f"The {what} holds a user name or a password; give the key in an environment variable instead."
        )
    return parts, port


def _is_host(host: str) -> bool:
    """Whether a host can be looked up: the parts of a name have 1 to 63 characters (RFC 1035, 2.3.4)."""
    return all(0 < len(part) < 64 for part in host.rstrip(".").split("."))
