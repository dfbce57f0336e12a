"""Prepares a run: everything that can be checked is checked before it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.settings import BudgetSettings, Refine
from merrow_analysis.graph.boxes.composites import loop_settings
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.resolve import may_ask_person, store_name
from merrow_runtime.calls.account import RunAccount
from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.carried import Carried
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.gate import gate_of
from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.frontier import OneNode, behind
from merrow_runtime.models.budget import Budget, unpriced_failure
from merrow_runtime.models.offline import NOTICE
from merrow_runtime.models.prices import price_at
from merrow_runtime.operators.human import Human
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.definitions import Step, Steps, asks_models, asks_people, definitions_of, make_steps
from merrow_runtime.program.inputs import read_inputs
from merrow_runtime.program.tool_parameters import folder_of, pins_of, root_of, tools_of
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN, ForeignResults, listed, named
from merrow_runtime.revising.redo import Redo
from merrow_runtime.revising.reviser import Reviser, refining
from merrow_runtime.running.engine import Engine
from merrow_runtime.running.executions import Executions
from merrow_runtime.running.masking import mask_notice, mask_of
from merrow_runtime.running.node_recorder import NodeRecorder, NodeRecords
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import RunResources
from merrow_runtime.running.revisions import Revisions, model_of_reviser
from merrow_runtime.running.run import Run, RunExecution, with_members
from merrow_runtime.running.scheduler import Scheduler
from merrow_runtime.running.set_outputs import SetOutputs
from merrow_runtime.running.single import Rerun, single_inputs, visit_named
from merrow_runtime.spending.meter import Meter
from merrow_runtime.store.contract import NodeRecord, RevisionRecord, RunJournal, RunRecord
from merrow_runtime.store.recordings.recording import Recorder, Replay, header_of
from merrow_runtime.store.rows import text_of
from merrow_runtime.telling import Telling
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Value
from merrow_runtime.visit import segment
from merrow_runtime.workflow import Workflow

if TYPE_CHECKING:
    from merrow_runtime.documents.places import StorePlace
    from merrow_runtime.documents.run_stores import RunStores


def limits_of(workflow: Workflow, options: RunOptions) -> BudgetSettings:
    """What a run may use: the workflow's budget, with each limit replaced by that of the options, if set."""
    budget = workflow.analysis.settings.budget
    return BudgetSettings(
        budget.usd if options.budget_usd is None else options.budget_usd,
        budget.tokens if options.budget_tokens is None else options.budget_tokens,
        budget.seconds if options.budget_seconds is None else options.budget_seconds,
    )


@dataclass(frozen=True, slots=True)
class AppliedRevisions:
    """What a resumed run knows about its revisions: the number of the ``last`` one that was applied, 0 if none was.
    ``moved`` says when one visit took over the result of another, by the name and key of the latter; ``renamed`` has the original
    names of nodes.
    """

    last: int = 0
    moved: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    opened: int = 0
    """How many times a reviser was asked."""
    left_open: RevisionRecord | None = None
    """What it has not answered."""
    counted: frozenset[str] = frozenset()
    """The visits that had ended when the last one was made, by name."""
    carried: Carried = field(default_factory=Carried)
    """Where visits were that the last revision has given another place."""
    used: Usage = NOTHING
    """What the reviser has used for answered questions."""
    first: Callable[[], Workflow] | None = None
    """The workflow that the run began with; None if that is the one that it has."""


NOT_REVISED = AppliedRevisions()


def _all_loop_budgets(workflow: Workflow) -> dict[str, BudgetSettings]:
    return {name: limits for reached in workflow.reached() for name, limits in _loop_budgets(reached.graph).items()}


def _loop_budgets(graph: TypedGraph) -> dict[str, BudgetSettings]:
    """The budgets of Loops that have their own, by their ids."""
    budgets = {box.id: loop_settings(box).budget for box in graph.composites if box.kind == "loop"}
    return {name: limits for name, limits in budgets.items() if limits is not None}


