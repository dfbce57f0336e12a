"""A place in an open diagram: what every feature that is asked about a cursor needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merrow_analysis.text import Position, Range, TextEdit
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.supports import Supports

if TYPE_CHECKING:
    from lsprotocol import types

    from merrow_analysis.check import Analysis


@dataclass(frozen=True, slots=True)
class Located:
    """``position`` is a place in ``diagram``; ``supports`` says what the client can do."""

    diagram: OpenDiagram
    position: Position
    supports: Supports

    @property
    def document(self) -> OpenDocument:
        """The open file around the diagram."""
        return self.diagram.document

    @property
    def analysis(self) -> Analysis:
        """What is known about the diagram as it is now."""
        return self.diagram.analysis

    def to_lsp(self, place: Range) -> types.Range:
        """A range of the diagram as the client counts it in the file."""
        return self.diagram.to_lsp(place)

    def edits_to_lsp(self, edits: Iterable[TextEdit]) -> list[types.TextEdit]:
        """Edits of the diagram as edits of the file."""
        return self.diagram.edits_to_lsp(edits)
