"""Who does the visits of a run and who follows them: what the scheduler asks of them, and what comes of a visit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import RunFailure
from merrow_runtime.frontier import Closes, Inputs, Judged, JudgeTurn, LoopEnds, LoopReopens, Opens, Start, Takes
from merrow_runtime.operators.base import Memories, Remembered
from merrow_runtime.provenance import Provenance
from merrow_runtime.records import record
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit


@record(frozen=True, slots=True)
class Finished:
    """The outcome of a node. ``reused`` says that it comes from another run."""

    outputs: Outputs
    key: str | None = None
    usage: Usage = NOTHING
    reused: bool = False
    memory: tuple[Remembered, ...] = ()
    sources: tuple[Provenance, ...] = ()
    why_no_call: str | None = None
    validation: Mapping[str, Any] | None = None
    """What its validator says of it; see `merrow_runtime.validation.verdicts.validation_record`."""
    taken: str | None = None
    """The visit of this run whose result it is."""
    masked: bool = False
    """Whether the outputs are not what was answered; see `merrow_runtime.running.masking`."""


class NodeWork(Protocol):
    """What the scheduler asks of the engine about single nodes, and turns."""

    def takes_over(self, start: Start, entries: Memories) -> bool:
        """Whether a node has its result from an earlier turn of a planned Call."""
        ...

    def answered_by_person(self, start: Start) -> tuple[Finished, int | None] | None:
        """What a node gives that is not asked since a person set all of it, and the case of a Decision."""
        ...

    async def enter(self, start: Start) -> int | None:
        """Wait until the agent of a node is free to do it; the number of its clone, None where the node has no agent."""
        ...

    def leave(self, start: Start, clone: int) -> None:
        """A clone of the node's agent has done it."""
        ...

    async def run(self, start: Start, entries: Memories) -> Finished:
        """Run a node with an operator; ``entries`` gives what there is to remember. Raises `RunFailure`."""
        ...

    def goes_on(self) -> None:
        """Something has ended while other nodes run: they may all wait for people."""
        ...

    def withdrawn(self, visit: Visit) -> None:
        """Nothing needs a running visit any more, and it is about to be cancelled."""
        ...

    def took(self, takes: Takes) -> None:
        """A visit has the outcome of another one."""
        ...

    def waits_for_person(self, visit: Visit) -> bool:
        """Whether a visit waits for a person's answer, or something in the file that it calls does."""
        ...

    def opened(self, opens: Opens) -> None:
        """A turn or an item begins."""
        ...

    def judged(self, turn: JudgeTurn) -> Judged:
        """What is to be said of a turn, but for what it has used."""
        ...

    async def spent(self, turn: JudgeTurn) -> bool:
        """Whether a Loop has used up what it may use. Raises `RunFailure`."""
        ...

    def is_validated(self, node: TypedNode) -> bool:
        """Whether a validator judges what the node gives."""
        ...

    def on_error(self, node: TypedNode, failure: RunFailure) -> str:
        """What is done where the node fails in this way: fail, skip or default."""
        ...

    def fallback(self, node: TypedNode) -> Outputs | None:
        """The outputs of a node that failed and has a default."""
        ...

    def fallback_case(self, node: TypedNode) -> int | None:
        """The case that a Decision which failed falls back to."""
        ...


class Watcher(Protocol):
    """Who follows the visits; each method is called once per visit, in the order of what happens."""

    def started(self, node: TypedNode, visit: Visit, clone: int | None) -> None: ...

    def finished(
        self, node: TypedNode, visit: Visit, inputs: Inputs, done: Finished, started: float, case: int | None
    ) -> None: ...

    def skipped(self, node: TypedNode, visit: Visit, reason: str) -> None: ...

    def failed(
        self, node: TypedNode, visit: Visit, inputs: Inputs, failure: RunFailure, started: float, goes_on: str
    ) -> None: ...

    def opened(self, opens: Opens) -> None: ...

    def closed(self, closes: Closes) -> None: ...

    def loop_ended(self, loop_ends: LoopEnds) -> None: ...

    def loop_reopened(self, loop_reopens: LoopReopens) -> None: ...

    def took(self, takes: Takes) -> None: ...
