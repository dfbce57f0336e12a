"""Ids for nodes that are written: such that Merrow and Mermaid read them as plain ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from merrow_analysis.graph.drawings.drawing import END_IDS

_NOT_IN_IDS = re.compile(r"\W+")
_WORDS = frozenset(
    [
        "end",
        "graph",
        "flowchart",
        "subgraph",
        "style",
        "class",
        "classDef",
        "click",
        "call",
        "href",
        "linkStyle",
        "default",
        "interpolate",
        "o",
        "x",
    ]
)
"""Ids that Mermaid reads as something else, somewhere."""


class FreshIds:
    """Ids of one text. Two are the same if ``key`` makes the same of them."""

    def __init__(self, taken: Iterable[str] = (), key: Callable[[str], str] = str) -> None:
        self._key = key
        self._taken = {key(name) for name in taken}

    def new(self, wanted: str, otherwise: str = "step") -> str:
        """An id like ``wanted`` that nothing else has; like ``otherwise`` where nothing of it can be in one."""
        name = _NOT_IN_IDS.sub("_", wanted).strip("_") or otherwise
        if name in _WORDS or name in END_IDS or name[0].isdigit():
            name = f"{otherwise}_{name}"
        number, fresh = 1, name
        while self._key(fresh) in self._taken:
            number += 1
            fresh = f"{name}_{number}"
        self._taken.add(self._key(fresh))
        return fresh
