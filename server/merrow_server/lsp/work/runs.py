"""Runs and cases in an editor: what is shown of them while they go on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from lsprotocol import types

from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.consents import ConsentAsker
from merrow_server.lsp.work.following import Following, JobLocation, Live, NeedsConsentError, here
from merrow_server.lsp.work.people import People
from merrow_server.lsp.work.run_ends import end_text
from merrow_server.lsp.work.run_inputs import Inputs
from merrow_server.lsp.work.run_progress import CaseProgress, RunProgress
from merrow_server.lsp.work.run_questions import ask_about_reuse, ask_about_revision
from merrow_server.lsp.work.run_results import Results
from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from merrow_server.jobs.orders import CasesOrder, Order

Json = dict[str, Any]

RUN_EVENT = "merrow/runEvent"
RUN_FROM, RESUME = "merrow.runFrom", "merrow.resume"
"""Commands that continue a run."""


class Runs:
    """The runs of one server."""

    def __init__(self, server: Host, jobs: Following) -> None:
        self._server = server
        self._jobs = jobs
        self._warned: set[str] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self.inputs = Inputs(server)
        self.results = Results(server)
        self.consents = ConsentAsker(server, jobs)
        self.people = People(server, jobs, self)
        self.trusted = True
        """Whether the user trusts the workspace; clients without this concept don't report it."""

    async def carry_out(self, order: Order, place: JobLocation, title: str) -> Json:
        """Run to the end and keep the client informed; returns how it ended. The user is asked about results of other endpoints,
        and whether tools may be called and their servers started.

        The run is cancelled together with its request. Raises `FeatureError` with a sentence if it can't start.
        """
        while True:
            try:
                return await self._carry_out(order, place, title)
            except NeedsConsentError as needed:
                await self.consents.get(needed)
            except Exception as problem:
                from merrow_runtime.provenance import ForeignResults

                if not isinstance(problem, ForeignResults):
                    raise
                foreign = problem
                order = replace(order, reuse=await ask_about_reuse(self._server, foreign))

    async def _carry_out(self, order: Order, place: JobLocation, title: str) -> Json:
        """The same without asking. Also raises `ForeignResults`."""
        progress = RunProgress(self._server, title, order.ticket.cancel)
        live = Live(order.ticket, place, "run")

        def deliver(events: list[Json]) -> None:
            self._deliver(live, progress, events)

        from merrow_server.jobs.orders import Hears

        begun = here(lambda run, name: self._begun(live, run, name))
        hears = Hears(begun, asyncio.get_running_loop(), deliver)
        return await self._jobs.carry_out(lambda session: session.runs, order, live, progress, hears)

    def tell_end(self, ended: Json) -> None:
        """Tell a client that has nothing to show runs with how one ended. The questions of one that waits are told one by one."""
        if self._server.supports.shows_runs or ended["status"] == "waiting":
            return
        kind = types.MessageType.Info if ended["status"] == "finished" else types.MessageType.Warning
        self._server.window_show_message(types.ShowMessageParams(kind, plain(end_text(ended))))

    async def test(self, order: CasesOrder, live: Live, told: Callable[[Json], None], title: str, count: int) -> Json:
        """Run cases and keep the client informed (``told`` is called here with each); returns the results. Raises `FeatureError`
        if it can't start.
        """
        progress = CaseProgress(self._server, title, order.ticket.cancel, count)

        def deliver(event: Json) -> None:
            progress.tell(event)
            told(event)

        return await self._jobs.carry_out(lambda session: session.cases, order, live, progress, here(deliver))

    def warn_once(self, sentence: str) -> None:
        """Show the user a sentence, only the first time."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, plain(sentence)))

    def _begun(self, live: Live, run: str, name: str) -> None:
        if live.place.uri is None:
            live.place = self.place_of(name)
        diagram = live.place.open_diagram()
        if diagram is not None:
            self.results.begin(diagram, run)

    def place_of(self, name: str) -> JobLocation:
        """The place where the workflow with this name in the journal is open."""
        from merrow_server.jobs.places import place_of

        where = place_of(name)
        uri, number = where["uri"], where["diagram"]
        diagrams = self._server.diagrams(uri) if uri is not None else []
        document = self._server.document(uri) if uri is not None else None
        diagram = ref(diagrams[number - 1]) if 1 <= number <= len(diagrams) else None
        return JobLocation(uri if document is None else document.uri, number, diagram)

    async def _decided(self, event: Json) -> None:
        """Ask the user to decide on a waiting revision; without an answer, they can still decide with a command."""
        agreed = await ask_about_revision(self._server, event)
        if agreed is not None:
            with contextlib.suppress(FeatureError):  # The run has ended meanwhile.
                await self._jobs.ask(lambda session: session.runs.decide(event["run"], event["revision"], apply=agreed))

    def _deliver(self, live: Live, progress: RunProgress, events: list[Json]) -> None:
        """Events of a run: to the client, and to what is shown in the text."""
        place = live.place
        diagram = place.open_diagram()
        for event in events:
            notice: Json = {"uri": place.uri, "diagram": place.number, "event": event}
            file = None if diagram is None else self.results.file_of(diagram, event)
            if file is not None:
                notice["inside"] = {"uri": file.uri, "diagram": 1}
            self._server.protocol.send_plain(RUN_EVENT, notice)
            progress.take(event)
            if event["event"] == "revision_waiting" and not self._server.supports.shows_runs:
                question = asyncio.get_running_loop().create_task(self._decided(event))
                self._questions.add(question)
                question.add_done_callback(self._questions.discard)
        self.people.take(events)
        progress.show()
        if diagram is not None:
            self.results.take(diagram, events)
