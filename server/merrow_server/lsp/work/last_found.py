"""What the journal last said of each open workflow, for the lens above it: looked for a while after the text came to rest."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lsprotocol import types

from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.following import Following
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_server.jobs.orders import EditorWorkflow
    from merrow_server.jobs.session import Session

log = logging.getLogger(__name__)

Json = dict[str, Any]
Glance = Callable[[str], bool]
Ask = Callable[["Session", "EditorWorkflow"], Json | None]
_REST = 0.7
"""Seconds that a text must rest before it is compared with what was evaluated."""
_FRESH = 60.0
"""Seconds for which what was found counts; another process may have evaluated meanwhile."""


@dataclass(slots=True)
class _Looked:
    """What was found for a state of a diagram, and when."""

    found: Json | None
    analysis: Analysis
    at: float


class LastFound:
    """The last evaluations, or the last searches that found something better. Asking never waits: what is not known is looked
    for, and the client told to ask again. ``glance`` says whether there may be any of a workflow, by the whole path of its file,
    without loading the runtime; ``ask`` is asked in the thread of the runs.
    """

    def __init__(self, server: Host, jobs: Following, glance: Glance, ask: Ask) -> None:
        self._server = server
        self._jobs = jobs
        self._glance = glance
        self._ask = ask
        self._looked: WeakKeyDictionary[OpenDiagram, _Looked] = WeakKeyDictionary()
        self._waiting: WeakKeyDictionary[OpenDiagram, tuple[asyncio.Handle, Analysis]] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, diagram: OpenDiagram, number: int) -> Json | None:
        """What is known of a diagram, as ``ask`` has it."""
        looked = self._looked.get(diagram)
        if looked is None or looked.analysis is not diagram.analysis or time.monotonic() - looked.at > _FRESH:
            self._look_soon(diagram, number)
        return None if looked is None else looked.found

    def forget(self) -> None:
        """Some were made or deleted."""
        self._looked.clear()
        self._refresh()

    def _look_soon(self, diagram: OpenDiagram, number: int) -> None:
        """Look once the text has rested; whoever types on puts it off."""
        waiting = self._waiting.get(diagram)
        if waiting is not None:
            if waiting[1] is diagram.analysis:
                return
            waiting[0].cancel()
        try:
            handle = asyncio.get_running_loop().call_later(_REST, self._begin, diagram, number)
        except RuntimeError:  # There is none in a server that ends.
            return
        self._waiting[diagram] = handle, diagram.analysis

    def _begin(self, diagram: OpenDiagram, number: int) -> None:
        self._waiting.pop(diagram, None)
        task = asyncio.ensure_future(self._look(diagram, number))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, diagram: OpenDiagram, number: int) -> None:
        if self._server.document(diagram.document.uri) is not diagram.document:
            return  # It was closed.
        before, text = self._looked.get(diagram), text_of(diagram, number)
        looked = _Looked(None, diagram.analysis, time.monotonic())
        if text.file is not None and await asyncio.to_thread(self._glance, text.name):
            try:
                looked.found = await self._jobs.ask(lambda session: self._ask(session, text))
            except FeatureError as problem:  # such as a journal that can't be read
                log.info("A lens is not shown: %s", problem)
        self._looked[diagram] = looked
        if looked.found != (None if before is None else before.found):
            self._refresh()

    def _refresh(self) -> None:
        if self._server.supports.refresh_code_lenses and self._server.documents:
            self._server.protocol.send_request(types.WORKSPACE_CODE_LENS_REFRESH)


def evaluated(workflow: str) -> bool:
    """A glance at the journal: where nothing was evaluated, nothing of the runtime is loaded."""
    from merrow_runtime.store.glance import has_evaluation

    return has_evaluation(workflow)


def searched(workflow: str) -> bool:
    """The same for searches."""
    from merrow_runtime.store.glance import has_search

    return has_search(workflow)
