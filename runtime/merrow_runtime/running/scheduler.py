"""Runs the nodes of a workflow, each as soon as its live inputs are available.

There are no levels and no polling: a frontier says what follows from each outcome, and that is done immediately. This module
has only the parts that wait: the tasks for nodes with an operator and for Decisions that ask a model.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_runtime.errors import NodeFailure, RunFailure
from merrow_runtime.frontier import (
    Chose,
    Closes,
    Consequence,
    Ended,
    Failed,
    Frontier,
    Gave,
    Judged,
    JudgeTurn,
    LoopEnds,
    LoopReopens,
    OneNode,
    Opens,
    Outcome,
    Skip,
    Start,
    Takes,
    Withdrawn,
)
from merrow_runtime.operators.ask_decision import CHOICE, case_words
from merrow_runtime.program.decision import decide
from merrow_runtime.running.doing import Finished, NodeWork, Watcher
from merrow_runtime.running.overseer import Overseer
from merrow_runtime.running.run_failures import ends_run, internal_failure
from merrow_runtime.values import Value
from merrow_runtime.visit import Visit


class _By(NamedTuple):
    """Who carries out a visit and who observes it: those of the graph under which it started."""

    work: NodeWork
    watcher: Watcher


class Scheduler:
    """One run of a frontier. ``inputs`` has the value of each input node by id.

    ``stop_after`` is the number of nodes with an operator to run before it stops. Which ones does not depend on how long
    they take: they start together, in graph order, whenever nothing else is running.
    """

    def __init__(
        self,
        frontier: Frontier | OneNode,
        inputs: Mapping[str, Value],
        work: NodeWork,
        watcher: Watcher,
        stop_after: int | None = None,
    ) -> None:
        self._frontier = frontier
        self._inputs = inputs
        self._by = _By(work, watcher)
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Visit, asyncio.Task[None]] = {}
        self._withdrawn: set[Visit] = set()
        self._strays: set[Visit] = set()
        self._paused = self._stopping = False
        self._put_off: list[Start | JudgeTurn] = []
        self.overseer: Overseer | None = None
        self._done: asyncio.Future[None] | None = None
        self._left = stop_after
        self._held: list[Start] = []
        self._places = {}
        if stop_after is not None and isinstance(frontier, Frontier):
            self._places = {handle: place for place, handle in enumerate(frontier.graph.order)}

    @property
    def is_stopped(self) -> bool:
        """Whether there are nodes that it could have run but was told not to."""
        return bool(self._held)

    @property
    def frontier(self) -> Frontier:
        """What says what can begin; not of a node that runs alone."""
        assert isinstance(self._frontier, Frontier)  # noqa: S101 (see there)
        return self._frontier

    def close(self) -> None:
        """Let go of everything that knows it, once the run is over."""
        self.overseer = None
        self._frontier.close()

    @property
    def count(self) -> int:
        """The number of nodes to run or skip."""
        return self._frontier.count

    @property
    def failure(self) -> RunFailure | None:
        """Why the run failed; None if it has not failed."""
        return self._frontier.failure

    @property
    def results(self) -> Mapping[str, Value]:
        """What reached each output node, by id."""
        return self._frontier.results

    @property
    def at_work(self) -> Collection[Visit]:
        """The visits in progress."""
        return self._running.keys()

    def runs(self, visit: Visit | None) -> bool:
        """Whether a visit is in progress."""
        return visit in self._running

    @property
    def awaits(self) -> bool:
        """Whether anything is under way that no node had after the last revision: one may still take it."""
        return bool(self._strays)

    def running(self) -> int:
        """The number of running nodes with an operator."""
        return len(self._tasks)

    async def run(self) -> None:
        """Run until nothing is left to run. If a node fails for good, `failure` says why. Cancelling stops running nodes."""
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._follow(self._frontier.begin())
        try:
            await self._done
        finally:
            await self._stop()

    # Revisions

    def pause(self) -> None:
        """Start nothing that takes time until `go_on`."""
        self._paused = True

    def go_on(self) -> None:
        """Start what has been waiting, and check whether anything is left to do."""
        self._paused = False
        waiting, self._put_off = self._put_off, []
        self._begin([start for start in waiting if self._still_counts(start)])
        self._end_if_idle()

    def fail(self, failure: RunFailure) -> None:
        """Stop the run."""
        self._frontier.tell(Ended(failure))

    def replace(
        self, replaced: Callable[[Frontier], Sequence[Consequence]], work: NodeWork, watcher: Watcher
    ) -> list[Visit]:
        """Continue with another graph, which ``replaced`` puts into the frontier; returns the visits that are cancelled
        because nothing needs them any more.
        """
        frontier = self.frontier
        for waiting in self._put_off:
            if isinstance(waiting, Start):
                frontier.tell(Withdrawn(waiting.visit))
        self._put_off = []
        self._by = _By(work, watcher)
        self._follow(replaced(frontier))
        self._strays = {visit for visit in self._running if not frontier.holds(visit)}
        return self._cancel_obsolete()

    def _cancel_obsolete(self) -> list[Visit]:
        """Cancel running work that nothing needs any more."""
        cancelled: list[Visit] = []
        for visit in self._frontier.obsolete() if self._strays and isinstance(self._frontier, Frontier) else ():
            task = self._running.get(visit)
            if task is not None and visit not in self._withdrawn:
                self._withdraw(visit, task)
                cancelled.append(visit)
        return cancelled

    def _withdraw(self, visit: Visit, task: asyncio.Task[None]) -> None:
        """Cancel a running visit that nothing needs any more."""
        self._withdrawn.add(visit)
        self._strays.discard(visit)
        self._by.work.withdrawn(visit)
        task.cancel()
        # At once, not when the task has ended: a revision that comes before that must not wait for this visit.
        self._frontier.tell(Withdrawn(visit))

    def withdraw_unneeded(self) -> bool:
        """Cancel what waits for people although their answers make no difference any more, since the run, a turn or an item
        failed; whether there was anything.
        """
        failed = self._frontier.failure is not None
        unneeded = [
            (visit, task)
            for visit, task in self._running.items()
            if visit not in self._withdrawn
            and (failed or not self._frontier.counts(visit))
            and self._by.work.waits_for_person(visit)
        ]
        for visit, task in unneeded:
            self._withdraw(visit, task)
        return bool(unneeded)

    async def _stop(self) -> None:
        """Cancel running work, and wait until it has ended."""
        self._stopping = True
        self._frontier.tell(Ended(None))
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, consequences: Sequence[Consequence], *, one_for_me: bool = False) -> Start | JudgeTurn | None:
        """Do what follows from something, and what follows at once from that; what has to wait gets a task.

        With ``one_for_me`` the first of these is given back instead, for the task that asks to run. Once the run has failed
        nothing begins.
        """
        if not consequences:
            self._end_if_idle()
            return None
        pending = list(consequences)
        begin: list[Start | JudgeTurn] = []
        for consequence in pending:  # It grows meanwhile.
            if isinstance(consequence, Skip):
                self._by.watcher.skipped(consequence.node, consequence.visit, consequence.reason)
            elif isinstance(consequence, Opens):
                self._by.work.opened(consequence)
                self._by.watcher.opened(consequence)
            elif isinstance(consequence, Closes):
                self._by.watcher.closed(consequence)
            elif isinstance(consequence, LoopEnds):
                self._by.watcher.loop_ended(consequence)
            elif isinstance(consequence, LoopReopens):
                self._by.watcher.loop_reopened(consequence)
            elif isinstance(consequence, Takes):
                self._by.work.took(consequence)
                self._by.watcher.took(consequence)
            elif isinstance(consequence, JudgeTurn):
                if consequence.settings.budget is None and not consequence.by_run:
                    pending += self._frontier.tell(self._by.work.judged(consequence))
                else:
                    begin.append(consequence)
            elif consequence.node.kind == "operator" or consequence.node.asks or self._must_wait(consequence):
                begin.append(consequence)
            else:
                pending += self._frontier.tell(self._do(consequence))
        begin = [start for start in begin if self._still_counts(start) and not self._holds(start)]
        if self._paused:
            self._put_off += begin
            begin = []
        mine = begin.pop(0) if one_for_me and begin else None
        self._begin(begin)
        self._end_if_idle()
        return mine

    def _must_wait(self, start: Start) -> bool:
        """Whether a node that needs no operator still gets a task."""
        return self._frontier.failure is not None or self._by.work.is_validated(start.node)

    def _begin(self, several: Sequence[Start | JudgeTurn]) -> None:
        loop = asyncio.get_running_loop()
        for each in several:
            name = each.node.id if isinstance(each, Start) else each.composite.id
            task = loop.create_task(self._run(each), name=name)
            self._tasks.add(task)
            if isinstance(each, Start):
                self._running[each.visit] = task
            task.add_done_callback(self._ended)

    def _holds(self, start: Start | JudgeTurn) -> bool:
        """Whether something has to wait until nothing else runs; if so, it is kept."""
        if self._left is None or isinstance(start, JudgeTurn) or start.node.kind == "output":
            return False
        node, inputs, path = start.node, start.inputs, start.visit.path
        if self._by.work.takes_over(start, partial(self._frontier.remembered, node, inputs, path)):
            return False
        self._held.append(start)
        return True

    def _release(self) -> bool:
        """Start as much waiting work as allowed; whether anything started."""
        self._held = [start for start in self._held if self._still_counts(start)]
        if not self._held or not self._left:
            return False
        self._held.sort(key=lambda start: (self._places[start.node.index], len(start.visit.path), start.visit.path))
        now, self._held = self._held[: self._left], self._held[self._left :]
        self._left -= len(now)
        self._begin(now)
        return True

    def _still_counts(self, start: Start | JudgeTurn) -> bool:
        """Whether something should still start, since its frame or the run may have failed meanwhile."""
        if self._frontier.failure is None and (isinstance(start, JudgeTurn) or self._frontier.counts(start.visit)):
            return True
        if isinstance(start, Start):
            self._frontier.tell(Withdrawn(start.visit))
        return False

    def _do(self, start: Start) -> Outcome:
        """The outcome of a node that needs no operator."""
        node, inputs = start.node, start.inputs
        started, by = time.time(), self._by
        if node.kind == "input":
            return self._gave(start, Finished({INPUT_OUTPUT: self._inputs[node.id]}), started, by)
        if node.kind == "decision":
            answered = by.work.answered_by_person(start)
            if answered is not None and answered[1] is not None:
                return self._chose(start, answered[1], started, by, answered[0])
            try:
                case = decide(node, {port: given[0].value for port, given in inputs.items()})
            except RunFailure as failure:
                return self._failed(start, failure, started, by)
            except Exception as fault:  # noqa: BLE001 (as in `_run_one`: it is this node's, and the run ends in a sentence)
                return self._failed(start, internal_failure(node.id, fault), started, by)
            return self._chose(start, case, started, by)
        arrived = [value for values in inputs.values() for value in values]
        if not arrived:
            nothing = NodeFailure(f"Output {node.id}: nothing arrived at it.", node=node.id)
            return self._failed(start, nothing, started, by)
        return self._gave(start, Finished({"result": arrived[0].value}), started, by)

    async def _run(self, start: Start | JudgeTurn) -> None:
        """Run a node, and then one that waited for it: a chain needs one task, and no turn of the event loop in between."""
        task = asyncio.current_task()
        following: Start | JudgeTurn | None = start
        while following is not None:
            if isinstance(following, JudgeTurn):
                outcome = await self._judge(following)
            else:
                outcome = await self._run_or_withdraw(following, task)
            consequences = self._frontier.tell(outcome)
            if self.overseer is not None:
                self.overseer.ended(outcome)
            following = self._follow(consequences, one_for_me=True)
            if self._strays:
                self._cancel_obsolete()
        if task is not None:
            self._tasks.discard(task)
            self._end_if_idle()

    async def _run_or_withdraw(self, start: Start, task: asyncio.Task[None] | None) -> Outcome:
        """Run a node to its end, or until a revision no longer needs it."""
        visit = start.visit
        if task is not None:
            self._running[visit] = task
        try:
            return await self._run_one(start)
        except asyncio.CancelledError:
            if task is None or visit not in self._withdrawn or self._stopping:
                raise
            task.uncancel()
            return Withdrawn(visit)
        finally:
            self._running.pop(visit, None)
            self._withdrawn.discard(visit)
            self._strays.discard(visit)

    async def _run_one(self, start: Start) -> Outcome:
        by = self._by
        clone = await by.work.enter(start)
        if clone is None:
            return await self._carry_out(start, None, by)
        try:
            if self._frontier.failure is not None or not self._frontier.counts(start.visit):
                return Withdrawn(start.visit)  # That happened while it waited for its agent.
            return await self._carry_out(start, clone, by)
        finally:
            by.work.leave(start, clone)

    async def _carry_out(self, start: Start, clone: int | None, by: _By) -> Outcome:
        node, visit, inputs = start.node, start.visit, start.inputs
        started = time.time()
        by.watcher.started(node, visit, clone)
        answered = by.work.answered_by_person(start)
        if answered is not None:
            done, case = answered
            return self._gave(start, done, started, by) if case is None else self._chose(start, case, started, by, done)
        try:
            for port in node.placement.required:
                if port not in inputs:
                    raise NodeFailure.of(node.id, f"nothing arrived at its port {port}.")
            done = await by.work.run(start, partial(self._frontier.remembered, node, inputs, visit.path))
        except RunFailure as failure:
            return self._failed(start, failure, started, by)
        except Exception as fault:  # noqa: BLE001 (nothing that anybody can act on: a fault in Merrow, or in a program's own endpoint)
            return self._failed(start, internal_failure(node.id, fault), started, by)
        if node.asks:
            return self._chose(start, case_words(node).index(str(done.outputs[CHOICE])), started, by, done)
        return self._gave(start, done, started, by)

    async def _judge(self, turn: JudgeTurn) -> Outcome:
        """The judgement of a turn."""
        try:
            work = self._by.work
            told = work.judged(turn)
            if told.failure is None and await work.spent(turn):
                return Judged(told.path, told.holds, told.score, spent=True, redo=told.redo)
        except RunFailure as failure:
            return Ended(failure)
        except Exception as fault:  # noqa: BLE001 (as in `_run_one`)
            return Ended(internal_failure(turn.composite.id, fault))
        else:
            return told

    def _gave(self, start: Start, done: Finished, started: float, by: _By) -> Outcome:
        by.watcher.finished(start.node, start.visit, start.inputs, done, started, None)
        return Gave(start.visit, done.outputs)

    def _chose(self, start: Start, case: int, started: float, by: _By, done: Finished | None = None) -> Outcome:
        done = Finished({}) if done is None else done
        by.watcher.finished(start.node, start.visit, start.inputs, done, started, case)
        return Chose(start.visit, case, start.inputs.get("value", ()))

    def _failed(self, start: Start, failure: RunFailure, started: float, by: _By) -> Outcome:
        """A node failed: that ends the run, or the run continues without its outputs, or with its default ones."""
        node = start.node
        ends = ends_run(failure)
        goes_on = "fail" if ends else by.work.on_error(node, failure)
        if self._frontier.ends(goes_on):
            goes_on = "fail"
        by.watcher.failed(node, start.visit, start.inputs, failure, started, goes_on)
        if goes_on == "default":
            case = by.work.fallback_case(node) if node.kind == "decision" else None
            if case is not None:
                return self._chose(start, case, started, by)
            outputs = by.work.fallback(node)
            if outputs is not None:
                return self._gave(start, Finished(outputs), started, by)
        return Failed(start.visit, failure, goes_on == "fail", ends)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Handle a task that did not end on its own: it was cancelled, or failed outside its node's work."""
        if task not in self._tasks:
            return
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        withdrawn = next(
            (visit for visit, other in self._running.items() if other is task and visit in self._withdrawn), None
        )
        if withdrawn is not None and fault is None and not self._stopping:
            # It was withdrawn before its first step.
            del self._running[withdrawn]
            self._withdrawn.discard(withdrawn)
            self._follow(self._frontier.tell(Withdrawn(withdrawn)))
        elif fault is not None:
            self._frontier.tell(Ended(internal_failure(task.get_name(), fault)))
            self._end_if_idle()
        elif self._done is not None and not self._done.done():
            self._done.cancel()  # Without this node the others would reach an end that is not one.

    def _end_if_idle(self) -> None:
        if self._tasks or self._done is None or self._done.done():
            if self._tasks and not self._stopping:
                self._by.work.goes_on()
            return
        if self._left is not None and self._release():
            return
        if self.overseer is None or not self.overseer.holds():
            self._done.set_result(None)
