"""Runs in an editor: ordered, observed, cancelled. The thread that works on them is started by the first one.

Nothing of the runtime is imported here: only the thread does that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import ref

from lsprotocol import types

from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.run_inputs import Inputs
from merrow_server.lsp.work.run_progress import CaseProgress, RunProgress, ShownProgress
from merrow_server.lsp.work.run_questions import ask_about_reuse, ask_about_revision
from merrow_server.lsp.work.run_results import Results
from merrow_server.runs.keys import Keys
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.worker import Worker

if TYPE_CHECKING:
    from merrow_server.runs.orders import CasesOrder, Order
    from merrow_server.runs.session import Session

log = logging.getLogger(__name__)

_T = TypeVar("_T")
Json = dict[str, Any]

RUN_EVENT = "merrow/runEvent"
RUN_FROM, RESUME = "merrow.runFrom", "merrow.resume"
"""Commands that continue a run."""
_PATIENCE = 10.0
"""Seconds for runs to finish in the journal when the server stops: far more than needed, in case the machine is busy. Some
clients wait less and kill it.
"""


What = Literal["run", "evaluation", "search", "cases", "plan", "suggestion"]


@dataclass(slots=True)
class Place:
    """Where a run is shown: a document, the number of the diagram, and the diagram itself while it is open."""

    uri: str | None
    number: int
    diagram: ref[OpenDiagram] | None = None

    def open_diagram(self) -> OpenDiagram | None:
        return None if self.diagram is None else self.diagram()


@dataclass(slots=True)
class LiveRun:
    """A run or other work (``what``) that was ordered and has not ended. ``run`` is its id once it has started, ``beside`` the
    URI of another document that it is of.
    """

    ticket: Ticket
    place: Place
    run: str | None = None
    what: What = "run"
    beside: str | None = None


class Runs:
    """The runs of one server."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._worker = Worker("merrow-runs")
        self._session: Session | None = None
        self._ending = False
        self._warned: set[str] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self.live: dict[Ticket, LiveRun] = {}
        self.keys = Keys()
        self.inputs = Inputs(server)
        self.results = Results(server)
        self.trusted = True
        """Whether the user trusts the workspace; clients without this concept don't report it."""

    async def carry_out(self, order: Order, place: Place, title: str) -> Json:
        """Run to the end and keep the client informed; returns how it ended. The user is asked about results of other endpoints.

        The run is cancelled together with its request. Raises `FeatureError` with a sentence if it can't start.
        """
        try:
            return await self._carry_out(order, place, title)
        except Exception as problem:
            from merrow_runtime.provenance import ForeignResults

            if not isinstance(problem, ForeignResults):
                raise
            found = problem
        reuse = await ask_about_reuse(self._server, found)
        return await self._carry_out(replace(order, reuse=reuse), place, title)

    async def _carry_out(self, order: Order, place: Place, title: str) -> Json:
        """The same without asking. Also raises `ForeignResults`."""
        loop = asyncio.get_running_loop()
        progress = RunProgress(self._server, title, order.ticket.cancel)
        live = LiveRun(order.ticket, place)
        async with self.under_way(live, progress):

            def begun(run: str, name: str) -> None:
                with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                    loop.call_soon_threadsafe(self._begun, live, run, name)

            def deliver(events: list[Json]) -> None:
                self._deliver(live, progress, events)

            async def work() -> Json:
                from merrow_server.runs.channel import Channel

                return await self._here().carry_out(order, begun, Channel(loop, deliver))

            return await self._ask(work)

    @asynccontextmanager
    async def under_way(self, live: LiveRun, progress: ShownProgress) -> AsyncIterator[None]:
        """Within this, what was ordered can be cancelled: with the request that it answers, with the button of its progress, by
        ``merrow.cancel``, and with the trust in the workspace. That holds before the progress is shown, too.
        """
        self.live[live.ticket] = live
        # pygls answers a cancelled request at once and lets its command continue.
        EXECUTION.get().on_cancel(live.ticket.cancel)
        try:
            await progress.begin()
            yield
        finally:
            self.live.pop(live.ticket, None)
            progress.end()

    def works_on(self, place: Place, what: Literal["evaluation", "search"]) -> bool:
        """Whether the workflow open at this place is being evaluated, or a search for a better one is in progress."""
        return place.uri is not None and any(
            live.place.uri == place.uri and live.what == what for live in self.live.values()
        )

    async def test(
        self, order: CasesOrder, live: LiveRun, told: Callable[[Json], None], title: str, count: int
    ) -> Json:
        """Run cases and keep the client informed (``told`` is called here with each); returns the results.

        The test is cancelled together with its request. Raises `FeatureError` if it can't start.
        """
        loop = asyncio.get_running_loop()
        progress = CaseProgress(self._server, title, order.ticket.cancel, count)

        def deliver(event: Json) -> None:
            progress.tell(event)
            told(event)

        def send(event: Json) -> None:
            with contextlib.suppress(RuntimeError):  # the editor's loop is closed
                loop.call_soon_threadsafe(deliver, event)

        async with self.under_way(live, progress):
            return await self._ask(lambda: self._here().test(order, send))

    async def ask(self, work: Callable[[Session], _T]) -> _T:
        """The result of ``work``, called in the thread of the runs. Raises `FeatureError` with a sentence."""

        async def called() -> _T:
            return work(self._here())

        return await self._ask(called)

    async def have(self, work: Callable[[Session], Coroutine[Any, Any, _T]]) -> _T:
        """The same for longer work there."""
        return await self._ask(lambda: work(self._here()))

    def warn_once(self, sentence: str) -> None:
        """Show the user a sentence, only the first time."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, sentence))

    async def stop(self) -> None:
        """Cancel all runs and wait for their end, for a limited time."""
        self._ending = True
        if self._worker.is_started:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(asyncio.wrap_future(self._worker.submit(self._close)), _PATIENCE)

    def end(self) -> None:
        """The same when no event loop is running any more; afterwards there is no thread."""
        self._ending = True
        if self._worker.is_started:
            with contextlib.suppress(Exception):
                self._worker.submit(self._close).result(_PATIENCE)
            self._worker.stop(_PATIENCE)

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _here(self) -> Session:
        """The session; only for the thread of the runs."""
        if self._session is None:
            from merrow_server.runs.session import Session

            self._session = Session(self.keys)
        return self._session

    async def _ask(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        if self._ending:
            raise refused("The language server is ending.")
        future = self._worker.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except Exception as problem:
            from merrow_runtime.errors import RunFailure
            from merrow_runtime.provenance import ForeignResults

            if isinstance(problem, ForeignResults):
                raise
            if isinstance(problem, RunFailure):
                raise FeatureError(str(problem), types.LSPErrorCodes.RequestFailed, problem.fields()) from None
            raise

    def _begun(self, live: LiveRun, run: str, name: str) -> None:
        live.run = run
        if live.place.uri is None:
            live.place = self.place_of(name)
        diagram = live.place.open_diagram()
        if diagram is not None:
            self.results.begin(diagram, run)

    def place_of(self, name: str) -> Place:
        """The place where the workflow with this name in the journal is open."""
        from merrow_server.runs.places import place_of

        where = place_of(name)
        uri, number = where["uri"], where["diagram"]
        diagrams = self._server.diagrams(uri) if uri is not None else []
        document = self._server.document(uri) if uri is not None else None
        diagram = ref(diagrams[number - 1]) if 1 <= number <= len(diagrams) else None
        return Place(uri if document is None else document.uri, number, diagram)

    async def _decided(self, event: Json) -> None:
        """Ask the user to decide on a waiting revision; without an answer, they can still decide with a command."""
        agreed = await ask_about_revision(self._server, event)
        if agreed is not None:
            with contextlib.suppress(FeatureError):  # The run has ended meanwhile.
                await self.ask(lambda session: session.decide(event["run"], event["revision"], apply=agreed))

    def _deliver(self, live: LiveRun, progress: RunProgress, events: list[Json]) -> None:
        """Events of a run: to the client, and to what is shown in the text."""
        place = live.place
        for event in events:
            self._server.protocol.send_plain(RUN_EVENT, {"uri": place.uri, "diagram": place.number, "event": event})
            progress.take(event)
            if event["event"] == "revision_waiting" and not self._server.supports.shows_runs:
                question = asyncio.get_running_loop().create_task(self._decided(event))
                self._questions.add(question)
                question.add_done_callback(self._questions.discard)
        progress.show()
        diagram = place.open_diagram()
        if diagram is not None:
            self.results.take(diagram, events)


def refused(sentence: str, code: str = "usage", remedy: str | None = None) -> FeatureError:
    """An answer that says in one sentence why something isn't done.

    Its data, ``{code, remedy?}``, is for programs: the kind of failure, and what the user can do about it (``key``, ``packages``:
    supply them; ``problems``: look at the errors of the text; ``trust``: trust the workspace).
    """
    data = {"code": code} if remedy is None else {"code": code, "remedy": remedy}
    return FeatureError(sentence, types.LSPErrorCodes.RequestFailed, data)
