"""What a revision takes over from the frames of the graph before, and what of its consequences is new."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.frontier.frame import Frame
from merrow_runtime.frontier.inflow import Told
from merrow_runtime.frontier.outcomes import Closes, Consequence, Inputs, JudgeTurn, LoopEnds, LoopReopens, Opens, Skip
from merrow_runtime.frontier.past import FrameAddress, Past
from merrow_runtime.visit import Visit

Number = tuple[str, str, int, int]
"""A turn or an item: the path of the frame around it, its composite's id, its number, and of how many."""


@dataclass(frozen=True, slots=True)
class Standings:
    """How a run stands, as its readers know it. ``skipped`` are nodes with the paths of their frames; ``numbers`` has the turns
    and items that have begun: None while they are under way, then why they came to nothing, in words, empty where they did not.
    ``loops`` are those that have ended, by the path of the frame around each and its id, and how.
    """

    skipped: frozenset[tuple[str, str]]
    numbers: dict[Number, str | None]
    loops: dict[tuple[str, str], Hashable]

    def news(self, consequences: list[Consequence]) -> list[Consequence]:
        """The consequences of working all out again without what readers know already."""
        ended = {
            _number(consequence): _words(consequence) for consequence in consequences if isinstance(consequence, Closes)
        }
        kept: list[Consequence] = []
        for consequence in consequences:
            if isinstance(consequence, Skip):
                known = (consequence.node.id, consequence.visit.path) in self.skipped
            elif isinstance(consequence, Opens | Closes):
                number = _number(consequence)
                before = self.numbers.get(number, "never")
                same = before == ended.get(number)
                known = number in self.numbers and (same or (isinstance(consequence, Opens) and before is None))
            elif isinstance(consequence, LoopEnds):
                known = self.loops.get((consequence.path, consequence.composite.id)) == _how(consequence)
            else:
                known = False
            if not known:
                kept.append(consequence)
        return kept

    def reopened(self, now: Standings) -> list[LoopReopens]:
        """The Loops that had ended, and have not as the run stands ``now``."""
        return [LoopReopens(*loop) for loop in self.loops if loop not in now.loops]


def standings(whole: Frame) -> Standings:
    """How the run of this frame stands."""
    skipped: set[tuple[str, str]] = set()
    numbers: dict[Number, str | None] = {}
    loops: dict[tuple[str, str], Hashable] = {}
    for frame in _told(whole):
        graph, standing, unit = frame.shared.graph, frame.standing, frame.part.unit
        for handle, how in standing.items():
            if how == "skipped" and isinstance(handle, int) and standing.get(unit[handle]) == "skipped":
                skipped.add((graph.node(handle).id, frame.path))
        for box, run in frame.runs.items():
            if run.ended_as is not None:
                loops[frame.path, box] = _how(run.ended_as)
            for inner in run.frames:
                if inner.announced or inner.concluded:
                    ended = ("" if inner.failure is None else str(inner.failure)) if inner.concluded else None
                    numbers[frame.path, box, inner.number, run.most] = ended
    return Standings(frozenset(skipped), numbers, loops)


def keep(past: Past, whole: Frame, key: Callable[[Frame, TypedNode, Inputs], Hashable]) -> None:
    """Note all visits of the frames, with their ``key``, what came of them, and what was said of turns."""
    for frame in _frames(whole):
        for handle, visit in _visits(frame):
            node = frame.shared.graph.node(handle)
            past.add(visit, (node.id, key(frame, node, frame.inputs[handle])), FrameAddress(frame.ordinal, frame.path))
            if (visit.node, visit.path) == (node.id, frame.path):
                # One that was begun elsewhere is shown here when it ends: then it is taken over.
                past.shown.setdefault((node.id, frame.path), visit)
            if handle in frame.told:
                past.outcomes[visit] = frame.as_told(handle)
        past.asked[frame.path] = max(frame.asked, past.asked.get(frame.path, 0))
        if frame.judged is not None:
            past.judged[frame.path] = frame.judged_by(), frame.judged
    for outcomes in whole.shared.elsewhere.values():
        for outcome in outcomes:
            past.tell(outcome)


