"""The visits that a run has begun under its earlier graphs, for revisions to take over."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from merrow_runtime.frontier.outcomes import Chose, Failed, Gave, Judged, Made, Revision, Withdrawn
from merrow_runtime.visit import Visit

Work = tuple[str, Hashable]
"""What is done in a visit: the node's id and its key."""


class FrameAddress(NamedTuple):
    """Where something is done: the ``ordinal`` of the frame, see `merrow_runtime.frontier.frame`, and its path."""

    ordinal: str
    path: str


@dataclass(slots=True, eq=False)
class Past:
    """``outcomes`` has what came of visits, ``judged`` by the paths of turns what they were judged by last and what was said, and
    ``asked`` how often they were judged.

    A visit is held by one node of one frame at most. Where several frames do the same work, each has its own visit of it.
    ``shown`` is the visit of each place that readers know of, by its node and path. ``revision`` is the newest one, and
    ``places`` the order of the nodes in the graph before it.
    """

    outcomes: dict[Visit, Gave | Chose | Failed] = field(default_factory=dict)
    judged: dict[str, tuple[Hashable, Judged]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    shown: dict[tuple[str, str], Visit] = field(default_factory=dict)
    revision: Revision = field(default_factory=Revision)
    places: dict[str, int] = field(default_factory=dict)
    _begun: dict[Work, dict[Visit, FrameAddress]] = field(default_factory=dict)
    _work: dict[Visit, Work] = field(default_factory=dict)
    _doers: dict[Hashable, dict[str, None]] = field(default_factory=dict)
    _lives: dict[tuple[str, str], int] = field(default_factory=dict)
    _free: dict[Work, dict[FrameAddress, list[Visit]]] = field(default_factory=dict)

    def add(self, visit: Visit, work: Work, place: FrameAddress) -> None:
        """A visit has begun, or is done for another place from now on: the next one there has another number."""
        before = self._work.pop(visit, None)
        if before is not None:
            del self._begun[before][visit]
        self._begun.setdefault(work, {})[visit] = place
        self._doers.setdefault(work[1], {})[work[0]] = None
        self._work[visit] = work
        at = visit.node, visit.path
        self._lives[at] = max(self._lives.get(at, 0), visit.life + 1)

    def life(self, node: str, path: str) -> int:
        """The life of the next visit of a node in the frame with a path."""
        return self._lives.get((node, path), 0)

    def move(self, visit: Visit, to: Visit) -> Gave | Chose | Failed:
        """A visit that is done is another node's, or another frame's, from now on: what came of it."""
        told = replace(self.outcomes.pop(visit), visit=to)
        work = self._work.pop(visit)
        place = self._begun[work].pop(visit)
        self.outcomes[to] = told
        self.add(to, work, place)
        return told

    def release(self) -> None:
        """All visits are free to be taken again."""
        self._free.clear()

    def give_back(self, visit: Visit) -> None:
        """The holder of a visit is no more: the visit is free for another one in its place."""
        work = self._work[visit]
        free = self._free_of(work)
        place = self._begun[work][visit]
        if visit not in free.get(place, ()):
            free.setdefault(place, []).insert(0, visit)

    def own(self, work: Work, place: FrameAddress) -> Visit | None:
        """The visit of this work that was done in this place, unless something else has taken it."""
        free = self._free_of(work)
        return self._first(free, place) if place in free else None

    def take(self, work: Work, place: FrameAddress) -> Visit | None:
        """A visit of this work done elsewhere that nothing else has taken: rather one for this ordinal."""
        free = self._free_of(work)
        alike = next((record for record in free if record.ordinal == place.ordinal), next(iter(free), None))
        taken = self._of_others(work) if alike is None else self._first(free, alike)
        if taken is not None:
            self.add(taken, work, place)
        return taken

    def _of_others(self, work: Work) -> Visit | None:
        """A visit of a node that is gone, or is something else now: of the one that was renamed first, whatever has its old id
        now; then in the order in which they stood.
        """
        node, key = work
        if not isinstance(key, Made):
            return None
        revision, last = self.revision, len(self.places)
        was = revision.renamed.get(node)
        doers = (doer for doer in self._doers.get(key, ()) if doer != node)
        others = [doer for doer in doers if doer == was or revision.lets_go(doer, key)]
        others.sort(key=lambda doer: (doer != was, self.places.get(doer, last)))
        for other in others:
            for free in self._free_of((other, key)).values():
                for visit in free:
                    if isinstance(self.outcomes.get(visit), Gave | Chose) and revision.may_move(visit):
                        self._use((other, key), visit)
                        return visit
        return None

    def _use(self, work: Work, visit: Visit) -> None:
        free = self._free.get(work, {})
        for place, several in list(free.items()):
            if visit in several:
                several.remove(visit)
                if not several:
                    del free[place]

    def _free_of(self, work: Work) -> dict[FrameAddress, list[Visit]]:
        free = self._free.get(work)
        if free is None:
            free = self._free[work] = {}
            for visit, known in self._begun.get(work, {}).items():
                free.setdefault(known, []).append(visit)
        return free

    @staticmethod
    def _first(free: dict[FrameAddress, list[Visit]], place: FrameAddress) -> Visit:
        taken = free[place].pop(0)
        if not free[place]:
            del free[place]
        return taken

    def is_lost(self, visit: Visit) -> bool:
        """Whether a visit on its way is of a node that is something else now, or is asked for again."""
        node, key = self._work[visit]
        return isinstance(key, Made) and self.revision.lets_go(node, key, redo=True)

    def forget(self, visits: Iterable[Visit]) -> None:
        """Nothing takes these any more."""
        for visit in visits:
            self.outcomes.pop(visit, None)
            self.tell(Withdrawn(visit))

    def running(self) -> Iterator[Visit]:
        """The visits that have begun and have no outcome."""
        return (visit for visit in self._work if visit not in self.outcomes)

    def tell(self, outcome: Gave | Chose | Failed | Withdrawn) -> None:
        """What came of a visit; of one that is withdrawn nothing will."""
        visit = outcome.visit
        if not isinstance(outcome, Withdrawn):
            self.outcomes[visit] = outcome
            return
        work = self._work.pop(visit, None)
        if work is not None:
            del self._begun[work][visit]
            self._use(work, visit)
