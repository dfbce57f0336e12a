"""The visits that a run has begun under its earlier graphs, for revisions to reuse."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.frontier.outcomes import Chose, Failed, Gave, Inputs
from merrow_runtime.visit import Visit

NodeKey = Callable[[TypedNode, Inputs], Hashable]


def _no_key(*_: object) -> None:
    return None


@dataclass(slots=True, eq=False)
class Past:
    """``begun`` has each visit by its node's id and key, ``outcomes`` its outcome, ``redo`` the next number of each node.

    ``key`` gives those of the graph as it is now. ``left`` are visits in composites that began anew: what comes of them makes no
    difference any more.
    """

    begun: dict[tuple[str, Hashable], Visit] = field(default_factory=dict)
    outcomes: dict[Visit, Gave | Chose | Failed] = field(default_factory=dict)
    redo: dict[str, int] = field(default_factory=dict)
    key: NodeKey = _no_key
    left: set[Visit] = field(default_factory=set)

    def add(self, visit: Visit, key: Hashable) -> None:
        """A visit has begun: the next one of its node has another number."""
        self.begun[visit.node, key] = visit
        self.redo[visit.node] = max(self.redo.get(visit.node, 0), visit.redo + 1)

    def running(self) -> Iterator[Visit]:
        """The visits that have begun and have no outcome."""
        return (visit for visit in self.begun.values() if visit not in self.outcomes)

    def forget(self, visit: Visit) -> None:
        """A visit that has begun will have no outcome."""
        self.begun = {key: one for key, one in self.begun.items() if one != visit}
