"""Runs the nodes of a workflow, each the moment its live inputs are there.

There is no level and no polling: a node that ends counts down what its successors wait for, and whoever waits for
nothing more is started in the same breath. What runs and what is skipped is said by `merrow_analysis.graph.plan.live_state`
and `Cases.choose`, the functions that the checker proves its property with.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placement import PortFeed
from merrow_analysis.graph.plan import LiveState, live_state
from merrow_analysis.graph.ports import INPUT_OUTPUT
from merrow_runtime.decision import decide
from merrow_runtime.definitions import title_of
from merrow_runtime.errors import (
    BudgetFailure,
    EndpointFailure,
    NodeFailure,
    ReplayMiss,
    RunFailure,
    StoreFailure,
    UsageFailure,
)
from merrow_runtime.operators.ask_decision import CHOICE, case_words
from merrow_runtime.operators.base import Given, Remembered
from merrow_runtime.provenance import Source
from merrow_runtime.records import record
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Outputs, Value, as_text

Status = Literal["waiting", "running", "finished", "skipped", "failed"]
Inputs = dict[str, list[Given]]


class InternalFailure(NodeFailure):
    """Not a node's failure but a fault of a program: ``__cause__`` has it."""


_ENDS_THE_RUN = (BudgetFailure, ReplayMiss, StoreFailure, UsageFailure, InternalFailure)
"""Failures that are not a node's own: ``on_error`` says nothing about them."""


@record(frozen=True, slots=True)
class Finished:
    """What came of a node. ``reused`` says that it was taken over from another run."""

    outputs: Outputs
    key: str | None = None
    usage: Usage = NOTHING
    reused: bool = False
    memory: tuple[Remembered, ...] = ()
    sources: tuple[Source, ...] = ()
    why_no_call: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """What is the same for all runs of a graph, by the nodes' indices: whom each leads to, how many others it waits for,
    what people call it, and its place in the order. ``state`` is that before anything was chosen; ``ports`` are those
    that edges feed, and ``fed`` has in a graph without Decisions what feeds them, as `_fed` says it.
    """

    targets: list[list[int]]
    open: list[int]
    titles: list[str]
    places: dict[int, int]
    ports: list[list[str]]
    fed: list[list[tuple[str, list[tuple[str, str | None, str, str]]]]] | None
    state: LiveState


_LAYOUTS: WeakKeyDictionary[TypedGraph, Layout] = WeakKeyDictionary()


def layout_of(graph: TypedGraph) -> Layout:
    """The layout of a graph, made once."""
    layout = _LAYOUTS.get(graph)
    if layout is None:
        nodes = graph.nodes
        titles = [title_of(node) for node in nodes]
        ports = [list(dict.fromkeys(feed.port for edge in node.incoming for feed in edge.feeds)) for node in nodes]
        layout = _LAYOUTS[graph] = Layout(
            [list(dict.fromkeys(edge.target.index for edge in node.outgoing)) for node in nodes],
            [len({edge.source.index for edge in node.incoming}) for node in nodes],
            titles,
            {index: place for place, index in enumerate(graph.order)},
            ports,
            None if graph.decisions else [_fed(node, ports[node.index], titles) for node in nodes],
            live_state(graph, {}),
        )
    return layout


def _fed(
    node: TypedNode, ports: list[str], titles: list[str]
) -> list[tuple[str, list[tuple[str, str | None, str, str]]]]:
    """By port, in prompt order: the source's id, its output, what type that gives, and what people call the source."""
    return [
        (
            port,
            [
                (edge.source.id, feed.output, feed.type or "Any", titles[edge.source.index])
                for edge in node.sources(port)
                for feed in edge.feeds
                if feed.port == port
            ],
        )
        for port in ports
    ]


class Work(Protocol):
    """What the scheduler asks of the engine about single nodes."""

    async def run(self, node: TypedNode, inputs: Inputs, entries: Callable[[], list[Remembered]]) -> Finished:
        """Run a node with an operator; ``entries`` gives what there is to remember. Raises `RunFailure`."""
        ...

    def on_error(self, node: TypedNode) -> str:
        """What is done where the node fails: fail, skip or default."""
        ...

    def fallback(self, node: TypedNode) -> Outputs | None:
        """The outputs of a node that failed and has a default."""
        ...

    def fallback_case(self, node: TypedNode) -> int | None:
        """The case that a Decision which failed falls back to."""
        ...


