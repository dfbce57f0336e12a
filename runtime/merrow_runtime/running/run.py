"""One run: begun, followed, cancelled, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from merrow_runtime.calls.effects import Effects
from merrow_runtime.errors import BudgetFailure, RunFailure, StoreFailure, UsageFailure
from merrow_runtime.events import LAST_OF, Event
from merrow_runtime.people.notifying import notify
from merrow_runtime.provenance import Provenance, plain
from merrow_runtime.running.node_recorder import NodeRecorder, always
from merrow_runtime.running.overseer import Overseeing
from merrow_runtime.running.resources import RunResources
from merrow_runtime.running.run_failures import InternalFailure
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.store.contract import (
    AskRecord,
    LoopRecord,
    NodeRecord,
    RevisionRecord,
    RunFailed,
    RunStatus,
    exhausted_of,
)
from merrow_runtime.telling import Telling
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Value
from merrow_runtime.visit import is_called
from merrow_runtime.workflow import Workflow

_CANCEL_LOOK = 0.5
"""Seconds between looks at whether another process asked for the run to end."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. ``outputs`` has what reached each output node, by id; ``nodes`` how each node ended, by id, and of those
    inside Loops and Maps each visit by its name: by the id alone they have their last one.

    ``usage`` counts all that the run ever used, before it was resumed too; ``seconds`` are those of this part of it.
    ``failure`` is the cause where it failed, with its ``code``, ``node``, ``path`` and ``remedy``, and ``error`` its sentence.
    ``sources`` are who answered it. ``finished_before`` says that it was finished when it was resumed: everything is as the
    journal has it, and nothing was called. ``unanswered`` says what an endpoint has not answered in this part of the run, which
    may have gone on without it (``on_error``). ``interrupted`` calls were on their way when a process of the run was killed: they
    are counted, and may have been paid for. ``loops`` says how each Loop ended.
    """

    run: str
    status: RunStatus
    outputs: Mapping[str, Value]
    usage: Usage
    seconds: float
    error: str | None = None
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    failure: RunFailure | None = None
    sources: Sequence[Provenance] = ()
    finished_before: bool = False
    unanswered: str | None = None
    interrupted: int = 0
    loops: Sequence[LoopRecord] = ()
    asks: Sequence[AskRecord] = ()
    """The open questions of a run that waits for people (``status`` is ``waiting``)."""

    @property
    def exhausted(self) -> list[str]:
        """The Loops that wanted another turn when their turns ran out, or what they may use was used up, by path, as in
        ``TRIALS[2]/REFINE``.
        """
        return exhausted_of(self.loops)

    @property
    def not_valid(self) -> list[str]:
        """The visits whose results are used although they are not valid, by name."""
        visits = {id(node): node for node in self.nodes.values()}.values()
        used = (node for node in visits if node.status != "failed" and node.validation is not None)
        return [node.visit.name for node in used if node.validation is not None and not node.validation["valid"]]

    def to_json(self) -> dict[str, Any]:
        """What the last event of the run tells, and an editor is answered."""
        shown: dict[str, Any] = {
            "outputs": dict(self.outputs),
            "usage": self.usage.to_json(),
            "seconds": self.seconds,
            "sources": plain(self.sources),
            "exhausted": self.exhausted,
        }
        if self.error is not None:
            shown["error"] = self.error
        if self.failure is not None:
            shown |= failed_as(self.failure).to_json()
        if self.status == "waiting":
            shown["asks"] = [open_question(ask) for ask in self.asks]
        if self.finished_before:
            shown["finished_before"] = True
        if self.interrupted:
            shown["interrupted_calls"] = self.interrupted
        not_valid = self.not_valid
        if not_valid:
            shown["not_valid"] = not_valid
        return shown


def open_question(ask: AskRecord) -> dict[str, Any]:
    """An open question as reports and the last event of a run that waits have it."""
    return {"node": ask.visit.name, "question": ask.question.get("ask", ""), "asked": ask.asked, "due": ask.due}


def with_members(visits: Mapping[str, NodeRecord]) -> dict[str, NodeRecord]:
    """How nodes ended by the names of their visits, and of those inside Loops and Maps the last visit by their id, too."""
    nodes = dict(visits)
    for record in visits.values():
        if record.path and record.node not in visits and not is_called(record.path):
            nodes[record.node] = record
    return nodes


def failed_as(failure: RunFailure) -> RunFailed:
    """The failure of a run as events and the journal have it, beside its sentence."""
    return RunFailed(failure.code, failure.node, failure.path, failure.remedy)


def broken(failure: RunFailure, spent: Usage = NOTHING) -> dict[str, Any]:
    """What `run_failed` tells of a run that came to no result, or never began."""
    return RunResult("", "failed", {}, spent, 0.0, failure.sentence, failure=failure).to_json()


class Run:
    """A run in progress. Made by `merrow_runtime.start` and `merrow_runtime.resume`."""

    def __init__(self, run: str, workflow: str, telling: Telling) -> None:
        self.id = run
        self.workflow = workflow
        self.nodes: dict[str, NodeRecord] = {}
        """How nodes ended so far, by the name of the visit: of a node of the whole workflow its id."""
        self.loops: dict[str, LoopRecord] = {}
        """How Loops ended so far, by their paths, as in ``TRIALS[2]/REFINE``."""
        self.is_attended = False
        """Whether somebody in this process answers its questions: then it waits for them, and does not end as ``waiting``."""
        self._telling = telling
        self._task: asyncio.Task[RunResult] | None = None
        self._cancelled = False
        self._ended = False
        self._revisions: Overseeing | None = None
        self._look: Callable[[], None] | None = None

    def look(self) -> None:
        """See at once what people have answered, which is otherwise seen within half a second; and whether it still is attended
        (`is_attended`).
        """
        if self._look is not None and not self._ended:
            self._look()

    def listens(self, look: Callable[[], None] | None) -> None:
        """Who looks."""
        self._look = look

    def events(self) -> AsyncIterator[Event]:
        """All events from the beginning, as they come, until the run has ended. Any number of readers may listen; see
        `merrow_runtime.telling.Telling.read`.
        """
        return self._telling.read()

    async def result(self) -> RunResult:
        """How the run ended, once it has; a run that failed has its ``error``, and nothing is raised."""
        assert self._task is not None  # noqa: S101 (a run is handed out begun)
        return await asyncio.shield(self._task)

    def cancel(self) -> None:
        """Stop the run: calls in flight are cancelled, what is finished is kept."""
        if self._task is not None and not self._cancelled:
            # A turn later: a task that is cancelled before its first step never reports how it ended.
            self._task.get_loop().call_soon(self._cancel)
        self._cancelled = True

    def _cancel(self) -> None:
        if self._task is not None and not self._ended:
            self._task.cancel()

    async def revise(self, workflow: Workflow) -> RevisionRecord:
        """Continue with another workflow, as far as that can take the place of the present one; how that ended (``state`` is
        ``applied``, ``unchanged`` or ``refused``, with the reason). What is finished and still holds is kept.

        Raises `UsageFailure` where the run is over, or is of a single node; `StoreFailure`.
        """
        if self._revisions is None or self._ended:
            raise UsageFailure(f"Run {self.id} is over, or runs a single node: its workflow can't change any more.")
        return await self._revisions.ask(workflow)

    def decide(self, number: int, *, apply: bool) -> None:
        """Agree to a revision that waits for that (``refine: {ask: true}``), or refuse it. Raises `UsageFailure` where
        none of this number waits.
        """
        if self._revisions is None:
            why = "is over" if self._ended else "runs a single node"
            raise UsageFailure(f"Run {self.id} {why}: its workflow can't change.")
        self._revisions.decide(number, apply=apply)

    def overseen(self, revisions: Overseeing | None) -> None:
        """Who changes its graph."""
        self._revisions = revisions

    def end(self) -> None:
        """From now on all that remains is to report how it ended, which nothing cancels."""
        self._ended = True

    def begin(self, work: Coroutine[Any, Any, RunResult]) -> None:
        """Begin; ``work`` is all that there is to do."""
        self._task = asyncio.get_running_loop().create_task(work, name=f"run {self.id}")


@dataclass(slots=True, eq=False)
class RunExecution:
    """What carries a run out, to its end. ``seconds`` is when the time that the budget allows is up; ``revision`` the
    number of the one whose graph it begins with.
    """

    run: Run
    scheduler: Scheduler
    recorder: NodeRecorder
    effects: Effects
    telling: Telling
    resources: RunResources
    seconds: float | None
    revision: int = 0
    revisions: Overseeing | None = None
    """Who changes the graph while it runs; None where nobody can."""
    _ended_by: list[RunFailure | None] = field(default_factory=list)
    _looking: asyncio.TimerHandle | asyncio.Task[None] | None = None
    _late: asyncio.TimerHandle | None = None
    _waits: bool = False
    """Whether nothing is left to do until a person answers."""

    async def work(self, definitions: str, begun: Mapping[str, Any]) -> RunResult:
        """Report with ``begun`` that the run begins, run to the end, whatever it is, journal it, and report how it ended."""
        started = time.monotonic()
        try:
            await self.effects.journal.record_definitions(definitions, f"!{self.revision}" if self.revision else "")
            self.telling.begin(begun)
            status, failure = await self._ended()
            result = await self._settled(status, failure, started)
        except Exception as fault:
            # A fault in Merrow: readers of the events must still learn of the end.
            self.run.end()
            internal = InternalFailure(f"internal error, {type(fault).__name__}: {fault}")
            with contextlib.suppress(Exception):  # The first fault is the one to report.
                await self.recorder.settle()
                await self.effects.journal.close()
            self.telling.end("run_failed", broken(internal, self.effects.account.spent))
            raise
        else:
            self.telling.end(LAST_OF[result.status], result.to_json())
            return result
        finally:
            self.effects.calling.close()
            await self.effects.episodes.close()
            await self.resources.close(self.telling, whole=self.telling.is_whole)
            self._part()

    def _part(self) -> None:
        """Take the parts of the run from each other: what knows each other in a circle stays until the collector comes, and takes
        a tenth of the time of an evaluation with it.
        """
        self.run.overseen(None)
        self.run.listens(None)
        self.effects.people.part()
        self.revisions = self._looking = None
        self.scheduler.close()
        self.recorder.is_newest = always
        self.effects.busy.clear()
        self.effects.account.nodes.clear()

    async def _ended(self) -> tuple[RunStatus, RunFailure | None]:
        """Run until nothing is left to run, time is up, or the run is cancelled; how it ended."""
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()
        assert main is not None  # noqa: S101 (this is a coroutine of a task)
        late = None if self.seconds is None else loop.call_later(self.seconds, self._end_late, main)
        people = self.effects.people
        people.idle = partial(self._idle, main)
        people.notify = partial(notify, self.run.id)
        self.run.listens(self._look_at_people)
        failure: BaseException | None = None
        done = False
        try:
            await self._look(main)
            await self.scheduler.run()
            failure = self.scheduler.failure
            done = failure is None
        except asyncio.CancelledError:
            # Whoever cancels a run means to end it, not the task that waits for its result.
            while main.uncancel() > 0:
                pass
            failure = self._ended_by[0] if self._ended_by else None
            if failure is None:
                return ("waiting" if self._waits else "cancelled"), None
        except BaseException as raised:
            failure = raised
            raise
        finally:
            # First, so that nothing cancels what waits here for the end of revisions.
            self.run.end()
            if self._looking is not None:
                self._looking.cancel()
            if late is not None:
                late.cancel()
            if self._late is not None:
                self._late.cancel()
            if self.revisions is not None:
                await self.revisions.close(failure, done=done)
        return "finished" if failure is None else "failed", failure

    async def _look(self, main: asyncio.Task[Any]) -> None:
        if self.effects.journal.cancel_requested():
            self._end(main, None)
        else:
            with contextlib.suppress(StoreFailure):  # the next write reports it, to a caller that can act on it
                await self.effects.journal.until_there()
                if self.revisions is not None:
                    self.revisions.look()
                self.effects.people.look()
            self._looking = main.get_loop().call_later(_CANCEL_LOOK, self._look_again, main)

    def _look_again(self, main: asyncio.Task[Any]) -> None:
        self._looking = main.get_loop().create_task(self._look(main))

    def _look_at_people(self) -> None:
        self.effects.people.look()
        self.effects.people.look_later()

    def _idle(self, main: asyncio.Task[Any]) -> None:
        """Everything that is left waits for people: without what nothing needs any more, the run ends here until they answer."""
        if any(scheduler.withdraw_unneeded() for scheduler in self.effects.busy if isinstance(scheduler, Scheduler)):
            return  # It is called again when that has ended.
        if (self.revisions is not None and self.revisions.holds()) or self.run.is_attended:
            return
        people = self.effects.people
        people.look()  # An answer that came a moment ago is not to wait for the next process.
        if people.has_answers or main.cancelling():
            return
        people.leave()
        self._waits = True
        self._end(main, None)

    def _end_late(self, main: asyncio.Task[Any]) -> None:
        """The time that the budget allows is over, unless some of it was spent on waiting for people."""
        left = self.effects.calling.remaining_seconds
        left = 0.0 if left is None else left + self.effects.people.unsettled
        if left > 0:
            self._late = main.get_loop().call_later(max(left, _CANCEL_LOOK), self._end_late, main)
        else:
            self._end(main, _time_is_over())

    def _end(self, main: asyncio.Task[Any], why: RunFailure | None) -> None:
        if not self._ended_by and not main.cancelling():  # else something else ended it before
            self._ended_by.append(why)
            main.cancel()

    def _at_work(self, started: float) -> float:
        """The seconds since then in which it was not only queued, and did not only wait for people: how long others took the
        places of the endpoint, or took to answer, says nothing about the workflow.
        """
        return time.monotonic() - started - self.effects.account.queueing.seconds - self.effects.people.seconds

    async def _settled(self, status: RunStatus, failure: RunFailure | None, started: float) -> RunResult:
        """Keep how the run ended, and give it. A journal that can't be written fails the run, if nothing did before."""
        effects, outputs = self.effects, dict(self.scheduler.results)
        sources = effects.account.all_sources
        failure = None if failure is None else self.recorder.located(failure)
        error = None if failure is None else failure.sentence
        try:
            self.recorder.write()  # in the commit of the end
            await effects.journal.finish(
                status,
                outputs,
                effects.account.spent,
                error,
                self._at_work(started),
                sources,
                None if failure is None else failed_as(failure),
            )
            await self.recorder.settle()
            effects.people.tell()
        except StoreFailure as problem:
            status, failure, error = "failed", failure or problem, error or str(problem)
        finally:
            with contextlib.suppress(StoreFailure):
                await effects.journal.close()
        seconds = self._at_work(started)
        spent = effects.account.spent
        nodes = with_members(self.run.nodes)
        return RunResult(
            self.run.id,
            status,
            outputs,
            spent,
            seconds,
            error,
            nodes,
            failure,
            sources,
            unanswered=effects.account.unanswered,
            interrupted=effects.account.interrupted,
            loops=list(self.run.loops.values()),
            asks=effects.people.open if status == "waiting" else (),
        )


def _time_is_over() -> BudgetFailure:
    return BudgetFailure("The time that the budget allows is over: raise it with --budget-seconds.")
