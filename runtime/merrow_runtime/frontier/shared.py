"""What all frames of a run have in common."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import RunFailure
from merrow_runtime.frontier.inflow import Told
from merrow_runtime.frontier.layout import Box, Layout
from merrow_runtime.frontier.outcomes import (
    Consequence,
    Ended,
    Inputs,
    Judged,
    LoopEnds,
    Replaced,
    Withdrawn,
    never_again,
)
from merrow_runtime.frontier.past import Past, Work
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit

F = TypeVar("F")
"""A frame (`merrow_runtime.frontier.frame`)."""


class Running(Protocol[F]):
    """A composite that has begun: it makes the frames of its turns or items, and is told when each is over."""

    def begin(self, consequences: list[Consequence]) -> None:
        """Begin; it may be over at once."""
        ...

    def ended(self, frame: F, consequences: list[Consequence]) -> None:
        """One of its frames is over: go on, or end."""
        ...

    def counted(self) -> Iterable[F]:
        """The frames whose values go out."""
        ...

    @property
    def frames(self) -> Sequence[F]:
        """The frames that it has made."""
        ...

    @property
    def most(self) -> int:
        """How many frames it makes at most."""
        ...

    @property
    def replaced(self) -> list[Replaced]:
        """Of a Loop without a box the answers of its last turn for which others were taken."""
        ...

    @property
    def ended_as(self) -> LoopEnds | None:
        """Of a Loop, how it ended; None where it has not ended, or nobody was told."""
        ...

    @ended_as.setter
    def ended_as(self, ended: LoopEnds | None) -> None: ...

    @property
    def goes_on(self) -> bool:
        """Whether it may make more frames."""
        ...

    def ends_without(self, frame: F) -> bool:
        """Whether one of its frames is a turn that may come to nothing, since the one before can be the last."""
        ...


class Judging(Protocol[F]):
    """Who waits for a `Judged`."""

    around: F

    def judged(self, told: Judged, consequences: list[Consequence]) -> None:
        """Go on with what was said."""
        ...


def _no_key(*_: object) -> None:
    return None


MOST_STARTED = 1_000
"""Calls of a run after which Loops without a box begin no turn but their last one: they may lie in each other."""


@dataclass(eq=False)
class Shared(Generic[F]):
    """What all frames of a run have in common. ``compose`` begins a composite in a frame.

    ``parallel`` is how many items of a Map are under way at once where it doesn't say; ``defaults`` gives the outputs that a node
    has in items that failed; ``once`` has each composite make one turn, or one item. ``frames`` are those that are not over, by
    path. ``failure`` is why the run fails; of several causes the one that was told first. ``judging`` are turns of which
    something is still to be said, by path and redo, ``elsewhere`` what was told of frames that have not begun, or are over,
    and ``early_judged`` of turns that are not to be judged yet.

    ``fixed`` are Loops of which it is known whether nothing ends them before their turns run out.

    ``redo`` says how often a node in the frame with a path is asked for. ``past`` is there from the first revision on,
    with ``key``, which gives what the outcome of a node is a function of, and
    ``holders``, the frames that have taken a visit or begun it. ``postponed`` are nodes that are ready, while a revision is
    worked out, without a visit of their own place: others first get back theirs, and of what is known already something may yet
    end the run.
    """

    graph: TypedGraph
    layout: Layout
    compose: Callable[[F, Box], Running[F]]
    parallel: int
    defaults: Callable[[int], Outputs]
    once: bool = False
    past: Past | None = None
    failure: RunFailure | None = None
    ended: Ended | None = None
    frames: dict[str, F] = field(default_factory=dict)
    judging: dict[tuple[str, int], Judging[F]] = field(default_factory=dict)
    elsewhere: dict[str, list[Told | Withdrawn]] = field(default_factory=dict)
    early_judged: dict[str, Judged] = field(default_factory=dict)
    fixed: dict[str, bool] = field(default_factory=dict)
    key: Callable[[F, TypedNode, Inputs], Hashable] = _no_key
    holders: dict[Visit, F] = field(default_factory=dict)
    postponed: deque[tuple[F, int, Work]] | None = None
    redo: Callable[[str, str], int] = never_again
    limited: bool = False
    """Whether the run has a budget, which may end Loops without a box."""
    called: int = 0
    """Nodes that began and ask a model."""

    @property
    def is_long(self) -> bool:
        """Whether so much was called that arrows back are closed."""
        return self.called >= MOST_STARTED

    @cached_property
    def decides(self) -> bool:
        """Whether there is anything that says which nodes run."""
        return bool(self.graph.marks.decisions) or bool(self.layout.boxes)

    @property
    def stopped(self) -> bool:
        """Whether nothing begins any more in the whole run."""
        return self.failure is not None or self.ended is not None
