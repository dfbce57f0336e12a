"""What all that Merrow serves has in common: loopback alone, few connections, sealed pages, and no log but sentences."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

import uvicorn

from merrow_server.errors import InputError
from merrow_server.service.connections import connections

HOSTS = ("127.0.0.1", "localhost")
"""The hosts that a request may name: any other one is a web page's that has its name point here."""
_MOST_CONNECTIONS = 500


def quiet(*names: str) -> None:
    """Have loggers of packages say nothing: what a person must know is said in sentences."""
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def listening(port: int) -> socket.socket:
    """A socket that listens on a port of this machine; 0 is any free one. Raises `InputError`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(_MOST_CONNECTIONS)  # before the address is printed
    except OSError as problem:
        listener.close()
        raise InputError(
            f"Port {port} can't be used: {problem.strerror or problem}. Name another one with --port, or 0 for any free one."
        ) from None
    return listener


def configured(app: Any, last_seconds: int) -> uvicorn.Config:
    """How an application is served; ``last_seconds`` are those that answers under way have at the end."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        http=connections(),
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=last_seconds,
    )


def sealed(policy: str) -> dict[str, str]:
    """The headers of a page that lets nothing in but what the ``policy`` names, and nothing out."""
    return {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
