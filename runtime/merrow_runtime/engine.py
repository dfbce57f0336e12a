"""What the scheduler asks about single nodes: operators run, memory gathered, samples, results of other runs taken over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.account import NodeAccount
from merrow_runtime.definitions import Step, Steps
from merrow_runtime.effects import Effects
from merrow_runtime.errors import EndpointFailure, NodeFailure, RunFailure
from merrow_runtime.operators.base import Remembered, Task
from merrow_runtime.operators.memory import recall, remembered
from merrow_runtime.operators.outputs import check_outputs
from merrow_runtime.operators.shapes import is_of
from merrow_runtime.scheduler import Finished, Inputs
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.tools import NodeTools
from merrow_runtime.usage import NOTHING
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit


@dataclass(slots=True, eq=False)
class Engine:
    """The work of one run. ``earlier`` are the nodes of the run that results are taken over from, by id.

    ``anew`` are the indices of nodes that are run past earlier results and past the cache; ``said_on_error`` is what the
    workflow says of nodes that fail.
    """

    steps: Steps
    effects: Effects
    earlier: Mapping[str, NodeRecord] = field(default_factory=dict)
    anew: Collection[int] = frozenset()
    said_on_error: str = "fail"

    async def run(self, node: TypedNode, inputs: Inputs, entries: Callable[[], list[Remembered]]) -> Finished:
        """See `merrow_runtime.scheduler.Work.run`."""
        step = self.steps[node.index]
        account = self.effects.account.of(Visit(node.id))
        past_cache = node.index in self.anew
        kind, amount = step.memory.kind, step.memory.amount
        memory = [] if kind == "none" else remembered(kind, amount, entries())
        key = step.key(inputs, memory)
        earlier = self.earlier.get(node.id)
        if earlier is not None and not past_cache and earlier.key == key and earlier.outputs is not None:
            sources = tuple(earlier.sources)
            if self.effects.reuses_any or all(source.endpoint == self.effects.endpoint for source in sources):
                account.answered.update(dict.fromkeys(sources))
                before = tuple(Remembered(**entry) for entry in earlier.memory)
                return Finished(
                    dict(earlier.outputs),
                    key,
                    NOTHING,
                    reused=True,
                    memory=before,
                    sources=sources,
                    why_no_call=earlier.why_no_call,
                )
        if kind == "summary":
            memory = await recall(
                kind, amount, memory, NodeTools(self.effects, step, account, 0, past_cache=past_cache)
            )
        if step.samples is None:
            outputs = await self._once(step, account, inputs, memory, 0, past_cache)
        else:
            outputs = await self._samples(step, step.samples, account, inputs, memory, past_cache)
        return Finished(
            outputs,
            key,
            account.used,
            memory=tuple(memory),
            sources=account.sources,
            why_no_call=account.why_no_call,
        )

    def on_error(self, node: TypedNode) -> str:
        """See `merrow_runtime.scheduler.Work.on_error`."""
        step = self.steps.get(node.index)
        if step is not None:
            return step.on_error
        if node.kind != "decision":
            return "fail"
        said = node.resolution.parameters.get("on_error")
        return self.said_on_error if said is None else str(said.value)

    def fallback(self, node: TypedNode) -> Outputs | None:
        """See `merrow_runtime.scheduler.Work.fallback`."""
        step = self.steps.get(node.index)
        if step is None or step.fallback is None:
            return None
        if step.samples is None:
            return dict(step.fallback)
        return {port: [value] * step.samples for port, value in step.fallback.items()}

    def fallback_case(self, node: TypedNode) -> int | None:
        """See `merrow_runtime.scheduler.Work.fallback_case`."""
        said = node.resolution.parameters.get("default")
        return None if said is None or node.cases is None else node.cases.choose(said.value)

    async def _once(
        self, step: Step, account: NodeAccount, inputs: Inputs, memory: list[Remembered], sample: int, past_cache: bool
    ) -> Outputs:
        tools = NodeTools(self.effects, step, account, sample, past_cache=past_cache)
        outputs = await step.operator.run(Task(step.definition, inputs, memory, sample), tools)
        shapes = step.shapes
        if outputs.keys() != shapes.keys():
            check_outputs(step.definition, outputs)  # Says what is wrong.
        for port, shape in shapes.items():
            if not is_of(outputs[port], shape):
                check_outputs(step.definition, outputs)
        return outputs

    async def _samples(
        self, step: Step, count: int, account: NodeAccount, inputs: Inputs, memory: list[Remembered], past_cache: bool
    ) -> Outputs:
        """``count`` results at once, in lists. Of samples that fail, ``on_error`` says whether the node fails with the
        first, goes on with those that are there (skip), or has the default in their place.
        """
        results: list[Outputs | RunFailure | None] = [None] * count
        failures: list[RunFailure] = []

        async def one(sample: int) -> None:
            try:
                results[sample] = await self._once(step, account, inputs, memory, sample, past_cache)
            except RunFailure as failure:
                # The others come to their end all the same: what they ask is paid, and kept for a resume.
                results[sample] = failure
                failures.append(failure)

        try:
            async with asyncio.TaskGroup() as group:
                for sample in range(count):
                    group.create_task(one(sample))
        except BaseExceptionGroup as problems:
            raise problems.exceptions[0] from None
        of_the_run = [failure for failure in failures if not isinstance(failure, (NodeFailure, EndpointFailure))]
        if of_the_run or (failures and (step.on_error == "fail" or len(failures) == count)):
            raise (of_the_run or failures)[0]
        if step.fallback is not None:
            results = [step.fallback if isinstance(result, RunFailure) else result for result in results]
        good = [result for result in results if isinstance(result, dict)]
        return {port: [result[port] for result in good] for port in step.definition.outputs}
