"""Questions of runs to people in an editor: put to its user in a form, a message or a hint at the command line, and answered."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import shlex
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types

from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.following import Following, JobLocation
from merrow_server.lsp.work.person_messages import as_message, choices
from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from merrow_server.jobs.orders import Order

log = logging.getLogger(__name__)

Json = dict[str, Any]
ASK, CANCEL = "merrow/ask", "$/cancelRequest"
_TRIES = 3
"""Times that a form is shown again whose answer does not fit; a person can still answer later."""
_LAST = ("run_finished", "run_failed", "run_cancelled")
"""The events after which nobody waits for an answer any more."""


class Resuming(Protocol):
    """What continues a run and tells the client about it, as `merrow_server.lsp.work.runs.Runs` does."""

    trusted: bool

    async def carry_out(self, order: Order, place: JobLocation, title: str) -> Json: ...

    def tell_end(self, ended: Json) -> None: ...


@dataclass(slots=True)
class _Form:
    """A question that the user is looking at. ``request`` is the id of the request that shows it, where it can be withdrawn."""

    request: str | None = None


class People:
    """The questions to the user of one server. A question that they put off is not shown again until they run or resume the run,
    or ask for it; what waits for it stays as it is, in the journal.
    """

    def __init__(self, server: Host, jobs: Following, runs: Resuming) -> None:
        self._server, self._jobs, self._runs = server, jobs, runs
        self._forms: dict[tuple[str, str], _Form] = {}
        self._put_off: set[tuple[str, str]] = set()
        self._continuing: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, events: list[Json]) -> None:
        """Events of runs that are worked on here: what they ask is put to the user."""
        for event in events:
            kind, run = event["event"], event["run"]
            if kind == "node_asked":
                key = run, _visit(event)
                if key not in self._forms and key not in self._put_off:
                    self._forms[key] = _Form()
                    self._later(self._put_event(key))
            elif kind == "node_answered":
                self._put_off.discard((run, _visit(event)))
                self._withdraw((run, _visit(event)))
            elif kind in _LAST:
                for key in [key for key in self._forms if key[0] == run]:
                    self._withdraw(key)

    def show_again(self, run: str) -> None:
        """The user continues a run: what they had put off is put to them again. ``run`` is its id, or the beginning of it."""
        self._put_off = {key for key in self._put_off if not key[0].startswith(run)}

    async def put(self, run: str, node: str) -> Json | None:
        """Put an open question to the user, because they want to answer it; as `give`, None where they put it off or the client
        can only be told how to answer. Raises `FeatureError` where nothing is asked there.
        """
        question = await self._jobs.ask(lambda session: _people().find(session, run, node))
        key = question["run"], question["visit"]
        self._withdraw(key)  # One form of a question is enough.
        form = self._forms[key] = _Form()
        try:
            return await self._put(question, form)
        finally:
            if self._forms.get(key) is form:
                del self._forms[key]

    async def give(self, run: str, node: str, given: str | Mapping[str, Any] | None, number: int | None = None) -> Json:
        """Answer a question, or decline to (None); the run continues, here if no process works on it. Gives ``{run, node, state,
        by}``. Raises `FeatureError` with the reason if that can't be: somebody was faster, or the answer does not fit.
        """
        answered = await self._jobs.ask(lambda session: _people().give(session, run, node, given, number))
        digest = answered.pop("hash")
        key = answered["run"], answered["node"]
        self._put_off.discard(key)
        self._withdraw(key)
        self._later(self._go_on(answered["run"], answered["node"], digest))
        given_by: Json = answered
        return given_by

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done that outlives the request of the client that it began with."""
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _withdraw(self, key: tuple[str, str]) -> None:
        """Nobody needs the user's answer any more: have the client close its form, if it knows how to."""
        form = self._forms.pop(key, None)
        if form is not None and form.request is not None:
            self._server.protocol.send_plain(CANCEL, {"id": form.request})

    async def _put_event(self, key: tuple[str, str]) -> None:
        form = self._forms[key]
        try:
            question = await self._jobs.ask(lambda session: _people().find(session, *key))
            await self._put(question, form)
        except FeatureError as problem:
            log.info("A question is not shown: %s", problem)  # It was answered meanwhile, or its run is not kept.
        finally:
            if self._forms.get(key) is form:
                del self._forms[key]

    async def _put(self, question: Json, form: _Form) -> Json | None:
        """Put a question until its answer fits, or somebody else has answered it, or the user puts it off."""
        run, visit, number = question["run"], question["visit"], question["number"]
        for _ in range(_TRIES):
            answer = await self._asked(question, form)
            if answer["action"] == "cancel":
                break
            form.request = None  # The client has closed it.
            content = answer["content"] if answer["action"] == "accept" else None
            try:
                return await self.give(run, visit, content, number)
            except FeatureError as problem:
                sentence = str(problem)
                self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, plain(sentence)))
                with contextlib.suppress(FeatureError):
                    if await self._jobs.ask(lambda session: _people().is_open(session, run, number)):
                        question = {**question, "problems": [sentence]}
                        continue
                return None
        # A form that was withdrawn was closed by the client, and not put off by the user.
        if self._forms.get((run, visit)) is form:
            self._put_off.add((run, visit))
        return None

    async def _asked(self, question: Json, form: _Form) -> Json:
        """What the user does with a question: ``{action, content}`` as the client answers `merrow/ask`."""
        server = self._server
        if server.supports.asks_people:
            form.request = str(uuid.uuid4())
            shown = {key: value for key, value in question.items() if key != "number"}
            try:
                answer = await server.protocol.send_request_async(ASK, shown, msg_id=form.request)
                return _answer_of(server.protocol.converter.unstructure(answer))
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("The client could not show a question.")
        options = choices(question["schema"])
        if options:
            actions = [types.MessageActionItem(title) for title in options]
            params = types.ShowMessageRequestParams(types.MessageType.Info, as_message(question), actions)
            try:
                chosen = await server.window_show_message_request_async(params)
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("The client could not ask its user.")
            else:
                if chosen is None or chosen.title not in options:
                    return {"action": "cancel"}
                return {"action": "accept", "content": options[chosen.title]}
        command = f"merrow answer {question['run']} {shlex.quote(question['visit'])}"
        text = f"{as_message(question)}\nAnswer on a command line: {plain(command)}"
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
        return {"action": "cancel"}

    async def _go_on(self, run: str, node: str, digest: str) -> None:
        """Continue a run after an answer, unless a process works on it that sees it."""
        lock = self._continuing.setdefault(run, asyncio.Lock())
        try:
            async with lock:
                if not self._runs.trusted or not await self._jobs.have(
                    lambda session: _people().is_left_to_us(session, run, node, digest)
                ):
                    return
                from merrow_server.jobs.orders import Order

                order = Order(Ticket(), resume=run)
                ended = await self._runs.carry_out(order, JobLocation(None, 1), f"Resuming run {run}")
                self._runs.tell_end(ended)
        except FeatureError as problem:
            sentence = f"The answer is kept, but run {run} could not continue. {problem}"
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, plain(sentence)))
        finally:
            if not lock.locked():
                self._continuing.pop(run, None)


def _answer_of(answer: Any) -> Json:
    """A client's answer to `merrow/ask`; one that can't be read puts the question off."""
    if isinstance(answer, dict):
        if answer.get("action") == "accept" and isinstance(answer.get("content"), dict):
            return {"action": "accept", "content": answer["content"]}
        if answer.get("action") == "decline":
            return {"action": "decline"}
    return {"action": "cancel"}


def _visit(event: Json) -> str:
    """The visit that an event is of, by the name that reports and the journal's questions have for it."""
    from merrow_runtime.visit import Visit

    return Visit(event["node"], event.get("path") or "", event.get("redo") or 0).name


def _people() -> ModuleType:
    """Imported by the thread of the jobs: it brings the runtime with it, which would hold up this one."""
    from merrow_server.jobs import people

    return people