class Watcher(Protocol):
    """Who is told how nodes go; each is called once per node, in the order of what happens."""

    def started(self, node: TypedNode, inputs: Inputs) -> None: ...

    def finished(self, node: TypedNode, inputs: Inputs, done: Finished, started: float, case: int | None) -> None: ...

    def skipped(self, node: TypedNode, reason: str) -> None: ...

    def failed(self, node: TypedNode, inputs: Inputs, failure: RunFailure, started: float, goes_on: str) -> None: ...


class Scheduler:
    """One run of a graph. ``inputs`` has the value of each input node by id."""

    def __init__(self, graph: TypedGraph, inputs: Mapping[str, Value], work: Work, watcher: Watcher) -> None:
        self.graph = graph
        self.failure: RunFailure | None = None
        self.outputs: dict[str, Outputs] = {}
        """What each node that ran gave, by node id and output port."""
        self.results: dict[str, Value] = {}
        """What reached each output node, by id."""
        self._inputs = inputs
        self._work = work
        self._watcher = watcher
        self._nodes = graph.nodes
        self._layout = layout_of(graph)
        self._status: list[Status] = ["waiting"] * len(self._nodes)
        self._open = list(self._layout.open)
        self._carried: dict[str, list[Given]] = {}
        self._passed: dict[tuple[str, int], list[Given]] = {}
        self._chosen: dict[str, int] = {}
        self._gone: list[str] = []
        self._why: dict[str, str] = {}
        self._state = self._layout.state
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: deque[int] = deque()
        self._begin: deque[tuple[TypedNode, Inputs]] = deque()
        self._stopping = False
        self._done: asyncio.Future[None] | None = None

    @property
    def count(self) -> int:
        """How many nodes there are to run or skip."""
        return len(self._nodes)

    def running(self) -> int:
        """How many nodes with an operator run."""
        return len(self._tasks)

    async def run(self) -> None:
        """Run until nothing is left to run. Where a node fails for good, `failure` says why. Cancelling stops what runs."""
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._ready.extend(index for index in self.graph.order if self._open[index] == 0)
        self._go_on()
        try:
            await self._done
        finally:
            await self.stop()

    def fail(self, failure: RunFailure) -> None:
        """Start nothing new from now on."""
        if self.failure is None:
            self.failure = failure

    async def stop(self) -> None:
        """Cancel what runs, and wait until it has ended."""
        self._stopping = True
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _go_on(self, *, one_for_me: bool = False) -> tuple[TypedNode, Inputs] | None:
        """Start all that waits for nothing, and see to all that follows at once from that.

        With ``one_for_me`` the first node that is to be run is given back, for the task that asks to run.
        """
        while self._ready:
            index = self._ready.popleft()
            if self._status[index] != "waiting":
                continue
            if self.failure is not None:
                self._ready.clear()
                break
            node = self._nodes[index]
            if self._state.runs(node):
                self._start(node)
            else:
                self._skip(node)
        mine = self._begin.popleft() if one_for_me and self._begin else None
        while self._begin:
            node, inputs = self._begin.popleft()
            task = asyncio.get_running_loop().create_task(self._run(node, inputs), name=node.id)
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        self._end_if_idle()
        return mine

    def _start(self, node: TypedNode) -> None:
        self._status[node.index] = "running"
        if node.kind == "input":
            value = {INPUT_OUTPUT: self._inputs[node.id]}
            self._finish(node, {}, Finished(value), time.time())
            return
        inputs = self._arrived(node)
        if node.kind == "operator" or node.asks:
            self._begin.append((node, inputs))
            return
        started = time.time()
        try:
            if node.kind == "decision":
                self._decide(node, inputs, started)
            else:
                self._return(node, inputs, started)
        except RunFailure as failure:
            self._fail(node, inputs, failure, started)

    def _arrived(self, node: TypedNode) -> Inputs:
        """What the live edges bring to each port, in prompt order; a port that nothing feeds is left out."""
        inputs: Inputs = {}
        fed = self._layout.fed
        if fed is not None and not self._gone:  # All edges are live: most graphs are of this kind.
            for port, feeds in fed[node.index]:
                inputs[port] = given = []
                for source, output, type_, title in feeds:
                    outputs = self.outputs[source]
                    name = output or next(iter(outputs))
                    given.append(Given(source, name, type_, outputs[name], title))
            return inputs
        for port in self._layout.ports[node.index]:
            values = [given for edge in self._state.sources(node, port) for given in self._brought(edge, port)]
            if values:
                inputs[port] = values
        return inputs

    def _brought(self, edge: TypedEdge, port: str) -> list[Given]:
        return [given for feed in edge.feeds if feed.port == port for given in self._given(edge, feed)]

    def _given(self, edge: TypedEdge, feed: PortFeed) -> list[Given]:
        source = edge.source
        if feed.passed is not None:
            return self._passed.get((source.id, feed.passed), [])
        if source.kind == "decision":
            return self._carried.get(source.id, [])
        outputs = self.outputs[source.id]
        name = feed.output or next(iter(outputs))
        return [Given(source.id, name, feed.type or "Any", outputs[name], self._layout.titles[source.index])]

    async def _run(self, node: TypedNode, inputs: Inputs) -> None:
        """Run a node, and then one of those that waited for it: a chain needs one task, and no turn of the loop between."""
        task = asyncio.current_task()
        following: tuple[TypedNode, Inputs] | None = (node, inputs)
        while following is not None:
            await self._run_one(*following)
            if self._stopping:
                return
            following = self._go_on(one_for_me=True)
        if task is not None:
            self._tasks.discard(task)
            self._end_if_idle()

    async def _run_one(self, node: TypedNode, inputs: Inputs) -> None:
        started = time.time()
        self._watcher.started(node, inputs)
        try:
            for port in node.placement.required:
                if port not in inputs:
                    raise NodeFailure(f"Node {node.id}: nothing arrived at its port {port}.")
            done = await self._work.run(node, inputs, lambda: self._entries(node, inputs))
        except RunFailure as failure:
            self._fail(node, inputs, failure, started)
        except Exception as fault:  # noqa: BLE001 (nothing that anybody can act on: a fault in Merrow, or in a program's own endpoint)
            internal = InternalFailure(f"Node {node.id}: internal error, {type(fault).__name__}: {fault}")
            internal.__cause__ = fault
            self._fail(node, inputs, internal, started)
        else:
            if node.asks:
                case = case_words(node).index(str(done.outputs[CHOICE]))
                self._choose(node, case, inputs, started, done)
            else:
                self._finish(node, inputs, done, started)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """See to a task that did not end by itself: it was cancelled, or it met a fault outside of its node's work."""
        if task not in self._tasks:
            return
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            internal = InternalFailure(f"Node {task.get_name()}: internal error, {type(fault).__name__}: {fault}")
            internal.__cause__ = fault
            self.fail(internal)
            self._end_if_idle()
        elif not self._tasks and self._done is not None and not self._done.done():
            self._done.cancel()

    def _end_if_idle(self) -> None:
        if not self._tasks and self._done is not None and not self._done.done():
            self._done.set_result(None)

    def _decide(self, node: TypedNode, inputs: Inputs, started: float) -> None:
        case = decide(node, {port: given[0].value for port, given in inputs.items()})
        self._choose(node, case, inputs, started)

    def _choose(self, node: TypedNode, case: int, inputs: Inputs, started: float, done: Finished | None = None) -> None:
        self._chosen[node.id] = case
        self._carried[node.id] = inputs.get("value", [])
        if node.asks:
            for number, edge, feed in self._state.arrived(node):
                self._passed[node.id, number] = self._given(edge, feed)
        self._finish(node, inputs, Finished({}) if done is None else done, started, case)
        self._look_again()

    def _return(self, node: TypedNode, inputs: Inputs, started: float) -> None:
        given = [one for values in inputs.values() for one in values]
        if not given:
            raise NodeFailure(f"Output {node.id}: nothing arrived at it.")
        self.results[node.id] = given[0].value
        self._finish(node, inputs, Finished({"result": given[0].value}), started)

    def _finish(self, node: TypedNode, inputs: Inputs, done: Finished, started: float, case: int | None = None) -> None:
        self._status[node.index] = "finished"
        self.outputs[node.id] = done.outputs
        self._watcher.finished(node, inputs, done, started, case)
        self._count_down(node)

    def _fail(self, node: TypedNode, inputs: Inputs, failure: RunFailure, started: float) -> None:
        """A node failed: end the run, or go on without its outputs, or with its default ones."""
        ends = isinstance(failure, _ENDS_THE_RUN)
        if isinstance(failure, EndpointFailure) and failure.fatal and failure.model is None:
            ends = True  # No other node could do better; a run of nothing but defaults would hide that.
        goes_on = "fail" if ends else self._work.on_error(node)
        if goes_on == "fail":
            self._status[node.index] = "failed"
            self._watcher.failed(node, inputs, failure, started, goes_on)
            self.fail(failure)
            return
        self._watcher.failed(node, inputs, failure, started, goes_on)
        if goes_on == "default":
            case = self._work.fallback_case(node) if node.kind == "decision" else None
            if case is not None:
                self._choose(node, case, inputs, started)
                return
            outputs = self._work.fallback(node)
            if outputs is not None:
                self._finish(node, inputs, Finished(outputs), started)
                return
        self._status[node.index] = "failed"
        self._gone.append(node.id)
        self._why[node.id] = f"{node.id} failed"
        self._count_down(node)
        self._look_again()

    def _skip(self, node: TypedNode) -> None:
        self._status[node.index] = "skipped"
        reason = self._reason(node)
        self._why[node.id] = reason
        self._watcher.skipped(node, reason)
        self._count_down(node)
        if node.kind == "output" and self._gone and not self._ends_elsewhere():
            self.fail(NodeFailure(f"Output {node.id} stays empty, since {reason}."))

    def _ends_elsewhere(self) -> bool:
        """Whether this is a drawing of which another end may still be reached: one of its ends is enough."""
        if not self.graph.core.reading.drawn:
            return False
        return any(self._status[output.index] != "skipped" for output in self.graph.outputs)

    def _reason(self, node: TypedNode) -> str:
        """Why a node is skipped, in words: what chose otherwise or failed before it."""
        for edge in node.incoming:
            source = edge.source
            if source.id in self._chosen and edge.case != self._chosen[source.id] and source.cases is not None:
                return f"{source.id} chose `{source.cases.labels[self._chosen[source.id]]}`"
        return next(
            (self._why[edge.source.id] for edge in node.incoming if edge.source.id in self._why),
            "nothing reaches it",
        )

    def _look_again(self) -> None:
        """After a choice, or a failure that is skipped: skip at once all that can't run any more."""
        self._state = live_state(self.graph, self._chosen, self._gone)
        for index in self.graph.order:
            node = self._nodes[index]
            if self._status[index] == "waiting" and self._state.runs(node) is False:
                self._skip(node)

    def _count_down(self, node: TypedNode) -> None:
        for target in self._layout.targets[node.index]:
            self._open[target] -= 1
            if self._open[target] == 0:
                self._ready.append(target)

    def _entries(self, node: TypedNode, inputs: Inputs) -> list[Remembered]:
        """The default outputs of the ancestors that ran, oldest first, without those that reach the node by an edge."""
        seen = {node.index}
        pending = [node]
        while pending:
            for edge in pending.pop().incoming:
                source = edge.source
                if source.index in seen or self._status[source.index] != "finished":
                    continue
                if edge.case is not None and self._chosen.get(source.id) != edge.case:
                    continue
                seen.add(source.index)
                pending.append(source)
        arrived = {given.node for values in inputs.values() for given in values}
        entries: list[Remembered] = []
        for index in sorted(seen - {node.index}, key=self._layout.places.__getitem__):
            ancestor = self._nodes[index]
            if ancestor.kind in ("input", "operator") and ancestor.id not in arrived:
                text = as_text(next(iter(self.outputs[ancestor.id].values())))
                entries.append(Remembered(ancestor.id, self._layout.titles[index], text))
        return entries
