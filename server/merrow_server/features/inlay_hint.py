"""Inlay hints: ports, types and operators that Merrow worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide import inlay_hints as ide_inlay_hints
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.run_texts import result_hints
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.inlay_hints import Hint, HintPart


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_INLAY_HINT)(inlay_hint)


def inlay_hint(server: MerrowServer, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    values = server.surroundings.settings(document).values
    ports, operators = bool(values["inlay-hint-ports"]), bool(values["inlay-hint-operators"])
    inlay_hints: list[types.InlayHint] = []
    for diagram in document.diagrams:
        place = diagram.range_from_lsp(params.range)
        if place is not None:
            hints = ide_inlay_hints.inlay_hints(diagram.analysis, place, ports=ports, operators=operators)
            inlay_hints += [_to_lsp(diagram, hint) for hint in hints]
            if values["inlay-hint-results"]:
                inlay_hints += result_hints(server, diagram, place)
    return inlay_hints


def _to_lsp(diagram: OpenDiagram, hint: Hint) -> types.InlayHint:
    return types.InlayHint(
        diagram.position_to_lsp(hint.position),
        [_part(diagram, part) for part in hint.parts],
        kind=types.InlayHintKind.Type,
        text_edits=diagram.edits_to_lsp(hint.edits) or None,
        tooltip=hint.tooltip,
        padding_left=True,
    )


def _part(diagram: OpenDiagram, part: HintPart) -> types.InlayHintLabelPart:
    target = part.target
    location = None
    if target is not None and target.file is None:
        location = types.Location(diagram.document.uri, diagram.to_lsp(target.name))
    return types.InlayHintLabelPart(part.text, location=location)
