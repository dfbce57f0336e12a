"""Revisions of a run's graph while it runs: requests are handled one at a time, and each is applied or refused."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from merrow_analysis.definitions.settings import Refine
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.errors import InvalidFailure, RunFailure, StoreFailure, UsageFailure
from merrow_runtime.frontier import Chose, Failed, Frontier, Gave, Outcome, Revision
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Steps, definitions_of
from merrow_runtime.requests import AnswerSchema, Message
from merrow_runtime.revising.difference import RevisionDifference, changed_tasks, difference, is_task, why_asked_again
from merrow_runtime.revising.redo import Redo
from merrow_runtime.revising.reviser import (
    CannotReviseError,
    ProposedChanges,
    RevisedWorkflow,
    Reviser,
    RevisionAsker,
)
from merrow_runtime.revising.view import view_of
from merrow_runtime.running.engine import Engine
from merrow_runtime.running.run import RunExecution, with_members
from merrow_runtime.running.run_failures import ends_run, internal_failure
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.store.contract import RevisionRecord
from merrow_runtime.store.recordings.recording import REVISER
from merrow_runtime.store.revisions import LATE
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Value
from merrow_runtime.visit import Visit, own_node
from merrow_runtime.workflow import Workflow, restore

T = TypeVar("T")
MOST_TIMES = 4
"""With a model's revisions, nodes may run at most this many times the run's maximum number of calls."""


def _unknown() -> None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingRevision:
    """A revision to be tried: from a person, or from a reviser with its changes or its reason for none."""

    record: RevisionRecord
    done: asyncio.Future[RevisionRecord]
    changes: ProposedChanges | None = None
    problem: str = ""
    workflow: Workflow | None = None
    """A person's revision, if this process already has it."""


@dataclass(frozen=True, slots=True)
class _WithinBudget:
    """Asks a reviser's model until its budget is used up: `merrow_runtime.revising.reviser.RevisionAsker`."""

    asker: RevisionAsker
    used_up: Callable[[], str]

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
    ) -> T:
        limit = self.used_up()
        if limit:
            raise CannotReviseError(f"The model that revises has used up its {limit}.")
        return await self.asker.ask(step, messages, read, schema=schema, temperature=temperature)


class RunProgram(Protocol):
    """What a run needs besides the workflow; a `merrow_runtime.running.job.PreparedRun`."""

    def prepare(self, workflow: Workflow) -> Mapping[str, Steps]:
        """The steps of a workflow and of the files that it calls, by place. Raises `UsageFailure` if it can't be run."""
        ...

    def meters(self, workflow: Workflow) -> frozenset[str]:
        """The Loops of a workflow that have a budget of their own, as paths name them."""
        ...


