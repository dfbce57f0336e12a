"""What a run does with single nodes, whatever it knows of earlier results: operators, samples, agents, defaults, turns judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.errors import EndpointFailure, InvalidFailure, NodeFailure, RunFailure
from merrow_runtime.frontier import Judged, JudgeTurn, Opens, Start, Takes
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.shapes import is_of
from merrow_runtime.operators.outputs import check_outputs
from merrow_runtime.program.decision import holds, score
from merrow_runtime.program.definitions import Step, Steps, depth_of
from merrow_runtime.program.fallbacks import fallback_case_of
from merrow_runtime.running.clones import Clones
from merrow_runtime.running.loop_budgets import LoopBudgets
from merrow_runtime.together import together
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit
from merrow_runtime.workflow import Workflow


def seed_of(visit: Visit, key: str, ordinal: str) -> str:
    """What shuffles of a visit are seeded with. Of a node of the whole workflow it is the id, as recordings have it; within
    a frame the key and what tells the frame from others in which the same is done, so that the same work at another place is
    shuffled alike.
    """
    return visit.node if not visit.path and not visit.redo else f"{key}:{ordinal}"


@dataclass(slots=True, eq=False)
class NodesAtWork:
    """The nodes of a workflow at work. ``workflow`` is what runs, the whole or a called file; ``around`` are the Calls in which
    it runs, outermost first, each by the place of its file and its node.
    """

    workflow: Workflow
    steps: Steps
    effects: Effects
    budgets: LoopBudgets = field(default_factory=LoopBudgets, kw_only=True)
    clones: Clones = field(default_factory=Clones, kw_only=True)
    around: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    async def enter(self, start: Start) -> int | None:
        """See `merrow_runtime.running.doing.NodeWork.enter`."""
        step = self.steps.get(start.node.index)
        agent = None if step is None else step.agent
        if agent is None:
            return None
        self.effects.stalled += 1
        try:
            return await self.clones.enter((self.workflow.place, agent.name), agent.instances)
        finally:
            self.effects.stalled -= 1

    def goes_on(self) -> None:
        """See `merrow_runtime.running.doing.NodeWork.goes_on`."""
        self.effects.people.look_later()

    def withdrawn(self, visit: Visit) -> None:
        """See `merrow_runtime.running.doing.NodeWork.withdrawn`."""
        self.effects.people.withdraw([visit])

    def took(self, takes: Takes) -> None:
        """See `merrow_runtime.running.doing.NodeWork.took`."""

    def waits_for_person(self, visit: Visit) -> bool:
        """See `merrow_runtime.running.doing.NodeWork.waits_for_person`."""
        return self.effects.people.waits(visit)

    def leave(self, start: Start, clone: int) -> None:
        """See `merrow_runtime.running.doing.NodeWork.leave`."""
        agent = self.steps[start.node.index].agent
        assert agent is not None  # noqa: S101 (whose clone it is)
        self.clones.leave((self.workflow.place, agent.name), clone)

    def is_validated(self, node: TypedNode) -> bool:
        """See `merrow_runtime.running.doing.NodeWork.is_validated`."""
        step = self.steps.get(node.index)
        return step is not None and step.validation is not None

    def on_error(self, node: TypedNode, failure: RunFailure | None = None) -> str:
        """See `merrow_runtime.running.doing.NodeWork.on_error`; without a ``failure`` what is done of most of them."""
        step = self.steps.get(node.index)
        if step is not None:
            return step.on_error if failure is None else _goes_on(step, failure)
        if node.kind != "decision":
            return "fail"
        parameter = node.resolution.parameters.get("on_error")
        return self.workflow.analysis.settings.on_error or "fail" if parameter is None else str(parameter.value)

    def opened(self, opens: Opens) -> None:
        """See `merrow_runtime.running.doing.NodeWork.opened`."""
        self.budgets.begin(opens, self.effects.people.seconds)

    def judged(self, turn: JudgeTurn) -> Judged:
        """See `merrow_runtime.running.doing.NodeWork.judged`."""
        name, settings = turn.composite.id, turn.settings
        try:
            until = settings.until is not None and holds(name, settings.until, turn.outputs)
            best = None if settings.best is None else score(name, settings.best, turn.outputs)
        except NodeFailure as failure:
            return Judged(turn.path, failure=failure.at(name, turn.around), redo=turn.redo)
        return Judged(turn.path, until, best, redo=turn.redo)

    async def spent(self, turn: JudgeTurn) -> bool:
        """See `merrow_runtime.running.doing.NodeWork.spent`."""
        return await self.budgets.spent(turn, self.effects)

    def fallback(self, node: TypedNode) -> Outputs | None:
        """See `merrow_runtime.running.doing.NodeWork.fallback`."""
        step = self.steps.get(node.index)
        if step is None or step.fallback is None:
            return None
        if step.samples is None:
            return dict(step.fallback)
        return {port: [value] * step.samples for port, value in step.fallback.items()}

    def fallback_case(self, node: TypedNode) -> int | None:
        """See `merrow_runtime.running.doing.NodeWork.fallback_case`."""
        return fallback_case_of(node)

    def default(self, handle: int) -> Outputs:
        """What a node gives in an item that failed and counts all the same: its default, or empty values."""
        return self.steps[handle].default

    def own_call(self, step: Step, called: str) -> tuple[str, str]:
        """What ``around`` has of a Call that runs the file ``called``. Raises `NodeFailure` where that is too deep."""
        name = step.definition.id
        own, depth = (self.workflow.place, name), depth_of(step)
        if self.around.count(own) >= depth:
            raise NodeFailure.of(
                name,
                f"its calls of {called} are nested {depth} deep already, which is its `depth`; have a Decision end them"
                " earlier, or raise `depth`.",
            )
        return own

    async def carried_out(self, step: Step, once: Callable[[int], Awaitable[Outputs]]) -> Outputs:
        """What a node gives: once, or each of its samples in lists; ``once`` makes one of them. Raises `RunFailure`."""
        return await (once(0) if step.samples is None else self._samples(step, step.samples, once))

    async def once(self, step: Step, task: Task, tools: NodeTools) -> Outputs:
        """What a node's operator gives, checked by the types of its outputs. Raises `RunFailure`."""
        outputs = await step.operator.run(task, tools)
        shapes = step.shapes
        if outputs.keys() != shapes.keys() or not all(is_of(outputs[port], shape) for port, shape in shapes.items()):
            check_outputs(step.definition, outputs)  # Says what is wrong.
        # In the order of its ports: memory and the expressions of Loops mean the first where none is named.
        return {port: outputs[port] for port in shapes}

    async def _samples(self, step: Step, count: int, once: Callable[[int], Awaitable[Outputs]]) -> Outputs:
        """``count`` results at once, in lists. Of samples that fail, ``on_error`` says whether the node fails with the
        first, continues with those that are there (skip), or has the default in their place.
        """
        results: list[Outputs | RunFailure | None] = [None] * count
        effects, beside = self.effects, count - 1

        async def take_sample(sample: int) -> None:
            try:
                results[sample] = await once(sample)
            except RunFailure as failure:
                # The others still run to their end: what they ask is paid, and kept for a resume.
                results[sample] = failure
            nonlocal beside
            if beside:
                beside, effects.branches = beside - 1, effects.branches - 1
                effects.people.look_later()

        effects.branches += beside
        try:
            await together(map(take_sample, range(count)))
        finally:
            effects.branches -= beside
        # In the order of the samples: which fails first in time is another matter after a resume.
        failures = [result for result in results if isinstance(result, RunFailure)]
        of_the_run = [failure for failure in failures if not isinstance(failure, (NodeFailure, EndpointFailure))]
        fatal = [failure for failure in failures if _goes_on(step, failure) == "fail"]
        if of_the_run or fatal or len(failures) == count:
            raise (of_the_run or fatal or failures)[0]
        results = [
            step.fallback if isinstance(result, RunFailure) and _goes_on(step, result) == "default" else result
            for result in results
        ]
        good = [result for result in results if isinstance(result, dict)]
        return {port: [result[port] for result in good] for port in step.definition.outputs}


def _goes_on(step: Step, failure: RunFailure) -> str:
    """What is done where a node fails in this way: fail, skip or default."""
    skipped = isinstance(failure, InvalidFailure) and failure.on_invalid == "skip"
    # An output that stays empty fails the run.
    return "skip" if skipped and step.node.kind != "output" else step.on_error
