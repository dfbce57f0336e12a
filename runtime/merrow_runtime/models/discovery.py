"""Model servers on this machine, where nothing says which endpoint to use: found by a look at the ports that they are known by.

What is found is only ever offered. What such a server says is text of a stranger: read up to a limit, within a time, and
names that can't be printed or are too long are left out.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from merrow_runtime.models.origins import is_local

PORTS = (11434, 1234, 8080, 8000, 4000)
"""Of Ollama, LM Studio, llama.cpp, vLLM and LiteLLM."""
PORTS_VARIABLE = "MERROW_DISCOVERY_PORTS"
"""Other ports to look at, separated by commas; none where it is empty."""
SECONDS = 0.3
"""In which a server that is looked for must answer."""
PATIENT_SECONDS = 2.0
"""The same where somebody asked for the list: a busy server may take so long. Where none listens, that is known at once."""
_ASKED_SECONDS = 3.0
"""In which one that is used must: where it has no such answer it says so at once, and a busy machine may take a second."""
_MOST_BYTES = 1_000_000
_MOST_MODELS = 10_000
_LONGEST_NAME = 200
_MOST_SLOTS = 1024


@dataclass(frozen=True, slots=True)
class DiscoveredServer:
    """A server that answers as an endpoint does, and the models that it lists; none while it ``is_loading`` its own."""

    base_url: str
    models: tuple[str, ...]
    is_loading: bool = False


def may_look(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether looking is allowed at all: not in continuous integration (``CI`` is set)."""
    return environment.get("CI", "").strip().casefold() in ("", "0", "false")


def discover(seconds: float = SECONDS, *, again: bool = False) -> tuple[DiscoveredServer, ...]:
    """The servers that answer on loopback within ``seconds``, in the order of their ports; looked for once in a process, or
    ``again``.
    """
    if again:
        _discover.cache_clear()
    return _discover(_ports(os.environ), seconds)


@cache
def _discover(ports: tuple[int, ...], seconds: float) -> tuple[DiscoveredServer, ...]:
    until = time.monotonic() + seconds
    addresses = (f"http://127.0.0.1:{port}/v1" for port in ports)
    answers = [(base_url, _asked(base_url, "/v1/models", until)) for base_url in addresses]
    told = [(base_url, _heard(answer, until + SECONDS / 2)) for base_url, answer in answers]
    servers = [(base_url, listed(answer), _is_loading(answer)) for base_url, answer in told]
    return tuple(
        DiscoveredServer(base_url, models or (), is_loading)
        for base_url, models, is_loading in servers
        if models is not None or is_loading
    )


def _ports(environment: Mapping[str, str]) -> tuple[int, ...]:
    ports = environment.get(PORTS_VARIABLE)
    if ports is None:
        return PORTS
    return tuple(int(word) for word in ports.split(",") if word.strip().isdecimal() and 0 < int(word) < 65_536)


def places_of(base_url: str) -> int | None:
    """How many requests a local server answers at once, where it says so as llama.cpp's does (``GET /props``)."""
    told = _heard_soon(base_url, "/props") if is_local(base_url) else None
    slots = told.get("total_slots") if isinstance(told, Mapping) else None
    return slots if isinstance(slots, int) and not isinstance(slots, bool) and 0 < slots <= _MOST_SLOTS else None


_KNOWN: dict[str, tuple[float, int | None]] = {}
_KNOWN_SECONDS = 60.0
_MOST_KNOWN = 100


def known_places(base_url: str) -> int | None:
    """`places_of`, asked for again after a minute only."""
    now = time.monotonic()
    asked, places = _KNOWN.get(base_url, (0.0, None))
    if base_url not in _KNOWN or now - asked > _KNOWN_SECONDS:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        places = places_of(base_url)
        _KNOWN[base_url] = now, places
    return places


def models_at(base_url: str, key: str | None) -> tuple[str, ...] | None:
    """The models that a server on this machine lists, asked without the client's package; None where it doesn't tell."""
    return listed(_heard_soon(base_url, f"{urlsplit(base_url).path.rstrip('/')}/models", key))


def _heard_soon(base_url: str, path: str, key: str | None = None) -> Any:
    """What a server that is used answers; None where it doesn't in time."""
    until = time.monotonic() + _ASKED_SECONDS
    return _heard(_asked(base_url, path, until, key), until)


def _asked(base_url: str, path: str, until: float, key: str | None = None) -> Future[Any]:
    """A question that goes on in a thread of its own, which nobody waits for beyond its time; answered with JSON, or None."""
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            answer.set_result(_get(base_url, path, until, key))
        except Exception:  # noqa: BLE001 - whatever a stranger's server sends: it is none that can be used
            answer.set_result(None)

    Thread(target=ask, daemon=True, name=f"ask {path}").start()
    return answer


def _heard(answer: Future[Any], until: float) -> Any:
    try:
        return answer.result(max(0.0, until - time.monotonic()))
    except TimeoutError:
        return None


def _get(base_url: str, path: str, until: float, key: str | None) -> Any:
    """What a server answers, read as JSON; None where it refuses, says too much or takes too long. Only ``key`` goes along."""
    parts = urlsplit(base_url)
    if parts.scheme != "http":
        return None
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port or 80, timeout=max(0.001, until - time.monotonic())
    )
    headers = {"Accept": "application/json", "Connection": "close"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    with closing(connection):
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        if response.status not in (http.HTTPStatus.OK, http.HTTPStatus.SERVICE_UNAVAILABLE):
            return None
        body = bytearray()
        while part := response.read1(65_536):
            body += part
            if len(body) > _MOST_BYTES or time.monotonic() > until:
                return None
    return json.loads(bytes(body))


def listed(told: Any) -> tuple[str, ...] | None:
    """The names in an answer to ``GET /models``, sorted; None where it is no list of models. Names that no model has are left
    out: those with characters that can't be printed, and those of more than 200.
    """
    data = told.get("data") if isinstance(told, Mapping) else None
    if not isinstance(data, list):
        return None
    names = [entry.get("id") for entry in data[:_MOST_MODELS] if isinstance(entry, Mapping)]
    return tuple(sorted({name for name in names if isinstance(name, str) and _is_name(name)}))


def _is_loading(told: Any) -> bool:
    """Whether a server says, as llama.cpp's does with status 503, that it is still loading its model."""
    error = told.get("error") if isinstance(told, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    return isinstance(message, str) and "loading" in message[:_LONGEST_NAME].casefold()


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and not name.isspace()
