"""The Dask cluster that answers an evaluation: the user's own, by the address of its scheduler, else one on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from merrow_runtime.installing import how_to_install
from merrow_runtime.models.origins import is_loopback
from merrow_server.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10.0
"""Seconds in which a scheduler must answer."""
_THREADS = 2
"""Chunks at a time of a worker on this machine: while one is at its last items, the next one keeps the worker busy."""
_GO = 2.0
"""Seconds in which a connection must close."""


@dataclass(frozen=True, slots=True)
class ClusterPlacement:
    """Where the items of an evaluation are answered: ``scheduler`` is an address, None for workers on this machine; ``chunk`` how
    many items one task has, None: as many as last about a second.
    """

    scheduler: str | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection to a scheduler. ``notices`` are for the user to read."""

    client: Client
    address: str
    chunk: int | None
    notices: tuple[str, ...] = ()


@asynccontextmanager
async def connected(placement: ClusterPlacement, base_url: str | None) -> AsyncIterator[Cluster]:
    """The cluster of a placement, closed at the end. Workers on this machine have ``base_url`` in their environment where it is
    given, since they choose their endpoint by their own settings. Raises `InputError`.
    """
    try:
        import cryptography  # noqa: F401 (`Security.temporary` needs it)
        import dask
        import distributed
    except ModuleNotFoundError:
        raise InputError(f"--engine dask needs packages that are not installed; {how_to_install('dask')}") from None
    # What Dask logs, and what its tasks leave behind, would go to the terminal; what matters of it is said in sentences here.
    for name in ("asyncio", "tornado", *logging.root.manager.loggerDict):
        if name in ("asyncio", "tornado") or name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if placement.scheduler is None:
        environment = {} if base_url is None else {"OPENAI_BASE_URL": base_url}
        async with _own_cluster(dask, distributed, environment) as (client, address):
            yield Cluster(client, address, placement.chunk)
        return
    address = _checked(placement.scheduler)
    client = await _client(distributed, address)
    notices = []
    if not address.startswith("tls://") and not is_loopback(address.replace("tcp://", "http://")):
        notices.append(
            f"{address} is reached without TLS: anybody on the way can read what is sent and run programs on its workers."
        )
    try:
        yield Cluster(client, address, placement.chunk, tuple(notices))
    finally:
        await _closed(client)


def _checked(address: str) -> str:
    """An address of a scheduler, with its protocol. Raises `InputError` for what is none."""
    whole = address if "://" in address else f"tcp://{address}"
    with suppress(ValueError):
        parts = urlsplit(whole)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.path.strip("/"):
            return whole
    raise InputError(
        f"{address} is not the address of a Dask scheduler; write it as tcp://HOST:PORT or tls://HOST:PORT."
    )


async def _client(distributed: Any, address: str) -> Client:
    """A client of the scheduler at an address. Raises `InputError` where none answers in time."""
    made = distributed.Client(address, asynchronous=True, timeout=CONNECT, set_as_default=False)
    opening = asyncio.ensure_future(made)
    # The client's own limit doesn't hold where a socket is accepted and nothing is said on it.
    await asyncio.wait((opening,), timeout=CONNECT)
    problem: BaseException | None = None
    if opening.done():
        problem = opening.exception()
        if problem is None:
            client: Client = opening.result()
            return client
    opening.cancel()
    await _closed(made)
    why = f" ({problem})" if problem is not None and "TLS" in str(problem) else ""
    raise InputError(
        f"No Dask scheduler answers at {address} within {CONNECT:g} seconds{why}; start one with: dask scheduler"
    )


async def _closed(client: Any) -> None:
    closing = asyncio.ensure_future(client.close(timeout=_GO))
    await asyncio.wait((closing,), timeout=_GO)
    closing.cancel()


@asynccontextmanager
async def _own_cluster(
    dask: Any, distributed: Any, environment: Mapping[str, str]
) -> AsyncIterator[tuple[Client, str]]:
    """Workers on this machine, one a core, which only this process can reach: everybody here could connect to their scheduler,
    and have programs run, without the certificate that is made for it.
    """
    quiet = {
        "distributed.worker.profile.enabled": False,
        # A scheduler answers at a port of its own without a dashboard, too: with nothing, and at any port that is free.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(quiet):
        async with distributed.LocalCluster(
            n_workers=_cores(),
            threads_per_worker=_THREADS,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=distributed.Security.temporary(),
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            asynchronous=True,
            env=dict(environment),
        ) as cluster:
            client = distributed.Client(cluster, asynchronous=True, set_as_default=False)
            await client
            try:
                yield client, cluster.scheduler_address
            finally:
                await _closed(client)


def _cores() -> int:
    """How many cores this process may use."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
