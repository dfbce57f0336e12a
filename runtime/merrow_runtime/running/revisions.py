"""The graph of a run changes while it goes on: who asks for that, one after the other, and what comes of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from merrow_runtime.errors import RunFailure, StoreFailure, UsageFailure
from merrow_runtime.frontier import Frontier, Outcome, Revision
from merrow_runtime.program.definitions import Steps, definitions_of
from merrow_runtime.revising.difference import Difference, difference
from merrow_runtime.revising.redo import Redo
from merrow_runtime.running.engine import Engine
from merrow_runtime.running.run import Execution
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.store.contract import RevisionRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.workflow import Workflow, restore


class Program(Protocol):
    """What a run needs of a workflow beside the workflow; a `merrow_runtime.running.job.Job`."""

    def prepare(self, workflow: Workflow) -> Mapping[str, Steps]:
        """The steps of a workflow and of the files that it calls, by place. Raises `UsageFailure` where it can't be run so."""
        ...


@dataclass(slots=True, eq=False)
class Revisions:
    """The revisions of one run. ``applied`` is the number of the newest one that was applied.

    They are tried one after the other, those of people first. Nothing of a new graph is used before the journal has it.
    """

    job: Program
    scheduler: Scheduler
    engine: Engine
    execution: Execution
    applied: int = 0
    _asked: list[tuple[RevisionRecord, asyncio.Future[RevisionRecord]]] = field(default_factory=list)
    _work: asyncio.Task[None] | None = None

    # What the run asks and tells

    def ended(self, outcome: Outcome) -> None:
        """See `merrow_runtime.running.scheduler.Overseer.ended`."""

    def holds(self) -> bool:
        """See `merrow_runtime.running.scheduler.Overseer.holds`."""
        with contextlib.suppress(RunFailure):  # The end of the run meets it, too.
            self.look()
        return self._work is not None

    def look(self) -> None:
        """See what people have asked for. Raises `StoreFailure`."""
        known = {one.number for one, _ in self._asked}
        for one in self.execution.effects.journal.asked_revisions():
            if one.number not in known:
                self._take(one)

    async def ask(self, text: str) -> RevisionRecord:
        """Try a person's workflow in this process, a snapshot as JSON; how that ended. Raises `StoreFailure`."""
        made = RevisionRecord(0, "asked", "person", text=text, at=time.time())
        record = self.execution.effects.journal.add_revision(lambda number: replace(made, number=number))
        return await self._take(record)

    async def close(self) -> None:
        """Nothing is tried any more."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    # One after the other

    def _take(self, record: RevisionRecord) -> asyncio.Future[RevisionRecord]:
        done: asyncio.Future[RevisionRecord] = asyncio.get_running_loop().create_future()
        self._asked.append((record, done))
        self.scheduler.pause()
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._try_all(), name="revisions")
        return done

    async def _try_all(self) -> None:
        try:
            while self._asked:
                record, done = self._asked[0]
                try:
                    ended = await self._try(record)
                    if not done.done():
                        done.set_result(ended)
                finally:
                    self._asked.pop(0)
                    if not done.done():
                        done.cancel()
        except StoreFailure as failure:
            self.scheduler.fail(failure)
        finally:
            self._work = None
            self.scheduler.go_on()

    async def _try(self, record: RevisionRecord) -> RevisionRecord:
        self._tell("revision_opened", record)
        if not record.text:
            return await self._refuse(record, record.reason)
        try:
            workflow = restore(json.loads(record.text))
        except UsageFailure as problem:
            return await self._refuse(record, str(problem))
        except (ValueError, KeyError, TypeError):
            return await self._refuse(record, "The workflow of this revision is damaged in the journal.")
        return await self.settle(record, workflow)

    async def settle(
        self, record: RevisionRecord, workflow: Workflow, renamed: Mapping[str, str] | None = None
    ) -> RevisionRecord:
        """Apply a workflow, unless it is refused or nothing changes; ``renamed`` has old ids by new ones. Raises
        `StoreFailure`.
        """
        engine = self.engine
        try:
            by_place = self.job.prepare(workflow)
            found = difference(engine.workflow, workflow, self._finished(), renamed, engine.effects.options)
        except UsageFailure as problem:
            return await self._refuse(record, str(problem))
        if found.refused:
            return await self._refuse(record, " ".join(found.refused), found)
        if found.is_empty and workflow.text == engine.workflow.text:
            return await self._end(replace(record, state="unchanged", adopted=found.to_json()))
        return await self._apply(record, workflow, by_place, found, renamed or {})

    def _finished(self) -> set[str]:
        """The ids of nodes that have a result, or were skipped."""
        frontier, graph = self.scheduler.frontier, self.engine.workflow.graph
        return {node.id for node in graph.nodes if frontier.standing(node) in ("finished", "skipped")}

    async def _apply(
        self,
        record: RevisionRecord,
        workflow: Workflow,
        by_place: Mapping[str, Steps],
        found: Difference,
        renamed: Mapping[str, str],
    ) -> RevisionRecord:
        before, recorder = self.engine, self.engine.recorder
        after = before.revised(workflow, by_place[workflow.place], by_place, record.number)
        revision = Revision(
            _defined(after),
            Redo(workflow.analysis.settings.redo).of,
            {**found.renamed, **renamed},
            lambda visit: visit in recorder.made and recorder.made[visit].key is not None,
            [visit for visit, one in recorder.failed_visits() if before.policy(visit.node) != after.policy(visit.node)],
        )

        def replaced(frontier: Frontier) -> Any:
            return frontier.replace(workflow.graph, before.key_of, after.key_of, revision, after.default)

        ended = replace(record, state="applied", adopted=found.to_json(), at=time.time())
        self._tell("revision_applied", ended)
        self.engine, self.applied = after, record.number
        self.execution.effects.renamed = called_before(self.execution.effects.renamed, found.renamed, workflow)
        self.execution.recorder = after.recorder
        cancelled = self.scheduler.replace(replaced, after, after.recorder)
        if cancelled:
            ended = replace(ended, adopted={**ended.adopted, "cancelled": [visit.name for visit in cancelled]})
        # All of it is in one commit: how nodes have ended, what was taken over, and the graph. Only then anything begins on it.
        after.recorder.write()
        await self.execution.effects.journal.record_revision(ended, text_of(definitions_of(by_place)))
        return ended

    async def _refuse(self, record: RevisionRecord, reason: str, found: Difference | None = None) -> RevisionRecord:
        adopted = Difference(refused=(reason,)) if found is None else found
        return await self._end(replace(record, state="refused", reason=reason, adopted=adopted.to_json()))

    async def _end(self, record: RevisionRecord) -> RevisionRecord:
        record = replace(record, at=time.time())
        await self.execution.effects.journal.record_revision(record)
        self._tell(f"revision_{record.state}", record)
        return record

    def _tell(self, name: Any, record: RevisionRecord) -> None:
        self.execution.telling.revision(name, record)


def called_before(known: Mapping[str, str], renamed: Mapping[str, str], workflow: Workflow) -> dict[str, str]:
    """What nodes were called first, by their ids in a workflow that a revision brings; ``known`` is the same before it."""
    now = {new: known.get(old, old) for new, old in renamed.items()}
    kept = {new: old for new, old in known.items() if new in workflow.graph.by_id and new not in now}
    return {new: old for new, old in {**kept, **now}.items() if new != old}


def _defined(engine: Engine) -> Callable[[str], Any]:
    graph = engine.workflow.graph

    def defined(name: str) -> Any:
        node = graph.by_id.get(name)
        return None if node is None else engine.meaning(node)

    return defined
