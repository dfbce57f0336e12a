"""What of a drawing says nothing, or does not choose, as far as people should know."""

from __future__ import annotations

from typing import Literal, NamedTuple

from merrow_analysis.graph.records import EdgeRecord

NoteKind = Literal["unconnected", "own box", "closes a cycle", "drawn twice", "no words", "all ways"]


class ReadingNote(NamedTuple):
    """Something drawn that does nothing, or does not choose: ``nodes`` by id, or the ``edge``."""

    kind: NoteKind
    nodes: tuple[str, ...]
    edge: EdgeRecord | None = None
    ways: int = 0
