"""What is reported to a frontier, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.errors import RunFailure
from merrow_runtime.operators.base import Given, Remembered
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
    """A visit failed. ``ends`` says that the run goes no further; else the node counts as skipped."""

    visit: Visit
    cause: RunFailure
    ends: bool


@record(frozen=True, slots=True)
class Withdrawn:
    """A visit that was to begin, or had begun, has no outcome and will have none."""

    visit: Visit


@record(frozen=True, slots=True)
class Ended:
    """The run is ended from outside: it was cancelled (None), or what it may use is used up."""

    cause: RunFailure | None


Outcome = Gave | Chose | Failed | Withdrawn | Ended


@record(frozen=True, slots=True)
class Start:
    """A visit can begin: all that it waits for has come."""

    node: TypedNode
    visit: Visit
    inputs: Inputs


@record(frozen=True, slots=True)
class Skip:
    """A node is skipped. ``reason`` is what was known of it then, in words."""

    node: TypedNode
    visit: Visit
    reason: str


Consequence = Start | Skip

Keys = Callable[[TypedNode, Inputs, Callable[[], list[Remembered]]], Hashable]
"""What the outcome of a node is a function of: its definition, its inputs, and what it remembers (asked for if needed)."""
