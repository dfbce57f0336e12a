"""What is reported to a frontier, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from merrow_analysis.graph.boxes.composites import Composite, LoopSettings
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import RunFailure
from merrow_runtime.operators.base import Given, Memories
from merrow_runtime.records import record
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit

Inputs = dict[str, list[Given]]
"""What the live edges bring to each port, in prompt order; a port that nothing feeds is left out."""


@record(frozen=True, slots=True)
class Gave:
    """A visit has outputs, by port, the default one first: its own, or those that it has by default where it failed."""

    visit: Visit
    outputs: Outputs


@record(frozen=True, slots=True)
class Chose:
    """A Decision takes a case, by number; None leaves all its cases open. ``value`` is what its case edges carry; those of one
    that asks carry what arrived there, which is not reported.
    """

    visit: Visit
    case: int | None
    value: Sequence[Given] = ()


@record(frozen=True, slots=True)
class Failed:
    """A visit failed. ``ends`` says that its frame goes no further; else the node counts as skipped. ``fatal`` says that the run
    goes no further, whatever composites say of their turns and items that fail.
    """

    visit: Visit
    cause: RunFailure
    ends: bool
    fatal: bool = False


@record(frozen=True, slots=True)
class Withdrawn:
    """A visit that was to begin, or had begun, has no outcome and will have none."""

    visit: Visit


@record(frozen=True, slots=True)
class Ended:
    """The run is ended from outside: it was cancelled (None), or what it may use is used up."""

    cause: RunFailure | None


@record(frozen=True, slots=True)
class Judged:
    """What is said of the turn with this ``path``, the ``redo``-th time, see `JudgeTurn`. ``holds``: what `until` says;
    ``score``: by `best`; ``spent``: what the Loop may use is used up; ``failure``: why none of this can be said.
    """

    path: str
    holds: bool = False
    score: float | None = None
    spent: bool = False
    failure: RunFailure | None = None
    redo: int = 0


Outcome = Gave | Chose | Failed | Withdrawn | Ended | Judged


@record(frozen=True, slots=True)
class Start:
    """A visit can begin: all that it waits for has come."""

    node: TypedNode
    visit: Visit
    inputs: Inputs
    ordinal: str = ""
    """Tells it from other visits of the node with the same key, wherever they stand: see `merrow_runtime.frontier.frame`."""


@record(frozen=True, slots=True)
class Skip:
    """A node is skipped. ``reason`` is what was known of it then, in words."""

    node: TypedNode
    visit: Visit
    reason: str


@record(frozen=True, slots=True)
class Opens:
    """A turn or an item of a composite begins: ``number`` of at most ``most``; ``path`` is that of the frame around it."""

    composite: Composite
    path: str
    number: int
    most: int


@record(frozen=True, slots=True)
class Closes:
    """A turn or an item has ended. ``failure`` is why it came to nothing, where it did."""

    composite: Composite
    path: str
    number: int
    most: int
    failure: RunFailure | None = None


Why = Literal["case", "until", "turns", "budget"]
"""Why a Loop made no further turn: a Decision led out of it (or nothing led back), its `until` held, its turns ran out, or what
it may use was used up."""


class Replaced(NamedTuple):
    """An answer in the last turn that would have led back, and the one that was taken in its place; ``at`` is who asked."""

    at: str
    answer: str
    taken: str


@record(frozen=True, slots=True)
class LoopEnds:
    """A Loop has ended after so many ``turns`` of at most ``most``, and ``why``; ``path`` is that of the frame around it.

    ``exhausted`` says that a Decision or `until` wanted another turn when its turns ran out, or its budget was used up.
    ``best`` is the turn whose values go out then, where `best` chose it. ``replaced`` are the answers of the last turn for which
    another was taken.
    """

    composite: Composite
    path: str
    turns: int
    most: int
    why: Why
    exhausted: bool = False
    best: int | None = None
    replaced: tuple[Replaced, ...] = ()


@record(frozen=True, slots=True)
class LoopReopens:
    """A Loop that had ended goes on after a revision, or is gone: what was said of its end does not hold any more."""

    path: str
    composite: str


@record(frozen=True, slots=True)
class JudgeTurn:
    """A turn of a Loop has ended of which something is to be said that is no matter of the frontier: `Judged`.

    ``path`` is that of the turn's frame, ``around`` of the one that the Loop runs in. ``outputs`` gives what a member gave in the
    turn, by port. ``redo`` counts how often a revision asked for it again. ``by_run`` says that the budget of the run counts: it
    is a Loop without a box, which goes on unless what is left is too little for another turn.
    """

    composite: Composite
    settings: LoopSettings
    around: str
    path: str
    number: int
    outputs: Callable[[str], Outputs | None]
    redo: int = 0
    by_run: bool = False


@record(frozen=True, slots=True)
class Takes:
    """A visit has its outcome of ``source``, which another node or frame began, or which it had before it was something else."""

    node: TypedNode
    visit: Visit
    source: Visit
    inputs: Inputs
    outcome: Gave | Chose | Failed


Consequence = Start | Skip | Opens | Closes | LoopEnds | LoopReopens | JudgeTurn | Takes

Keys = Callable[[TypedNode, Inputs, Memories, str], Hashable]
"""What the outcome of a node is a function of: its definition, its inputs, what it remembers (asked for if needed), and, where it
acts in an environment, what was done before in its episode, which is known by the path of its frame.
"""


class Made(NamedTuple):
    """A key of which it is known what part of it is the node's: ``definition``, how often it was asked for (``redo``), and
    ``given``, which stands for all of it.
    """

    definition: Hashable
    redo: int
    given: Hashable


def _nowhere(node: str) -> None:
    del node


def never_again(node: str, path: str) -> int:
    """That nothing is asked for again."""
    del node, path
    return 0


def _always(visit: Visit) -> bool:
    del visit
    return True


@dataclass(frozen=True, slots=True)
class Revision:
    """What is known of a new graph beside the graph: ``defined`` gives the definition of a node by its id, as `Made` has it
    (None where there is no such node), and ``redo`` how often a node of a frame with a path is asked for. ``renamed`` has
    the old ids of nodes that were renamed on purpose; ``may_move`` says which visits other nodes may take over, and
    ``forgotten`` are those that nothing may take.
    """

    defined: Callable[[str], Hashable | None] = _nowhere
    redo: Callable[[str, str], int] = never_again
    renamed: Mapping[str, str] = field(default_factory=dict)
    may_move: Callable[[Visit], bool] = _always
    forgotten: Sequence[Visit] = ()

    def lets_go(self, node: str, key: Made, *, redo: bool = False) -> bool:
        """Whether a node can't have made what has this key, as it is now; with ``redo`` where it is only asked for again, too."""
        definition = self.defined(node)
        if definition is None:
            return True
        asked = self.redo(node, "") > key.redo
        return asked if redo and definition == key.definition else definition != key.definition and (redo or not asked)
