"""Which execution of a node is meant: a node may run many times, in turns of a loop, for items of a map, again after a revision.

A *frame* is one execution of a graph: of the whole workflow, of one turn, one item, one call. Its *path* names it from the
outermost inward, as in ``TRIALS[2]/PARTS[3]``; that of the whole workflow is empty. A *visit* is one execution of a
node in a frame.
"""

from __future__ import annotations

import re

from merrow_runtime.records import record

_SPECIAL = re.compile(r"[%/\[\]!#\x00-\x1f\x7f]")
_SEGMENT = re.compile(r"([^/\[\]!#]+)(?:!([1-9]\d*))?(?:#(\d+))?(?:\[(\d+)\])?")


@record(frozen=True, slots=True)
class Visit:
    """One execution of a node. ``path`` is that of its frame; ``redo`` counts how often it was asked for again. ``life`` tells it
    from others that a run began of it when revisions changed what the node is or gets; nothing outside of the run knows it.
    """

    node: str
    path: str = ""
    redo: int = 0
    life: int = 0

    @property
    def lasting(self) -> Visit:
        """As journals and recordings know it."""
        return Visit(self.node, self.path, self.redo) if self.life else self

    @property
    def name(self) -> str:
        """As results and reports name it: a node of the whole workflow by its id as written, any other visit as `str` does."""
        return str(self) if self.path or self.redo else self.node

    def __str__(self) -> str:
        """As people and events name it: ``PART``, ``TRIALS[2]/PART!1``."""
        own = segment(self.node, self.redo)
        return f"{self.path}/{own}" if self.path else own


def is_called(path: str) -> bool:
    """Whether a frame is that of a called file, or lies in one. Its nodes may have the ids of nodes of the caller."""
    return bool(path) and any(not part.endswith("]") for part in path.split("/"))


def calls_of(path: str) -> tuple[str, ...]:
    """The Calls that a frame lies in, by their nodes, from the outermost inward."""
    return tuple(read_segment(part)[0] for part in path.split("/") if part and not part.endswith("]"))


def own_node(visit: Visit) -> str:
    """The node of the run's own workflow that a visit belongs to: its own, or the Call whose file it is in."""
    return next(iter(calls_of(visit.path)), visit.node)


def segment(node: str, redo: int = 0, sample: int | None = None, index: int | None = None) -> str:
    """One part of a path: a node's id (escaped, for ids may hold any character), then ``!redo``, ``#sample``, ``[index]``,
    each only where it says something. ``index`` is the number of a turn or of an item.
    """
    text = _SPECIAL.sub(lambda special: f"%{ord(special[0]):02X}", node)
    if redo:
        text += f"!{redo}"
    if sample is not None:
        text += f"#{sample}"
    return text if index is None else f"{text}[{index}]"


def read_segment(text: str) -> tuple[str, int, int | None, int | None]:
    """The node, redo, sample and index of a part of a path, as `segment` writes it. Raises ValueError for any other text."""
    match = _SEGMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a part of a path: {text!r}")
    node, redo, sample, index = match.groups()
    node = re.sub(r"%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), node)
    return node, int(redo or 0), None if sample is None else int(sample), None if index is None else int(index)
