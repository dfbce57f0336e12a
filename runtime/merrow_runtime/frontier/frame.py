"""One frame of a run: a fold over the outcomes of its visits."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from merrow_analysis.definitions.operators import ASKED_ABOUT
from merrow_analysis.graph.boxes.composites import LoopSettings
from merrow_analysis.graph.live_state import LiveState
from merrow_analysis.graph.liveness.turning import Turn
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import BudgetFailure, NodeFailure, RunFailure
from merrow_runtime.frontier.inflow import Back, Inflow, Told
from merrow_runtime.frontier.layout import Box
from merrow_runtime.frontier.outcomes import (
    Chose,
    Consequence,
    Failed,
    Gave,
    Inputs,
    Judged,
    Replaced,
    Skip,
    Start,
    Takes,
    Withdrawn,
)
from merrow_runtime.frontier.parts import Part, Unit
from merrow_runtime.frontier.past import FrameAddress, Work
from merrow_runtime.frontier.shared import Running, Shared
from merrow_runtime.operators.base import Given
from merrow_runtime.values import Outputs, Value
from merrow_runtime.visit import Visit

Standing = Literal["waiting", "open", "finished", "skipped", "failed"]
"""The state of a node. ``open``: everything before it is settled and it runs, but has no outcome yet. ``failed``: for good."""

MOST_PASSED = 10_000
"""Values that may arrive at a Decision that asks. What arrives on several ways arrives several times, so that a few dozen
diamonds that each lead to the next two in one case would pass on more than any memory holds."""


def _too_many(node: TypedNode) -> RunFailure:
    return NodeFailure(
        f"Decision {node.id}: more than {MOST_PASSED:,} values arrive at once, since what several ways bring counts on each of "
        "them; let its ways in exclude each other, or join them in one node before it.",
        node=node.id,
    )


NOTHING_BACK: Mapping[tuple[int, str], Sequence[Back[Any]]] = {}


class Frame(Inflow):
    """For one execution of a graph, or of the inside of a composite: which nodes can start with which inputs, which are skipped
    and why, and the results.

    It changes with each outcome, and the final state does not depend on their order; only `failure` and the reasons of skipped
    nodes are whichever was known first. ``around`` is the frame that the composite runs in, ``run`` the
    execution of that and ``number`` which turn or item it is. ``again`` has what earlier turns bring to ports, by node and port.
    ``ordinal`` tells the frame from others in which the same is done, wherever they stand. ``announced`` and ``concluded`` say
    that its beginning and its end were told, ``asked`` how often its turn was to be judged, and ``judged`` what was said.
    ``inputs`` are what its nodes began with: what is live around it may look otherwise once it is over. ``turn`` says which
    turn of a Loop without a box it is, where that is not as around it.
    """

    __slots__ = (
        "_dead", "_early", "_left", "_owns_live", "_ready", "_turning", "_waiting", "announced", "answers", "asked",
        "chosen", "closed", "concluded", "failure", "gone", "inputs", "instead_of", "judged", "left_out", "mores",
        "ordinal", "path", "run", "shared", "standing", "visits", "why",
    )  # fmt: skip

    def __init__(
        self,
        shared: Shared[Frame],
        part: Part,
        live: LiveState,
        path: str = "",
        around: Self | None = None,
        run: Running[Frame] | None = None,
        number: int = 0,
        again: Mapping[tuple[int, str], Sequence[Back[Self]]] = NOTHING_BACK,
        ordinal: str = "",
        turn: Turn | None = None,
    ) -> None:
        self.graph, self.layout = shared.graph, shared.layout
        self.shared, self.part, self.path, self.around, self.run, self.number = shared, part, path, around, run, number
        self.again, self.ordinal = again, ordinal
        self.failure: RunFailure | None = None
        self.closed = self.announced = self.concluded = False
        self.asked = 0
        self.judged: Judged | None = None
        self.instead_of: Self | None = None
        """The same turn, as it was told before it became the last after all."""
        self.live = live if turn is None else live.inner(part.box or "", turn)
        self._owns_live = around is None or turn is not None
        self.left_out: frozenset[int] = frozenset()
        """Inputs that bring nothing."""
        self._waiting: dict[Unit, int] = part.waiting.copy()
        self.standing: dict[Unit, Standing] = {}
        self.inputs: dict[int, Inputs] = {}
        self.visits: dict[int, Visit | None] = {}
        self.told: dict[int, Told] = {}
        self.answers: dict[int, int] = {}
        """The cases that Decisions chose, where others count."""
        self.chosen: dict[int, int | None] = {}
        self.passed: dict[int, list[Sequence[Given]]] = {}
        self.lists: dict[int, list[Value]] = {}
        self.mores: dict[str, bool | None] = {}
        self.runs: dict[str, Running[Frame]] = {}
        self.why: dict[int, str] = {}
        self._dead: dict[str, set[int]] = {}
        self._turning = sum(part.loops.values())
        """The bits of the Loops without a box that have not ended."""
        self.gone = False
        """Whether a node failed without ending the frame."""
        self._early: dict[int, Told] = {}
        self._left = len(part.order)
        self._ready: deque[Unit] = deque(part.roots)
        shared.frames[path] = self
        for outcome in shared.elsewhere.pop(path, ()):
            if not isinstance(outcome, Withdrawn):
                self._early[shared.graph.core.handles[outcome.visit.node]] = outcome

    @property
    def stopped(self) -> bool:
        """Whether nothing starts in it any more."""
        frame: Frame | None = self
        while frame is not None:
            if frame.failure is not None:
                return True
            frame = frame.around
        return self.shared.stopped

    @property
    def given_up(self) -> bool:
        """Whether it, or a frame around it, is over, so that nothing in it matters any more."""
        frame: Frame | None = self
        while frame is not None:
            if frame.closed:
                return True
            frame = frame.around
        return False

    @property
    def is_over(self) -> bool:
        """Whether nothing starts any more, and running work can't change that."""
        return self._left == 0 or self.failure is not None

    def as_told(self, handle: int) -> Told:
        """What was told of one of its nodes that has an outcome, whatever counts."""
        told, answer = self.told[handle], self.answers.get(handle)
        return told if answer is None or not isinstance(told, Chose) else Chose(told.visit, answer, told.value)

    def outputs(self, handle: int) -> Outputs | None:
        """A node's outputs by port; None if it has none yet."""
        told = self.told.get(handle)
        return told.outputs if type(told) is Gave else None

    def fail(self, cause: RunFailure, *, fatal: bool = False) -> None:
        """Start nothing more in it, nor anywhere if it is the frame of the whole workflow or the cause is ``fatal``."""
        self.failure = self.failure or cause
        if self.around is None or fatal:
            self.shared.failure = self.shared.failure or cause

    def close(self) -> None:
        """It is over, and what it needed for going on is given up."""
        self.closed = True
        self.shared.frames.pop(self.path, None)
        self._waiting, self._ready = {}, deque()

    def begin(self, consequences: list[Consequence]) -> None:
        """Begin: what follows at once."""
        self.go_on(consequences)

    def tell(self, outcome: Told | Withdrawn, consequences: list[Consequence]) -> None:
        """Process the outcome of a visit in this frame. If it arrives before its inputs are known, it is kept until then."""
        visit = outcome.visit
        handle = self.shared.graph.core.handles[visit.node]
        if isinstance(outcome, Withdrawn):
            self.visits[handle] = None
            return
        known = self.visits.get(handle)
        if self.shared.past is None and known is None:
            # Other outcomes arrived first: as far as this frontier knows, it has not started.
            standing = self.standing.get(handle, "waiting")
            if standing == "waiting":
                self._early[handle] = outcome
            elif standing == "open":
                known = self.visits[handle] = visit
        if (known is visit or known == visit) and handle not in self.told:
            past = self.shared.past
            if past is not None and past.shown.get((self.shared.graph.node(handle).id, self.path)) != visit:
                self._take_over(handle, visit, consequences)
            else:
                self._settle(handle, outcome, consequences)
        self.go_on(consequences)

    def go_on(self, consequences: list[Consequence]) -> None:
        """Process everything that is ready, and what follows from outcomes already known."""
        starts: list[tuple[TypedNode, Inputs, Work | None]] = []
        shared, ready = self.shared, self._ready
        graph, past, place = shared.graph, shared.past, FrameAddress(self.ordinal, self.path)
        decides = shared.decides
        while ready:
            unit = ready.popleft()
            if unit in self.standing:
                continue
            if isinstance(unit, str):
                self._begin_box(unit, consequences)
                continue
            node = graph.node(unit)
            if (decides or self.left_out or self._is_torn) and self.live.runs(node) is False:
                self._skip(unit, consequences)
                continue
            self.standing[unit] = "open"
            inputs = self.inputs[unit] = self.arrived(node)
            if unit in self.layout.passed and len(inputs.get(ASKED_ABOUT.name, ())) > MOST_PASSED:
                given_up = self.visits[unit] = self._new_visit(node)
                self._settle(unit, Failed(given_up, _too_many(node), ends=True), consequences)
                continue
            if past is None:
                if unit in self._early:
                    early = self._early.pop(unit)
                    self.visits[unit] = early.visit
                    self._settle(unit, early, consequences)
                else:
                    starts.append((node, inputs, None))
                continue
            work = node.id, shared.key(self, node, inputs)
            visit = past.own(work, place)
            if visit is not None:
                self._hold(unit, visit, consequences)
            elif shared.postponed is not None:
                shared.postponed.append((self, unit, work))
            # What comes of nothing any more takes nothing away from others.
            elif not self.stopped and not self.take(unit, work, consequences):
                starts.append((node, inputs, work))
        if starts and not self.stopped:
            for node, inputs, begun in starts:
                consequences.append(self.start(node, inputs, begun))

    def take(self, handle: int, work: Work, consequences: list[Consequence]) -> bool:
        """Let a ready node take a visit from elsewhere; whether there is one."""
        past = self.shared.past
        visit = None if past is None else past.take(work, FrameAddress(self.ordinal, self.path))
        if visit is not None:
            self._hold(handle, visit, consequences)
        return visit is not None

    def start(self, node: TypedNode, inputs: Inputs, work: Work | None) -> Start:
        """A visit of one of its nodes starts."""
        visit = self.visits[node.index] = self._new_visit(node)
        if node.asks or (node.spec is not None and node.spec.effect != "none"):
            self.shared.called += 1
        past = self.shared.past
        if past is not None and work is not None:
            past.add(visit, work, FrameAddress(self.ordinal, self.path))
            past.shown[visit.node, visit.path] = visit
            self.shared.holders[visit] = self
        return Start(node, visit, inputs, self.ordinal)

    def _hold(self, handle: int, visit: Visit, consequences: list[Consequence]) -> None:
        past = self.shared.past
        assert past is not None  # noqa: S101 (it is from there)
        self.visits[handle] = visit
        self.shared.holders[visit] = self
        if visit in past.outcomes:
            self._take_over(handle, visit, consequences)
        elif (visit.node, visit.path) == (self.shared.graph.node(handle).id, self.path):
            past.shown.setdefault((visit.node, visit.path), visit)

    def _take_over(self, handle: int, visit: Visit, consequences: list[Consequence]) -> None:
        """A node gets the outcome of a finished visit, regardless of which node started it; from then on it owns it."""
        past, node = self.shared.past, self.shared.graph.node(handle)
        assert past is not None  # noqa: S101 (it is from there)
        at, own, outcome = (node.id, self.path), visit, past.outcomes[visit]
        if (visit.node, visit.path) != at:
            own = Visit(node.id, self.path, visit.redo, past.life(*at))
            outcome = past.move(visit, own)
            self.visits[handle] = own
            del self.shared.holders[visit]
            self.shared.holders[own] = self
        if past.shown.get(at) != own:
            past.shown[at] = own
            consequences.append(Takes(node, own, visit, self.inputs[handle], outcome))
        self._settle(handle, outcome, consequences)

    def judged_by(self) -> Hashable:
        """The judgement of this turn of a Loop is a function of this."""
        graph, settings = self.shared.graph, self.shared.layout.boxes[self.part.box or ""].settings
        assert isinstance(settings, LoopSettings)  # noqa: S101 (only turns are judged)
        visits = frozenset((graph.node(handle).id, told.visit) for handle, told in self.told.items())
        return settings.until, settings.best, settings.budget, visits

    @property
    def _is_torn(self) -> bool:
        """Whether a failure may have reached it."""
        return self.gone or (self.around is not None and self.around._is_torn)

    def _new_visit(self, node: TypedNode) -> Visit:
        past, redo = self.shared.past, self.shared.redo(node.id, self.path)
        return Visit(node.id, self.path, redo, 0 if past is None else past.life(node.id, self.path))

    # What its nodes do

    def _settle(self, handle: int, outcome: Told, consequences: list[Consequence]) -> None:
        """A node has its outcome: nodes that wait for nothing else are ready, and nodes that can't run any more are skipped."""
        if isinstance(outcome, Chose) and self.shared.past is not None:
            # It may have been begun under an earlier graph, with what arrived by other names and from other frames.
            outcome = Chose(outcome.visit, outcome.case, self.inputs[handle].get("value", ()))
        if isinstance(outcome, Chose) and outcome.case is not None:
            outcome = Chose(outcome.visit, self._counting(handle, outcome.case), outcome.value)
        self.told[handle] = outcome
        self._left -= 1
        if isinstance(outcome, Gave):
            self.standing[handle] = "finished"
            self._count_down(handle)
            return
        changed: Iterable[int] = ()
        if isinstance(outcome, Chose):
            self.standing[handle] = "finished"
            self._count_down(handle)
            self.chosen[handle] = outcome.case
            passed = self.shared.layout.passed.get(handle)
            if passed is not None:
                self.passed[handle] = self.passed_on(handle, passed)
            if outcome.case is not None:
                changed = self.own_live().choose(handle, outcome.case)
        else:
            self.standing[handle] = "failed"
            if outcome.ends:
                spent = isinstance(outcome.cause, BudgetFailure) and self._may_end_without()
                self.fail(outcome.cause, fatal=outcome.fatal and not spent)
                return
            self.why[handle] = f"{outcome.visit.node} failed"
            self._count_down(handle)
            changed = self.own_live().skip(handle)
            self._leave_empty()
        self._skip_dead(changed, consequences)

    def _may_end_without(self) -> bool:
        """Whether it is in a turn that a Loop can do without where the budget does not reach for it."""
        frame: Frame | None = self
        while frame is not None and frame.run is not None:
            if not self.shared.layout.boxes[frame.part.box or ""].composite.implied:
                return False
            if frame.run.ends_without(frame):
                return True
            frame = frame.around
        return False

    def _counting(self, handle: int, case: int) -> int:
        """The case that counts where a Decision has chosen one: in the last turn of a Loop without a box ways may be closed."""
        turning, closed = self.shared.graph.turning, self.live.turn.closed
        if turning is None or not closed:
            return case
        node = self.shared.graph.node(handle)
        counts = turning.instead(node, case, closed)
        if counts != case and node.cases is not None:
            labels = node.cases.labels
            self.answers[handle] = case
            self._closing(node, case, closed).append(Replaced(node.id, labels[case], labels[counts]))
        return counts

    def _closing(self, node: TypedNode, case: int, closed: frozenset[str]) -> list[Replaced]:
        """Where a Loop notes the answers for which others were taken: the one whose last turn closes a case, the innermost of
        several.
        """
        turning, frame = self.shared.graph.turning, self
        replaced: list[list[Replaced]] = []
        while frame.around is not None:
            box = frame.part.box or ""
            if box in closed and frame.run is not None:
                replaced.append(frame.run.replaced)
                if turning is not None and turning.instead(node, case, closed - {box}) == case:
                    return replaced[-1]
            frame = frame.around
        return replaced[0] if replaced else []

    def own_live(self) -> LiveState:
        """The liveness of this frame, which is not shared from now on."""
        if not self._owns_live:
            assert self.part.box is not None  # noqa: S101 (that of the whole workflow has its own from the beginning)
            self.live = self.live.inner(self.part.box)
            self._owns_live = True
        return self.live

    def _count_down(self, unit: Unit) -> None:
        waiting, ready = self._waiting, self._ready
        for target in self.part.following[unit]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)

    def _skip_dead(self, changed: Iterable[int], consequences: list[Consequence]) -> None:
        """Skip nodes that can't run any more. What comes after a Loop without a box waits until that has ended: a later turn may
        run what no way from outside leads to.
        """
        units, graph = self.part.unit, self.shared.graph
        for handle in changed:
            unit = units.get(handle)
            if unit is None or unit in self.standing or self.live.runs(graph.node(handle)) is not False:
                continue
            if self.part.behind.get(unit, 0) & self._turning:
                continue  # It is looked at again before it would begin.
            if isinstance(unit, int):
                self._skip(unit, consequences)
            else:
                dead = self._dead.setdefault(unit, set())
                dead.add(handle)
                if len(dead) == len(self.shared.layout.boxes[unit].members):
                    self._skip_box(self.shared.layout.boxes[unit], consequences)

    def _skip(self, handle: int, consequences: list[Consequence]) -> None:
        node = self.shared.graph.node(handle)
        self._left -= 1
        self._tell_skipped(node, consequences)
        self._count_down(handle)
        if self.gone and node.kind == "output":
            self._fail_empty(node)

    def _tell_skipped(self, node: TypedNode, consequences: list[Consequence]) -> None:
        self.standing[node.index] = "skipped"
        reason = self.why[node.index] = self._reason(node)
        consequences.append(Skip(node, self._new_visit(node), reason))
        if self.shared.past is not None:
            # What its readers know of it is that it was skipped: where an earlier visit counts again, they must be told.
            self.shared.past.shown.pop((node.id, self.path), None)

    def _leave_empty(self) -> None:
        """The first node failed without ending the run: from now on an output that is skipped makes the run fail."""
        if not self.gone:
            self.gone = True
            for node in self.shared.graph.outputs if self.around is None else ():
                if self.standing.get(node.index) == "skipped":
                    self._fail_empty(node)

    def _fail_empty(self, node: TypedNode) -> None:
        if self.failure is None and not self._ends_elsewhere():
            self.fail(NodeFailure(f"Output {node.id} stays empty, since {self.why[node.index]}.", node=node.id))

    def _ends_elsewhere(self) -> bool:
        """Whether this is a drawing of which another end may still be reached: one of its ends is enough."""
        graph = self.shared.graph
        if not graph.core.reading.drawn:
            return False
        return any(self.standing.get(output.index) != "skipped" for output in graph.outputs)

    def _reason(self, node: TypedNode) -> str:
        """Why a node is skipped, in words: which Decision chose another case or which node failed before it."""
        whys: list[str] = []
        if node.index in self.left_out:
            return "it was not given"
        for edge in node.incoming:
            source = edge.source
            frame = self.frame_with(source.index)
            case = frame.chosen.get(source.index)
            if case is not None and edge.case != case and source.cases is not None:
                return f"{source.id} chose `{source.cases.labels[case]}`"
            if edge.word == "over" and frame.mores.get(edge.left[0]) is False:
                whys.append(f"the turns of {edge.left[0]} did not run out")
            elif source.index in frame.why:
                whys.append(frame.why[source.index])
        return next(iter(whys), "nothing reaches it")

    # What composites do in it

    def _begin_box(self, name: str, consequences: list[Consequence]) -> None:
        box, graph = self.shared.layout.boxes[name], self.shared.graph
        if all(self.live.runs(graph.node(handle)) is False for handle in box.members):
            self._skip_box(box, consequences)
            return
        self.standing[name] = "open"
        # After a failure, too: work started by then counts, whichever outcome arrives first.
        run = self.runs[name] = self.shared.compose(self, box)
        run.begin(consequences)

    def _skip_box(self, box: Box, consequences: list[Consequence]) -> None:
        """Nothing inside a composite runs."""
        graph = self.shared.graph
        for handle in box.members:
            self._tell_skipped(graph.node(handle), consequences)
        self._settle_box(box, "skipped", (), consequences)

    def leave_out(self, box: Box, consequences: list[Consequence]) -> None:
        """Skip the inside of a composite without inputs, whatever its liveness says."""
        changed = self._skipping(box.members)
        self._skip_box(box, consequences)
        self._skip_dead(changed, consequences)

    def fail_box(self, box: Box, cause: RunFailure, on_error: str, consequences: list[Consequence]) -> None:
        """A composite failed; ``on_error`` is its own."""
        if on_error == "fail":
            self.fail(cause)
            return
        for handle in box.members:
            self.standing[handle] = "failed"
            self.why[handle] = f"{box.id} failed"
        changed = self._skipping(box.members)
        self._leave_empty()
        self._settle_box(box, "failed", changed, consequences)

    def _skipping(self, handles: Iterable[int]) -> list[int]:
        live = self.own_live()
        return [other for handle in handles for other in live.skip(handle)]

    def settle_loop(self, box: Box, final: Frame, more: bool | None, consequences: list[Consequence]) -> None:
        """A Loop has ended with the values of its turn ``final``; ``more`` says that its turns ran out."""
        live, changed = self.own_live(), list[int]()
        if box.composite.implied:
            # In a later turn what leads to a node from outside does not start it.
            graph = self.shared.graph
            changed += live.tell_ran(
                {member: final.live.runs(graph.node(member)) is not False for member in box.members}
            )
        for handle in box.members:
            standing = self.standing[handle] = final.standing.get(handle, "skipped")
            told = final.told.get(handle)
            if told is not None:
                self.told[handle] = told
                self.visits[handle] = final.visits.get(handle)
            if isinstance(told, Chose):
                self.chosen[handle] = told.case
                if told.case is not None:
                    changed += live.choose(handle, told.case)
            elif standing == "failed":
                changed += live.skip(handle)
            if handle in final.why:
                self.why[handle] = final.why[handle]
            if handle in final.passed:
                self.passed[handle] = final.passed[handle]
        self.lists |= final.lists
        self.mores |= {**final.mores, box.id: more}
        for name in (*final.mores, box.id):
            known = self.mores[name]
            if known is not None:
                changed += live.tell_more(name, known)
        if final.gone:
            self._leave_empty()
        self._settle_box(box, "finished", changed, consequences)

    def settle_map(self, box: Box, lists: Mapping[int, list[Value]], consequences: list[Consequence]) -> None:
        """A Map has ended: what each of its exits brings."""
        self.lists |= lists
        graph = self.shared.graph
        for handle in box.members:
            self.standing[handle] = "skipped" if self.live.runs(graph.node(handle)) is False else "finished"
        self._settle_box(box, "finished", (), consequences)

    def _settle_box(
        self, box: Box, standing: Standing, changed: Iterable[int], consequences: list[Consequence]
    ) -> None:
        self.standing[box.id] = standing
        self._turning &= ~self.part.loops.get(box.id, 0)
        self._left -= 1
        self._count_down(box.id)
        self._skip_dead(changed, consequences)
