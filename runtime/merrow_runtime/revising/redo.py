"""How often nodes are made again because the text says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from merrow_runtime.visit import Visit


@dataclass(frozen=True, slots=True)
class Redo:
    """``said`` is `redo` of the front matter: numbers by the name of a visit. A node that is named without the items that it is
    done for is made again in all of them, and in every turn; where both are named, the greater number counts.
    """

    said: Mapping[str, int] = field(default_factory=dict)

    def of(self, node: str, path: str = "") -> int:
        """The number of a node in the frame with a path."""
        if not self.said:
            return 0
        own = self.said.get(node, 0)
        return max(own, self.said.get(Visit(node, path).name, 0)) if path else own

    def of_any(self, node: str) -> tuple[tuple[str, int], ...]:
        """All that is said of a node, by name."""
        return tuple((name, count) for name, count in self.said.items() if count and _names(name, node))

    def __bool__(self) -> bool:
        return bool(self.said)


def _names(name: str, node: str) -> bool:
    return name == node or name.rpartition("/")[2] == node
