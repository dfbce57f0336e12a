"""The frontier of a run: a fold over the outcomes of its visits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial

from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import NodeFailure, RunFailure
from merrow_runtime.frontier.composing import compose
from merrow_runtime.frontier.frame import Frame, Standing
from merrow_runtime.frontier.layout import layout_of
from merrow_runtime.frontier.memories import remembered
from merrow_runtime.frontier.outcomes import (
    Consequence,
    Ended,
    Inputs,
    Judged,
    Keys,
    Made,
    Outcome,
    Revision,
    Withdrawn,
    never_again,
)
from merrow_runtime.frontier.past import Past, Work
from merrow_runtime.frontier.revising import keep, may_begin, standings, without_stopped
from merrow_runtime.frontier.shared import Shared
from merrow_runtime.operators.base import Remembered, Wants
from merrow_runtime.values import Outputs, Value
from merrow_runtime.visit import Visit

MOST_ITEMS = 1_000
"""Items of a Map that are under way at once where nobody says how many."""


NOTHING_MORE = Revision()


def _no_defaults(handle: int) -> Outputs:
    raise KeyError(handle)


class Frontier:
    """Which nodes of a graph can start with what, which are skipped and why, what came out, and when it is over.

    It changes with each outcome that it is told, always to the same whatever order they arrive in; only `failure` and the
    reasons of skipped nodes are what was known first. What is live is said by `merrow_analysis.graph.live_state`, as
    the checker has it; a choice is worked out as far as it reaches. Outputs are handed on and never looked at, but for the
    names of their ports and the items of lists that Maps take apart. Turns and items are frames of their own.
    """

    def __init__(
        self,
        graph: TypedGraph,
        *,
        parallel: int = MOST_ITEMS,
        defaults: Callable[[int], Outputs] = _no_defaults,
        once: bool = False,
        path: str = "",
        ordinal: str = "",
        redo: Callable[[str, str], int] = never_again,
        absent: Collection[str] = (),
        limited: bool = False,
    ) -> None:
        """``parallel`` is how many items of a Map are under way at once where it doesn't say; ``defaults`` gives by handle what a
        node gives in an item that failed and counts all the same. With ``once`` each composite makes one turn, or one item.
        ``path`` is that of the graph's frame, and ``ordinal`` its own, where another graph calls this one. ``redo`` says how
        often a node in the frame with a path is asked for. ``absent`` are inputs that bring nothing, by id. ``limited`` says that
        there is a budget, which Loops without a box end by.
        """
        self._absent = absent
        self._path, self._ordinal = path, ordinal
        self._shared: Shared[Frame] = Shared(
            graph, layout_of(graph), compose, parallel, defaults, once, redo=redo, limited=limited
        )
        self._take(graph)

    def _take(self, graph: TypedGraph) -> None:
        """Begin with a graph of which nothing has run."""
        shared = self._shared
        shared.graph, shared.layout = graph, layout_of(graph)
        shared.frames.clear()
        for known in (shared.judging, shared.elsewhere, shared.early_judged, shared.holders, shared.fixed):
            known.clear()
        shared.__dict__.pop("decides", None)
        absent = [name for name in self._absent if name in graph.core.handles]
        live = live_state(graph, skipped=absent)
        self._whole = Frame(shared, shared.layout.whole, live, self._path, ordinal=self._ordinal)
        self._whole.left_out = frozenset(graph.core.handles[name] for name in absent)

    @property
    def graph(self) -> TypedGraph:
        """The graph that runs."""
        return self._shared.graph

    @property
    def failure(self) -> RunFailure | None:
        """Why the run fails; of several causes the one that was told first. It also fails if nothing reached any of its ends."""
        shared, ends = self._shared, self.graph.outputs
        if (
            shared.failure is not None
            or not ends
            or not self.graph.core.loose
            or shared.once
            or not self._whole.is_over
        ):
            return shared.failure
        if any(self._whole.standing.get(node.index) != "skipped" for node in ends):
            return None
        return NodeFailure(
            f"Nothing reached {ends[0].id}: the last turn of a Loop came before a step that leads on had run. Allow more turns, "
            "or a larger budget (--budget-tokens, --budget-usd, --budget-seconds) if that ended them.",
            node=ends[0].id,
        )

    @property
    def count(self) -> int:
        """How many nodes there are to run or skip, those of composites once each."""
        return self.graph.shape.count

    @property
    def is_over(self) -> bool:
        """Whether nothing starts any more, and what has begun makes no difference to that."""
        return self._whole.is_over or self._shared.stopped

    @property
    def results(self) -> Mapping[str, Value]:
        """What reached each output node, by id."""
        outputs = ((node.id, self.outputs(node)) for node in self.graph.outputs)
        return {name: next(iter(given.values())) for name, given in outputs if given}

    def standing(self, node: TypedNode) -> Standing:
        """How a node is in the frame of the whole workflow."""
        return self._whole.standing.get(node.index, "waiting")

    def visit(self, node: TypedNode) -> Visit | None:
        """The visit of a node that has begun and counts for the whole workflow: in a Loop the turn whose values go out."""
        return self._whole.visits.get(node.index)

    def outputs(self, node: TypedNode) -> Outputs | None:
        """What that visit gave, by port; None where it has not given anything."""
        return self._whole.outputs(node.index)

    def ends(self, on_error: str) -> bool:
        """Whether a failure ends its frame; ``on_error`` is what the settings say."""
        return on_error == "fail"

    def counts(self, visit: Visit) -> bool:
        """Whether what comes of a visit makes a difference to anything."""
        shared = self._shared
        frame = shared.frames.get(visit.path) if shared.past is None else shared.holders.get(visit)
        if frame is None:
            return shared.past is not None and not shared.stopped and self._may_be_taken(visit)
        return not frame.given_up and not frame.stopped

    def begin(self) -> list[Consequence]:
        """What follows from there being a run. To be called once, before anything is told."""
        consequences: list[Consequence] = []
        self._whole.begin(consequences)
        return consequences

    def tell(self, outcome: Outcome) -> list[Consequence]:
        """Take an outcome in; what follows from it, in this order. Each visit, and each turn to be judged, has one outcome.

        One that comes before what it was made of is kept until then.
        """
        shared, consequences = self._shared, list[Consequence]()
        if isinstance(outcome, Ended):
            shared.ended = outcome
            shared.failure = shared.failure or outcome.cause
        elif isinstance(outcome, Judged):
            run = shared.judging.pop((outcome.path, outcome.redo), None)
            if run is None:
                if shared.past is None:
                    shared.early_judged[outcome.path] = outcome
            elif not run.around.closed:
                run.judged(outcome, consequences)
                run.around.go_on(consequences)
                self._climb(run.around, consequences)
        else:
            past, visit = shared.past, outcome.visit
            frame = shared.frames.get(visit.path) if past is None else shared.holders.get(visit)
            if past is not None:
                past.tell(outcome)
            # What is withdrawn is nobody's any more, also where all is over.
            if frame is not None and (not frame.closed or isinstance(outcome, Withdrawn)):
                frame.tell(outcome, consequences)
                self._climb(frame, consequences)
            elif past is None:
                shared.elsewhere.setdefault(visit.path, []).append(outcome)
        return consequences

    def close(self) -> None:
        """Give up its frames, which know each other in a circle, once nothing is asked of it any more."""
        self._shared.frames.clear()
        frames = [self._whole]
        for frame in frames:
            frames += [inner for run in frame.runs.values() for inner in run.frames]
        for frame in frames:
            frame.runs.clear()
            frame.run = None

    def _climb(self, frame: Frame, consequences: list[Consequence]) -> None:
        """Tell composites of their frames that are over, the innermost first."""
        while frame.around is not None and frame.run is not None and frame.is_over and not frame.closed:
            around = frame.around
            if around.closed:
                return
            frame.run.ended(frame, consequences)
            around.go_on(consequences)
            frame = around

    def remembered(
        self, node: TypedNode, inputs: Inputs, path: str = "", *, wants: Wants | None = None
    ) -> list[Remembered]:
        """What a node remembers in the frame with a path; see `merrow_runtime.frontier.memories`."""
        frame = self._shared.frames.get(path)
        return [] if frame is None else remembered(frame, node, inputs, wants)

    # Revisions

    def replace(
        self,
        graph: TypedGraph,
        before: Keys,
        after: Keys,
        revision: Revision = NOTHING_MORE,
        defaults: Callable[[int], Outputs] | None = None,
    ) -> list[Consequence]:
        """Continue with another graph; what follows from that.

        All is worked out again on it, in frames with the same paths, and a node that becomes ready takes a visit of its id that
        has the same key, with its outcome or still on its way; else the outcome of a node with this key that is gone, or is
        something else by now (`Revision`). One from elsewhere is taken only once all nodes that have one in their own place
        have it back. Only where none is left it starts, with the next ``life`` of its frame. So what
        a revision does not reach is kept, inside of composites and across their borders, too; whatever comes again by way
        of other nodes, turns or items is not made again, and going back to an earlier graph costs nothing. A turn is
        judged again unless it was judged by the same. ``before`` and ``after`` are the keys of the graph until now and of
        this one, ``defaults`` as when it was made.
        """
        shared = self._shared
        past = shared.past = Past() if shared.past is None else shared.past
        keep(past, self._whole, _keys(before, shared.redo))
        past.places = {self.graph.node(handle).id: place for place, handle in enumerate(self.graph.order)}
        past.forget(revision.forgotten)
        past.revision = revision
        past.release()
        if revision is not NOTHING_MORE:
            shared.redo = revision.redo
        if defaults is not None:
            shared.defaults = defaults
        known = standings(self._whole)
        shared.key = _keys(after, shared.redo)
        shared.failure = None if shared.ended is None else shared.ended.cause
        self._take(graph)
        shared.postponed = deque()
        consequences = self.begin()
        starting = self._take_from_elsewhere(shared.postponed, consequences)
        shared.postponed = None
        consequences = known.news(without_stopped(self._whole, known, consequences))
        consequences += known.reopened(standings(self._whole))
        return consequences + [
            frame.start(self.graph.node(handle), frame.inputs[handle], work)
            for frame, handle, work in starting
            if not frame.stopped and not frame.given_up
        ]

    def _take_from_elsewhere(
        self, postponed: deque[tuple[Frame, int, Work]], consequences: list[Consequence]
    ) -> list[tuple[Frame, int, Work]]:
        """Have nodes take visits of other places, and see to what follows; those for which there are none."""
        left: list[tuple[Frame, int, Work]] = []
        while postponed:
            frame, handle, work = postponed.popleft()
            if frame.stopped or frame.given_up:
                continue
            if frame.take(handle, work, consequences):
                frame.go_on(consequences)
                self._climb(frame, consequences)
            else:
                left.append((frame, handle, work))
        return left

    def obsolete(self) -> list[Visit]:
        """The visits on their way whose outcome makes no difference any more, unless another revision comes."""
        past, holders = self._shared.past, self._shared.holders
        if past is None:
            return []
        return [
            visit
            for visit in past.running()
            if (holders[visit].given_up if visit in holders else past.is_lost(visit) or not self._may_be_taken(visit))
        ]

    def under_way(self) -> dict[Visit, Visit]:
        """The visits on their way, by the visits that they are named as from the last revision on. What no node has keeps its own
        name, unless that is another one's by now.
        """
        past, holders = self._shared.past, self._shared.holders
        running = [] if past is None else list(past.running())
        named = {visit.lasting: visit for visit in running if visit not in holders}
        return named | {
            Visit(visit.node, holders[visit].path, visit.redo): visit for visit in running if visit in holders
        }

    def is_newest(self, visit: Visit) -> bool:
        """Whether its node has begun nothing else in its frame since a visit began."""
        past = self._shared.past
        return past is None or past.shown.get((visit.node, visit.path), visit) == visit

    def holds(self, visit: Visit) -> bool:
        """Whether a visit that has begun is still that of its node, after the last revision."""
        return self._shared.past is None or visit in self._shared.holders

    def _may_be_taken(self, visit: Visit) -> bool:
        """Whether a node that waits may take a visit yet, if its inputs come out as they were."""
        handle = self.graph.core.handles.get(visit.node)
        return handle is not None and may_begin(self._whole, handle)


def _keys(keys: Keys, redo: Callable[[str, str], int]) -> Callable[[Frame, TypedNode, Inputs], Hashable]:
    def key(frame: Frame, node: TypedNode, inputs: Inputs) -> Hashable:
        made = keys(node, inputs, partial(remembered, frame, node, inputs), frame.path)
        return made._replace(redo=redo(node.id, frame.path)) if isinstance(made, Made) else made

    return key
