"""One run: it schedules nodes, keeps what becomes of them, and tells it as events."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.caller import Caller
from merrow_runtime.errors import BudgetFailure, RunFailure, StoreFailure
from merrow_runtime.events import LAST, Event, EventName
from merrow_runtime.operators.base import Given
from merrow_runtime.provenance import Source, plain
from merrow_runtime.scheduler import Finished, Inputs, Scheduler
from merrow_runtime.single import Single
from merrow_runtime.store.contract import NodeRecord, RunStatus
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Outputs, Value

_COMPANY = 0.25
"""Seconds that the record of a node may wait for others, and for a quieter moment: what counts is journalled by its calls."""

_CANCEL_LOOK = 0.5
"""Seconds between looks at whether another process asked for the run to end."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. ``outputs`` has what reached each output node, by id; ``nodes`` how each node ended, by id.

    ``usage`` counts all that the run ever used, before it was resumed too; ``seconds`` are those of this part of it.
    ``failure`` is the cause where it failed, ``error`` its sentence. ``sources`` are who answered it. ``finished_before``
    says that it was finished when it was resumed: everything is as the journal has it, and nothing was called.
    """

    run: str
    status: RunStatus
    outputs: Mapping[str, Value]
    usage: Usage
    seconds: float
    error: str | None = None
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    failure: RunFailure | None = None
    sources: Sequence[Source] = ()
    finished_before: bool = False

    def to_json(self) -> dict[str, Any]:
        """What the last event of the run tells, and an editor is answered."""
        shown: dict[str, Any] = {
            "outputs": dict(self.outputs),
            "usage": self.usage.to_json(),
            "seconds": self.seconds,
            "sources": plain(self.sources),
        }
        if self.error is not None:
            shown["error"] = self.error
        if self.finished_before:
            shown["finished_before"] = True
        return shown


class Run:
    """A run that goes on. Made by `merrow_runtime.start` and `merrow_runtime.resume`."""

    def __init__(self, run: str, workflow: str) -> None:
        self.id = run
        self.workflow = workflow
        self.nodes: dict[str, NodeRecord] = {}
        """How nodes ended so far, by id."""
        self._events: list[Event] = []
        self._news: asyncio.Future[None] | None = None
        self._task: asyncio.Task[RunResult] | None = None
        self._cancelled = False
        self._ended = False

    async def events(self) -> AsyncIterator[Event]:
        """All events from the beginning, as they come, until the run has ended. Any number of readers may listen."""
        position = 0
        while True:
            while position < len(self._events):
                event = self._events[position]
                position += 1
                yield event
                if event.event in LAST:
                    return
            if self._news is None or self._news.done():
                self._news = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._news)

    async def result(self) -> RunResult:
        """How the run ended, once it has; a run that failed has its ``error``, and nothing is raised."""
        assert self._task is not None  # noqa: S101 (a run is handed out begun)
        return await asyncio.shield(self._task)

    def cancel(self) -> None:
        """Stop the run: calls on their way are cancelled, what is finished is kept."""
        if self._task is not None and not self._cancelled:
            # A turn later: a task that is cancelled before its first step never tells how it ended.
            self._task.get_loop().call_soon(self._cancel)
        self._cancelled = True

    def _cancel(self) -> None:
        if self._task is not None and not self._ended:
            self._task.cancel()

    def end(self) -> None:
        """From now on it only remains to tell how it ended, which nothing cancels."""
        self._ended = True

    def begin(self, work: Coroutine[Any, Any, RunResult]) -> None:
        """Begin; ``work`` is all that there is to do."""
        self._task = asyncio.get_running_loop().create_task(work, name=f"run {self.id}")

    def tell(self, name: EventName, node: str | None, data: Mapping[str, Any]) -> None:
        """Add an event, for all readers."""
        self._events.append(Event(name, self.id, node, data, time.time()))
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Watch:
    """Journals how nodes end, and tells it. What waits for `settle` is written without holding anything up."""

    def __init__(self, run: Run, caller: Caller, describe: Callable[[TypedNode], Mapping[str, Any]]) -> None:
        self._run = run
        self._caller = caller
        self._describe = describe
        self._writing: list[NodeRecord] = []
        self._writer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._failed: dict[str, str] = {}
        self._ended_by: tuple[RunFailure, str] | None = None

    def started(self, node: TypedNode, inputs: Inputs) -> None:
        del inputs
        self._run.tell("node_started", node.id, {"operator": node.operator})

    def finished(self, node: TypedNode, inputs: Inputs, done: Finished, started: float, case: int | None) -> None:
        ended = time.time()
        record = NodeRecord(
            node.id,
            "reused" if done.reused else "finished",
            done.key,
            done.outputs,
            done.usage,
            started,
            ended,
            self._failed.get(node.id),
            case,
            self._describe(node) if node.kind == "operator" or node.asks else None,
            _references(inputs),
            [{"node": entry.node, "title": entry.title, "text": entry.text} for entry in done.memory],
            done.sources,
            done.why_no_call,
        )
        self._keep(record)
        data: dict[str, Any] = {"outputs": done.outputs, "usage": done.usage.to_json(), "seconds": ended - started}
        if done.sources:
            data["sources"] = plain(done.sources)
        if case is not None and node.cases is not None:
            data["case"] = node.cases.labels[case]
        self._run.tell("node_reused" if done.reused else "node_finished", node.id, data)

    def skipped(self, node: TypedNode, reason: str) -> None:
        now = time.time()
        self._keep(NodeRecord(node.id, "skipped", None, None, NOTHING, now, now, reason))
        self._run.tell("node_skipped", node.id, {"reason": reason})

    def failed(self, node: TypedNode, inputs: Inputs, failure: RunFailure, started: float, goes_on: str) -> None:
        error = str(failure)
        self._failed[node.id] = error
        if goes_on == "fail" and self._ended_by is None:
            self._ended_by = failure, node.id
        usage = self._caller.used.get(node.id, NOTHING)
        definition = self._describe(node) if node.kind == "operator" or node.asks else None
        record = NodeRecord(
            node.id,
            "failed",
            None,
            None,
            usage,
            started,
            time.time(),
            error,
            None,
            definition,
            _references(inputs),
            sources=tuple(self._caller.sources.get(node.id, ())),
        )
        self._keep(record)
        self._run.tell("node_failed", node.id, {"error": error, "on_error": goes_on, "usage": usage.to_json()})

    def sentence(self, failure: RunFailure) -> str:
        """The failure of a run in a sentence that names the node which failed, where it was one."""
        text = str(failure)
        if self._ended_by is None or self._ended_by[0] is not failure:
            return text
        node = self._ended_by[1]
        named = re.search(rf"\b(?:node|output|decision) {re.escape(node)}(?!\w)", text, re.IGNORECASE)
        return text if named else f"Node {node}: {text}"

    async def settle(self) -> None:
        """Wait until all is in the journal. Raises `StoreFailure`."""
        if self._writer is not None:
            self._writer.cancel()
        if self._task is not None:
            await self._task
        await self._write()

    def _keep(self, record: NodeRecord) -> None:
        self._run.nodes[record.node] = record
        self._writing.append(record)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().call_later(_COMPANY, self._begin_writing)

    def _begin_writing(self) -> None:
        self._writer = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        while self._writing:
            records, self._writing = self._writing, []
            await self._caller.journal.record_nodes(records)


def _references(inputs: Inputs) -> dict[str, list[dict[str, Any]]]:
    """Where a node's inputs came from: the values stand in the records of the nodes that gave them."""
    return {port: [_reference(given) for given in values] for port, values in inputs.items()}


