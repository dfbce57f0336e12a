"""The workers of a cluster: each is checked before it gets an item, also one that joins later, and refused by name."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from merrow_server.rendering.snippet import visible
from merrow_server.workers import tasks
from merrow_server.workers.cluster import Cluster
from merrow_server.workers.terms import ChunkTerms

Notice = Callable[[str], None]

CHECKED_WITHIN = 120.0
"""Seconds in which a worker must say whether it can work on an evaluation; it reads the data for that."""
_SAID = 300
"""Characters of what a worker says that are shown."""


class Roster:
    """The workers of a cluster that an evaluation can use. ``notice`` is called with a sentence for each that it can't use."""

    def __init__(self, cluster: Cluster, evaluation: str, terms: ChunkTerms, notice: Notice) -> None:
        self.accepted: dict[str, int] = {}
        """Workers that can be used, by address, with how many chunks each takes at a time."""
        self.refused: dict[str, str] = {}
        """Those that can't, and why."""
        self._cluster, self._evaluation, self._terms, self._notice = cluster, evaluation, terms, notice
        self._is_missing = False

    async def refresh(self) -> None:
        """Look who is there now, and check those that are new. Raises `OSError` where the scheduler is gone."""
        client: Any = self._cluster.client
        if client.status != "running":
            raise OSError
        known: dict[str, Any] = (await client.scheduler.identity(n_workers=-1))["workers"]
        for gone in self.accepted.keys() - known.keys():
            del self.accepted[gone]
        for gone in self.refused.keys() - known.keys():
            del self.refused[gone]
        new = [address for address in known if address not in self.accepted and address not in self.refused]
        for address, why in await self._checked(new):
            if why is None:
                self.accepted[address] = int(known[address]["nthreads"])
            else:
                self.refuse(address, why)
        is_missing = not self.accepted
        if is_missing and not self._is_missing and not self.refused:
            self._notice("No worker is in the cluster; waiting for one to join. Ctrl-C stops the evaluation.")
        self._is_missing = is_missing

    async def recheck(self) -> None:
        """Check all workers again: one of them is not what it was."""
        for address, why in await self._checked(list(self.accepted)):
            if why is not None:
                self.refuse(address, why)

    def refuse(self, address: str, why: str) -> None:
        """Use a worker no more."""
        self.accepted.pop(address, None)
        if address not in self.refused:
            self.refused[address] = why
            self._notice(f"Worker {visible(address)} is not used: {why}.")

    @property
    def all_are_refused(self) -> str | None:
        """Says that there is no worker but such that can't be used; None where there is."""
        if self.accepted or not self.refused:
            return None
        address, why = next(iter(self.refused.items()))
        several = len(self.refused) > 1
        return f"No worker can be used: {visible(address)}, because {why}{', and others' if several else ''}."

    async def _checked(self, addresses: Sequence[str]) -> list[tuple[str, str | None]]:
        """Why each worker can't be used, None where it can; without those that went away meanwhile."""
        answers = await asyncio.gather(*map(self._check, addresses), return_exceptions=True)
        checked: list[tuple[str, str | None]] = []
        for address, answer in zip(addresses, answers, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, OSError):
                raise answer
            if not isinstance(answer, BaseException):
                checked.append((address, answer))
        return checked

    async def _check(self, address: str) -> str | None:
        """Why a worker can't be used, None where it can. Raises `OSError` where it has gone."""
        try:
            async with asyncio.timeout(CHECKED_WITHIN):
                return await self._difference(address)
        except TimeoutError:
            return f"it did not say within {CHECKED_WITHIN:g} seconds whether it can work on the evaluation"

    async def _difference(self, address: str) -> str | None:
        must = self._terms.facts
        # With programs of Python alone first: a worker without Merrow, or with another one, can't run one of ours.
        python = await self._run(address, platform.python_version)
        if isinstance(python, str) and python.rpartition(".")[0] != must.python:
            return f"it has Python {_shown(python)}, and the evaluation began with {must.python}; use the same on both"
        merrow = await self._run(address, version, "merrow")
        if isinstance(merrow, ModuleNotFoundError):
            return f"it does not have Merrow; install Merrow {must.version} with its extra dask there"
        if merrow != must.version:
            return f"it has Merrow {_shown(merrow)}, and the evaluation began with {must.version}; use the same on both"
        said = await self._run(address, tasks.check, self._evaluation, self._terms.to_text())
        if isinstance(said, str):
            return _shown(said).removesuffix(".") or None
        return f"it can't be asked what it has ({_shown(f'{type(said).__name__}: {said}')})"

    async def _run(self, address: str, function: Callable[..., Any], *given: str) -> Any:
        """What a function gives at a worker, or the exception that it raised."""
        client: Any = self._cluster.client
        answers = await client.run(function, *given, workers=[address], on_error="return")
        answer = answers.get(address)
        if answer is None or isinstance(answer, OSError):
            raise OSError(address)
        return answer


def _shown(text: object) -> str:
    """What a worker says, which may be anything, as a part of a sentence."""
    whole = visible(" ".join(str(text).split()))
    return whole if len(whole) <= _SAID else whole[:_SAID] + " ..."
