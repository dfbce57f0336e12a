"""A run made ready: everything that can be wrong with it is found before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from merrow_analysis.definitions.settings import Budget as Limits
from merrow_analysis.graph.nodes import TypedGraph
from merrow_runtime.account import Account
from merrow_runtime.calling import Calling
from merrow_runtime.definitions import make_steps
from merrow_runtime.effects import Effects
from merrow_runtime.engine import Engine
from merrow_runtime.errors import UsageFailure
from merrow_runtime.gate import gate_of
from merrow_runtime.inputs import read_inputs
from merrow_runtime.models.budget import Budget, unpriced_failure
from merrow_runtime.models.prices import price_at
from merrow_runtime.options import RunOptions
from merrow_runtime.provenance import REPLAY_ORIGIN, ForeignResults, listed, named
from merrow_runtime.resources import Resources
from merrow_runtime.running import Execution, Run
from merrow_runtime.scheduler import Scheduler
from merrow_runtime.single import Single, node_named, single_inputs
from merrow_runtime.store.contract import NodeRecord, RunJournal, RunRecord
from merrow_runtime.store.recording import Recorder, Replay
from merrow_runtime.store.rows import text_of
from merrow_runtime.telling import Telling
from merrow_runtime.values import Value
from merrow_runtime.watch import Watch
from merrow_runtime.workflow import Workflow


def limits_of(workflow: Workflow, options: RunOptions) -> Limits:
    """What a run may use: the workflow's budget, each limit replaced where the options have one."""
    said = workflow.analysis.settings.budget
    return Limits(
        said.usd if options.budget_usd is None else options.budget_usd,
        said.tokens if options.budget_tokens is None else options.budget_tokens,
        said.seconds if options.budget_seconds is None else options.budget_seconds,
    )


def descendants(graph: TypedGraph, name: str) -> frozenset[int]:
    """A node and all that follow from it, by index. Raises `UsageFailure` where there is no such node."""
    node = node_named(graph, name)
    found = {node.index}
    pending = [node]
    while pending:
        for edge in pending.pop().outgoing:
            if edge.target.index not in found:
                found.add(edge.target.index)
                pending.append(edge.target)
    return frozenset(found)