def _reference(given: Given) -> dict[str, Any]:
    shown: dict[str, Any] = {"node": given.node, "output": given.output, "type": given.type}
    if not given.node:
        shown["value"] = given.value
    return shown


async def carry_out(
    run: Run,
    scheduler: Scheduler | Single,
    watch: Watch,
    caller: Caller,
    seconds: float | None,
    before: Callable[[], None],
) -> RunResult:
    """Run to the end, whatever it is, and journal it. ``seconds`` is when the time that the budget allows is over.

    ``before`` is called when the run begins.
    """
    started = time.monotonic()
    status: RunStatus = "finished"
    failure: RunFailure | None = None
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()
    assert main is not None  # noqa: S101 (this is a coroutine of a task)
    ended_by: list[RunFailure | None] = []

    def end(why: RunFailure | None) -> None:
        if not ended_by:
            ended_by.append(why)
            main.cancel()

    def look() -> None:
        if caller.journal.cancel_requested():
            end(None)
        else:
            looking[:] = [loop.call_later(_CANCEL_LOOK, look)]

    looking = [loop.call_later(_CANCEL_LOOK, look)]
    late = None
    if seconds is not None:
        late = loop.call_later(
            seconds,
            end,
            BudgetFailure(
                "The time that the budget allows is over: resume the run with a higher one (--budget-seconds)."
            ),
        )
    try:
        before()
        await scheduler.run()
        failure = scheduler.failure
    except asyncio.CancelledError:
        # Whoever cancels a run means to end it, not the task that waits for its result.
        while main.uncancel() > 0:
            pass
        failure = ended_by[0] if ended_by else None
        status = "cancelled" if failure is None else "failed"
    finally:
        looking[0].cancel()
        if late is not None:
            late.cancel()
    run.end()
    if failure is not None:
        status = "failed"
    error = None if failure is None else watch.sentence(failure)
    try:
        await watch.settle()
        outputs: Outputs = dict(scheduler.results)
        seconds = time.monotonic() - started
        await caller.journal.finish(status, outputs, caller.spent, error, seconds, caller.all_sources)
    except StoreFailure as problem:
        status, failure, error = "failed", failure or problem, error or str(problem)
    finally:
        with contextlib.suppress(StoreFailure):
            await caller.journal.close()
    result = RunResult(
        run.id,
        status,
        dict(scheduler.results),
        caller.spent,
        time.monotonic() - started,
        error,
        dict(run.nodes),
        failure,
        caller.all_sources,
    )
    run.tell(LAST_OF[status], None, result.to_json())
    return result


LAST_OF: dict[RunStatus, EventName] = {
    "finished": "run_finished",
    "failed": "run_failed",
    "cancelled": "run_cancelled",
    "running": "run_failed",
}
"""The event that ends a run, by how it ended."""