def without_stopped(whole: Frame, known: Standings, consequences: list[Consequence]) -> list[Consequence]:
    """The consequences of a revision without what would begin, or end, in frames that something known already has ended."""
    shared, untold = whole.shared, set[Number]()
    for frame in _frames(whole):
        around = frame.around
        if around is None or frame.run is None:
            continue
        number = around.path, frame.part.box or "", frame.number, frame.run.most
        if frame.concluded:
            # It was under way still when what is around it failed.
            if around.stopped and known.numbers.get(number, "never") is None:
                frame.concluded = False
                frame.run.ended_as = None
                untold.add(number)
        elif around.stopped or around.given_up:
            frame.announced = number in known.numbers
            if not frame.announced:
                untold.add(number)
    kept: list[Consequence] = []
    for consequence in consequences:
        if isinstance(consequence, Opens | Closes | LoopEnds) and _number(consequence) in untold:
            continue
        if isinstance(consequence, JudgeTurn):
            around = shared.judging[consequence.path, consequence.redo].around
            if around.stopped or around.given_up:
                continue
        kept.append(consequence)
    return kept


def may_begin(frame: Frame, handle: int) -> bool:
    """Whether a node may begin in a frame, or inside of that, without another revision."""
    unit = frame.part.unit[handle]
    standing = frame.standing.get(unit, "waiting")
    if standing == "waiting":
        return True
    if standing != "open" or isinstance(unit, int):
        return False
    run = frame.runs[unit]
    return run.goes_on or any(may_begin(inner, handle) for inner in run.frames if not inner.closed)


def once_more(frame: Frame) -> set[tuple[str, str]]:
    """Have all that was told of a frame that is over, and of those inside of it, told again to one in its place. The nodes of
    which there is something, with the paths of their frames.
    """
    shared, nodes = frame.shared, set[tuple[str, str]]()
    told: dict[tuple[str, int], Told] = {}
    for inner in _told(frame):
        for handle, visit in _visits(inner):
            if handle not in inner.told:
                continue
            nodes.add((shared.graph.node(handle).id, inner.path))
            told[inner.path, handle] = inner.as_told(handle)
            if shared.past is not None:
                shared.past.give_back(visit)
        if inner.judged is not None and inner.path != frame.path:
            shared.early_judged[inner.path] = inner.judged
    if shared.past is None:
        for (path, _), outcome in told.items():
            shared.elsewhere.setdefault(path, []).append(outcome)
    return nodes


def _frames(frame: Frame) -> Iterator[Frame]:
    """A frame and all inside of it."""
    yield frame
    for run in frame.runs.values():
        for inner in run.frames:
            yield from _frames(inner)


def _told(frame: Frame) -> Iterator[Frame]:
    """All of which something was told: those, and before each the one in whose place it is."""
    if frame.instead_of is not None:
        yield from _told(frame.instead_of)
    yield frame
    for run in frame.runs.values():
        for inner in run.frames:
            yield from _told(inner)


def _visits(frame: Frame) -> Iterator[tuple[int, Visit]]:
    """The visits of a frame's own nodes, by handle; those of a Loop's last turn are its own."""
    unit = frame.part.unit
    return ((handle, visit) for handle, visit in frame.visits.items() if visit and isinstance(unit[handle], int))


def _number(event: Opens | Closes | LoopEnds) -> Number:
    return event.path, event.composite.id, event.turns if isinstance(event, LoopEnds) else event.number, event.most


def _how(ended: LoopEnds) -> Hashable:
    return ended.turns, ended.why, ended.exhausted, ended.best, ended.replaced


def _words(closes: Closes) -> str:
    return "" if closes.failure is None else str(closes.failure)
