"""Journals what happens to nodes and reports it as events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.calls.account import RunAccount
from merrow_runtime.errors import RunFailure
from merrow_runtime.frontier import Chose, Closes, Gave, Inputs, LoopEnds, LoopReopens, Opens, Takes
from merrow_runtime.operators.base import Given
from merrow_runtime.program.definitions import Steps
from merrow_runtime.running.doing import Finished
from merrow_runtime.store.contract import (
    FailureRecord,
    FrameEvent,
    FrameRecord,
    LoopRecord,
    NodeRecord,
    RunJournal,
    Told,
)
from merrow_runtime.telling import Telling
from merrow_runtime.usage import NOTHING
from merrow_runtime.validation.verdicts import validation_record
from merrow_runtime.values import as_text
from merrow_runtime.visit import Visit

BATCH = 250
"""The most node records that are written together."""

_BATCH_DELAY = 0.25
"""The longest delay in seconds before node records are written together: what matters is journalled with their calls."""


class NodeRecords:
    """How the visits of one run ended, and their turns and items, on their way to the journal. ``nodes`` has the visits so far,
    by name, and ``loops`` the Loops that have ended, by path.

    What waits for `settle` is written without holding anything up.
    """

    def __init__(
        self, telling: Telling, journal: RunJournal, nodes: dict[str, NodeRecord], loops: dict[str, LoopRecord]
    ) -> None:
        self._telling = telling
        self._journal = journal
        self._nodes = nodes
        self._loops = loops
        self._waiting: list[Told] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Future[Any]] = set()

    async def settle(self) -> None:
        """Wait until everything is in the journal. What it refused stays for the next commit, which fails for the same reason."""
        self.write()
        if self._writing:
            await asyncio.gather(*self._writing, return_exceptions=True)

    def keep(self, record: Told) -> None:
        """Report something and schedule it to be written."""
        if isinstance(record, NodeRecord):
            if record.remembers:
                record = replace(record, remembers=tuple(map(self._read_back, record.memory, record.remembers)))
            self._nodes[record.visit.name] = record
        elif isinstance(record, LoopRecord):
            self._loops[record.place] = record
        self._waiting.append(record)
        self._telling.kept(record)
        if len(self._waiting) >= BATCH:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_BATCH_DELAY, self.write)

    def _read_back(self, entry: Mapping[str, Any], visit: Visit | None) -> Visit | None:
        """The visit that gave an entry of a memory, if that is what its record in the journal says: a revision may have let
        another take its result over, or have had it made again.
        """
        gave = None if visit is None else self._nodes.get(visit.name)
        if gave is None or not gave.outputs or gave.node != entry["node"]:
            return None
        return gave.visit if as_text(next(iter(gave.outputs.values()))) == entry["text"] else None

    def forget_loop(self, place: str) -> None:
        """What was kept of a Loop's end does not hold any more."""
        self._loops.pop(place, None)

    def write(self) -> None:
        """Write what is waiting, with the next commit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        records, self._waiting = self._waiting, []
        if not records:
            return
        writing = asyncio.ensure_future(self._journal.record_told(records))
        self._writing.add(writing)
        last = records[-1].number
        if writing.done():
            self._written(writing, last)
        else:
            writing.add_done_callback(lambda done: self._written(done, last))

    def _written(self, writing: asyncio.Future[Any], last: int) -> None:
        self._writing.discard(writing)
        if not writing.cancelled() and writing.exception() is None:
            self._telling.committed(last)


def always(visit: Visit) -> bool:
    del visit
    return True


class NodeRecorder:
    """Journals how the nodes of a graph end, and reports it.

    A node's result follows from its calls, which were committed before it ended. So its end is reported at once, while its own
    record is still on its way to the journal.
    """

    def __init__(
        self, telling: Telling, records: NodeRecords, account: RunAccount, steps: Steps, revision: int = 0
    ) -> None:
        """``revision`` is the number of the graph's revision; 0 if there was none."""
        self.made: dict[Visit, NodeRecord] = {}
        """How visits with outputs, and those that failed, ended, for revisions."""
        self.moved: dict[tuple[str, str | None], float] = {}
        """When another visit took over a visit's result, by the latter's name and key."""
        self.is_newest: Callable[[Visit], bool] = always
        """Whether to report how a visit ended: not if a revision has started another visit of the node meanwhile."""
        self._revision = revision
        self.kept: list[NodeRecord] = []
        """How nodes of this graph ended, in graph order, if it is a planned one."""
        self._is_planned = False
        self._telling = telling
        self._records = records
        self._account = account
        self._steps = steps
        self._failed: dict[Visit, RunFailure] = {}
        self._ended_by: dict[int, tuple[RunFailure, RunFailure]] = {}

    def inside(self, steps: Steps, *, planned: bool = False) -> NodeRecorder:
        """A recorder of the workflow that a node calls."""
        recorder = NodeRecorder(self._telling, self._records, self._account, steps)
        recorder._is_planned = planned
        return recorder

    def revised(self, steps: Steps, revision: int) -> NodeRecorder:
        """A recorder that continues with another graph."""
        recorder = NodeRecorder(self._telling, self._records, self._account, steps, revision)
        recorder.made, recorder.moved, recorder.is_newest = self.made, self.moved, self.is_newest
        recorder._failed, recorder._ended_by = self._failed, self._ended_by
        return recorder

    def failed_visits(self) -> list[tuple[Visit, RunFailure]]:
        """The visits that have failed, even if the run continued with a default."""
        return list(self._failed.items())

    def took(self, takes: Takes) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        node, visit, outcome, now = takes.node, takes.visit, takes.outcome, _micro(time.time())
        self._account.move(takes.source, visit, is_call=node.operator == "Call")
        before = self.made.get(takes.source)
        if before is None:
            before = NodeRecord(node.id, "finished", None, None)
        record = replace(
            before,
            node=node.id,
            usage=NOTHING,
            started=now,
            ended=now,
            definition=self._definition(node),
            inputs=_references(takes.inputs, visit.path),
            path=visit.path,
            redo=visit.redo,
            number=self._telling.next,
            revision=self._revision,
            taken=takes.source.name,
        )
        if isinstance(outcome, Gave | Chose):
            if takes.source.lasting != visit.lasting:
                self.moved[takes.source.name, before.key] = now
                self.moved.pop((visit.name, before.key), None)
            if takes.source in self._failed:  # It has its default.
                self._failed[visit] = self._failed[takes.source]
            chosen = outcome.case if isinstance(outcome, Chose) else None
            record = replace(
                record,
                status="finished" if before.key is None else "reused",
                outputs=before.outputs or ({} if isinstance(outcome, Chose) else dict(outcome.outputs)),
                case=chosen,
                label=None if chosen is None or node.cases is None else node.cases.labels[chosen],
            )
        else:
            met = self._failed[visit] = outcome.cause.at(visit.node, visit.path)
            if outcome.ends:
                self._ended_by[id(outcome.cause)] = outcome.cause, met
            record = replace(record, status="failed", error=str(outcome.cause))
        self.made[visit] = record
        self._keep(record)

    def _keep(self, record: NodeRecord, visit: Visit | None = None) -> None:
        if visit is not None and not self.is_newest(visit):
            return
        if self._is_planned:
            self.kept.append(record)
        self._records.keep(record)

    def started(self, node: TypedNode, visit: Visit, clone: int | None) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        self._telling.started(visit, node.operator, clone)

    def finished(
        self, node: TypedNode, visit: Visit, inputs: Inputs, done: Finished, started: float, case: int | None
    ) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        failed = self._failed.get(visit) if self._failed else None
        if done.taken is not None and done.taken != visit.name:
            self.moved[done.taken, done.key] = _micro(time.time())
            self.moved.pop((visit.name, done.key), None)
        record = self.made[visit] = NodeRecord(
            node.id,
            "reused" if done.reused else "finished",
            done.key,
            done.outputs,
            done.usage,
            _micro(started + self._account.of(visit).queueing.seconds),
            _micro(time.time()),
            None if failed is None else str(failed),
            case,
            self._definition(node),
            _references(inputs, visit.path),
            [{"node": entry.node, "title": entry.title, "text": entry.text} for entry in done.memory],
            done.sources,
            done.why_no_call,
            visit.path,
            visit.redo,
            self._telling.next,
            None if case is None or node.cases is None else node.cases.labels[case],
            validation=done.validation,
            revision=self._revision,
            taken=done.taken,
            masked=done.masked,
            remembers=[entry.visit for entry in done.memory],
        )
        self._keep(record, visit)

    def skipped(self, node: TypedNode, visit: Visit, reason: str) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        now = _micro(time.time())
        self._keep(
            NodeRecord(
                node.id,
                "skipped",
                None,
                None,
                NOTHING,
                now,
                now,
                reason,
                path=visit.path,
                redo=visit.redo,
                number=self._telling.next,
                revision=self._revision,
            )
        )

    def failed(
        self, node: TypedNode, visit: Visit, inputs: Inputs, failure: RunFailure, started: float, goes_on: str
    ) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        account = self._account.of(visit)
        met = self._failed[visit] = failure.at(visit.node, visit.path)
        if goes_on == "fail":
            self._ended_by.setdefault(id(failure), (failure, met))
        record = self.made[visit] = NodeRecord(
            node.id,
            "failed",
            None,
            None,
            account.used,
            _micro(started + account.queueing.seconds),
            _micro(time.time()),
            str(failure),
            None,
            self._definition(node),
            _references(inputs, visit.path),
            sources=account.sources,
            path=visit.path,
            redo=visit.redo,
            number=self._telling.next,
            failed=FailureRecord(failure.code, failure.reason, goes_on, failure.remedy),
            validation=_not_valid(account.verdicts),
            revision=self._revision,
        )
        self._keep(record, visit)

    def located(self, failure: RunFailure) -> RunFailure:
        """What ended the run, with the node where it happened, if any."""
        known = self._ended_by.get(id(failure))
        return failure if known is None else known[1]

    def opened(self, opens: Opens) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        self._keep_frame(opens, "turn_started" if opens.composite.kind == "loop" else "item_started")

    def closed(self, closes: Closes) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        if closes.failure is None:
            self._keep_frame(closes, "turn_finished" if closes.composite.kind == "loop" else "item_finished")
        else:
            self._keep_frame(
                closes, "turn_failed" if closes.composite.kind == "loop" else "item_failed", closes.failure
            )

    def _keep_frame(self, frame: Opens | Closes, event: FrameEvent, failure: RunFailure | None = None) -> None:
        error, code = (None, None) if failure is None else (failure.sentence, failure.code)
        at, number = _micro(time.time()), self._telling.next
        self._records.keep(
            FrameRecord(event, frame.composite.id, frame.path, frame.number, frame.most, at, number, error, code)
        )

    def loop_ended(self, loop_ends: LoopEnds) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        at, number = _micro(time.time()), self._telling.next
        self._records.keep(
            LoopRecord(
                loop_ends.composite.id,
                loop_ends.path,
                loop_ends.turns,
                loop_ends.most,
                loop_ends.why,
                loop_ends.exhausted,
                at,
                number,
                loop_ends.best,
                loop_ends.replaced,
            )
        )

    def loop_reopened(self, loop_reopens: LoopReopens) -> None:
        """See `merrow_runtime.running.doing.Watcher`."""
        self._records.forget_loop(Visit(loop_reopens.composite, loop_reopens.path).name)

    def _definition(self, node: TypedNode) -> Mapping[str, Any] | None:
        step = self._steps.get(node.index)
        return None if step is None else step.shown

    def write(self) -> None:
        """See `NodeRecords.write`."""
        self._records.write()

    async def settle(self) -> None:
        """See `NodeRecords.settle`."""
        await self._records.settle()


def _micro(seconds: float) -> float:
    """In whole microseconds, as the journal has it."""
    return int(seconds * 1e6) / 1e6


def _references(inputs: Inputs, path: str) -> dict[str, list[dict[str, Any]]]:
    """Where the inputs of a node in a frame came from: the values are in the records of the nodes that gave them, but for items
    of a list, and lists of what items gave.
    """
    return {port: [_reference(given, path) for given in values] for port, values in inputs.items()}


def _reference(given: Given, path: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"node": given.node, "output": given.output, "type": given.type}
    if not given.node or given.path is None:
        shown["value"] = given.value
    elif given.path != path:
        shown["path"] = given.path
    return shown


def _not_valid(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What is stored about the validation of a failed node."""
    if not verdicts:
        return None
    return validation_record("", list(verdicts), max(verdict["attempt"] for verdict in verdicts), valid=False)