class PreparedRun:
    """A prepared run: everything that can be checked is checked here, before it starts."""

    def __init__(
        self,
        workflow: Workflow,
        options: RunOptions,
        inputs: Mapping[str, Value],
        resources: RunResources,
        earlier: Sequence[NodeRecord],
        own: Sequence[NodeRecord] = (),
        notices: Sequence[str] = (),
        revised: AppliedRevisions = NOT_REVISED,
        reviser: Reviser | None = None,
        root: Path | None = None,
    ) -> None:
        """``earlier`` are results of the run that this one reuses, ``own`` those that it has itself, reused or made before it
        was resumed; ``notices`` are for the user to read when the run begins. ``revised`` is what is known of its revisions, and
        ``reviser`` who makes them where the workflow or the options ask for that. ``root`` is the folder of the workflow's file,
        None for the one by its name.
        """
        self.reviser, self.root = reviser, root
        taken = [node for node in own if node.status == "reused"]
        self.revised = revised
        self.workflow = workflow
        self.resources = resources
        self.replay = Replay.read(options.replay) if isinstance(options.replay, Path) else options.replay
        graph = workflow.graph
        self.chosen = with_only_model(resources.chosen(workflow.machine), options, workflow.reached())
        if options.default_model is None:
            # Part of the run: resumed, it goes on with this model, whatever the settings say and the endpoint lists by then.
            recorded = None if self.replay is None else self.replay.model
            options = replace(options, default_model=recorded or self.chosen.model)
        self.options = options
        self.by_place = {
            reached.place: make_steps(reached, options, self.chosen.model) for reached in workflow.reached()
        }
        self.steps = self.by_place[workflow.place]
        inside = [step for place, steps in self.by_place.items() if place for step in steps.values()]
        before = with_members({node.visit.name: node for node in (*earlier, *taken)})
        self.only = None if options.only is None else single_inputs(graph, self.steps, options, before)
        self.inputs = {} if self.only is not None else read_inputs(graph, inputs)
        if self.only is not None:
            self.executions = Executions()
        else:
            self.executions = Executions(earlier, self.steps, taken, own, inside)
            if revised.last:
                self.executions = self.executions.revised(self.steps, inside, Redo(workflow.analysis.settings.redo))
        start = None if options.from_node is None else visit_named(graph, options.from_node)
        self.rerun = Rerun() if start is None else Rerun(behind(graph, graph.by_id[start.node].index), start)
        self.set_outputs = SetOutputs(workflow, options.set_outputs)
        self.mask = mask_of(graph, options)
        self.asks = self.replay is None or self.replay.may_ask
        self._calls_tools = False
        self._check_people()
        self.notices = [*notices, *self._inputs_of_others(before)]
        self.limits = limits_of(workflow, options)
        self.loop_budgets = _all_loop_budgets(workflow)
        self._check_prices(self.by_place, self.loop_budgets)
        self._check_price_of_reviser()
        self._check_tools(workflow, self.by_place)
        self._check_stores(workflow, self.by_place)
        if isinstance(options.record, Path):
            header = header_of(workflow.name, options.seed, options.default_model or DEFAULT_MODEL)
            resources.recorder = Recorder(options.record, header)
        elif options.record is not None:
            resources.recorder = options.record

    def _check_people(self) -> None:
        """Raise `UsageFailure` where a person would be asked whose answer could not reach the run."""
        options = self.options
        if not self.resources.forgets or options.unattended or options.person or not self.asks:
            return
        given = {part for name in options.set_outputs for part in name.partition(".")[0].split("/")}
        for step in self.steps.values() if self.only is None else [self.steps[self.only.node.index]]:
            name = step.node.id
            is_asked = (
                isinstance(step.operator, Human)
                or may_ask_person(step.node.resolution)
                or (step.called is not None and asks_people(step.called))
            )
            if is_asked and name not in given:
                raise UsageFailure(
                    f"Node {name} asks a person, and nobody could answer, since this run is not stored; store it, or run it on a"
                    " terminal, where you are asked."
                )

    def prepare(self, workflow: Workflow) -> dict[str, Steps]:
        """The steps of a workflow that a revision brings, and of the files that it calls, by place. Raises `UsageFailure` where
        the run can't continue with it.
        """
        by_place = {
            reached.place: make_steps(reached, self.options, self.chosen.model) for reached in workflow.reached()
        }
        self._check_prices(by_place, _all_loop_budgets(workflow))
        self._check_tools(workflow, by_place)
        self._check_stores(workflow, by_place)
        return by_place

    def meters(self, workflow: Workflow) -> frozenset[str]:
        """The Loops of a workflow whose use is counted, as paths name them: those with a budget of their own, and those without a
        box where the run has one.
        """
        own = frozenset(map(segment, _all_loop_budgets(workflow)))
        if self.limits == BudgetSettings():
            return own
        arrows = (box.id for flow in workflow.reached() for box in flow.graph.composites if box.implied)
        return own | frozenset(map(segment, arrows))

    def _most(self) -> float | None:
        """The maximum number of calls that the run makes, if known."""
        from merrow_runtime.running.forecast import dry_run

        try:
            return dry_run(self.workflow, self.inputs, options=self.options).calls.most
        except UsageFailure:
            return None

    def _check_prices(self, by_place: Mapping[str, Steps], loop_budgets: Mapping[str, BudgetSettings]) -> None:
        endpoint = self.chosen.endpoint
        priced = [self.limits, *loop_budgets.values()]
        if all(limits.usd is None for limits in priced) or not self.asks:
            return
        asked = (step for steps in by_place.values() for step in steps.values() if step.called is None)
        for model in (model for step in asked for model in sorted(step.models)):
            if price_at(endpoint, model) is None:
                raise UsageFailure(str(unpriced_failure(model, endpoint.origin)))

    def _check_tools(self, workflow: Workflow, by_place: Mapping[str, Steps]) -> None:
        """Raise `UsageFailure` where a tool can't be called: `NotAgreedFailure` where the user has not said that it may."""
        root = self.root or root_of(workflow)
        for reached, steps in self._at_work(workflow, by_place):
            definitions = [step.definition for step in steps]
            calling, fixed = tools_of(definitions), tools_of(definitions, agents=False)
            if not calling:
                continue
            self._calls_tools = True
            if self.asks:
                folder, pins = folder_of(reached, root), partial(pins_of, reached)
                offered = calling.keys() - fixed.keys()
                self.resources.tools.check(folder, calling, pins, unattended=self.options.unattended, offered=offered)

    def _at_work(self, workflow: Workflow, by_place: Mapping[str, Steps]) -> Iterator[tuple[Workflow, Iterable[Step]]]:
        """The files of a run, each with those of its nodes that can run."""
        if self.only is None:
            yield from ((reached, by_place[reached.place].values()) for reached in workflow.reached())
            return
        step = self.steps[self.only.node.index]
        yield workflow, [step]
        called = () if step.called is None else step.called.reached()
        yield from ((reached, by_place[reached.place].values()) for reached in called)

    def _check_stores(self, workflow: Workflow, by_place: Mapping[str, Steps]) -> None:
        """Raise `UsageFailure` where the documents of a store can't be read; a replay reads none."""
        known: set[StorePlace] = set()
        for reached, steps in self._at_work(workflow, by_place) if self.asks else ():
            for step in steps:
                name = store_name(step.node.resolution)
                place = None if name is None else self._stores().place_of(reached, name)
                if place is None or place in known:
                    continue
                known.add(place)
                try:
                    self._stores().check(place)
                except InputError as problem:
                    raise InputError(f"Node {step.node.id}: {problem}") from None

    def _stores(self) -> RunStores:
        return self.resources.stores(self.root or root_of(self.workflow))

    def _refine(self) -> Refine | None:
        """When and how a model revises the run; None if none does."""
        return refining(self.workflow.analysis.settings.refine, self.options.refine) if self.reviser else None

    def _check_price_of_reviser(self) -> None:
        refine, endpoint = self._refine(), self.chosen.endpoint
        if refine is None or refine.usd is None or not self.asks:
            return
        model = model_of_reviser(self.workflow, self.options, refine)
        models = {model} if model else {step.definition.model for step in self.by_place[self.workflow.place].values()}
        for each in sorted(models):
            if price_at(endpoint, each) is None:
                raise UsageFailure(str(unpriced_failure(each, endpoint.origin)))

    @property
    def endpoint(self) -> str:
        """The origin of what answers the run."""
        return self.chosen.endpoint.origin if self.asks else REPLAY_ORIGIN

    def answered_by_others(self) -> list[tuple[str, str]]:
        """The nodes whose results would be reused but come from another endpoint, each with that endpoint."""
        return self.executions.answered_by_others(self.endpoint, self.rerun.covers)

    def check_reuse(self, run: str, others: Sequence[tuple[str, str]]) -> None:
        """Raise `ForeignResults` where ``run`` has results of others that would be used, and the user has not decided;
        where the user decided to make them again, report that.
        """
        if not others or self.options.reuse == "any":
            return
        nodes = list(dict.fromkeys(node for node, _ in others))
        failure = ForeignResults(run, nodes, [endpoint for _, endpoint in others], self.endpoint)
        if self.options.reuse is None:
            raise failure
        self.notices.append(f"{failure.situation} {'It runs' if len(nodes) == 1 else 'They run'} again.")

    def _inputs_of_others(self, earlier: Mapping[str, NodeRecord]) -> list[str]:
        """For a node that runs alone: a notice that its inputs come from a different endpoint."""
        if self.only is None:
            return []
        givers = [
            earlier[value.node] for values in self.only.inputs.values() for value in values if value.node in earlier
        ]
        others = {
            node.node: source.endpoint for node in givers for source in node.sources if source.endpoint != self.endpoint
        }
        if not others:
            return []
        by = " and ".join(dict.fromkeys(map(named, others.values())))
        return [f"The inputs of {self.only.node.id} come from {listed(list(others))}, answered by {by}."]

    def begin(self, record: RunRecord, journal: RunJournal, meter: Meter | None, elapsed: float = 0.0) -> Run:
        """Start the run whose lease ``journal`` has, after ``elapsed`` seconds of work in an earlier process.

        ``meter`` counts its calls; None if nothing is paid.
        """
        if self.resources.recorder is not None:
            self.resources.recorder.begin()
        if self._calls_tools:
            journal.outlast_power()
        budget = self._budget(journal, elapsed)
        telling = Telling(record.id, journal.pages)
        run = Run(record.id, self.workflow.name, telling)
        effects = self._effects(record, journal, budget, telling, meter)
        records = NodeRecords(telling, journal, run.nodes, run.loops)
        recorder = NodeRecorder(telling, records, effects.account, self.steps, self.revised.last)
        recorder.moved.update(self.revised.moved)
        engine = Engine(
            self.workflow,
            self.steps,
            effects,
            self.executions,
            recorder,
            self.rerun,
            self.chosen.concurrency,
            self.chosen.model,
            set_outputs=self.set_outputs,
            mask=self.mask,
            inputs=self.inputs,
        )
        only = self.only
        frontier = (
            engine.frontier() if only is None else OneNode(only.node, only.inputs, only.memory, only.path, only.ordinal)
        )
        scheduler = Scheduler(frontier, self.inputs, engine, recorder)
        effects.busy.append(scheduler)
        seconds = None if budget is None else budget.remaining_seconds
        execution = RunExecution(run, scheduler, recorder, effects, telling, self.resources, seconds, self.revised.last)
        if only is None:
            refine = self._refine()
            revisions = Revisions(
                self,
                scheduler,
                engine,
                execution,
                self.revised.last,
                self.reviser,
                refine,
                self.revised.opened,
                self.revised.left_open,
                self.inputs,
                cache(self._most),
                self.revised.used,
                set(self.revised.counted),
                self.revised.first,
            )
            scheduler.overseer = execution.revisions = revisions
            recorder.is_newest = scheduler.frontier.is_newest
            run.overseen(revisions)
        run.begin(execution.work(text_of(definitions_of(self.by_place)), self._begun(scheduler.count)))
        return run

    def _budget(self, journal: RunJournal, elapsed: float) -> Budget | None:
        limits = self.limits
        if limits == BudgetSettings():
            return None
        return Budget(limits.usd, limits.tokens, limits.seconds, journal.spent(), elapsed)

    def _effects(
        self, record: RunRecord, journal: RunJournal, budget: Budget | None, telling: Telling, meter: Meter | None
    ) -> Effects:
        options, resources, endpoint = self.options, self.resources, self.chosen.endpoint
        gate = gate_of(endpoint)
        reuses_any = options.reuse == "any"
        before = tuple(source for source in record.sources if reuses_any or source.endpoint == self.endpoint)
        return Effects(
            options,
            journal,
            Calling(endpoint, gate.places(self.chosen.concurrency, endpoint), budget, options.retry, meter),
            gate,
            telling,
            RunAccount(journal.spent(), before, meters=self.meters(self.workflow), interrupted=journal.interrupted),
            resources.store.cache if self.asks else None,
            self.replay,
            resources.recorder,
            renamed=dict(self.revised.renamed),
            carried=self.revised.carried,
            open_tools=lambda: resources.tools,
            open_environment=resources.open_environment,
            open_stores=self._stores,
        )

    def _begun(self, nodes: int) -> dict[str, Any]:
        """The contents of the first event."""
        told: dict[str, Any] = {"workflow": self.workflow.name, "endpoint": self.endpoint, "nodes": nodes}
        notices = [*self.chosen.notices, *self.notices]
        minute = self.chosen.limits.endpoints.get(self.endpoint)
        if minute is not None:
            notices.append(
                f"Calls to {self.endpoint} wait where they would be more than {minute}, as your settings have it."
            )
        if self.endpoint == OFFLINE_ORIGIN and (self._refine() or asks_models(self.workflow, self.options)):
            notices.insert(0, NOTICE)
        if self.replay is not None and "note" in self.replay.header:
            notices.append(f"The recording says: {self.replay.header['note']}")
        if self.mask is not None:
            notices.append(mask_notice(self.mask))
        if notices:
            told["notices"] = notices
        return told
