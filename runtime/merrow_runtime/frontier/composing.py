"""How a Loop and a Map run in a frame: each turn and item is a separate frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence

from merrow_analysis.graph.boxes.composites import LoopSettings, MapSettings
from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.liveness.turning import Turn
from merrow_runtime.errors import BudgetFailure, NodeFailure, RunFailure
from merrow_runtime.frontier.frame import NOTHING_BACK, Frame
from merrow_runtime.frontier.inflow import Back
from merrow_runtime.frontier.items import Items
from merrow_runtime.frontier.layout import Box
from merrow_runtime.frontier.outcomes import (
    Closes,
    Consequence,
    Judged,
    JudgeTurn,
    LoopEnds,
    Opens,
    Replaced,
    Skip,
    Why,
)
from merrow_runtime.frontier.revising import once_more, standings
from merrow_runtime.frontier.shared import Running
from merrow_runtime.frontier.turns import Turns
from merrow_runtime.values import Outputs, Value, canonical, list_apart, part_of
from merrow_runtime.visit import segment


def compose(around: Frame, box: Box) -> Running[Frame]:
    """The execution of a composite in a frame, not started yet."""
    return LoopRun(around, box) if box.composite.kind == "loop" else MapRun(around, box)


class _Composed(ABC):
    """What Loops and Maps have in common: how their frames are created."""

    def __init__(self, around: Frame, box: Box) -> None:
        self.around, self.box = around, box
        self.frames: list[Frame] = []
        self.ended_as: LoopEnds | None = None
        self.replaced: list[Replaced] = []

    @property
    @abstractmethod
    def most(self) -> int: ...

    @property
    @abstractmethod
    def goes_on(self) -> bool: ...

    def _begin_frame(
        self,
        number: int,
        again: Mapping[tuple[int, str], Sequence[Back[Frame]]],
        ordinal: int,
        consequences: list[Consequence],
    ) -> Frame:
        announced = not self.around.stopped
        if announced:
            consequences.append(Opens(self.box.composite, self.around.path, number, self.most))
        frame = self._frame(number, again, ordinal)
        frame.announced = announced
        frame.begin(consequences)
        return frame

    def _close(self, frame: Frame, consequences: list[Consequence], failure: RunFailure | None = None) -> None:
        if not frame.concluded:
            consequences.append(Closes(self.box.composite, self.around.path, frame.number, self.most, failure))
        frame.concluded = True

    def _frame(self, number: int, again: Mapping[tuple[int, str], Sequence[Back[Frame]]], ordinal: int) -> Frame:
        around = self.around
        own = segment(self.box.id, index=number)
        path = f"{around.path}/{own}" if around.path else own
        frame = Frame(
            around.shared,
            self.box.part,
            around.live,
            path,
            around,
            self,
            number,
            again,
            f"{around.ordinal}{ordinal}.",
            self._turn(number),
        )
        self.frames.append(frame)
        return frame

    def _turn(self, number: int) -> Turn | None:
        """Which turn of a Loop without a box a frame is; None where that is as around it."""
        del number
        return None

    @abstractmethod
    def ended(self, frame: Frame, consequences: list[Consequence]) -> None: ...

    @abstractmethod
    def begin(self, consequences: list[Consequence]) -> None: ...

    def ends_without(self, frame: Frame) -> bool:
        """See `merrow_runtime.frontier.shared.Running`."""
        del frame
        return False

    @abstractmethod
    def counted(self) -> Iterable[Frame]: ...

    def _carried(self, frame: Frame) -> dict[tuple[int, str], Sequence[Back[Frame]]]:
        """What `again` edges bring to the turn, or the item, after a frame."""
        carried: dict[tuple[int, str], Sequence[Back[Frame]]] = {}
        for handle, port, many, sources in self.box.again:
            brought = [Back(source, frame, given) for source in sources if (given := frame.brought(source))]
            # A port for one value keeps the newest; a port for several has those of the previous turn.
            values = brought if many else brought[-1:] or frame.again.get((handle, port), ())
            if values:
                carried[handle, port] = values
        return carried


class LoopRun(_Composed):
    """A Loop that runs: one turn after another."""

    def __init__(self, around: Frame, box: Box) -> None:
        super().__init__(around, box)
        assert isinstance(box.settings, LoopSettings)  # noqa: S101 (it is a Loop)
        self._settings = box.settings
        self._arrows = box.composite.implied
        turns = bool(box.again) or self._arrows
        self._turns = Turns(1 if around.shared.once or not turns else box.settings.most)
        self._final: Frame | None = None
        self._is_spent = False
        """Whether the budget of the run closes the arrows back."""

    @property
    def most(self) -> int:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._turns.most

    @property
    def goes_on(self) -> bool:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._turns.number < self.most

    def begin(self, consequences: list[Consequence]) -> None:
        """See `merrow_runtime.frontier.shared.Running`."""
        self._go_on(self._next(NOTHING_BACK, consequences), consequences)

    def ended(self, frame: Frame, consequences: list[Consequence]) -> None:
        """See `merrow_runtime.frontier.shared.Running`."""
        self._go_on(frame, consequences)

    def ends_without(self, frame: Frame) -> bool:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._arrows and frame.number > 1 and not self._is_spent

    def counted(self) -> Iterable[Frame]:
        """See `merrow_runtime.frontier.shared.Running`."""
        return () if self._final is None else (self._final,)

    def judged(self, told: Judged, consequences: list[Consequence]) -> None:
        """Continue with the judgement of the newest turn."""
        frame = self.frames[-1]
        frame.judged = told
        self._go_on(self._after(frame, told, consequences), consequences)

    def _turn(self, number: int) -> Turn | None:
        """In the first turn things are as around the Loop, unless it is the last one at once."""
        shared, around = self.around.shared, self.around.live.turn
        if not self._arrows or shared.once:
            return None
        closed = {self.box.id} if number == self.most or self._is_spent else set()
        if number == 1:
            return around._replace(closed=around.closed | closed) if closed else None
        begins = frozenset(self.frames[-1].live.ways_back(self.box.id))
        return Turn(self.box.id, around.closed | closed, begins)

    def _next(self, again: Mapping[tuple[int, str], Sequence[Back[Frame]]], consequences: list[Consequence]) -> Frame:
        number = self._turns.begin()
        if self._arrows and self.around.shared.is_long:
            # A drawing always ends: from here on each turn is the last one.
            self._turns.most = number
        return self._begin_frame(number, again, number, consequences)

    def _go_on(self, frame: Frame | None, consequences: list[Consequence]) -> None:
        """Process finished turns until one is not finished or none follows."""
        while frame is not None and frame.is_over:
            frame.close()
            if isinstance(frame.failure, BudgetFailure) and self.ends_without(frame):
                frame = self._without(frame, frame.failure, consequences)
                continue
            if frame.failure is not None:
                self._fail(frame, frame.failure, consequences)
                return
            settings, shared = self._settings, self.around.shared
            told = Judged(frame.path)
            by_run = self._may_be_spent(frame)
            if settings.until is not None or settings.best is not None or settings.budget is not None or by_run:
                known = None if shared.once else self._judge(frame, consequences)
                if known is None and not shared.once:
                    return
                told = known or told
            frame = self._after(frame, told, consequences)

    def _judge(self, frame: Frame, consequences: list[Consequence]) -> Judged | None:
        """The judgement of a turn; None if it is still to come."""
        shared, path = self.around.shared, frame.path
        told = shared.early_judged.pop(path, None)
        past, redo = shared.past, 0
        if past is not None and told is None:
            by, before = past.judged.get(path, (None, None))
            told, redo = before if by == frame.judged_by() else None, past.asked.get(path, 0)
        frame.judged = told
        if told is None:
            shared.judging[path, redo] = self
            if not self.around.stopped:
                composite, settings, around = self.box.composite, self._settings, self.around
                consequences.append(
                    JudgeTurn(composite, settings, around.path, path, frame.number, _outputs(frame), redo, self._arrows)
                )
                frame.asked = redo + 1
        return told

    def _after(self, frame: Frame, told: Judged, consequences: list[Consequence]) -> Frame | None:
        """The turn after a finished one; None if the Loop has ended."""
        if told.failure is not None:
            self._fail(frame, told.failure, consequences)
            return None
        more = self._more(frame, told)
        if told.spent and self._arrows and more is not False and not self._is_spent:
            return self._last_after_all(frame, consequences)
        self._close(frame, consequences)
        spent = told.spent or self._is_spent
        number = self._turns.end(more=more is not False, score=told.score, spent=spent)
        if number is None:
            return self._next(self._carried(frame), consequences)
        final = self._final = self.frames[number - 1]
        if not self.around.shared.once:
            self._tell_ended(told, number, consequences, more=more is not False)
        # An earlier turn's go out only where the turns ran out, and then more were wanted of all of them.
        self.around.settle_loop(self.box, final, None if self.around.shared.once else more is not False, consequences)
        return None

    def _may_be_spent(self, frame: Frame) -> bool:
        """Whether the budget of the run is to be asked if another turn follows one: where one would."""
        if not self._arrows or not self.around.shared.limited or self._is_spent or frame.number >= self.most:
            return False
        return frame.live.more(self.box.id) is not False

    def _without(self, frame: Frame, cause: RunFailure, consequences: list[Consequence]) -> Frame:
        """The budget does not reach for a turn that has begun: the one before it is the last."""
        self._close(frame, consequences, cause)
        self.frames.pop()
        before = self.frames[-1]
        self._turns.number = before.number
        return self._last_after_all(before, consequences)

    def _last_after_all(self, frame: Frame, consequences: list[Consequence]) -> Frame:
        """No turn follows one that is over, since the budget does not reach for it: what was told in it counts as in a last turn.

        Nothing is run twice, and what has run is not told as skipped; what is led to only now begins.
        """
        known, nodes = standings(frame), once_more(frame)
        self._is_spent = True
        self.frames.pop()
        news: list[Consequence] = []
        last = self._frame(frame.number, frame.again, frame.number)
        last.announced, last.concluded = frame.announced, frame.concluded
        # For a Loop around it that ends likewise.
        last.asked, last.judged, last.instead_of = frame.asked, frame.judged, frame
        last.begin(news)
        consequences += [
            consequence
            for consequence in known.news(news)
            if not isinstance(consequence, Skip) or (consequence.node.id, consequence.visit.path) not in nodes
        ]
        return last

    def _tell_ended(self, told: Judged, final: int, consequences: list[Consequence], *, more: bool) -> None:
        """Say how the Loop ended, with the values of its turn ``final``. ``more`` says that another would have followed."""
        spent = told.spent or self._is_spent
        more = more or bool(self.replaced) or self._is_spent
        why: Why = ("budget" if spent else "turns") if more else ("until" if told.holds else "case")
        exhausted = bool(self.replaced) or self._is_spent or (more and not self._is_fixed())
        best = final if more and self._settings.best is not None else None
        box, turns = self.box.composite, self._turns
        replaced = tuple(self.replaced)
        self.ended_as = LoopEnds(box, self.around.path, turns.number, turns.most, why, exhausted, best, replaced)
        consequences.append(self.ended_as)

    def _is_fixed(self) -> bool:
        """Whether nothing ends the Loop before its turns run out: then that is how it is meant to end."""
        shared, name = self.around.shared, self.box.id
        known = shared.fixed.get(name)
        if known is None:
            members = [shared.graph.node(handle) for handle in self.box.members]
            known = shared.fixed[name] = shared.graph.combinations.always_goes_on(name, members)
        return known

    def _more(self, frame: Frame, told: Judged) -> bool | None:
        """Whether another turn is wanted; None if no Decision says so."""
        if not self.box.again and not self._arrows:
            return False
        if self._settings.until is not None and not self.around.shared.once:
            frame.own_live().tell_until(self.box.id, told.holds)
        more = frame.live.more(self.box.id)
        return False if more is not False and frame.gone and self._failed_out(frame) else more

    def _failed_out(self, frame: Frame) -> bool:
        """Whether a Decision with an exit failed, or was skipped because of a failure: that counts as an exit."""
        graph = frame.shared.graph
        leaving = [feed.source for feed in graph.combinations.loops[self.box.id].leads_out if feed.case is not None]
        if any(frame.standing.get(handle) == "failed" for handle in leaving):
            return True
        skipped = [handle for handle in leaving if frame.standing.get(handle) == "skipped"]
        if not skipped:
            return False
        # Would they have run had nothing failed?
        chosen: dict[str, int] = {}
        mores: dict[str, bool] = {}
        at: Frame | None = frame
        while at is not None:
            chosen |= {graph.node(handle).id: case for handle, case in at.chosen.items() if case is not None}
            mores |= {name: more for name, more in at.mores.items() if more is not None}
            at = at.around
        whole = live_state(graph, chosen)
        for name, more in mores.items():
            whole.tell_more(name, more)
        return any(whole.runs(graph.node(handle)) is not False for handle in skipped)

    def _fail(self, frame: Frame, cause: RunFailure, consequences: list[Consequence]) -> None:
        self._close(frame, consequences, cause)
        self.around.fail_box(self.box, cause, self._settings.on_error, consequences)


class MapRun(_Composed):
    """A Map that runs: several items at once or, if `again` edges lead from one to the next, one after another."""

    def __init__(self, around: Frame, box: Box) -> None:
        super().__init__(around, box)
        assert isinstance(box.settings, MapSettings)  # noqa: S101 (it is a Map)
        self._settings = box.settings
        self._items = Items(0, 1)
        self._ordinals: list[int] = []
        self._kept: list[Frame] = []
        self._again: Mapping[tuple[int, str], Sequence[Back[Frame]]] = NOTHING_BACK

    @property
    def most(self) -> int:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._items.count

    @property
    def goes_on(self) -> bool:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._items.begun < self.most

    def begin(self, consequences: list[Consequence]) -> None:
        """See `merrow_runtime.frontier.shared.Running`."""
        values = next(
            (
                list_apart(given.value, source.keys)[0]
                for source in self.box.each
                for given in self.around.brought(source)
            ),
            None,
        )
        if not isinstance(values, list):
            self.around.leave_out(self.box, consequences)
            return
        shared, settings = self.around.shared, self._settings
        count = min(len(values), 1) if shared.once else len(values)
        if count > settings.most:
            self._fail(f"{count} items arrived, and `max` is {settings.most}; a higher `max` takes them.")
            return
        self._ordinals = _ordinals(values[:count])
        parallel = 1 if self.box.again else settings.parallel or shared.parallel
        self._items = Items(count, parallel)
        self._go_on(consequences, over=count == 0)

    def ended(self, frame: Frame, consequences: list[Consequence]) -> None:
        """See `merrow_runtime.frontier.shared.Running`."""
        over = self._end(frame, consequences)
        if over is not None:
            self._go_on(consequences, over=over)

    def counted(self) -> Iterable[Frame]:
        """See `merrow_runtime.frontier.shared.Running`."""
        return self._kept

    def _go_on(self, consequences: list[Consequence], *, over: bool) -> None:
        """Start as many items as may run at once; end when all have ended."""
        while not over and (number := self._items.begin()) is not None:
            frame = self._begin_frame(number, self._again, self._ordinals[number - 1], consequences)
            if frame.is_over:
                ended = self._end(frame, consequences)
                if ended is None:
                    return
                over = ended
        if over:
            self._finish(consequences)

    def _end(self, frame: Frame, consequences: list[Consequence]) -> bool | None:
        """An item is over: whether it was the last; None if the Map has failed with it."""
        frame.close()
        failure, on_error = frame.failure, self._settings.on_error
        self._close(frame, consequences, failure)
        if failure is None:
            self._kept.append(frame)
            self._again = self._carried(frame) if self.box.again else NOTHING_BACK
            brought = [(source, frame.brought(source)) for source, _ in self.box.exits]
            values = [(source.number, [given.value for given in several]) for source, several in brought]
            return self._items.end(frame.number, values)
        if on_error == "fail":
            self.around.fail(failure)
            return None
        several = {(back.handle, back.port) for back in self.box.again if back.many}
        self._again = {place: back for place, back in self._again.items() if place not in several}
        if on_error == "skip":
            return self._items.end(frame.number, None)
        return self._items.end(frame.number, self._defaults())

    def _defaults(self) -> list[tuple[int, Sequence[Value]]]:
        """What an item that failed brings: the default of each node that something leaves by its outputs."""
        values: list[tuple[int, Sequence[Value]]] = []
        for source, depth in self.box.exits:
            if source.feed.case is None and source.feed.over is None:
                defaults = self.around.shared.defaults(source.handle)
                value = part_of(
                    defaults[source.output or next(iter(defaults))], source.keys if source.each is None else ()
                )
                for _ in range(depth):
                    value = [value]
                values.append((source.number, [value]))
        return values

    def _finish(self, consequences: list[Consequence]) -> None:
        kept = self._items.kept
        if kept < self._settings.least and not self.around.shared.once:
            few = "no item" if kept == 0 else f"{kept} item" + ("s" if kept > 1 else "")
            self._fail(
                f"{few} came out of {self._items.count}, and `min` is {self._settings.least}; a lower one allows it."
            )
            return
        lists = self._items.lists([source.number for source, _ in self.box.exits])
        self.around.settle_map(self.box, lists, consequences)

    def _fail(self, reason: str) -> None:
        name = self.box.id
        failure = NodeFailure(f"Map {name}: {reason}", node=name, reason=reason)
        self.around.fail(failure.at(name, self.around.path))


def _outputs(frame: Frame) -> Callable[[str], Outputs | None]:
    handles = frame.shared.graph.core.handles
    return lambda node: frame.outputs(handles[node])


def _ordinals(values: Sequence[Value]) -> list[int]:
    """For each value the number of equal ones before it, which tells equal items apart regardless of position."""
    seen: dict[str, int] = {}
    ordinals: list[int] = []
    for value in values:
        key = canonical(value)
        number = seen[key] = seen.get(key, -1) + 1
        ordinals.append(number)
    return ordinals
