"""Jobs in an editor: ordered, agreed to, followed, cancelled. Their thread is started by the first one.

Nothing of the runtime is imported here: only the thread does that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import unquote
from weakref import ref

from lsprotocol import types

from merrow_server.jobs.keys import Keys
from merrow_server.jobs.ticket import Ticket
from merrow_server.jobs.worker import JobThread
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.run_progress import ShownProgress

if TYPE_CHECKING:
    from merrow_runtime.errors import RunFailure
    from merrow_runtime.outside.consent import ConsentFailure
    from merrow_server.jobs.desk import JobOrder, Kind
    from merrow_server.jobs.session import Session

Json = dict[str, Any]
Agree = Callable[[str], Awaitable[None]]
"""Is given a sentence about what something may cost, and raises where nobody agrees to it."""
Followed = Literal["evaluation", "batch", "search", "extraction", "plan", "suggestion", "reproduction"]
What = Literal["run", "cases", Followed]
_EVENTS: dict[str, str] = {
    "evaluation": "merrow/evaluationEvent",
    "batch": "merrow/evaluationEvent",
    "search": "merrow/searchEvent",
}
"""The notifications that say how far one is; of the others there is only progress."""
_T = TypeVar("_T")
_Order = TypeVar("_Order", bound="JobOrder")
_Told = TypeVar("_Told")
_Done = TypeVar("_Done")

_PATIENCE = 10.0
"""Seconds for jobs to come to their end in the journal when the server stops: far more than needed, in case the machine is busy.
Some clients wait less and kill it.
"""


@dataclass(slots=True)
class JobLocation:
    """Where a job is shown: a document, the number of the diagram, and the diagram itself while it is open."""

    uri: str | None
    number: int
    diagram: ref[OpenDiagram] | None = None

    def open_diagram(self) -> OpenDiagram | None:
        return None if self.diagram is None else self.diagram()


@dataclass(slots=True)
class Live:
    """A job (``what``) that was ordered and has not ended. ``beside`` is the URI of another document that it is of."""

    ticket: Ticket
    place: JobLocation
    what: What
    beside: str | None = None

    @property
    def id(self) -> str | None:
        """Its id in the journal, once it has begun and where it has one."""
        return self.ticket.identity

    def is_of(self, uri: str) -> bool:
        """Whether it is of the document with this URI."""
        return unquote(uri) in {unquote(own) for own in (self.place.uri, self.beside) if own is not None}


@dataclass(frozen=True, slots=True)
class Consent:
    """How the user is asked: what is to be done (``title``), by a ``button`` alone; what else a client can do that can't ask
    (``wanted``: it agrees for that), and what was ``left`` where they don't agree.
    """

    title: str
    button: str
    wanted: str
    left: str

    async def ask(self, server: Host, sentence: str) -> None:
        """Ask whether what the sentence says is agreed to. Raises `FeatureError` where not, and where the client can't ask."""
        question = f"{self.title}: {sentence}"
        params = types.ShowMessageRequestParams(
            types.MessageType.Info, question, [types.MessageActionItem(self.button)]
        )
        try:
            answer = await server.window_show_message_request_async(params)
        except Exception:  # noqa: BLE001 (whatever a client answers that can't ask)
            raise refused(f"{question} Execute the command with `agreed: true` {self.wanted}.") from None
        if answer is None or answer.title != self.button:
            raise FeatureError(self.left, types.LSPErrorCodes.RequestCancelled)


