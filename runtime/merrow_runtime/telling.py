"""The events of a run for any number of readers, each at its own pace: a slow one holds up nobody.

Events are numbered in the order they are told. The newest are kept. A reader that is behind them has what it missed made
again from the journal, in which the ends of nodes, turns and items are at the latest when their events are no longer kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from merrow_runtime.events import LAST, Event, EventName, event_of
from merrow_runtime.requests import StepKind
from merrow_runtime.store.contract import AskRecord, Pages, RevisionRecord, Told
from merrow_runtime.visit import Visit

KEPT = 1_000
"""Events that are kept for readers, at least: a reader that looks in once in a second misses nothing of a busy run, and with
answers of some kilobytes they take a few megabytes. A quarter more is kept before they are cut back to this number, and
what the journal has not yet committed (`merrow_runtime.running.node_recorder.BATCH`) is kept in any case."""


class Telling:
    """Tells the events of one run. ``pages`` gives a reader of what the journal has."""

    def __init__(self, run: str, pages: Callable[[], Pages]) -> None:
        self.run = run
        self._pages = pages
        self._events: list[Event | Told] = []
        self._first = 1
        self.next = 1
        """The number of the event that is told next."""
        self._begun: Event | None = None
        self._committed = 0
        self._news: asyncio.Future[None] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all events so far are kept, so that no reader needs the journal."""
        return self._first == 1

    def begin(self, data: Mapping[str, Any], at: float | None = None) -> None:
        """Tell that the run begins: its first event."""
        self._begun = Event("run_started", self.run, data=data, at=time.time() if at is None else at)
        self._add(self._begun)

    def pass_over(self, number: int) -> None:
        """Go on after this number: what is told up to it is in the journal."""
        self._events.clear()
        self._first = self.next = number + 1
        self._committed = number

    def started(self, visit: Visit, operator: str | None, clone: int | None = None) -> None:
        """Tell that a node begins; from the second on, which clone of its agent does it."""
        data: dict[str, Any] = {"operator": operator}
        if clone is not None and clone > 1:
            data["clone"] = clone
        node, path, redo = visit.node, visit.path, visit.redo
        self._add(Event("node_started", self.run, self.next, node, path, redo, data, time.time()))

    def output(self, visit: Visit, sample: int | None, text: str, step: str | None = None) -> None:
        """Tell text of a node as it comes into being; of an answer with its ``step``, of a node with samples with which."""
        data: dict[str, Any] = {"text": text}
        if step is not None:
            data["step"] = step
        self._tell("node_output", visit, sample, data)

    def retrying(self, visit: Visit, sample: int | None, step: str, reason: str, wait: float) -> None:
        """Tell that a node tries again, in ``wait`` seconds."""
        self._tell("node_retrying", visit, sample, {"step": step, "reason": reason, "wait": wait})

    def queued(self, visit: Visit, *, waits: bool) -> None:
        """Tell that all calls of a node wait for a place at the endpoint, or that one of them has got it."""
        self._tell("node_queued", visit, None, {"waits": waits})

    def judged(self, visit: Visit, sample: int | None, attempt: int, verdict: Mapping[str, Any]) -> None:
        """Tell what a validator says of the result of an attempt."""
        self._tell("node_judged", visit, sample, {"attempt": attempt, **verdict})

    def asked(self, visit: Visit, ask: AskRecord, problem: str | None = None) -> None:
        """Tell that a node asks a person, what, and until when (seconds since 1970, None without an end); ``problem`` is a
        sentence for the user.
        """
        question = ask.question
        data = {"question": question.get("ask", ""), "schema": question.get("schema", {}), "due": ask.due}
        data["shown"] = question.get("shown", [])
        if question.get("problems"):
            data["problems"] = question["problems"]
        if problem is not None:
            data["notices"] = [problem]
        self._tell("node_asked", visit, ask.key.sample or None, data)

    def stepped(
        self, visit: Visit, sample: int | None, step: str, kind: StepKind, title: str, error: str | None
    ) -> None:
        """Tell what an agent did in a step of it; ``error`` is why that failed."""
        self._tell("node_step", visit, sample, {"step": step, "kind": kind, "title": title, "error": error})

    def answered(self, visit: Visit, by: str, action: str) -> None:
        """Tell that a node has its answer, ``by`` whom, and whether they accepted to answer."""
        self._tell("node_answered", visit, None, {"by": by, "action": action})

    def revision(self, name: EventName, revision: RevisionRecord) -> None:
        """Tell how a revision stands."""
        data: dict[str, Any] = {"revision": revision.number, "trigger": revision.trigger}
        if revision.reason:
            data["reason"] = revision.reason
        if revision.adopted:
            data["diff"] = dict(revision.adopted)
        self._add(Event(name, self.run, self.next, data=data, at=time.time()))

    def kept(self, told: Told) -> None:
        """Tell what the journal keeps; its number must be `next`, and the record on its way to the journal."""
        assert told.number == self.next  # noqa: S101 (whoever makes the record asked for the number)
        self._add(told)

    def end(self, name: EventName, data: Mapping[str, Any], at: float | None = None) -> None:
        """Tell how the run ended: its last event."""
        self._add(Event(name, self.run, self.next, data=data, at=time.time() if at is None else at))

    def committed(self, number: int) -> None:
        """The journal has all that it keeps up to this number."""
        self._committed = number

    async def read(self) -> AsyncIterator[Event]:
        """All events in the order of their numbers, until the run has ended. Who is further behind than the events that are
        kept goes without those that the journal doesn't have: `node_started`, `node_queued`, `node_output`, `node_retrying`,
        `node_judged`, `node_step`.

        Raises `StoreFailure` where the journal can't be read.
        """
        seen = 0
        page: deque[Told] = deque()
        journal: Pages | None = None
        while True:
            if seen + 1 < self._first:
                if seen == 0 and self._begun is not None:
                    seen = 1
                    yield self._begun
                    continue
                if not page:
                    journal = self._pages() if journal is None else journal
                    page.extend(journal.more())
                if not page or page[0].number >= self._first:
                    seen = self._first - 1
                elif (node := page.popleft()).number > seen:
                    seen = node.number
                    yield event_of(self.run, node)
            elif seen + 1 < self.next:
                told = self._events[seen + 1 - self._first]
                seen += 1
                event = told if isinstance(told, Event) else event_of(self.run, told)
                yield event
                if event.event in LAST:
                    return
            else:
                if self._news is None or self._news.done():
                    self._news = asyncio.get_running_loop().create_future()
                await asyncio.shield(self._news)

    def _tell(self, name: EventName, visit: Visit, sample: int | None, data: dict[str, Any]) -> None:
        if sample is not None:
            data["sample"] = sample
        self._add(Event(name, self.run, self.next, visit.node, visit.path, visit.redo, data, time.time()))

    def _add(self, told: Event | Told) -> None:
        self._events.append(told)
        self.next += 1
        if len(self._events) > KEPT + KEPT // 4:
            self._cut_back()
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _cut_back(self) -> None:
        surplus = len(self._events) - KEPT
        gone = 0
        while gone < surplus and (isinstance(self._events[gone], Event) or self._first + gone <= self._committed):
            gone += 1
        del self._events[:gone]
        self._first += gone