@dataclass(slots=True, eq=False)
class Revisions:
    """The revisions of one run. ``applied`` is the number of the newest one that was applied.

    They are tried one at a time, those of people first. Nothing of a new graph is used before the journal has it.
    ``reviser`` reviews the graph as ``refine`` says; both are None if there is none. ``opened`` counts how often it was asked,
    including earlier processes, ``counted`` are the visits that had ended by then, and ``left_open`` is what it was being asked
    when the last process ended. ``most`` is the number of nodes that the run may carry out in total, and ``used_before`` what the
    reviser used in earlier processes for questions that are no longer open. ``first`` gives the workflow that the run began with,
    before all revisions; None if that is the current one.
    """

    job: RunProgram
    scheduler: Scheduler
    engine: Engine
    execution: RunExecution
    applied: int = 0
    reviser: Reviser | None = None
    refine: Refine | None = None
    opened: int = 0
    left_open: RevisionRecord | None = None
    inputs: Mapping[str, Value] = field(default_factory=dict)
    most: Callable[[], float | None] = _unknown
    used_before: Usage = NOTHING
    counted: set[str] = field(default_factory=set)
    first: Callable[[], Workflow] | None = None
    _asked: list[_WaitingRevision] = field(default_factory=list)
    _work: asyncio.Task[None] | None = None
    _thinking: asyncio.Task[None] | None = None
    _new: list[str] = field(default_factory=list)
    _executed: int = 0
    _met: set[Visit] = field(default_factory=set)
    _missed: list[tuple[Visit, str]] = field(default_factory=list)
    _deciding: dict[int, asyncio.Future[bool]] = field(default_factory=dict)
    _is_over: bool = False
    _newest: RevisionRecord | None = None
    """The newest one that this process applied."""

    # What the run asks and tells

    def ended(self, outcome: Outcome) -> None:
        """See `merrow_runtime.running.overseer.Overseer.ended`."""
        if self._newest is not None and self.scheduler.awaits and self._carry():
            self._newest = self._with_carried(self._newest)
            self.execution.effects.journal.update_revision(self._newest)
        if isinstance(outcome, Gave | Chose):
            self._executed += 1
            if self.counted and outcome.visit.name in self.counted:
                self.counted.remove(outcome.visit.name)
            else:
                self._new.append(outcome.visit.node)
        if self.refine is None:
            return
        is_busy = self._thinking is not None or self.left_open is not None
        if isinstance(outcome, Failed):
            cause = outcome.cause
            trigger = "invalid" if isinstance(cause, InvalidFailure) else "failure"
            asks = isinstance(cause, InvalidFailure) and cause.on_invalid == "refine"
            if (asks or trigger in self.refine.on) and not outcome.fatal and outcome.visit not in self._met:
                self._met.add(outcome.visit)
                self._new.append(outcome.visit.node)
                if is_busy:
                    self._missed.append((outcome.visit, trigger))
                else:
                    self._open(trigger)
        elif not is_busy and self.refine.every and len(self._new) >= self.refine.every and self._waits():
            self._open("every")

    def _open_for_missed(self) -> None:
        """Have the reviser look at failures that occurred while it was busy, if they are still current."""
        missed, self._missed = self._missed, []
        for visit, trigger in missed:
            if self.scheduler.frontier.holds(visit):
                self._open(trigger)
                return

    def _waits(self) -> bool:
        """Whether any node has not started."""
        graph = self.engine.workflow.graph
        return any(self._standing(node) == "waiting" for node in graph.nodes if node.kind == "operator")

    def _standing(self, node: TypedNode) -> str:
        """The state of a node, in one word for a reviser."""
        frontier = self.scheduler.frontier
        standing = frontier.standing(node)
        if standing != "open":
            return standing
        return "running" if self.scheduler.runs(frontier.visit(node)) else "waiting"

    def holds(self) -> bool:
        """See `merrow_runtime.running.overseer.Overseer.holds`."""
        with contextlib.suppress(RunFailure):  # The end of the run will report it, too.
            self.look()
        return self._work is not None or self._thinking is not None

    def look(self) -> None:
        """Check what people have requested, unless the run has failed: then a resume does it. Raises `StoreFailure`."""
        if self.scheduler.failure is not None:
            return
        if self.left_open is not None and self.refine is not None and self._thinking is None:
            record, self.left_open = self.left_open, None
            self._think(record)
        known = {waiting.record.number for waiting in self._asked}
        for asked in self.execution.effects.journal.asked_revisions():
            if asked.state == "asked" and asked.number not in known:
                self._take(asked)
            elif asked.state != "asked" and asked.number in self._deciding:
                self.decide(asked.number, apply=asked.state == "agreed")

    async def ask(self, workflow: Workflow) -> RevisionRecord:
        """Try a person's workflow in this process; returns how that ended. Raises `StoreFailure`, and `UsageFailure` if the run
        ends first.
        """
        if self._is_over:
            raise UsageFailure("The run is over: its workflow can't change any more.")
        made = RevisionRecord(0, "asked", "person", text=json.dumps(workflow.snapshot()), at=time.time())
        record = self.execution.effects.journal.add_revision(lambda number: replace(made, number=number))
        return await self._take(record, workflow)

    def decide(self, number: int, *, apply: bool) -> None:
        """A person accepts or refuses a waiting revision. Raises `UsageFailure` if none with this number is waiting."""
        waiting = self._deciding.pop(number, None)
        if waiting is None or waiting.done():
            raise UsageFailure(f"Revision {number} of this run is not waiting for a decision.")
        waiting.set_result(apply)

    async def close(self, failure: BaseException | None, *, done: bool) -> None:
        """See `merrow_runtime.running.overseer.Overseeing.close`. What was not tried is left to a resume, unless all is done."""
        self._is_over = True
        tasks = [task for task in (self._work, self._thinking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Done here, because a task that is cancelled before its first step does no cleanup.
        left, self._asked = self._asked, []
        late = UsageFailure("The run ended before its workflow could change. A resume tries the revision.")
        for waiting in left:
            if not done:
                _give_up(waiting, failure if isinstance(failure, StoreFailure) else late)
                continue
            try:
                refused = await self._refuse(waiting.record, LATE)
            except StoreFailure as problem:
                _give_up(waiting, problem)
            else:
                if not waiting.done.done():
                    waiting.done.set_result(refused)

    # A model

    def _open(self, trigger: str) -> None:
        """Have the reviser look, if it still may."""
        refine = self.refine
        assert refine is not None and self.reviser is not None  # noqa: S101, PT018 (whoever calls this has looked)
        if self.opened >= refine.max or self._used_up(refine):
            return
        most = self.most()
        if most is not None and self._executed >= MOST_TIMES * most:
            return
        self.opened += 1
        view = json.dumps(self._view(trigger), ensure_ascii=False)
        made = RevisionRecord(0, "open", trigger, view=view, at=time.time())
        try:
            record = self.execution.effects.journal.add_revision(lambda number: replace(made, number=number))
        except StoreFailure as failure:
            self.scheduler.fail(failure)
            return
        self._new = []
        self._think(record)

    def _used_up(self, refine: Refine) -> str:
        """The limit that the reviser has used up, in words; empty if something is left."""
        used = self.execution.effects.account.used_by(REVISER) + self.used_before
        if refine.tokens is not None and used.tokens >= refine.tokens:
            return f"{refine.tokens:,} tokens (`tokens` of refine)"
        if refine.usd is not None and (used.cost_usd is None or used.cost_usd >= refine.usd):
            return f"{refine.usd:g} US dollars (`usd` of refine)"
        return ""

    def _view(self, trigger: str) -> dict[str, Any]:
        engine = self.engine
        assert self.refine is not None  # noqa: S101 (see `_open`)
        standing = {node.id: self._standing(node) for node in engine.workflow.graph.nodes}
        nodes, frontier = self.execution.run.nodes, self.scheduler.frontier
        records = with_members(nodes)
        for node in engine.workflow.graph.nodes:
            visit = frontier.visit(node)
            if visit is not None and visit.redo and visit.name in nodes:
                records[node.id] = nodes[visit.name]
        return view_of(engine.workflow, self.inputs, standing, records, self._new, trigger, self.refine.view)

    def _think(self, record: RevisionRecord) -> None:
        refine = self.refine
        if refine is not None and (refine.strategy == "wait" or record.trigger == "failure"):
            self.scheduler.pause()
        self._tell("revision_opened", record)
        self._thinking = asyncio.get_running_loop().create_task(self._thought(record), name="reviser")

    async def _thought(self, record: RevisionRecord) -> None:
        refine, reviser, engine = self.refine, self.reviser, self.engine
        assert refine is not None and reviser is not None  # noqa: S101, PT018 (see `_open`)
        problem, changes = "", None
        try:
            asker = _WithinBudget(asker_of(engine, refine, record), partial(self._used_up, refine))
            changes = await reviser.revise(json.loads(record.view), engine.workflow, refine, asker)
        except CannotReviseError as cannot:
            problem = str(cannot)
        except RunFailure as failure:
            if ends_run(failure):
                self._ended_by(failure.at(REVISER, ""))
                return
            problem = failure.sentence
        except Exception as fault:  # noqa: BLE001 (a fault in Merrow: the run waits for the reviser, and must end)
            self._ended_by(internal_failure(REVISER, fault))
            return
        self._thinking = None
        self._put(_WaitingRevision(record, asyncio.get_running_loop().create_future(), changes, problem))

    def _ended_by(self, failure: RunFailure) -> None:
        """Fail the run, whose revision stays open: a resume asks again."""
        self._thinking = None
        self.scheduler.fail(failure)
        self._go_on()

    # One after the other

    def _take(self, record: RevisionRecord, workflow: Workflow | None = None) -> asyncio.Future[RevisionRecord]:
        return self._put(_WaitingRevision(record, asyncio.get_running_loop().create_future(), workflow=workflow))

    def _put(self, waiting: _WaitingRevision) -> asyncio.Future[RevisionRecord]:
        self._asked.append(waiting)
        self.scheduler.pause()
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._try_all(), name="revisions")
        return waiting.done

    async def _try_all(self) -> None:
        failed: RunFailure | None = None
        try:
            while self._asked:
                waiting = min(self._asked, key=lambda waiting: waiting.record.trigger != "person")
                ended = await self._try(waiting)
                self._asked.remove(waiting)
                if not waiting.done.done():
                    waiting.done.set_result(ended)
        except StoreFailure as failure:
            failed = failure
            self.scheduler.fail(failure)
        except Exception as fault:  # noqa: BLE001 (a fault in Merrow: what waits for a revision would wait forever)
            failed = internal_failure(REVISER, fault)
            self.scheduler.fail(failed)
        finally:
            if failed is not None:
                left, self._asked = self._asked, []
                for waiting in left:
                    _give_up(waiting, failed)
            self._work = None
            if self._missed and self._thinking is None and failed is None:
                self._open_for_missed()
            self._go_on()

    def _go_on(self) -> None:
        """Start what has been waiting, unless something still has to wait."""
        refine = self.refine
        if self._work is None and (self._thinking is None or refine is None or refine.strategy == "overlap"):
            self.scheduler.go_on()

    async def _try(self, waiting: _WaitingRevision) -> RevisionRecord:
        record = waiting.record
        if record.trigger != "person":
            return await self._try_changes(record, waiting.changes, waiting.problem)
        self._tell("revision_opened", record)
        if not record.text:
            return await self._refuse(record, record.reason)
        try:
            workflow = waiting.workflow or restore(json.loads(record.text))
        except UsageFailure as problem:
            return await self._refuse(record, str(problem))
        except (ValueError, KeyError, TypeError):
            return await self._refuse(record, "The workflow of this revision is damaged in the journal.")
        return await self.settle(record, workflow)

    async def _try_changes(
        self, record: RevisionRecord, changes: ProposedChanges | None, problem: str
    ) -> RevisionRecord:
        """Apply a reviser's changes to the current graph."""
        if changes is None or self.refine is None:
            return await self._refuse(record, problem)
        record = replace(record, reason=changes.reason)
        chose = {"candidates": [dict(candidate) for candidate in changes.candidates]} if changes.candidates else {}
        workflow = self.engine.workflow
        if changes.is_empty:
            return await self._end(replace(record, state="unchanged", adopted=chose))
        try:
            revised = changes.on(workflow, self.refine.max_nodes)
            after = restore({**workflow.snapshot(), "text": revised.text})
        except (CannotReviseError, UsageFailure) as cannot:
            return await self._refuse(record, str(cannot))
        record = replace(record, text=json.dumps(after.snapshot()))
        again = self._asked_again(after, revised)
        if again is None and self.refine.ask:
            if not await self._agreed(replace(record, adopted=chose), after, revised):
                return await self._refuse(record, "You did not want it.")
            again = self._asked_again(after, revised)  # Meanwhile others may have been asked.
        if again is not None:
            return await self._refuse(record, again)
        return await self.settle(replace(record, adopted=chose), after, revised.renamed, revised.bypassed)

    def _asked_again(self, after: Workflow, revised: RevisedWorkflow) -> str | None:
        """Why a reviser's workflow is refused that would have people asked again, as a sentence."""
        visits = (*self.engine.recorder.made, *self.scheduler.at_work)
        begun = {own_node(visit) for visit in visits}
        begun.update(node.id for node in self.engine.workflow.graph.nodes if self._standing(node) != "waiting")
        options = self.engine.effects.options
        try:
            return why_asked_again(self.engine.workflow, after, begun, revised.renamed, options)
        except UsageFailure as problem:
            return str(problem)

    async def _agreed(self, record: RevisionRecord, after: Workflow, revised: RevisedWorkflow) -> bool:
        """Whether a person wants a revision."""
        if record.state in ("agreed", "declined"):  # when an earlier process ended
            return record.state == "agreed"
        changes = difference(
            self.engine.workflow, after, self._finished(), revised.renamed, self.engine.effects.options
        )
        waiting = replace(record, state="waiting", adopted=self._about(record, changes, revised.bypassed))
        decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._deciding[record.number] = decided
        await self.execution.effects.journal.record_revision(waiting)
        self._tell("revision_waiting", waiting)
        try:
            return await decided
        finally:
            self._deciding.pop(record.number, None)

    async def settle(
        self,
        record: RevisionRecord,
        workflow: Workflow,
        renamed: Mapping[str, str] | None = None,
        bypassed: Collection[str] = (),
    ) -> RevisionRecord:
        """Apply a workflow, unless it is refused or nothing changes; ``renamed`` has old ids by new ones, ``bypassed`` the ids of
        nodes that it leaves out because they can't be done. Raises `StoreFailure`.
        """
        engine = self.engine
        try:
            by_place = self.job.prepare(workflow)
            changes = difference(engine.workflow, workflow, self._finished(), renamed, engine.effects.options)
        except UsageFailure as problem:
            return await self._refuse(record, str(problem))
        if changes.refused:
            return await self._refuse(record, " ".join(changes.refused), changes)
        if changes.is_empty and workflow.text == engine.workflow.text:
            return await self._end(replace(record, state="unchanged", adopted=changes.to_json()))
        record = replace(record, adopted=self._about(record, changes, bypassed))
        return await self._apply(record, workflow, by_place, changes, renamed or {})

    def _about(self, record: RevisionRecord, changes: RevisionDifference, bypassed: Collection[str]) -> dict[str, Any]:
        """What a revision does, as plain data: also which nodes it leaves out because they can't be done or have failed, and
        among which answers it was chosen.
        """
        failed = {visit.node for visit, _ in self.engine.recorder.failed_visits()}
        left = [name for name in changes.removed if name in bypassed or name in failed]
        kept = {name: record.adopted[name] for name in ("candidates",) if name in record.adopted}
        return {**changes.to_json(), **({"bypassed": left} if left else {}), **kept}

    def _finished(self) -> set[str]:
        """The ids of nodes that have a result or were skipped."""
        frontier, graph = self.scheduler.frontier, self.engine.workflow.graph
        return {node.id for node in graph.nodes if frontier.standing(node) in ("finished", "skipped")}

    async def _apply(
        self,
        record: RevisionRecord,
        workflow: Workflow,
        by_place: Mapping[str, Steps],
        changes: RevisionDifference,
        renamed: Mapping[str, str],
    ) -> RevisionRecord:
        before, recorder = self.engine, self.engine.recorder
        after = before.revised(workflow, by_place[workflow.place], by_place, record.number)
        revision = Revision(
            _defined(after),
            Redo(workflow.analysis.settings.redo).of,
            {**changes.renamed, **renamed},
            lambda visit: visit in recorder.made and recorder.made[visit].key is not None,
            [
                visit
                for visit, outcome in recorder.failed_visits()
                if before.policy(visit.node) != after.policy(visit.node)
            ],
        )

        def replaced(frontier: Frontier) -> Any:
            return frontier.replace(workflow.graph, before.key_of, after.key_of, revision, after.default)

        first = self.first = self.first or partial(_itself, before.workflow)
        names = called_before(self.execution.effects.renamed, changes.renamed, workflow)
        tasks = tasks_changed(first(), workflow, names, before.effects.options)
        ended = replace(record, state="applied", adopted={**record.adopted, "tasks": tasks}, at=time.time())
        self._tell("revision_applied", ended)
        self.engine, self.applied = after, record.number
        self.execution.effects.renamed = names
        self.execution.effects.account.use_meters(self.job.meters(workflow))
        self.execution.recorder = after.recorder
        cancelled = self.scheduler.replace(replaced, after, after.recorder)
        if cancelled:
            ended = replace(ended, adopted={**ended.adopted, "cancelled": [visit.name for visit in cancelled]})
        self._carry()
        ended = self._newest = self._with_carried(ended)
        # All of it is in one commit: outcomes of nodes, reused results, and the graph. Nothing starts on it before that.
        after.recorder.write()
        await self.execution.effects.journal.record_revision(ended, text_of(definitions_of(by_place)))
        # What is made again, or comes back with a later revision, may ask what it asked before.
        self.execution.effects.journal.learn()
        return ended

    def _carry(self) -> bool:
        """Note where the visits on their way are by now; whether that is not what it was."""
        effects = self.execution.effects
        before, under_way = effects.carried.before, self.scheduler.frontier.under_way()
        effects.carried = effects.carried.after(under_way, time.time())
        return effects.carried.before != before

    def _with_carried(self, record: RevisionRecord) -> RevisionRecord:
        before = self.execution.effects.carried.before
        adopted = {name: value for name, value in record.adopted.items() if name != "carried"}
        return replace(record, adopted={**adopted, "carried": before} if before else adopted)

    async def _refuse(
        self, record: RevisionRecord, reason: str, changes: RevisionDifference | None = None
    ) -> RevisionRecord:
        adopted = RevisionDifference(refused=(reason,)) if changes is None else changes
        return await self._end(replace(record, state="refused", reason=reason, adopted=adopted.to_json()))

    async def _end(self, record: RevisionRecord) -> RevisionRecord:
        record = replace(record, at=time.time())
        await self.execution.effects.journal.record_revision(record)
        self._tell(f"revision_{record.state}", record)
        return record

    def _tell(self, name: Any, record: RevisionRecord) -> None:
        self.execution.telling.revision(name, record)


def _give_up(waiting: _WaitingRevision, failure: RunFailure) -> None:
    """Tell those who wait for a revision that it is not tried."""
    if not waiting.done.done():
        waiting.done.set_exception(failure)
        waiting.done.exception()  # No one waits for a model's revision.


def asker_of(engine: Engine, refine: Refine, record: RevisionRecord) -> NodeTools:
    """How a reviser asks its model: its calls belong to a separate visit."""
    step = next(iter(engine.steps.values()))
    model = model_of_reviser(engine.workflow, engine.effects.options, refine)
    definition = replace(
        step.definition,
        id=REVISER,
        model=model or step.definition.model,
        temperature=0.0,
        max_tokens=None,
        seed=None,
    )
    own = replace(step, definition=definition, timeout=None, retries=None, samples=None, agent=None, aims=None)
    visit = Visit(REVISER, "", record.number)
    return NodeTools(engine.effects, own, engine.effects.account.of(visit), 0, REVISER)


def model_of_reviser(workflow: Workflow, options: RunOptions, refine: Refine) -> str | None:
    """The model that revises, if one is named; else that of the workflow's first node."""
    return refine.model or options.model or workflow.analysis.settings.model


def _itself(workflow: Workflow) -> Workflow:
    return workflow


def tasks_changed(first: Workflow, now: Workflow, names: Mapping[str, str], options: RunOptions) -> dict[str, Any]:
    """How many tasks a run began with, and the ids of those that have changed by now; ``names`` as `changed_tasks` has it."""
    initial = sum(map(is_task, first.graph.nodes))
    return {"initial": initial, "changed": list(changed_tasks(first, now, names, options))}


def called_before(known: Mapping[str, str], renamed: Mapping[str, str], workflow: Workflow) -> dict[str, str]:
    """The original names of nodes, by their ids in the workflow of a revision; ``known`` is the same before it."""
    now = {new: known.get(old, old) for new, old in renamed.items()}
    kept = {new: old for new, old in known.items() if new in workflow.graph.by_id and new not in now}
    return {new: old for new, old in {**kept, **now}.items() if new != old}


def _defined(engine: Engine) -> Callable[[str], Any]:
    graph = engine.workflow.graph

    def defined(name: str) -> Any:
        node = graph.by_id.get(name)
        return None if node is None else engine.meaning(node)

    return defined
