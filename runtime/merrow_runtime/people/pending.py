"""The questions of one run that people have not answered yet, in the process that works on the run."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from merrow_runtime.errors import StoreFailure
from merrow_runtime.requests import CallKey, PersonQuestion
from merrow_runtime.store.contract import AskRecord, RunJournal
from merrow_runtime.telling import Telling
from merrow_runtime.visit import Visit


@dataclass(slots=True, eq=False)
class _Pending:
    """A question that waits. ``visit`` asks it now, which a revision may have renamed since it was put. While it ``holds``, the
    run goes on, since something waits for the answer that ends with this process.
    """

    ask: AskRecord
    visit: Visit
    answer: asyncio.Future[AskRecord]
    holds: bool = False
    is_told: bool = False


def _nothing() -> None:
    return None


def _none() -> int:
    return 0


@dataclass(slots=True, eq=False)
class PendingQuestions:
    """What a run has asked people, and waits for. ``at_work`` counts what the run is at, the questions among it: where nothing
    else is left, ``idle`` is called. ``notify`` hears of each question that is put for the first time; it gives a sentence for
    the user where that went wrong.
    """

    journal: RunJournal
    telling: Telling
    at_work: Callable[[], int]
    idle: Callable[[], None] = _nothing
    notify: Callable[[Visit], str | None] | None = None
    extend: Callable[[float], None] | None = None
    """Told of seconds that were spent on waiting for people, once they are over."""
    _waited: float = 0.0
    _pending: dict[tuple[CallKey, str], _Pending] = field(default_factory=dict)
    _known: dict[tuple[CallKey, str], AskRecord] | None = None
    """The questions in the journal as they were read last; None before that, and where some were withdrawn since."""
    _left: list[_Pending] = field(default_factory=list)
    """Those that waited when the run ended."""
    _idle_since: float | None = None
    _is_due: bool = False

    def __bool__(self) -> bool:
        return bool(self._pending)

    def part(self) -> None:
        """Forget the run, which is over: what knows each other in a circle stays until the collector comes."""
        self.at_work, self.idle, self.extend = _none, _nothing, None

    @property
    def seconds(self) -> float:
        """The seconds in which this process had nothing to do but to wait for people."""
        return self._waited + self.unsettled

    @property
    def unsettled(self) -> float:
        """Those of the waiting that is not over."""
        return 0.0 if self._idle_since is None else time.monotonic() - self._idle_since

    @property
    def open(self) -> list[AskRecord]:
        """The questions that wait for an answer, in the order in which they were put."""
        waiting = self._left or self._pending.values()
        return sorted((pending.ask for pending in waiting), key=lambda ask: (ask.asked, ask.visit.name, ask.key.sample))

    async def put(
        self,
        keys: Sequence[CallKey],
        digest: str,
        question: PersonQuestion,
        visit: Visit,
        seconds: float | None,
        *,
        holds: bool = False,
    ) -> AskRecord:
        """Put a question, unless it was put before, and wait until somebody answers it, declines to, or its time is up after so
        many ``seconds``; how it stands then. ``keys`` are what it is known by: first what it is called now, then what it was
        called before revisions of the run. With ``holds`` the run does not end meanwhile, and the question is withdrawn where
        nobody waits for it any more.

        Nothing is asked before the journal has it. Raises `StoreFailure`.
        """
        if self._known is None:
            self._read()
        asks = self._known or {}
        known = next((asks[key, digest] for key in keys if (key, digest) in asks), None)
        if known is not None and known.state not in ("asked", "withdrawn"):
            return known
        if known is not None and known.state == "withdrawn" and known.key != keys[0]:
            known = None  # It is put again by the name that it has now.
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[object] | None = None
        if known is None or known.state == "withdrawn":
            now = time.time()
            due = None if seconds is None else now + seconds
            number = 0 if known is None else known.number
            known = AskRecord(keys[0], digest, question.to_json(), "asked", now, due, number=number)
            kept = asyncio.ensure_future(self.journal.ask(known))
            kept.add_done_callback(_retrieved)
        pending = _Pending(known, visit, loop.create_future(), holds)
        self._pending[known.key, digest] = pending
        self.look_later()
        try:
            if kept is not None:
                await asyncio.shield(kept)
            self._tell(pending, is_new=kept is not None)
            return await pending.answer
        except asyncio.CancelledError:
            if holds:
                self.journal.withdraw(known)
                self._known = None
            raise
        finally:
            self._pending.pop((known.key, digest), None)

    def has_put(self, key: CallKey, digest: str) -> bool:
        """Whether a question was put before, in whichever process, and not withdrawn."""
        if self._known is None:
            self._read()
        known = (self._known or {}).get((key, digest))
        return known is not None and known.state != "withdrawn"

    def withdraw(self, visits: Collection[Visit]) -> None:
        """Close the questions of visits that nothing needs any more, and of what they have called, with the next commit."""
        places = [f"{visit.lasting}/" for visit in visits]
        for pending in self._pending.values():
            visit = pending.visit
            if visit in visits or any(f"{visit.path}/".startswith(place) for place in places):
                self.journal.withdraw(pending.ask)
                self._known = None

    def waits(self, visit: Visit) -> bool:
        """Whether a visit, or something that it has called, waits for a person."""
        place = f"{visit.lasting}/"
        return any(
            pending.visit == visit or f"{pending.visit.path}/".startswith(place) for pending in self._pending.values()
        )

    def look(self) -> None:
        """See what people have answered in other processes, and whose time is up. What can't be read now is read at the next
        look.
        """
        if not self._pending:
            return
        with contextlib.suppress(StoreFailure):
            self._read()
            for place, ask in (self._known or {}).items():
                pending = self._pending.get(place)
                if pending is not None and ask.state not in ("asked", "withdrawn"):
                    self._answered(pending, ask)

    @property
    def has_answers(self) -> bool:
        """Whether questions have been answered, and what waits for them has not yet gone on."""
        return self.at_work() > self._parked

    @property
    def _parked(self) -> int:
        """How many questions wait without anything that would be lost with this process."""
        return sum(not pending.holds for pending in self._pending.values())

    def look_later(self) -> None:
        """Something has ended, or begun to wait: the run may have nothing else to do."""
        if self._pending and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._look_whether_idle)

    def leave(self) -> None:
        """The run ends while these questions wait: what waits for them is about to be cancelled."""
        self._left = list(self._pending.values())

    def tell(self) -> None:
        """Tell of the questions that the journal has since, with the end of the run."""
        for pending in self._left:
            self._tell(pending, is_new=True)

    def _read(self) -> None:
        self._known = {(ask.key, ask.hash): ask for ask in self.journal.asks()}

    def _tell(self, pending: _Pending, *, is_new: bool) -> None:
        if not pending.is_told:
            pending.is_told = True
            problem = self.notify(pending.visit) if is_new and self.notify is not None else None
            self.telling.asked(pending.visit, pending.ask, problem)

    def _answered(self, pending: _Pending, ask: AskRecord) -> None:
        self._pending.pop((pending.ask.key, pending.ask.hash), None)
        self._settle()
        if not pending.answer.done():
            pending.answer.set_result(replace(ask, key=pending.ask.key))

    def _look_whether_idle(self) -> None:
        self._is_due = False
        if self._pending and self.at_work() <= self._parked:
            if self._idle_since is None:
                self._idle_since = time.monotonic()
            self.idle()
        else:
            self._settle()

    def _settle(self) -> None:
        """It has something to do again."""
        if self._idle_since is not None:
            seconds = self.unsettled
            self._waited, self._idle_since = self._waited + seconds, None
            if self.extend is not None:
                self.extend(seconds)


def _retrieved(kept: asyncio.Future[object]) -> None:
    if not kept.cancelled():
        kept.exception()
