"""A workflow file that a page follows, wherever its text comes from."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from merrow_server.errors import InputError
from merrow_server.lsp.documents import OpenDocument

Drawn = Callable[[OpenDocument, int], dict[str, Any]]
"""A diagram of a document, by its number, as the request ``merrow/graph`` answers it."""


class NothingToShowError(InputError):
    """Why a file has no drawing now, in one sentence."""


class ShownFile(ABC):
    """``name`` is what people call it; ``version`` counts what may change its drawing."""

    def __init__(self, name: str) -> None:
        self.name, self.version = name, 1
        self._waiting: set[asyncio.Future[None]] = set()

    def touch(self) -> None:
        """It may look otherwise now: those who wait are told. Called in the event loop."""
        self.version += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def changed(self, since: int, seconds: float) -> None:
        """Return once its version is another one than ``since``, and after ``seconds`` anyway."""
        self.look()
        if self.version != since:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting, seconds)
        finally:
            self._waiting.discard(waiting)

    def look(self) -> None:  # noqa: B027 (only some need it)
        """Find out about changes that nobody reports."""

    @abstractmethod
    async def graph(self, diagram: int) -> dict[str, Any]:
        """The diagram with this number as the request ``merrow/graph`` answers it. Raises `NothingToShowError`."""

    @abstractmethod
    def in_journal(self, diagram: int) -> str | None:
        """What the journal calls the diagram; None for a text that has no file."""


def no_diagram(name: str, diagram: int, count: int, *, too_large: bool) -> NothingToShowError:
    """Why there is no diagram with this number in a file of ``count`` diagrams."""
    if too_large:
        return NothingToShowError(f"{name} is too large to be read.")
    if not count:
        return NothingToShowError(
            f"{name} has no flowchart; a Markdown file has them in blocks that begin with ```mermaid."
        )
    return NothingToShowError(f"{name} has no diagram {diagram}; it has {count}.")
