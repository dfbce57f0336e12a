"""The visits that a run has begun under its earlier graphs, for revisions to take over."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_runtime.frontier.outcomes import Chose, Failed, Gave, Judged, Withdrawn
from merrow_runtime.visit import Visit

Work = tuple[str, Hashable]
"""What is done in a visit: the node's id and its key."""


class Place(NamedTuple):
    """Where something is done: the ``ordinal`` of the frame, see `merrow_runtime.frontier.frame`, and its path."""

    ordinal: str
    path: str


@dataclass(slots=True, eq=False)
class Past:
    """``outcomes`` has what came of visits, ``judged`` by the paths of turns what they were judged by last and what was said, and
    ``asked`` how often they were judged.

    A visit is held by one node of one frame at most. Where several frames do the same work, each has its own visit of it.
    """

    outcomes: dict[Visit, Gave | Chose | Failed] = field(default_factory=dict)
    judged: dict[str, tuple[Hashable, Judged]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    _begun: dict[Work, dict[Visit, Place]] = field(default_factory=dict)
    _work: dict[Visit, Work] = field(default_factory=dict)
    _redo: dict[tuple[str, str], int] = field(default_factory=dict)
    _free: dict[Work, dict[Place, list[Visit]]] = field(default_factory=dict)

    def add(self, visit: Visit, work: Work, place: Place) -> None:
        """A visit has begun, or is done for another place from now on: the next one there has another number."""
        before = self._work.pop(visit, None)
        if before is not None:
            del self._begun[before][visit]
        self._begun.setdefault(work, {})[visit] = place
        self._work[visit] = work
        at = visit.node, visit.path
        self._redo[at] = max(self._redo.get(at, 0), visit.redo + 1)

    def redo(self, node: str, path: str) -> int:
        """The number of the next visit of a node in the frame with a path."""
        return self._redo.get((node, path), 0)

    def release(self) -> None:
        """All visits are free to be taken again."""
        self._free.clear()

    def take(self, work: Work, place: Place) -> Visit | None:
        """A visit of this work that nothing else has taken: rather one that was done in this place, or else for this ordinal."""
        free = self._free.get(work)
        if free is None:
            free = self._free[work] = {}
            for visit, known in self._begun.get(work, {}).items():
                free.setdefault(known, []).append(visit)
        if place not in free:
            alike = next((one for one in free if one.ordinal == place.ordinal), next(iter(free), None))
            if alike is None:
                return None
        else:
            alike = place
        taken = free[alike].pop(0)
        if not free[alike]:
            del free[alike]
        self.add(taken, work, place)
        return taken

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
            free = self._free.get(work, {})
            for place, several in list(free.items()):
                if visit in several:
                    several.remove(visit)
                    if not several:
                        del free[place]
