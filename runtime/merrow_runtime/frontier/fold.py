"""The frontier of a run: a fold over the outcomes of its visits."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal

from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import NodeFailure, RunFailure
from merrow_runtime.frontier.layout import Source, layout_of
from merrow_runtime.frontier.outcomes import (
    Chose,
    Consequence,
    Ended,
    Failed,
    Gave,
    Inputs,
    Keys,
    Outcome,
    Skip,
    Start,
    Withdrawn,
)
from merrow_runtime.frontier.past import Past
from merrow_runtime.operators.base import Given, Remembered
from merrow_runtime.values import Outputs, Value, as_text
from merrow_runtime.visit import Visit

Standing = Literal["waiting", "open", "finished", "skipped", "failed"]
"""The state of a node. ``open``: all before it is settled and it runs, but it has no outcome yet. ``failed``: for good."""


class Frontier:
    """Which nodes of a graph can start with what, which are skipped and why, what came out, and when it is over.

    It changes with each outcome that is reported to it. The state does not depend on the order in which outcomes arrive; only
    `failure` and the reasons of skipped nodes are what was known first. `merrow_analysis.graph.plan.live_state` says what is
    live, as for the checker; a choice is followed as far as it reaches. Outputs are passed on unread, except for the names of
    their ports. ``path`` is that of the frame.
    """

    def __init__(self, graph: TypedGraph, path: str = "") -> None:
        self.path = path
        self.failure: RunFailure | None = None
        """Why the run fails; of several causes the one that was reported first."""
        self._ended: Ended | None = None
        self._past: Past | None = None
        self._take(graph)

    def _take(self, graph: TypedGraph) -> None:
        """Begin with a graph of which nothing has run."""
        self.graph = graph
        self._layout = layout_of(graph)
        self._live = live_state(graph)
        count = len(self._layout.waiting)
        self._waiting = self._layout.waiting.copy()
        self._standing: list[Standing] = ["waiting"] * count
        self._visits: list[Visit | None] = [None] * count
        self._told: list[Gave | Chose | Failed | None] = [None] * count
        self._chosen: dict[int, int | None] = {}
        self._passed: dict[int, list[Sequence[Given]]] = {}
        self._why: dict[int, str] = {}
        self._gone = False
        self._early: dict[int, Gave | Chose | Failed] = {}
        self._left = self.count
        self._ready: deque[int] = deque(handle for handle in graph.order if self._waiting[handle] == 0)

    @property
    def count(self) -> int:
        """How many nodes there are to run or skip."""
        return self.graph.shape.count

    @property
    def is_over(self) -> bool:
        """Whether nothing starts any more, whatever the outcomes of visits that have begun."""
        return self._left == 0 or self.failure is not None or self._ended is not None

    @property
    def results(self) -> Mapping[str, Value]:
        """What reached each output node, by id."""
        outputs = ((node.id, self.outputs(node)) for node in self.graph.outputs)
        return {name: next(iter(given.values())) for name, given in outputs if given}

    def standing(self, node: TypedNode) -> Standing:
        """The state of a node."""
        return self._standing[node.index]

    def visit(self, node: TypedNode) -> Visit | None:
        """The visit of a node that has begun and counts."""
        return self._visits[node.index]

    def outputs(self, node: TypedNode) -> Outputs | None:
        """What a node gave, by port; None where it has not given anything."""
        told = self._told[node.index]
        return told.outputs if type(told) is Gave else None

    def ends(self, said: str) -> bool:
        """Whether a failure ends the run; ``said`` is what `on_error` says."""
        return said == "fail"

    def begin(self) -> list[Consequence]:
        """What follows from the start of the run. To be called once, before any outcome is reported."""
        return self._go_on([])

    def tell(self, outcome: Outcome) -> list[Consequence]:
        """Take an outcome in; what follows from it, in this order. Each visit has one outcome.

        One that comes before what it was made of is kept until then.
        """
        consequences: list[Consequence] = []
        if isinstance(outcome, Ended):
            self._ended = outcome
            self.failure = self.failure or outcome.cause
            return consequences
        visit = outcome.visit
        handle = self.graph.core.handles.get(visit.node)
        known = None if handle is None else self._visits[handle]
        if isinstance(outcome, Withdrawn):
            if handle is not None and known == visit:
                self._visits[handle] = None
            if self._past is not None:
                self._past.forget(visit)
            return consequences
        if self._past is not None:
            self._past.outcomes[visit] = outcome
        elif handle is not None and known is None:
            # Other outcomes were reported first: as far as this frontier knows, it has not begun.
            if self._standing[handle] == "waiting":
                self._early[handle] = outcome
            elif self._standing[handle] == "open":
                known = self._visits[handle] = visit
        if handle is not None and (known is visit or known == visit) and self._told[handle] is None:
            self._settle(handle, outcome, consequences)
        return self._go_on(consequences)

    def remembered(self, node: TypedNode, inputs: Inputs) -> list[Remembered]:
        """The default outputs of the ancestors that ran, oldest first, without those that reach the node by an edge."""
        seen = {node.index}
        pending = [node]
        while pending:
            for edge in pending.pop().incoming:
                source = edge.source
                if source.index in seen or self._standing[source.index] != "finished":
                    continue
                if edge.case is not None and self._chosen.get(source.index) not in (None, edge.case):
                    continue
                seen.add(source.index)
                pending.append(source)
        arrived = {given.node for values in inputs.values() for given in values}
        entries: list[Remembered] = []
        for handle in sorted(seen - {node.index}, key=self.graph.shape.places.__getitem__):
            ancestor = self.graph.node(handle)
            outputs = self.outputs(ancestor)
            if outputs and ancestor.kind in ("input", "operator") and ancestor.id not in arrived:
                entries.append(
                    Remembered(ancestor.id, self._layout.titles[handle], as_text(next(iter(outputs.values()))))
                )
        return entries

    # Revisions

    def replace(self, graph: TypedGraph, before: Keys, after: Keys) -> list[Consequence]:
        """Continue with another graph; what follows from that.

        The state is computed again from the start. A node that becomes ready reuses the visit of its id with the same key,
        whether that has its outcome or is still in flight; only without one does it start, with the next ``redo``. So what a
        revision does not reach is kept, a visit that is reached again by way of other nodes is not repeated, and going back to
        an earlier graph costs nothing. ``before`` and ``after`` are the keys of the graph until now and of this one.
        """
        past = self._past = Past() if self._past is None else self._past
        for handle, visit in enumerate(self._visits):
            if visit is None:
                continue
            told = self._told[handle]
            node = self.graph.node(handle)
            past.add(visit, self._key(node, self._arrived(node), before))
            if told is not None:
                past.outcomes[visit] = told
        past.keys = after
        skipped = {node.id for node in self.graph.nodes if self._standing[node.index] == "skipped"}
        self.failure = None if self._ended is None else self._ended.cause
        self._take(graph)
        return [one for one in self._go_on([]) if isinstance(one, Start) or one.node.id not in skipped]

    def obsolete(self) -> list[Visit]:
        """The visits in flight whose outcome makes no difference any more, unless another revision comes."""
        found: list[Visit] = []
        handles = self.graph.core.handles
        for visit in () if self._past is None else self._past.running():
            handle = handles.get(visit.node)
            # A waiting node may still reuse the visit, if its inputs turn out as they were.
            if handle is None or (self._standing[handle] != "waiting" and self._visits[handle] != visit):
                found.append(visit)
        return found

    def _key(self, node: TypedNode, inputs: Inputs, keys: Keys) -> Hashable:
        return keys(node, inputs, lambda: self.remembered(node, inputs))

    # The fold

    def _go_on(self, consequences: list[Consequence]) -> list[Consequence]:
        """See to all that is ready, and to what follows from what is known of it already."""
        starts: list[tuple[TypedNode, Inputs, Hashable]] = []
        ready, past = self._ready, self._past
        decides = self.graph.marks.decisions
        while ready:
            handle = ready.popleft()
            if self._standing[handle] != "waiting":
                continue
            node = self.graph.node(handle)
            if (decides or self._gone) and self._live.runs(node) is False:
                self._skip(handle, consequences)
                continue
            self._standing[handle] = "open"
            inputs = self._arrived(node)
            if past is None:
                if handle in self._early:
                    early = self._early.pop(handle)
                    self._visits[handle] = early.visit
                    self._settle(handle, early, consequences)
                else:
                    starts.append((node, inputs, None))
                continue
            key = self._key(node, inputs, past.keys)
            visit = past.begun.get((node.id, key))
            if visit is None:
                starts.append((node, inputs, key))
                continue
            self._visits[handle] = visit
            if visit in past.outcomes:
                self._settle(handle, past.outcomes[visit], consequences)
        if self.failure is None and self._ended is None:
            for node, inputs, key in starts:
                visit = self._visits[node.index] = self._new_visit(node)
                if past is not None:
                    past.add(visit, key)
                consequences.append(Start(node, visit, inputs))
        return consequences

    def _new_visit(self, node: TypedNode) -> Visit:
        return Visit(node.id, self.path, 0 if self._past is None else self._past.redo.get(node.id, 0))

    def _settle(self, handle: int, outcome: Gave | Chose | Failed, consequences: list[Consequence]) -> None:
        """A node has its outcome: nodes that wait for nothing else are ready, and those that can't run any more are skipped."""
        self._told[handle] = outcome
        self._left -= 1
        if isinstance(outcome, Gave):
            self._standing[handle] = "finished"
            self._count_down(handle)
            return
        changed: Iterable[int] = ()
        if isinstance(outcome, Chose):
            self._standing[handle] = "finished"
            self._count_down(handle)
            self._chosen[handle] = outcome.case
            if handle in self._layout.passed:
                self._passed[handle] = [self._brought(source) for source in self._layout.passed[handle]]
            if outcome.case is not None:
                changed = self._live.choose(handle, outcome.case)
        else:
            self._standing[handle] = "failed"
            if outcome.ends:
                self.failure = self.failure or outcome.cause
                return
            self._why[handle] = f"{outcome.visit.node} failed"
            self._count_down(handle)
            changed = self._live.skip(handle)
            self._leave_empty()
        for other in changed:
            if self._standing[other] == "waiting" and self._live.runs(self.graph.node(other)) is False:
                self._skip(other, consequences)

    def _count_down(self, handle: int) -> None:
        waiting, ready = self._waiting, self._ready
        for target in self._layout.following[handle]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)

    def _skip(self, handle: int, consequences: list[Consequence]) -> None:
        node = self.graph.node(handle)
        self._standing[handle] = "skipped"
        self._left -= 1
        reason = self._why[handle] = self._reason(node)
        consequences.append(Skip(node, self._new_visit(node), reason))
        self._count_down(handle)
        if self._gone and node.kind == "output":
            self._fail_empty(node)

    def _leave_empty(self) -> None:
        """The first node failed without ending the run: from now on an output that is skipped makes the run fail."""
        if not self._gone:
            self._gone = True
            for node in self.graph.outputs:
                if self._standing[node.index] == "skipped":
                    self._fail_empty(node)

    def _fail_empty(self, node: TypedNode) -> None:
        if self.failure is None and not self._ends_elsewhere():
            self.failure = NodeFailure(f"Output {node.id} stays empty, since {self._why[node.index]}.", node=node.id)

    def _ends_elsewhere(self) -> bool:
        """Whether this is a drawing of which another end may still be reached: one of its ends is enough."""
        if not self.graph.core.reading.drawn:
            return False
        return any(self._standing[output.index] != "skipped" for output in self.graph.outputs)

    def _reason(self, node: TypedNode) -> str:
        """Why a node is skipped, in words: which Decision chose differently, or which node failed before it."""
        for edge in node.incoming:
            source = edge.source
            case = self._chosen.get(source.index)
            if case is not None and edge.case != case and source.cases is not None:
                return f"{source.id} chose `{source.cases.labels[case]}`"
        reasons = (self._why[edge.source.index] for edge in node.incoming if edge.source.index in self._why)
        return next(reasons, "nothing reaches it")

    def _arrived(self, node: TypedNode) -> Inputs:
        """What the live edges bring to each port of a node before which all is settled."""
        inputs: Inputs = {}
        for port, sources in self._layout.fed[node.index]:
            values: list[Given] = []
            for source in sources:
                values += self._brought(source)
            if values:
                inputs[port] = values
        return inputs

    def _brought(self, source: Source) -> Sequence[Given]:
        """What one edge brings to one port, where that is live."""
        handle, name, output, type_, title, feed = source
        outcome = self._told[handle]
        if isinstance(outcome, Gave):
            outputs = outcome.outputs
            port = output or next(iter(outputs))
            return (Given(name, port, type_, outputs[port], title),)
        if isinstance(outcome, Chose) and self._live.alive(feed) is not False:
            return outcome.value if feed.passed is None else self._passed[handle][feed.passed]
        return ()