class Following:
    """The jobs of one server: ``live`` are those that have not ended, and only here the thread is spoken to."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._worker = JobThread("merrow-jobs")
        self._session: Session | None = None
        self._ending = False
        self.live: dict[Ticket, Live] = {}
        self.keys = Keys()

    async def forecast(self, what: Followed, order: JobOrder) -> Json:
        """What it may cost; nothing is called. Raises `FeatureError`."""
        return await self.have(lambda session: session.desk.forecast(session.kind(what), order, _silent))

    async def follow(
        self, what: Followed, order: JobOrder, place: JobLocation, title: str, consent: Consent | None = None
    ) -> Any:
        """Work on what is ordered, and tell the client how far it is; what came of it. Where it needs consent, the user is asked
        in the words of ``consent``, but for None. Raises `FeatureError` with a sentence.
        """
        agree = None if consent is None else partial(consent.ask, self._server)
        live = Live(order.ticket, place, what)
        progress = ShownProgress(self._server, title, order.ticket.cancel)
        told = here(partial(self._tell, live, progress) if what in _EVENTS else progress.report)
        return await self.carry_out(lambda session: session.kind(what), order, live, progress, told, agree)

    def _tell(self, live: Live, progress: ShownProgress, news: Json) -> None:
        place, done, total = live.place, news["done"], news["total"]
        self._server.protocol.send_plain(_EVENTS[live.what], {"uri": place.uri, "diagram": place.number, **news})
        of = f"{done:,} of {total:,}" if total else f"{done:,}"
        progress.report(f"{of} answers, {news['text']}", min(done, total), total)

    async def carry_out(
        self,
        kind: Callable[[Session], Kind[_Order, _Told, _Done]],
        order: _Order,
        live: Live,
        progress: ShownProgress,
        told: _Told,
        agree: Agree | None = None,
    ) -> _Done:
        """Work on what is ordered to its end, whatever that is; what came of it. Raises `FeatureError` with a sentence.

        It is cancelled with the request that it answers, with the button of its progress, by ``merrow.cancel``, and with the
        trust in the workspace: in whichever state it is, also before its progress is shown.
        """
        self.live[live.ticket] = live
        # pygls answers a cancelled request at once and lets its command continue.
        EXECUTION.get().on_cancel(live.ticket.cancel)
        loop = asyncio.get_running_loop()

        async def agreed(sentence: str) -> None:
            """Asked here. Who cancels the job meanwhile waits for no answer, which then counts for nothing."""
            assert agree is not None  # noqa: S101 (see below)
            answer = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_called(agree, sentence), loop))
            answer.add_done_callback(lambda future: None if future.cancelled() else future.exception())
            await asyncio.shield(answer)

        def work(session: Session) -> Coroutine[Any, Any, _Done]:
            return session.desk.carry_out(kind(session), order, told, None if agree is None else agreed)

        try:
            await progress.begin()
            return await self.have(work)
        finally:
            self.live.pop(live.ticket, None)
            progress.end()

    async def cancel(self, prefix: str) -> str | None:
        """Cancel a job by its id or the beginning of it, whichever process works on it; its id, None where no process does.
        Raises `FeatureError` where there is none, or several.
        """
        return await self.ask(lambda session: session.desk.cancel(prefix))

    def cancel_all(self, uri: str | None = None) -> list[str]:
        """Cancel the jobs of a document, or all that were ordered here; the ids of those that have one."""
        meant = [live for live in self.live.values() if uri is None or live.is_of(uri)]
        ids = [live.id for live in meant if live.id is not None]  # One that has ended has none any more.
        for live in meant:
            live.ticket.cancel()
        return ids

    def works_on(self, place: JobLocation, what: What) -> bool:
        """Whether there is such a job of the workflow that is open at this place."""
        return place.uri is not None and any(
            live.place.uri == place.uri and live.what == what for live in self.live.values()
        )

    async def ask(self, work: Callable[[Session], _T]) -> _T:
        """The result of ``work``, called in the thread of the jobs. Raises `FeatureError` with a sentence."""

        async def called() -> _T:
            return work(self._here())

        return await self._ask(called)

    async def have(self, work: Callable[[Session], Coroutine[Any, Any, _T]]) -> _T:
        """The same for longer work there."""
        return await self._ask(lambda: work(self._here()))

    async def stop(self) -> None:
        """Cancel all jobs and wait for their end, for a limited time."""
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
        """The session; only for the thread of the jobs."""
        if self._session is None:
            from merrow_server.jobs.session import Session

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
                raise _refusal(problem) from None
            raise


class NeedsConsentError(FeatureError):
    """Something was refused that is done once the user agrees: ``failure`` is what they would agree to."""

    def __init__(self, failure: ConsentFailure) -> None:
        super().__init__(str(failure), types.LSPErrorCodes.RequestFailed, failure.fields())
        self.failure = failure


def _refusal(problem: RunFailure) -> FeatureError:
    from merrow_runtime.outside.consent import ConsentFailure

    if isinstance(problem, ConsentFailure):
        return NeedsConsentError(problem)
    return FeatureError(str(problem), types.LSPErrorCodes.RequestFailed, problem.fields())


def here(function: Callable[..., None]) -> Callable[..., None]:
    """What calls ``function`` in the event loop that runs now, whichever thread calls it."""
    loop = asyncio.get_running_loop()

    def soon(*arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the editor's loop is closed
            loop.call_soon_threadsafe(function, *arguments)

    return soon


def _silent(*_: Any) -> None:
    """Nobody is told."""


async def _called(agree: Agree, sentence: str) -> None:
    await agree(sentence)


def refused(sentence: str, code: str = "usage", remedy: str | None = None) -> FeatureError:
    """An answer that says in one sentence why something isn't done.

    Its data, ``{code, remedy?}``, is for programs: the kind of failure, and what the user can do about it (``key``, ``packages``:
    supply them; ``problems``: look at the errors of the text; ``trust``: trust the workspace).
    """
    data = {"code": code} if remedy is None else {"code": code, "remedy": remedy}
    return FeatureError(sentence, types.LSPErrorCodes.RequestFailed, data)
