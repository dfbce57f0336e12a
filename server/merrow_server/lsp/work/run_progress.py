"""Progress of what runs: the node that was last heard of, how many are done, what was spent; the client may cancel it."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host

if TYPE_CHECKING:
    from concurrent.futures import Future


log = logging.getLogger(__name__)

_ENDED = frozenset({"node_finished", "node_reused", "node_skipped", "node_failed"})
_MOST_ROUNDS = 1_000
_ROUNDS = frozenset({"turn_started", "item_started"})


def round_text(event: dict[str, Any]) -> str:
    """Which turn of a Loop or item of a Map an event tells of: ``turn 2 of 4``."""
    what = "turn" if "turn" in event else "item"
    return f"{what} {event[what]} of {event['of']}"


def stopped_text(event: dict[str, Any]) -> str:
    """That a Loop stopped although it wanted another turn: ``turns ran out after turn 3``."""
    return f"{'budget' if event['why'] == 'budget' else 'turns'} ran out after turn {event['turns']}"


class ShownProgress:
    """Shows progress to a client that can; ``cancel`` is called when the user presses the button there."""

    def __init__(self, server: Host, title: str, cancel: Callable[[], None]) -> None:
        self._server = server
        self._title = title
        self._cancel = cancel
        self._token: types.ProgressToken | None = None
        self._shown: tuple[str, int, int] | None = None

    async def begin(self) -> None:
        """Show it from now on, under the client's own token or one that it is asked to show."""
        server = self._server
        token = EXECUTION.get().token
        if token is None:
            if not server.supports.progress:
                return
            token = str(uuid.uuid4())
            try:
                await server.work_done_progress.create_async(token)
            except Exception:
                log.exception("The client shows no progress.")
                return
        self._token = token
        server.work_done_progress.begin(token, types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=0))
        server.work_done_progress.tokens[token].add_done_callback(self._ended)

    def _ended(self, future: Future[Any]) -> None:
        if future.cancelled():
            self._cancel()

    def report(self, message: str, done: int, total: int) -> None:
        """Tell the client, where there is anything new."""
        if self._token is None or (message, done, total) == self._shown:
            return
        self._shown = message, done, total
        report = types.WorkDoneProgressReport(message=message, percentage=100 * done // max(total, 1), cancellable=True)
        self._server.work_done_progress.report(self._token, report)

    def end(self) -> None:
        """It is over."""
        token, self._token = self._token, None
        if token is None:
            return
        with contextlib.suppress(Exception):  # the client may be gone
            self._server.work_done_progress.end(token, types.WorkDoneProgressEnd())
        self._server.work_done_progress.tokens.pop(token, None)


class RunProgress(ShownProgress):
    """That of a run."""

    def __init__(self, server: Host, title: str, cancel: Callable[[], None]) -> None:
        super().__init__(server, title, cancel)
        self._total = 0
        self._done: set[str] = set()
        self._node = ""
        self._rounds: dict[str, str] = {}
        """By the path of a turn or an item, which of how many it is; those that began last."""
        self._cost: float | None = 0.0
        self._estimated = False

    def take(self, event: dict[str, Any]) -> None:
        """What an event says of the progress."""
        from merrow_runtime.visit import is_called

        kind, node = event["event"], event["node"]
        if kind == "run_started":
            self._total = event["nodes"]
        if node is not None:
            # In a turn or an item the name says in which.
            path = event.get("path") or ""
            self._node = f"{path}/{node}" if path else node
            if kind in _ROUNDS:
                frame = f"{self._node}[{event.get('turn', event.get('item'))}]"
                self._rounds[frame] = round_text(event)
                if len(self._rounds) > _MOST_ROUNDS:
                    del self._rounds[next(iter(self._rounds))]
                path = frame
            if path in self._rounds:
                self._node += f", {self._rounds[path]}"
        if kind in _ENDED and not is_called(event.get("path") or ""):
            self._done.add(node)
        usage = event.get("usage") if node is not None and kind != "node_reused" else None
        if usage is not None and self._cost is not None:
            cost = usage["cost_usd"]
            self._cost = None if cost is None else self._cost + cost
            self._estimated = self._estimated or bool(usage.get("estimated"))

    def show(self) -> None:
        """Tell the client, where there is anything new."""
        if not self._node:
            return
        from merrow_server.reports.run_report import cost_text

        done = min(len(self._done), self._total)
        cost = cost_text({"cost_usd": self._cost, "estimated": self._estimated})
        self.report(f"{self._node}, {done} of {self._total} nodes done, {cost}", done, self._total)


class CaseProgress(ShownProgress):
    """Shows how many of ``count`` cases have ended."""

    def __init__(self, server: Host, title: str, cancel: Callable[[], None], count: int) -> None:
        super().__init__(server, title, cancel)
        self._total = count
        self._ended_cases = 0

    def tell(self, event: dict[str, Any]) -> None:
        """A case has begun (no ``result``), or ended."""
        self._ended_cases += event["result"] is not None
        message = f"{event['id']}, {self._ended_cases} of {self._total} cases done"
        self.report(message, self._ended_cases, self._total)
