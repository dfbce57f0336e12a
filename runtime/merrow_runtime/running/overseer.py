"""Who may change the graph of a run while it goes on, as the parts of the run see that."""

from __future__ import annotations

from typing import Protocol

from merrow_runtime.frontier import Outcome
from merrow_runtime.store.contract import RevisionRecord
from merrow_runtime.workflow import Workflow


class Overseer(Protocol):
    """What the scheduler tells and asks."""

    def ended(self, outcome: Outcome) -> None:
        """A visit has ended; nothing that follows from it has begun yet."""
        ...

    def holds(self) -> bool:
        """Nothing runs and nothing is to begin: whether there may be more to do all the same."""
        ...


class Overseeing(Overseer, Protocol):
    """What else the run asks."""

    def look(self) -> None:
        """See what people in other processes have asked for. Raises `StoreFailure`."""
        ...

    async def ask(self, workflow: Workflow) -> RevisionRecord:
        """Try a person's workflow; how that ended. Raises `StoreFailure`, and `UsageFailure` where the run is over before."""
        ...

    def decide(self, number: int, *, apply: bool) -> None:
        """A person agrees to a revision that waits for that, or refuses it. Raises `UsageFailure`."""
        ...

    async def close(self, failure: BaseException | None, *, done: bool) -> None:
        """Nothing is tried any more, since the run has ended: all is ``done``, or ``failure`` ended it, or somebody did."""
        ...