class Job:
    """A run made ready: everything that can be wrong with it is found here, before it begins."""

    def __init__(
        self,
        workflow: Workflow,
        options: RunOptions,
        inputs: Mapping[str, Value],
        resources: Resources,
        earlier: Mapping[str, NodeRecord],
        notices: Sequence[str] = (),
    ) -> None:
        """``earlier`` are results that may be reused; ``notices`` are for the user to read when the run begins."""
        self.workflow = workflow
        self.options = options
        self.resources = resources
        graph = workflow.graph
        self.chosen = resources.chosen(workflow.machine)
        self.steps = make_steps(workflow, options, self.chosen.model)
        self.only = None if options.only is None else single_inputs(graph, self.steps, options, earlier)
        self.inputs = {} if self.only is not None else read_inputs(graph, inputs)
        self.earlier = {} if self.only is not None else earlier
        self.anew = frozenset() if options.from_node is None else descendants(graph, options.from_node)
        self.replay = None if options.replay is None else Replay.read(options.replay)
        self.notices = [*notices, *self._inputs_of_others(earlier)]
        self.limits = limits_of(workflow, options)
        if self.limits.usd is not None and self.replay is None:
            self._check_prices()
        if options.record is not None:
            resources.recorder = Recorder(options.record, {"workflow": workflow.name, "seed": options.seed})

    def _check_prices(self) -> None:
        endpoint = self.chosen.endpoint
        for step in self.steps.values():
            model = step.definition.model
            if price_at(endpoint, model) is None:
                raise UsageFailure(str(unpriced_failure(model, endpoint.origin)))

    @property
    def endpoint(self) -> str:
        """The origin of what answers the run."""
        return self.chosen.endpoint.origin if self.options.replay is None else REPLAY_ORIGIN

    def answered_by_others(self) -> list[tuple[str, str]]:
        """The nodes that would reuse a result of another endpoint, each with that endpoint."""
        found: list[tuple[str, str]] = []
        for index, step in self.steps.items():
            node = self.earlier.get(step.definition.id)
            if index in self.anew or node is None or node.outputs is None:
                continue
            if node.definition is None or text_of(node.definition) == text_of(step.shown):
                found += [(node.node, one.endpoint) for one in node.sources if one.endpoint != self.endpoint]
        return list(dict.fromkeys(found))

    def check_reuse(self, run: str, others: Sequence[tuple[str, str]]) -> None:
        """Raise `ForeignResults` where ``run`` has results of others that would be used, and nobody has decided; where it
        was decided to make them again, tell it.
        """
        if not others or self.options.reuse == "any":
            return
        nodes = list(dict.fromkeys(node for node, _ in others))
        failure = ForeignResults(run, nodes, [endpoint for _, endpoint in others], self.endpoint)
        if self.options.reuse is None:
            raise failure
        self.notices.append(f"{failure.situation} {'It runs' if len(nodes) == 1 else 'They run'} again.")

    def _inputs_of_others(self, earlier: Mapping[str, NodeRecord]) -> list[str]:
        """Of a node that runs alone, that its inputs come from another endpoint than the one that answers it."""
        if self.only is None:
            return []
        givers = [earlier[one.node] for values in self.only.inputs.values() for one in values if one.node in earlier]
        others = {node.node: one.endpoint for node in givers for one in node.sources if one.endpoint != self.endpoint}
        if not others:
            return []
        by = " and ".join(dict.fromkeys(map(named, others.values())))
        return [f"The inputs of {self.only.node.id} come from {listed(list(others))}, answered by {by}."]

    def begin(self, record: RunRecord, journal: RunJournal, elapsed: float = 0.0) -> Run:
        """Begin the run that ``journal`` holds the lease of, after ``elapsed`` seconds of work in an earlier process."""
        if self.resources.recorder is not None:
            self.resources.recorder.begin()
        budget = self._budget(journal, elapsed)
        telling = Telling(record.id, journal.ended_nodes)
        run = Run(record.id, self.workflow.name, telling)
        effects = self._effects(record, journal, budget, telling)
        engine = Engine(
            self.steps, effects, self.earlier, self.anew, self.workflow.analysis.settings.on_error or "fail"
        )
        watch = Watch(telling, journal, effects.account, self.steps, run.nodes)
        scheduler: Scheduler | Single
        if self.only is None:
            scheduler = effects.busy = Scheduler(self.workflow.graph, self.inputs, engine, watch)
        else:
            scheduler = Single(self.only, engine, watch)
        seconds = None if budget is None else budget.remaining_seconds
        execution = Execution(run, scheduler, watch, effects, telling, self.resources, seconds)
        run.begin(execution.work(self.steps.shown, self._begun(scheduler.count)))
        return run

    def _budget(self, journal: RunJournal, elapsed: float) -> Budget | None:
        limits = self.limits
        if limits == Limits():
            return None
        return Budget(limits.usd, limits.tokens, limits.seconds, journal.spent(), elapsed)

    def _effects(self, record: RunRecord, journal: RunJournal, budget: Budget | None, telling: Telling) -> Effects:
        options, resources, endpoint = self.options, self.resources, self.chosen.endpoint
        gate = gate_of(endpoint)
        reuses_any = options.reuse == "any"
        before = tuple(source for source in record.sources if reuses_any or source.endpoint == self.endpoint)
        return Effects(
            options,
            journal,
            Calling(endpoint, gate.semaphore(self.chosen.concurrency), budget, options.retry),
            gate,
            telling,
            Account(journal.spent(), before),
            resources.store.cache if self.replay is None else None,
            self.replay,
            resources.recorder,
        )

    def _begun(self, nodes: int) -> dict[str, Any]:
        """What the first event tells."""
        told: dict[str, Any] = {"workflow": self.workflow.name, "endpoint": self.endpoint, "nodes": nodes}
        notices = [*self.chosen.notices, *self.notices]
        if self.replay is not None and "note" in self.replay.header:
            notices.append(f"The recording says: {self.replay.header['note']}")
        if notices:
            told["notices"] = notices
        return told
