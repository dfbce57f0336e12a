"""Options that ``merrow evaluate`` and ``merrow resume`` share: where the items of an evaluation are answered."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from merrow_server.errors import InputError

if TYPE_CHECKING:
    from merrow_server.workers.cluster import Cluster

ENGINE_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        help="Where items are answered: in this process (local, the default), or by the workers of a Dask cluster.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="The scheduler of the Dask cluster, tcp://HOST:PORT or tls://HOST:PORT; by default, workers on this machine.",
    ),
    click.option(
        "--chunk",
        type=click.IntRange(1, 64),
        metavar="N",
        help="How many items a worker is given at a time; by default, as many as take about a second.",
    ),
)


def check_engine(given: dict[str, Any]) -> None:
    """Raise `InputError` for options of another engine than the chosen one."""
    for option in ("scheduler", "chunk"):
        if given[option] is not None and given["engine"] != "dask":
            raise InputError(f"--{option} goes with --engine dask.")


def cluster_of(given: dict[str, Any]) -> AbstractAsyncContextManager[Cluster | None]:
    """The cluster that `ENGINE_OPTIONS` say, closed at the end; None for the local engine. Entering raises `InputError`."""
    if given["engine"] != "dask":
        return nullcontext()
    from merrow_server.workers.cluster import ClusterPlacement, connected

    return connected(ClusterPlacement(given["scheduler"], given["chunk"]), given.get("base_url"))
