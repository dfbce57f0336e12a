"""What the scheduler asks for single nodes: runs operators, gathers memory and samples, reuses results of other runs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.environments.episodes import EpisodePlace, place_of
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.errors import AnswerFailure, NodeFailure, UsageFailure
from merrow_runtime.frontier import Frontier, Gave, Inputs, Made, Start, Takes, behind
from merrow_runtime.operators.agents.tool_agent import ToolAgent
from merrow_runtime.operators.ask_decision import CHOICE, case_words
from merrow_runtime.operators.base import Memories, Remembered, Task
from merrow_runtime.operators.environment import ACTION, ENV, Environment, action_of
from merrow_runtime.operators.formats.planned import input_of, load_planned
from merrow_runtime.operators.prompts.memory import recall
from merrow_runtime.operators.remember import Remember
from merrow_runtime.operators.retrieve import STORE, Retrieve
from merrow_runtime.people.told import told_of
from merrow_runtime.program.definitions import Step, Steps, definitions_of, make_steps, meaning_without_step
from merrow_runtime.program.inputs import read_inputs
from merrow_runtime.provenance import PERSON, PERSON_ORIGIN
from merrow_runtime.requests import Message
from merrow_runtime.revising.redo import Redo
from merrow_runtime.running.attempts import Attempted, in_attempts, judged_by, kept_of, told
from merrow_runtime.running.doing import Finished
from merrow_runtime.running.executions import Executions
from merrow_runtime.running.masking import Mask, masked
from merrow_runtime.running.node_recorder import NodeRecorder
from merrow_runtime.running.node_visit import Earlier, NodeVisit, turn_of_question
from merrow_runtime.running.nodes_at_work import NodesAtWork
from merrow_runtime.running.planned_calls import LoopTurn, Pools, results_so_far, standing
from merrow_runtime.running.run_failures import ends_run
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.running.set_outputs import SetOutputs
from merrow_runtime.running.single import Rerun
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import NOTHING
from merrow_runtime.validation.verdicts import ValidationVerdict, validation_record
from merrow_runtime.values import Outputs, Value, as_text, canonical
from merrow_runtime.visit import Visit
from merrow_runtime.workflow import Workflow


@dataclass(slots=True, eq=False)
class Engine(NodesAtWork):
    """The work of one run. ``executions`` are those that it may reuse from an earlier one.

    ``recorder`` is informed about its nodes. ``rerun`` are the visits that bypass earlier results and the cache, each by its
    node's index. ``parallel`` is the default for how many items of a Map run at once, ``default_model`` the model of the
    user's settings. ``pools`` have what turns of planned Calls may reuse, ``turn`` what this one may reuse if it runs a planned
    workflow. ``mask`` says which results are masked. ``set_outputs`` are those that a person set.
    """

    executions: Executions
    recorder: NodeRecorder
    rerun: Rerun = field(default_factory=Rerun)
    parallel: int = 1
    default_model: str | None = None
    pools: Pools = field(default_factory=Pools)
    turn: LoopTurn | None = None
    set_outputs: SetOutputs | None = None
    mask: Mask | None = None
    inputs: Mapping[str, Value] = field(default_factory=dict)
    """The values of the workflow's inputs, by id."""

    def frontier(self, path: str = "", ordinal: str = "") -> Frontier:
        """The frontier of what it runs, in the frame with a path."""
        redo = Redo(self.workflow.analysis.settings.redo)
        graph = self.workflow.graph
        given = {node.id for node in graph.inputs if node.id in self.inputs}
        absent = [node.id for node in graph.inputs if node.id not in given] if given else []
        return Frontier(
            graph,
            parallel=self.parallel,
            defaults=self.default,
            path=path,
            ordinal=ordinal,
            redo=redo.of,
            absent=absent,
            limited=self.effects.calling.is_limited,
        )

    def revised(self, workflow: Workflow, steps: Steps, by_place: Mapping[str, Steps], number: int) -> Engine:
        """The work of the same run on another graph, that of the revision with this number."""
        start = self.rerun.start
        node = None if start is None else workflow.graph.by_id.get(start.node)
        rerun = Rerun() if node is None else Rerun(behind(workflow.graph, node.index), start)
        set_outputs = None if self.set_outputs is None else self.set_outputs.on(workflow)
        inside = [step for place, own in by_place.items() if place for step in own.values()]
        redo = Redo(workflow.analysis.settings.redo)
        return replace(
            self,
            workflow=workflow,
            steps=steps,
            executions=self.executions.revised(steps, inside, redo),
            recorder=self.recorder.revised(steps, number),
            rerun=rerun,
            set_outputs=set_outputs,
        )

    def key_of(self, node: TypedNode, inputs: Inputs, entries: Memories, path: str = "") -> Hashable:
        """A node's result is a function of this key. For a node that asks or computes nothing it consists of its inputs."""
        step = self.steps.get(node.index)
        if step is not None:
            key = step.key(inputs, self.steps.memory_of(step, entries))
            return Made(step.digest, 0, self._standing(step, Visit(node.id, path), inputs, key))
        if node.kind == "input":
            return "input"
        given = {port: [value.value for value in values] for port, values in inputs.items()}
        return node.kind, self.meaning(node), hashlib.sha256(canonical(given).encode("utf-8", "surrogatepass")).digest()

    def _standing(self, step: Step, visit: Visit, inputs: Inputs, key: str) -> str:
        """A node's key; of an Environment with what was done before in its episode, of a Retrieve with what its documents are
        known by.
        """
        if isinstance(step.operator, Retrieve):
            return self._with_version(step, visit, key)
        if isinstance(step.operator, ToolAgent) and (said := told_of(self.effects.options, visit)) is not None:
            return hashlib.sha256(f"{key}\n{said}".encode("utf-8", "surrogatepass")).hexdigest()
        place = self._place(step, visit)
        return key if place is None else self.effects.episodes.stands_on(place, key, resets=not inputs.get(ACTION))

    def _with_version(self, step: Step, visit: Visit, key: str) -> str:
        """The key of a visit that looks something up, with what the documents of its store were known by when it began."""
        if self.effects.replay is not None and not self.effects.replay.may_ask:
            return key
        stores = self.effects.stores
        place = stores.place_of(self.workflow, str(step.definition.parameters[STORE]))
        return hashlib.sha256(f"{key}\n{stores.version_for(place, visit)}".encode()).hexdigest()

    def _place(self, step: Step, visit: Visit) -> EpisodePlace | None:
        """Where an Environment acts; None for any other node."""
        if not isinstance(step.operator, Environment):
            return None
        return place_of(visit, str(step.definition.parameters[ENV]), self.workflow.graph.composites)

    def meaning(self, node: TypedNode) -> Hashable:
        """The part of a node's definition that, with its inputs, determines its outcome."""
        step = self.steps.get(node.index)
        if step is not None:
            return step.digest
        return meaning_without_step(node)

    def policy(self, name: str) -> Hashable:
        """What to do if a node fails, and how often to try it."""
        node = self.workflow.graph.by_id.get(name)
        if node is None:
            return None
        step = self.steps.get(node.index)
        parameter = node.resolution.parameters.get("default")
        judged = None if step is None or step.validation is None else step.validation.digest
        tried = () if step is None else (step.timeout, step.retries, judged)
        return self.on_error(node), None if parameter is None else repr(parameter.value), *tried

    def answered_by_person(self, start: Start) -> tuple[Finished, int | None] | None:
        """See `merrow_runtime.running.doing.NodeWork.answered_by_person`."""
        if not self.set_outputs:
            return None
        node, visit = start.node, start.visit
        case = self.set_outputs.case(visit) if node.kind == "decision" else None
        outputs = self.set_outputs.of(visit)
        step = self.steps.get(node.index)
        if case is None and (step is None or not outputs or outputs.keys() < step.shapes.keys()):
            return None
        self.effects.account.of(visit).answered[PERSON] = None
        outputs = {CHOICE: case_words(node)[case]} if case is not None and node.asks else outputs
        ordered = {port: outputs[port] for port in ({} if step is None else step.shapes)}
        return Finished(ordered, sources=(PERSON,), why_no_call="A person set what it gives."), case

    async def run(self, start: Start, entries: Memories) -> Finished:
        """See `merrow_runtime.running.doing.NodeWork.run`."""
        done = await self._run(start, entries)
        self._note_act(start.node, start.visit, start.inputs, done.outputs)
        done = self._masked(start, done)
        set_outputs = self.set_outputs.of(start.visit) if self.set_outputs else {}
        if not set_outputs:
            return done
        answered = self.effects.account.of(start.visit).answered
        answered[PERSON] = None
        # Without a key: a person's answer for this node is not the answer to the same question elsewhere.
        return replace(
            done, outputs={**done.outputs, **set_outputs}, key=None, sources=tuple(answered), why_no_call=None
        )

    def took(self, takes: Takes) -> None:
        """See `merrow_runtime.running.doing.NodeWork.took`."""
        if isinstance(takes.outcome, Gave):
            self._note_act(takes.node, takes.visit, takes.inputs, takes.outcome.outputs)

    def _note_act(self, node: TypedNode, visit: Visit, inputs: Inputs, outputs: Outputs) -> None:
        """Note what an Environment has done, now or before, for what follows in its episode."""
        step = self.steps.get(node.index)
        place = None if step is None else self._place(step, visit)
        if step is not None and place is not None:
            action = action_of(Task(step.definition, inputs))
            observation, reward = as_text(outputs["observation"]), float(str(outputs["reward"]))
            seen = EnvironmentStep(observation, reward, terminated=bool(outputs["done"]))
            self.effects.episodes.add(place, action.action, action.task, seen)

    def _masked(self, start: Start, done: Finished) -> Finished:
        """What a node passes on if results are masked; for a result that the run already has, from this or another visit, the
        draw was made there.
        """
        node, visit = start.node, start.visit
        if self.mask is None or done.taken is not None:
            return done
        known = done.key is not None and self.executions.done(visit.lasting, done.key, self._is_usable) is not None
        if not known and self.mask.meets(visit, self.effects.renamed.get(visit.node, visit.node)):
            outputs = masked(done.outputs, node, self.workflow.graph.types)
            if outputs != done.outputs:
                # Without a key: nothing else must take this for the node's result.
                return replace(done, outputs=outputs, key=None, masked=True)
        step = self.steps[node.index]
        return replace(done, key=None) if step.called is not None or step.is_planned_call else done

    async def _run(self, start: Start, entries: Memories) -> Finished:
        """Run a node unless there is an earlier result."""
        node_visit = self._visited(start, entries)
        earlier = self._earlier(node_visit)
        if earlier is not None and isinstance(node_visit.step.operator, Remember) and self.effects.stores.are_copies:
            # A copy does not have what was added to the one before it.
            await node_visit.step.operator.run(
                Task(node_visit.step.definition, start.inputs), self._tools(node_visit, 0)
            )
        if earlier is not None and (node_visit.judged is None or node_visit.judged.has_judged(earlier.record)):
            return self._reused(node_visit, earlier)
        return await self._attempted(node_visit, earlier)

    def _visited(self, start: Start, entries: Memories) -> NodeVisit:
        """What is to be known of a visit before anything is looked up or asked for it."""
        visit, step = start.visit, self.steps[start.node.index]
        memory = self.steps.memory_of(step, entries)
        key = self._standing(step, visit, start.inputs, step.key(start.inputs, memory))
        pool = self.pools.of(self.workflow.graph, visit) if step.is_planned_call else None
        if pool is not None:
            key = pool.stands_on(key)
        if self.set_outputs and step.called is not None:
            key = self.set_outputs.key(visit, key)
        return NodeVisit(
            start,
            step,
            self.effects.account.of(visit),
            memory,
            key,
            judged_by(step, start.inputs, self.inputs),
            pool,
            is_rerun=self.rerun.covers(start.node.index, visit),
            given_away=self.recorder.moved.get((visit.name, key), 0.0),
        )

    def _earlier(self, node_visit: NodeVisit) -> Earlier | None:
        """An earlier result for a visit: its own, that of an earlier turn of a planned Call, or of another run."""
        visit = node_visit.start.visit.lasting
        # A recording consists of calls, so these are replayed one by one.
        own = None if self.effects.recorder else self.executions.done(visit, node_visit.key, self._is_usable)
        if own is not None:
            return Earlier(own, is_own=True)
        known = None if self.turn is None else self.turn.take(node_visit.start.visit, node_visit.key, self._is_usable)
        if known is None and not node_visit.given_away and not node_visit.is_rerun:
            known = self.executions.take(visit, node_visit.key, self._is_usable)
        return None if known is None else Earlier(known, is_own=False)

    def _reused(self, node_visit: NodeVisit, earlier: Earlier) -> Finished:
        """An earlier result as it is."""
        record, is_own = earlier
        self._take(node_visit, earlier)
        if is_own or record.taken is not None:
            node_visit.account.count_known(record.usage)
        return Finished(
            dict(record.outputs or {}),
            node_visit.key,
            record.usage if is_own else NOTHING,
            reused=not is_own,
            memory=tuple(_summary(record) if node_visit.step.memory.kind == "summary" else node_visit.memory),
            sources=tuple(record.sources),
            why_no_call=record.why_no_call,
            validation=None if node_visit.judged is None else record.validation,
            taken=self._taken(earlier),
        )

    def _take(self, node_visit: NodeVisit, earlier: Earlier) -> None:
        """Count an earlier result as this visit's."""
        if node_visit.pool is not None:
            node_visit.pool.end_turn(self.executions.within(earlier.record))
        node_visit.account.answered.update(dict.fromkeys(earlier.record.sources))

    def _taken(self, earlier: Earlier) -> str | None:
        """The other visit of the run whose result it is; None where it is the visit's own, or another run's."""
        record, is_own = earlier
        return record.visit.name if not is_own and self.executions.is_of_run(record) else None

    async def _attempted(self, node_visit: NodeVisit, earlier: Earlier | None) -> Finished:
        """Carry a node out. An ``earlier`` result that was judged by something else is its first attempt: a changed validator
        judges it, and the node runs again only if it is not valid.
        """
        step, account = node_visit.step, node_visit.account
        kept = None if earlier is None else kept_of(earlier.record, step.samples)
        if kept is None:
            earlier = None
        if earlier is not None:
            self._take(node_visit, earlier)
            account.why_no_call = earlier.record.why_no_call
        memory = await self._recalled(node_visit, earlier)
        account.verdicts.clear()
        attempts: dict[int, Attempted] = {}

        async def once(sample: int) -> Outputs:
            task = Task(step.definition, node_visit.start.inputs, memory, sample)
            if node_visit.judged is None:
                return await self.once(step, task, self._tools(node_visit, sample))
            done = attempts[sample] = await in_attempts(
                step,
                task,
                node_visit.judged.inputs,
                partial(self._tools, node_visit, sample),
                lambda own: self.once(step, task, own),
                partial(self._tell_verdict, node_visit, sample),
                None if kept is None else kept[sample],
            )
            return done.outputs

        outputs = await self.carried_out(step, once)
        again = earlier if all(done.attempt == 1 for done in attempts.values()) else None
        return Finished(
            outputs,
            node_visit.key,
            account.used,
            reused=again is not None,
            memory=tuple(memory),
            sources=account.sources,
            why_no_call=account.why_no_call,
            validation=_validation(node_visit, attempts.values()),
            taken=None if again is None else self._taken(again),
        )

    def _tools(
        self,
        node_visit: NodeVisit,
        sample: int,
        attempt: int = 1,
        history: tuple[Message, ...] = (),
        *,
        judges: bool = False,
    ) -> NodeTools:
        """What a node's operator, or its validator, asks models and the sandbox with."""

        async def run_file(values: Mapping[str, Value]) -> Outputs:
            return await (self._run_file if node_visit.pool is None else self._run_planned)(
                node_visit.start, node_visit.step, values
            )

        return NodeTools(
            self.effects,
            node_visit.step,
            node_visit.account,
            sample,
            node_visit.seed,
            past_cache=node_visit.past_cache,
            run_file=run_file,
            attempt=attempt,
            history=history,
            judges=judges,
            since=node_visit.given_away,
            turn=turn_of_question(node_visit.start, self.workflow.graph.composites),
            place=self._place(node_visit.step, node_visit.start.visit),
            workflow=self.workflow,
        )

    async def _recalled(self, node_visit: NodeVisit, earlier: Earlier | None) -> list[Remembered]:
        """What a node is shown of what ran before; a summary is made by a model unless an earlier result has it."""
        kind, amount = node_visit.step.memory.kind, node_visit.step.memory.amount
        if kind != "summary":
            return node_visit.memory
        return (
            await recall(kind, amount, node_visit.memory, self._tools(node_visit, 0))
            if earlier is None
            else _summary(earlier.record)
        )

    def _tell_verdict(self, node_visit: NodeVisit, sample: int, attempt: int, verdict: ValidationVerdict) -> None:
        """Keep and report what a validator says of an attempt."""
        which = None if node_visit.step.samples is None else sample
        node_visit.account.verdicts.append(told(verdict, attempt, which))
        self.effects.telling.judged(node_visit.start.visit, which, attempt, verdict.to_json())

    def takes_over(self, start: Start, entries: Memories) -> bool:
        """See `merrow_runtime.running.doing.NodeWork.takes_over`."""
        step = self.steps.get(start.node.index)
        if self.turn is None or step is None:
            return False
        memory = self.steps.memory_of(step, entries)
        return self.turn.take(start.visit, step.key(start.inputs, memory), self._is_usable) is not None

    async def _run_planned(self, start: Start, step: Step, values: Mapping[str, Value]) -> Outputs:
        """Run the workflow that a Call is brought, in a frame of its own, as far as it may go; how it stands then.

        Raises `RunFailure`: of a node of it only where the Call runs it to its end.
        """
        name, visit, stop_after = step.definition.id, start.visit, step.definition.parameters.get("stop_after")
        try:
            plan = load_planned(as_text(values["workflow"]))
        except AnswerFailure as problem:
            raise NodeFailure.of(name, f"what its port `workflow` was brought can't be run. {problem}") from None
        frame = str(visit)
        plan = replace(plan, place=frame)
        steps = make_steps(plan, replace(self.effects.options, model=step.definition.model))
        await self.effects.journal.record_definitions(text_of(definitions_of({"": steps})), frame)
        pool = self.pools.of(self.workflow.graph, visit)
        recorder = self.recorder.inside(steps, planned=True)
        inputs = read_inputs(plan.graph, {input_of(plan.graph).id: values["problem"]})
        engine = replace(
            self,
            workflow=plan,
            steps=steps,
            recorder=recorder,
            rerun=Rerun(frozenset(steps)) if self.rerun.covers(start.node.index, visit) else Rerun(),
            turn=pool.next_turn(),
            inputs=inputs,
            around=(*self.around, (self.workflow.place, name)),
            set_outputs=None,
        )
        limit = int(stop_after) if isinstance(stop_after, (int, float)) else None
        scheduler = Scheduler(engine.frontier(frame, start.ordinal), inputs, engine, recorder, limit)
        try:
            await self._carry_out(scheduler, visit)
        finally:
            pool.end_turn(recorder.kept)
        failure = scheduler.failure
        if failure is not None and (limit is None or ends_run(failure)):
            raise recorder.located(failure)
        done = failure is None and not scheduler.is_stopped
        if done:
            output = next(iter(plan.graph.outputs)).id
            if output not in scheduler.results:
                raise NodeFailure.of(name, f"output {output} of the workflow that it was brought stays empty.")
            result = as_text(scheduler.results[output])
        else:
            result = results_so_far(plan.graph, steps, recorder.kept)
        return {"result": result, "state": standing(plan.graph, steps, recorder.kept, frame, done=done), "done": done}

    async def _carry_out(self, scheduler: Scheduler, visit: Visit) -> None:
        """Run the graph that a Call runs."""
        busy = self.effects.busy
        busy.append(scheduler)
        try:
            await scheduler.run()
        finally:
            busy.remove(scheduler)
            self.effects.account.gather(visit)

    async def _run_file(self, start: Start, step: Step, values: Mapping[str, Value]) -> Outputs:
        """Run the file that a Call names, in its own frame; returns what reaches its outputs. Raises `RunFailure`."""
        called, name, visit = step.called, step.definition.id, start.visit
        assert called is not None  # noqa: S101 (only a Call asks for this)
        own = self.own_call(step, called.name)
        steps = make_steps(called, self.effects.options, self.default_model)
        try:
            inputs = read_inputs(called.graph, values)
        except UsageFailure as problem:
            raise NodeFailure.of(name, f"{called.name} can't take what it is given. {problem}") from None
        engine = replace(
            self,
            workflow=called,
            steps=steps,
            recorder=self.recorder.inside(steps),
            rerun=Rerun(frozenset(steps)) if self.rerun.covers(start.node.index, visit) else Rerun(),
            turn=None,
            inputs=inputs,
            around=(*self.around, own),
            set_outputs=self.set_outputs.inside(visit) if self.set_outputs else None,
        )
        scheduler = Scheduler(engine.frontier(str(visit), start.ordinal), inputs, engine, engine.recorder)
        await self._carry_out(scheduler, visit)
        if scheduler.failure is not None:
            raise engine.recorder.located(scheduler.failure)
        results = scheduler.results
        empty = next((port for port in step.shapes if port not in results), None)
        if empty is not None:
            raise NodeFailure.of(name, f"output {empty} of {called.name} stays empty.")
        return {port: results[port] for port in step.shapes}

    def _is_usable(self, earlier: NodeRecord) -> bool:
        """Whether the run may reuse a result, depending on its source. What a person set inside a Call is in its key."""
        effects = self.effects
        return effects.reuses_any or all(
            source.endpoint in (effects.endpoint, PERSON_ORIGIN) for source in earlier.sources
        )


def _summary(record: NodeRecord) -> list[Remembered]:
    """What the node of a record was shown."""
    return [Remembered(**entry) for entry in record.memory]


def _validation(node_visit: NodeVisit, attempts: Collection[Attempted]) -> dict[str, Any] | None:
    """What the record of a node has of its validator; None where it has none."""
    if node_visit.judged is None:
        return None
    last = max((done.attempt for done in attempts), default=0)
    valid = all(done.valid for done in attempts)
    return validation_record(node_visit.judged.by, list(node_visit.account.verdicts), last, valid=valid)
