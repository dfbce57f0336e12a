"""The items of a Map: which is the next, and the lists that come out in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from merrow_runtime.values import Value


@dataclass(slots=True)
class Items:
    """``count`` items, of which up to ``parallel`` are under way at once. Items are numbered from 1.

    ``kept`` counts those that have ended and are left out of nothing.
    """

    count: int
    parallel: int
    begun: int = 0
    running: int = 0
    kept: int = 0
    _brought: dict[int, list[Sequence[Value]]] = field(default_factory=dict)

    def begin(self) -> int | None:
        """The number of the item that is to begin now; None where none is."""
        if self.begun == self.count or self.running >= self.parallel:
            return None
        self.begun += 1
        self.running += 1
        return self.begun

    def end(self, number: int, brought: Sequence[tuple[int, Sequence[Value]]] | None) -> bool:
        """An item has ended; whether it was the last. ``brought`` are the values that it gave each exit, by the exit's number;
        None leaves it out of all lists.
        """
        self.running -= 1
        if brought is not None:
            self.kept += 1
            for exit_, values in brought:
                if values:
                    if exit_ not in self._brought:
                        self._brought[exit_] = [()] * self.count
                    self._brought[exit_][number - 1] = values
        return self.begun == self.count and self.running == 0

    def lists(self, exits: Sequence[int]) -> dict[int, list[Value]]:
        """What each exit brings: the values of all items, in the items' order."""
        return {exit_: [value for values in self._brought.get(exit_, ()) for value in values] for exit_ in exits}
